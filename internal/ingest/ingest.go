// Package ingest brings chats in: exports of chat platforms and tools, and the JSON
// Lines of our own, as messages of groups.
//
// What is imported is a [Source]: a file, an archive, a folder, a stream. A [Format],
// one package each, knows its own by the content and tells its records one by one, in
// bounded memory. The importer gives each record its group, filters what is nobody's
// words, and stores the rest in batches; all of it is idempotent on the message's id.
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
	"reverie/internal/ingest/slackdump"
	"reverie/internal/ingest/teams"
	"reverie/internal/ingest/telegram"
	"reverie/internal/ingest/wechat"
	"reverie/internal/ingest/whatsapp"
	"reverie/internal/ingest/zulip"
	"reverie/internal/reverie"
)

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

// Formats returns all that are known, in the order in which people are told of them.
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
		slackdump.Format(func(t *export.Teller) slackdump.Slack { return slack.NewReader(t) }),
		rocketchat.Format,
		feishu.Format,
		teams.Format,
	}
}

// JSONL is the format of our own, which needs no detecting: a message a line.
func JSONL() Format { return jsonl.Format }

// ErrUnknown is what [Detect] says of a source that is in no known format.
var ErrUnknown = errors.New("it is not a chat export that Reverie knows")

// Named returns the format of a name. The error lists the names that there are.
func Named(name string) (Format, error) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("format %q is not one of %s: %w", name, names(Formats()), reverie.ErrInvalid)
}

// SamePlatform tells whether an account of one group is the same person's in the other, as far as the groups' ids
// tell: see [GroupOf].
func SamePlatform(a, b string) bool {
	of := func(id string) string {
		name, _, _ := strings.Cut(id, "-")
		f, _ := Named(name)
		return f.Platform
	}
	return of(a) != "" && of(a) == of(b)
}

// Detect returns the format that is surest of knowing the source. Where none knows it the
// error is [ErrUnknown] and lists what is known; where two are equally sure of a file it names them.
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
	case len(best) == 1 || src.Files != nil: // there may be a chat of each
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
