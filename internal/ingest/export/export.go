// Package export holds what the formats of exports share: their records, and how files of lines and of large JSON
// documents are read in bounded memory.
package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// HeadSize is the number of bytes by which a format is detected.
const HeadSize = 64 << 10

// Source is the input of an import. Exactly one of Reader and Files is set.
type Source struct {
	Name   string    // as given: a path, or "-"
	Head   []byte    // the first HeadSize bytes of Reader, UTF-8 without a byte order mark
	Reader io.Reader // a single file, from its beginning, UTF-8 without a byte order mark
	Files  fs.FS     // an archive or a folder
	Size   int64     // in bytes; 0 if unknown
}

// Chat is a conversation of a platform. It becomes a group.
type Chat struct {
	ID   string // unique within the format, stable between exports
	Name string // for people
	// Private says that the platform calls it a chat of two people.
	Private bool `json:",omitempty"`
}

// Record is one message or event of an export.
type Record struct {
	Chat    Chat
	Place   string          // its place, for people: "line 12", "general/2026-01-15.json, message 4"
	Message reverie.Message // with id, author, text and so on, without group
	Edited  bool            `json:",omitempty"` // its text was edited after it was sent
	// Reactions are all reactions to the message; nil if the export has none for any message.
	Reactions []reverie.Reaction `json:",omitempty"`
	// Change is a later change of a message. A record whose Message has no id is only a change.
	Change *reverie.MessageChange `json:",omitempty"`
	// Bot: a program wrote it. Event: nobody wrote it, as with a join, a new title, a call or a pin.
	Bot, Event bool
	// Gone says that the platform marks it as deleted. A missing text alone does not count.
	Gone bool `json:",omitempty"`
}

// Bad is a record that cannot be read. It is skipped and counted by its reason; reading continues after it.
type Bad struct {
	Place  string
	Reason string // short, to count by: "no id", "no time", "no JSON"
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
	// Platform is set if an id is one person's on all servers of the platform. It then identifies the id's platform.
	Platform string
	// Signs say how certainly the beginning of a file is of this format; Head does if signs cannot.
	Signs []Sign
	Head  func(head []byte) int
	// Folder says how certainly the files of a folder or archive together are of it; nil if each is imported by itself.
	// It looks at names and beginnings of files.
	Folder func(fs.FS) int
	// Tell passes on the records in order, and returns why the rest cannot be read.
	Tell func(*Teller, Source) error
}

// Knows returns how certainly a source is of this format, from 0 (it is not) to 100.
func (f Format) Knows(src Source) (sure int) {
	switch {
	case src.Files != nil && f.Folder != nil:
		return f.Folder(src.Files)
	case src.Files != nil:
		return 0
	case f.Head != nil:
		sure = f.Head(src.Head)
	}
	return max(sure, Surest(src.Head, f.Signs...))
}

// Read yields the records in order. An error that is a [*Bad] is a skipped record. Any other error is the last
// element: earlier records are valid, and the error says how far the source was read. It never yields a part of a
// message.
func (f Format) Read(ctx context.Context, src Source, opts ReadOptions) iter.Seq2[Record, error] {
	if opts.Zone == nil {
		opts.Zone = time.UTC
	}
	return func(yield func(Record, error) bool) {
		t := &Teller{ReadOptions: opts, ctx: ctx, yield: yield}
		err := f.Tell(t, src)
		if err = cmp.Or(ctx.Err(), err); err != nil { // a file looks empty or broken when the context ends
			_ = t.told(Record{}, err) // the last element
		}
	}
}

// ReadOptions supply what an export does not say.
type ReadOptions struct {
	Zone *time.Location // of times without a zone; nil is UTC
	// DateOrder is the order of dates if it cannot be detected: "dmy", "mdy" or "ymd". With "", an ambiguous order is
	// an error.
	DateOrder string
	Chat      string // only the chat of this id or name; "" = all
	OneGroup  bool   // all of it goes into a group that was named, whatever the chat is
	Group     string // where JSON Lines go: one that names another group is bad; "" = whatever they name
}

// Wants reports whether the options select a chat.
func (o ReadOptions) Wants(c Chat) bool {
	return o.Chat == "" || o.Chat == c.ID || o.Chat == c.Name
}

// Reason shortens an error to the text by which it is counted.
func Reason(err error) string {
	what, _, _ := strings.Cut(err.Error(), ": ")
	return what
}

