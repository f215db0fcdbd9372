// Package ingest imports chats as messages of groups: exports of chat platforms and tools, and our own JSON Lines.
//
// The input is a [Source]: a file, an archive, a folder, a stream. Each [Format] is a package; it detects its files
// by content and yields their records one by one, in bounded memory. The importer assigns each record its group,
// filters what nobody wrote, and stores the rest in batches. All of it is idempotent by message id.
package ingest

import (
	"errors"
	"fmt"
	"strings"

	"reverie/internal/ingest/chatlab"
	"reverie/internal/ingest/discord"
	"reverie/internal/ingest/export"
	"reverie/internal/ingest/feishu"
	"reverie/internal/ingest/googlechat"
	"reverie/internal/ingest/irc"
	"reverie/internal/ingest/jsonl"
	"reverie/internal/ingest/line"
	"reverie/internal/ingest/matrix"
	"reverie/internal/ingest/mattermost"
	"reverie/internal/ingest/messenger"
	"reverie/internal/ingest/onebot"
	"reverie/internal/ingest/qqchat"
	"reverie/internal/ingest/rocketchat"
	"reverie/internal/ingest/slack"
	"reverie/internal/ingest/teams"
	"reverie/internal/ingest/telegram"
	"reverie/internal/ingest/wechat"
	"reverie/internal/ingest/whatsapp"
	"reverie/internal/ingest/zulip"
	"reverie/internal/reverie"
)

// Aliases of package export for importers.
type (
	Source      = export.Source
	Chat        = export.Chat
	Record      = export.Record
	Bad         = export.Bad
	Format      = export.Format
	ReadOptions = export.ReadOptions
)

// HeadSize is the number of bytes by which a format is detected.
const HeadSize = export.HeadSize

// Formats returns all formats, in the order of listings.
func Formats() []Format {
	return []Format{
		jsonl.Format,
		chatlab.Format,
		slack.Format,
		discord.Format,
		zulip.Format,
		matrix.Format,
		telegram.Format,
		whatsapp.Format,
		irc.Format,
		onebot.Format,
		qqchat.Format,
		messenger.Format,
		line.Format,
		wechat.Format,
		googlechat.Format,
		mattermost.Format,
		slack.Dump,
		rocketchat.Format,
		feishu.Format,
		teams.Format,
	}
}

// JSONL returns our own format, with one message per line. It needs no detection.
func JSONL() Format { return jsonl.Format }

// ErrUnknown is the error of [Detect] for a source in no known format.
var ErrUnknown = errors.New("it is not a chat export that Reverie knows")

// Named returns the format with a name. The error lists all names.
func Named(name string) (Format, error) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("format %q is not one of %s: %w", name, names(Formats()), reverie.ErrInvalid)
}

// SamePlatform reports whether the same account id in two groups is the same person, as far as the groups' ids
// tell: see [GroupOf].
func SamePlatform(a, b string) bool {
	of := func(id string) string {
		name, _, _ := strings.Cut(id, "-")
		f, _ := Named(name)
		return f.Platform
	}
	return of(a) != "" && of(a) == of(b)
}

// Detect returns the format with the highest certainty for the source. If there is none, the error is [ErrUnknown]
// and lists the formats. If two are equally certain of a file, the error names them.
func Detect(src Source) (Format, error) {
	var best []Format
	most := 0
	for _, f := range Formats() {
		switch sure := f.Knows(src); {
		case sure > most:
			most, best = sure, []Format{f}
		case sure == most && sure > 0:
			best = append(best, f)
		}
	}
	switch {
	case len(best) == 0:
		return Format{}, fmt.Errorf("%s: %w; the formats are %s", src.Name, ErrUnknown, names(Formats()))
	case len(best) == 1 || src.Files != nil: // the source may contain chats of several formats
		return best[0], nil
	}
	return Format{}, fmt.Errorf("%s: it may be any of %s; choose one with --format: %w", src.Name, names(best),
		reverie.ErrInvalid)
}

func names(list []Format) string {
	var all []string
	for _, f := range list {
		all = append(all, f.Name)
	}
	return strings.Join(all, ", ")
}
