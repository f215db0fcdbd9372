// Package export is what the formats of exports share: their records, and how files of
// lines and of large JSON documents are read in bounded memory.
package export

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// HeadSize is how much of a file a format is known by, in bytes.
const HeadSize = 64 << 10

// Source is what is imported. Exactly one of Reader and Files is set.
type Source struct {
	Name   string    // as it was named: a path, or "-"
	Head   []byte    // the first HeadSize bytes of Reader, UTF-8 without a byte order mark
	Reader io.Reader // a single file, from its beginning, UTF-8 without a byte order mark
	Files  fs.FS     // an archive or a folder
	Size   int64     // in bytes; 0 where it is not known
	// Again opens a single file once more, from its beginning, for what stands behind the
	// messages and is needed before them. It is nil for a stream, which is read once.
	Again func() (io.ReadCloser, error)
}

// Chat is a conversation as its platform knows it. It becomes a group.
type Chat struct {
	ID   string // unique within the format, stable between exports
	Name string // for people
}

// Record is one thing that an export tells: a message, or something that happened.
type Record struct {
	Chat    Chat
	Place   string          // where it stands, for people: "line 12", "general/2026-01-15.json, message 4"
	Message reverie.Message // id, author, text and so on; no group
	// Bot tells that a program wrote it, Event that it is nobody's words: a join, a new
	// title, a call, a pin.
	Bot, Event bool
}

// Bad is a record that cannot be read. It is skipped and counted by its reason; what
// stands behind it goes on.
type Bad struct {
	Place  string
	Reason string // short, for counting: "no id", "no time", "no JSON"
	Err    error
}

func (b *Bad) Error() string {
	if why := b.Err.Error(); strings.HasPrefix(why, b.Reason) {
		return b.Place + ": " + why
	}
	return b.Place + ": " + b.Reason + ": " + b.Err.Error()
}
func (b *Bad) Unwrap() error { return b.Err }

// Format reads one kind of export.
type Format struct {
	Name  string // for --format: slack
	Title string // for people: Slack export (zip or folder)
	// Knows says how sure the content is of this format, from 0 (it is not) to 100. It
	// looks at the head, or at names and heads of files, and never at the end.
	Knows func(Source) int
	// Read tells the records in the order of the export. An error that is a [*Bad] tells
	// of one that is skipped; any other is the last: what came before stands, and the
	// error says how far the source could be read. It never tells half a message.
	Read func(ctx context.Context, src Source, opts ReadOptions) iter.Seq2[Record, error]
}

// ReadOptions says what an export does not.
type ReadOptions struct {
	Zone *time.Location // of times without one; nil is UTC
	// DateOrder is how dates are written where that cannot be told: "dmy", "mdy" or
	// "ymd"; "" is to be inferred, and an error where it cannot be.
	DateOrder string
	Chat      string // only the chat of this id or name; "" = all
	Group     string // where JSON Lines go: one that names another group is bad; "" = whatever they name
}

// Wants tells whether a chat is asked for.
func (o ReadOptions) Wants(c Chat) bool {
	return o.Chat == "" || o.Chat == c.ID || o.Chat == c.Name
}

// Reason shortens an error to what it is counted by.
func Reason(err error) string {
	what, _, _ := strings.Cut(err.Error(), ": ")
	return what
}