// NoChat yields the last error of a file whose messages come before the key that identifies their chat.
func (t *Teller) NoChat(place, key string) error {
	bad := &Bad{Reason: "no chat", Err: fmt.Errorf("%s is missing, or comes after the messages; put it before them: %w",
		key, reverie.ErrInvalid)}
	return cmp.Or(t.Skip(place, bad), ErrEnoughRead)
}

// Missing returns the error of a record without a required field: an id, a time, an author.
func Missing(what, field string) error {
	return &Bad{Reason: "no " + what, Err: fmt.Errorf("%s is missing: %w", field, reverie.ErrInvalid)}
}

// OwnID is passed to [Needs] if a message without an id gets a generated one.
const OwnID = "own"

// Needs refuses a message without id or author, or with an invalid time.
func Needs(id string, time error, author string) error {
	switch {
	case id == "":
		return Missing("id", "its id")
	case time != nil:
		return time
	case author == "":
		return Missing("author", "its author")
	}
	return nil
}

// Teller passes the records of a source to its reader. It contains what all formats have in common.
type Teller struct {
	ReadOptions // Zone is set
	ctx         context.Context
	yield       func(Record, error) bool
	stopped     bool   // yield returned false: the reader has stopped
	within      string // the current file as a prefix of places, if there are several
}

// ErrEnoughRead is returned by a function of [Teller.Each] to skip the remaining parts.
var ErrEnoughRead = errors.New("nobody asks for the rest")

// told yields a record or error, unless the reader has stopped.
func (t *Teller) told(r Record, err error) error {
	if t.stopped = t.stopped || !t.yield(r, err); t.stopped {
		return errStopped
	}
	return nil
}

// Tell passes on a record if its chat is selected. A record without a role is a user's.
func (t *Teller) Tell(r Record) error {
	if !t.Wants(r.Chat) {
		return nil
	}
	r.Place, r.Message.Role = t.within+r.Place, cmp.Or(r.Message.Role, reverie.RoleUser)
	return t.told(r, nil)
}

// Skip reports a bad record at a place, unless the record has its own.
func (t *Teller) Skip(place string, bad *Bad) error {
	return t.told(Record{}, &Bad{Place: t.within + cmp.Or(bad.Place, place), Reason: bad.Reason, Err: bad.Err})
}

// SkipBad reports an error that is a bad record, and returns any other.
func (t *Teller) SkipBad(place string, err error) error {
	var bad *Bad
	if errors.As(err, &bad) {
		return t.Skip(place, bad)
	}
	return err
}

// Each calls take with the parts of a file, until its context ends. It reports bad parts, and parts that take finds
// bad, and continues.
func (t *Teller) Each(parts Parts, take func(Part) error) error {
	return t.EachOrBad(parts, func(part Part, bad *Bad) error {
		if bad != nil {
			return bad
		}
		return take(part)
	})
}

