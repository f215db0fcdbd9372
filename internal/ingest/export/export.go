// Package export is what the formats of exports share: their records, and how files of
// lines and of large JSON documents are read in bounded memory.
package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
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

// Missing says of a record that it lacks what none can do without: an id, a time, an author.
func Missing(what, field string) error {
	return &Bad{Reason: "no " + what, Err: fmt.Errorf("%s is missing: %w", field, reverie.ErrInvalid)}
}

// Teller tells the records of a source to whoever reads it. It does what is alike in all formats.
type Teller struct {
	ReadOptions // with a zone
	ctx         context.Context
	yield       func(Record, error) bool
	within      string // the file at hand in front of places, where there are several
}

// EnoughRead is what a listener of [Teller.Each] returns to pass over the rest of the parts.
var EnoughRead = errors.New("nobody asks for the rest")

// Reading is the Read of a [Format] whose way of telling its records is this one. Its error is the last that
// is told, but for that nobody listens any more.
func Reading(tell func(*Teller, Source) error) func(context.Context, Source, ReadOptions) iter.Seq2[Record, error] {
	return func(ctx context.Context, src Source, opts ReadOptions) iter.Seq2[Record, error] {
		if opts.Zone == nil {
			opts.Zone = time.UTC
		}
		return func(yield func(Record, error) bool) {
			err := tell(&Teller{ReadOptions: opts, ctx: ctx, yield: yield}, src)
			if err != nil && !errors.Is(err, errStopped) {
				yield(Record{}, err)
			}
		}
	}
}

// Tell tells a record, if its chat is asked for. Somebody has said what has no role.
func (t *Teller) Tell(r Record) error {
	if !t.Wants(r.Chat) {
		return nil
	}
	r.Place, r.Message.Role = t.within+r.Place, cmp.Or(r.Message.Role, reverie.RoleUser)
	if !t.yield(r, nil) {
		return errStopped
	}
	return nil
}

// Skip tells of a bad record, which stands at a place unless it says another.
func (t *Teller) Skip(place string, bad *Bad) error {
	if !t.yield(Record{}, &Bad{Place: t.within + cmp.Or(bad.Place, place), Reason: bad.Reason, Err: bad.Err}) {
		return errStopped
	}
	return nil
}

// Each hands over the parts of a file, until its context ends. What is bad, of them or by the listener's
// error, is told, and the next ones follow.
func (t *Teller) Each(parts Parts, take func(Part) error) error {
	return t.EachOrBad(parts, func(part Part, bad *Bad) error {
		if bad != nil {
			return bad
		}
		return take(part)
	})
}

// EachOrBad is [Teller.Each] for a listener that has to know where a part is bad: it returns that, or
// tells of it later.
func (t *Teller) EachOrBad(parts Parts, take func(Part, *Bad) error) error {
	for part, err := range parts {
		var bad *Bad
		if err == nil {
			err = t.ctx.Err()
		}
		if err == nil || errors.As(err, &bad) {
			err = take(part, bad)
		}
		if errors.As(err, &bad) {
			err = t.Skip(part.Place, bad)
		}
		switch {
		case errors.Is(err, EnoughRead):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// File reads a file of a folder or archive. One that is broken is told as bad, so that the others can
// follow.
func (t *Teller) File(files fs.FS, name string, read func(io.Reader) error) error {
	f, err := files.Open(name)
	if err == nil {
		t.within = name + ", "
		err = read(f)
		t.within = ""
		_ = f.Close() // it was only read
	}
	switch {
	case err == nil || errors.Is(err, errStopped):
		return err
	case t.ctx.Err() != nil:
		return t.ctx.Err()
	}
	return t.Skip(name, &Bad{Reason: "broken file", Err: err})
}

// Messages hands over the messages of a file of a folder or archive, by their number: the values that
// fit the pattern.
func (t *Teller) Messages(files fs.FS, name, pattern string, read func(Parts) error) error {
	return t.File(files, name, func(f io.Reader) error { return read(Numbered(JSONParts(f, pattern))) })
}

// Files reads a source that is one file, or those of its files that find finds.
func (t *Teller) Files(src Source, find func(fs.FS) []string, read func(Source) error) error {
	if src.Files == nil {
		return read(src)
	}
	list := find(src.Files)
	InArchiveOrder(src.Files, list)
	for _, name := range list {
		one := Source{Name: path.Join(filepath.ToSlash(src.Name), name),
			Again: func() (io.ReadCloser, error) { return src.Files.Open(name) }}
		err := t.File(src.Files, name, func(f io.Reader) error { one.Reader = f; return read(one) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Ahead hands over the parts of a file that stand behind its messages and are needed before them, to know
// which chat it is: it says that under the key what. What cannot be read on is left: the messages before it
// are read all the same.
func (t *Teller) Ahead(src Source, what string, parts func(io.Reader) Parts, take func(Part) error) error {
	if src.Again == nil {
		return fmt.Errorf("which chat it is (%s) must stand in front of the messages, for a stream is read once; save it, "+
			"and name the file: %w", what, reverie.ErrInvalid)
	}
	r, err := src.Again()
	if err != nil {
		return err
	}
	defer r.Close()
	for part, err := range parts(r) {
		if bad := (*Bad)(nil); t.ctx.Err() != nil || err != nil && !errors.As(err, &bad) {
			break
		}
		if err == nil {
			if err := take(part); err != nil {
				return err
			}
		}
	}
	return t.ctx.Err()
}
