// Package ingest brings chats in: exports of chat platforms and tools, and the JSON
// Lines of our own, as messages of groups.
//
// What is imported is a [Source]: a file, an archive, a folder, a stream. A [Format],
// one package each, knows its own by the content and tells its records one by one, in
// bounded memory. The importer gives each record its group, filters what is nobody's
// words, and stores the rest in batches; all of it is idempotent on the message's id.
package ingest

import "reverie/internal/ingest/export"

// What exports are made of, for those that import them.
type (
	Source      = export.Source
	Chat        = export.Chat
	Record      = export.Record
	Bad         = export.Bad
	Format      = export.Format
	ReadOptions = export.ReadOptions
)

// HeadSize is how much of a file a format is known by, in bytes.
const HeadSize = export.HeadSize