// EachOrBad is [Teller.Each] for a function that must know of bad parts: it returns the [*Bad], or reports it
// later.
func (t *Teller) EachOrBad(parts Parts, take func(Part, *Bad) error) error {
	for part, err := range parts {
		var bad *Bad
		if err == nil {
			err = t.ctx.Err()
		}
		if err == nil || errors.As(err, &bad) {
			err = take(part, bad)
		}
		err = t.SkipBad(part.Place, err)
		switch {
		case errors.Is(err, ErrEnoughRead):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// File reads a file of a folder or archive. A broken file is reported as bad, so that the others can follow.
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

// Messages reads a file of a folder or archive and passes read the values that match the pattern.
func (t *Teller) Messages(files fs.FS, name, pattern string, read func(Parts) error) error {
	return t.File(files, name, func(f io.Reader) error { return read(JSONParts(f, pattern)) })
}

// Files reads a source that is one file, or those of its files that find returns.
func (t *Teller) Files(src Source, find func(fs.FS) []string, read func(Source) error) error {
	if src.Files == nil {
		return read(src)
	}
	list := find(src.Files)
	for _, name := range list {
		err := t.File(src.Files, name, func(f io.Reader) error {
			return read(Source{Name: path.Join(filepath.ToSlash(src.Name), name), Reader: f})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// EachPart passes on the values of a file that explains the ids in other files. A missing file has none; a broken
// one is an error.
func EachPart(files fs.FS, name string, take func(Part), patterns ...string) error {
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	for part, err := range JSONParts(f, patterns...) {
		var bad *Bad
		switch {
		case errors.As(err, &bad): // a value that is too long is skipped
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		default:
			take(part)
		}
	}
	return nil
}

// FileNames lists the files of a folder or archive by name, without files that operating systems add.
func FileNames(files fs.FS) ([]string, error) {
	var all []string
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return fmt.Errorf("list the files: %w", err)
		case d.IsDir() && base == "__MACOSX":
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasPrefix(base, "._") || base == ".DS_Store" ||
			strings.EqualFold(base, "Thumbs.db") || strings.EqualFold(base, "desktop.ini"):
			return nil
		}
		all = append(all, name)
		return nil
	})
	return all, err
}

// Title returns the name of a file without folders and extension: "" if it is read from a stream.
func Title(name string) string {
	base := path.Base(filepath.ToSlash(name))
	return strings.TrimSpace(strings.Trim(strings.TrimSuffix(base, path.Ext(base)), "-./"))
}

// HeadOf returns the beginning of a file of a folder or archive, at most HeadSize bytes; nothing if it cannot be
// read.
func HeadOf(files fs.FS, name string) []byte {
	look := files.Open
	if p, ok := files.(peeker); ok {
		look = p.Peek
	}
	f, err := look(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, HeadSize)
	n, _ := io.ReadFull(f, head)
	return head[:n]
}

// KnownFiles lists the files of a folder or archive with one of these endings, and with a known beginning.
func KnownFiles(files fs.FS, endings []string, known func(head []byte) bool) (list []string) {
	all, _ := FileNames(files) // an unreadable folder counts as empty
	for _, name := range all {
		ends := func(ending string) bool { return strings.HasSuffix(strings.ToLower(name), ending) }
		if slices.ContainsFunc(endings, ends) && known(HeadOf(files, name)) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// JSONFiles lists the JSON files of a folder or archive that have one of these signs and whose name matches; nil
// matches any name.
func JSONFiles(files fs.FS, name *text.Pattern, signs ...Sign) []string {
	list := KnownFiles(files, []string{".json"}, func(head []byte) bool { return Surest(head, signs...) > 0 })
	return slices.DeleteFunc(list, func(s string) bool { return name != nil && !name.MatchString(path.Base(s)) })
}

// peeker is a folder or archive that records which of its files are read. Files opened by Peek do not count.
type peeker interface {
	Peek(name string) (fs.File, error)
}

// Hold keeps the newest records for a while, so that later changes still apply to them: an edit, a deletion, the
// first answer of a thread. If an export has the newest messages first, a change comes before its message. Hold
// then keeps the change.
type Hold struct {
	tell  func(Record) error
	queue []*HeldRecord // in the order of the export
	byID  map[string]*HeldRecord
	ahead map[ChangeTarget]Change
	held  int // bytes of the texts in queue
	kept  int // bytes of the texts in ahead
}

type HeldRecord struct {
	Record
	At int64 // when its text was edited, 0 if never
}

// Bounds of what is held. A change of an older message is yielded as a record of its own.
const (
	holdMost  = 5000
	holdBytes = 8 << 20
)

// changeKind is the kind of a change.
type changeKind int

const (
	ChangeEdit   changeKind = iota + 1
	ChangeGone              // the message was deleted
	ChangeThread            // a thread began with the message
)

// ChangeTarget is the message to change, and who may: only its author may edit a message.
type ChangeTarget struct {
	Kind   changeKind
	ID, By string // By is "" if anybody may
}

// Change is a record's change of another record; the zero value is no change.
type Change struct {
	ChangeTarget
	Text string // the new text
	At   int64  // time of the change, in milliseconds
	chat Chat   // chat of the changing record
}

func newHold(tell func(Record) error) *Hold {
	return &Hold{tell: tell, byID: map[string]*HeldRecord{}, ahead: map[ChangeTarget]Change{}}
}

// Held passes the parts of an export to take, which adds records to the hold. Bad parts are reported at once;
// records are yielded when nothing can change them any more.
func (t *Teller) Held(parts Parts, take func(*Hold, Part) error) error {
	h := newHold(t.Tell)
	err := t.Each(parts, func(p Part) error { return take(h, p) })
	if errors.Is(err, errStopped) || t.ctx.Err() != nil {
		return err
	}
	return cmp.Or(h.flush(0, 0), h.tellAhead(), err)
}

// tellAhead yields the changes of messages that this export does not have, or no longer holds.
func (h *Hold) tellAhead() error {
	for _, key := range slices.SortedFunc(maps.Keys(h.ahead), func(a, b ChangeTarget) int { return cmp.Compare(a.ID, b.ID) }) {
		if err := h.tellChange(h.ahead[key]); err != nil {
			return err
		}
	}
	return nil
}

func (h *Hold) tellChange(c Change) error {
	became := reverie.MessageChange{ID: c.ID, Deleted: c.Kind == ChangeGone}
	switch c.Kind {
	case ChangeThread: // its session has been counted
		return nil
	case ChangeEdit:
		became.Text, became.EditedAt, became.By = &c.Text, time.UnixMilli(c.At), c.By
	}
	return h.tell(Record{Chat: c.chat, Place: "message " + c.ID, Change: &became})
}

// Add holds a record and applies its change.
func (h *Hold) Add(r HeldRecord, c Change) error {
	if target := h.byID[c.ID]; c.ID != "" && target != nil {
		before := len(target.Message.Text)
		target.change(c)
		h.held += len(target.Message.Text) - before
	} else if c.ID != "" {
		c.chat = r.Chat
		if err := h.remember(c); err != nil {
			return err
		}
	}
	id := r.Message.ID
	for _, key := range []ChangeTarget{{ChangeEdit, id, r.Message.AuthorID}, {ChangeGone, id, ""},
		{ChangeThread, id, ""}} {
		if c, found := h.ahead[key]; found {
			delete(h.ahead, key)
			h.kept -= len(c.Text)
			r.change(c)
		}
	}
	h.queue = append(h.queue, &r)
	h.byID[id] = &r
	h.held += len(r.Message.Text)
	return h.flush(holdMost, holdBytes)
}

// React applies the reactions of a record to a message.
func (h *Hold) React(r Record, id string, reactions ...reverie.Reaction) error {
	if id == "" {
		return nil
	}
	target, list := h.byID[id], reverie.StorableReactions(reactions)
	switch {
	case len(list) == 0:
		return nil
	case target == nil:
		return h.tell(Record{Chat: r.Chat, Place: r.Place, Change: &reverie.MessageChange{ID: id, Reactions: list}})
	case target.Reactions != nil:
		target.Reactions = reverie.MergeReactions(target.Reactions, list)
		return nil
	case target.Record.Change == nil:
		target.Record.Change = &reverie.MessageChange{ID: id}
	}
	target.Record.Change.Reactions = reverie.MergeReactions(target.Record.Change.Reactions, list)
	return nil
}

// remember keeps a change for a message that may come later; of several edits it keeps the last. If there are too
// many, they are yielded.
func (h *Hold) remember(c Change) error {
	known, found := h.ahead[c.ChangeTarget]
	switch {
	case found && known.At >= c.At:
		return nil
	case len(h.ahead) >= holdMost || h.kept+len(c.Text) > holdBytes:
		return h.tellChange(c)
	}
	h.kept += len(c.Text) - len(known.Text)
	h.ahead[c.ChangeTarget] = c
	return nil
}

// change applies a change to a record.
func (r *HeldRecord) change(c Change) {
	switch m := &r.Message; {
	case c.Kind == ChangeGone:
		r.Event, r.Gone, m.Text = true, true, ""
	case c.Kind == ChangeThread:
		m.SessionID = cmp.Or(m.SessionID, m.ID)
	case c.By == m.AuthorID && c.At >= r.At && !r.Event:
		m.Text, r.At = c.Text, c.At
	}
}

// flush yields the oldest records until at most that many records and bytes of text are held.
func (h *Hold) flush(records, bytes int) error {
	for len(h.queue) > 0 && (len(h.queue) > records || h.held > bytes) {
		r := h.queue[0]
		h.queue[0], h.queue = nil, h.queue[1:]
		h.held -= len(r.Message.Text)
		if h.byID[r.Message.ID] == r {
			delete(h.byID, r.Message.ID)
		}
		if r.At > 0 {
			at := time.UnixMilli(r.At)
			r.Message.EditedAt = &at
		}
		if err := h.tell(r.Record); err != nil {
			h.queue = nil
			return err
		}
	}
	return nil
}
