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
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
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
}

// Chat is a conversation as its platform knows it. It becomes a group.
type Chat struct {
	ID   string // unique within the format, stable between exports
	Name string // for people
	// Private tells that the platform says that it is between two.
	Private bool `json:",omitempty"`
}

// Record is one thing that an export tells: a message, or something that happened.
type Record struct {
	Chat    Chat
	Place   string          // where it stands, for people: "line 12", "general/2026-01-15.json, message 4"
	Message reverie.Message // id, author, text and so on; no group
	Edited  bool            `json:",omitempty"` // it has another text than it was sent with
	// Reactions are all that the message has, as the export tells; nil where it tells of none at all.
	Reactions []reverie.Reaction `json:",omitempty"`
	// Change is what became of a message since; one whose Message has no id tells nothing else.
	Change *reverie.MessageChange `json:",omitempty"`
	// Bot tells that a program wrote it, Event that it is nobody's words: a join, a new
	// title, a call, a pin.
	Bot, Event bool
	// Gone tells that the platform says that it was deleted. Words that are missing do not.
	Gone bool `json:",omitempty"`
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
	// Platform is whose accounts people are known by, where an id is one person's on all of its servers.
	Platform string
	// Signs, and Head where they do not do, say how sure the beginning of a file is of this format.
	Signs []Sign
	Head  func(head []byte) int
	// Folder says how sure the files of a folder or archive are of it together; nil where each is
	// imported by itself. It looks at names and at the beginnings of files.
	Folder func(fs.FS) int
	// Tell tells the records in the order of the export, and returns why the rest cannot be read.
	Tell func(*Teller, Source) error
}

// Knows says how sure a source is of this format, from 0 (it is not) to 100.
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

// Read tells the records in the order of the export. An error that is a [*Bad] tells of one that is
// skipped; any other is the last: what came before stands, and the error says how far the source could
// be read. It never tells half a message.
func (f Format) Read(ctx context.Context, src Source, opts ReadOptions) iter.Seq2[Record, error] {
	if opts.Zone == nil {
		opts.Zone = time.UTC
	}
	return func(yield func(Record, error) bool) {
		t := &Teller{ReadOptions: opts, ctx: ctx, yield: yield}
		err := f.Tell(t, src)
		if err = cmp.Or(ctx.Err(), err); err != nil { // a file that is not read any more looks empty, or broken
			_ = t.told(Record{}, err) // the last
		}
	}
}

// ReadOptions says what an export does not.
type ReadOptions struct {
	Zone *time.Location // of times without one; nil is UTC
	// DateOrder is how dates are written where that cannot be told: "dmy", "mdy" or
	// "ymd"; "" is to be inferred, and an error where it cannot be.
	DateOrder string
	Chat      string // only the chat of this id or name; "" = all
	OneGroup  bool   // all of it goes into a group that was named, whatever the chat is
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

// NoChat tells, as the last of a file, that its messages come before what says which chat they are of.
func (t *Teller) NoChat(place, key string) error {
	bad := &Bad{Reason: "no chat", Err: fmt.Errorf("%s is missing, or comes after the messages; put it before them: %w",
		key, reverie.ErrInvalid)}
	return cmp.Or(t.Skip(place, bad), ErrEnoughRead)
}

// Missing says of a record that it lacks what none can do without: an id, a time, an author.
func Missing(what, field string) error {
	return &Bad{Reason: "no " + what, Err: fmt.Errorf("%s is missing: %w", field, reverie.ErrInvalid)}
}

// OwnID is for [Needs] where a message without an id gets one of ours.
const OwnID = "own"

// Needs refuses a message that has no id, whose time cannot be read, or that has no author.
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

// Teller tells the records of a source to whoever reads it. It does what is alike in all formats.
type Teller struct {
	ReadOptions // with a zone
	ctx         context.Context
	yield       func(Record, error) bool
	stopped     bool   // yield has said that nobody listens any more
	within      string // the file at hand in front of places, where there are several
}

// ErrEnoughRead is what a listener of [Teller.Each] returns to pass over the rest of the parts.
var ErrEnoughRead = errors.New("nobody asks for the rest")

// told hands something over, unless nobody listens any more.
func (t *Teller) told(r Record, err error) error {
	if t.stopped = t.stopped || !t.yield(r, err); t.stopped {
		return errStopped
	}
	return nil
}

// Tell tells a record, if its chat is asked for. Somebody has said what has no role.
func (t *Teller) Tell(r Record) error {
	if !t.Wants(r.Chat) {
		return nil
	}
	r.Place, r.Message.Role = t.within+r.Place, cmp.Or(r.Message.Role, reverie.RoleUser)
	return t.told(r, nil)
}

// Skip tells of a bad record, which stands at a place unless it says another.
func (t *Teller) Skip(place string, bad *Bad) error {
	return t.told(Record{}, &Bad{Place: t.within + cmp.Or(bad.Place, place), Reason: bad.Reason, Err: bad.Err})
}

// SkipBad tells of an error that is of a bad record, and returns any other.
func (t *Teller) SkipBad(place string, err error) error {
	var bad *Bad
	if errors.As(err, &bad) {
		return t.Skip(place, bad)
	}
	return err
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

// Messages hands over the messages of a file of a folder or archive: the values that fit the pattern.
func (t *Teller) Messages(files fs.FS, name, pattern string, read func(Parts) error) error {
	return t.File(files, name, func(f io.Reader) error { return read(JSONParts(f, pattern)) })
}

// Files reads a source that is one file, or those of its files that find finds.
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

// EachPart hands over the values of a file of an export that says what others mean by
// their ids. A file that is not there has none; one that is broken is an error.
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
		case errors.As(err, &bad): // too long to be one
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		default:
			take(part)
		}
	}
	return nil
}

// FileNames lists the files of a folder or archive by name, without what systems leave
// there for themselves.
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

// Title is the name of a file without folders and ending: "" where it is read from a stream.
func Title(name string) string {
	base := path.Base(filepath.ToSlash(name))
	return strings.TrimSpace(strings.Trim(strings.TrimSuffix(base, path.Ext(base)), "-./"))
}

// HeadOf returns what a file of a folder or archive begins with, at most HeadSize bytes,
// and nothing where it cannot be read.
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

// KnownFiles lists the files of a folder or archive whose name ends in one of these ways
// and whose beginning is known.
func KnownFiles(files fs.FS, endings []string, known func(head []byte) bool) (list []string) {
	all, _ := FileNames(files) // what cannot be listed is not there
	for _, name := range all {
		ends := func(ending string) bool { return strings.HasSuffix(strings.ToLower(name), ending) }
		if slices.ContainsFunc(endings, ends) && known(HeadOf(files, name)) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// JSONFiles lists the JSON files of a folder or archive that have one of these signs, and such a name: any,
// where it is nil.
func JSONFiles(files fs.FS, name *text.Pattern, signs ...Sign) []string {
	list := KnownFiles(files, []string{".json"}, func(head []byte) bool { return Surest(head, signs...) > 0 })
	return slices.DeleteFunc(list, func(s string) bool { return name != nil && !name.MatchString(path.Base(s)) })
}

// peeker is a folder or archive that notes which of its files are read: Peek opens one of
// which only a look is taken.
type peeker interface {
	Peek(name string) (fs.File, error)
}

// Hold keeps the newest records for a while, so that what changes them soon after (an
// edit, a redaction, the first answer of a thread) still can. Where an export has the
// newest first, a change comes before what it changes, and is kept instead.
type Hold struct {
	tell  func(Record) error
	queue []*HeldRecord // in the order of the export
	byID  map[string]*HeldRecord
	ahead map[ChangeTarget]Change
	held  int // bytes of the texts in the queue
	kept  int // bytes of the texts ahead
}

type HeldRecord struct {
	Record
	At int64 // when its text was edited, 0 where it never was
}

// How much is held: of a message with more behind it a change is told by itself.
const (
	holdMost  = 5000
	holdBytes = 8 << 20
)

// changeKind says what is done to a message.
type changeKind int

const (
	ChangeEdit   changeKind = iota + 1
	ChangeGone              // it was taken back
	ChangeThread            // a thread began with it
)

// ChangeTarget is what a change is done to, and who may: only its author edits a message.
type ChangeTarget struct {
	Kind   changeKind
	ID, By string // by is "" where anybody may
}

// Change is what a record does to another one; the zero value is nothing.
type Change struct {
	ChangeTarget
	Text string // that the message has from now on
	At   int64  // when, in milliseconds
	chat Chat   // of the record that does it
}

func newHold(tell func(Record) error) *Hold {
	return &Hold{tell: tell, byID: map[string]*HeldRecord{}, ahead: map[ChangeTarget]Change{}}
}

// Held tells what take makes of the parts of an export, which it adds to the hold that it is given. What
// is bad is told at once, and the rest when nothing changes it any more.
func (t *Teller) Held(parts Parts, take func(*Hold, Part) error) error {
	h := newHold(t.Tell)
	err := t.Each(parts, func(p Part) error { return take(h, p) })
	if errors.Is(err, errStopped) || t.ctx.Err() != nil {
		return err
	}
	return cmp.Or(h.flush(0, 0), h.tellAhead(), err)
}

// tellAhead tells what became of messages that this export does not have, or had long before.
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
	case ChangeThread: // of a session that was counted
		return nil
	case ChangeEdit:
		became.Text, became.EditedAt, became.By = &c.Text, time.UnixMilli(c.At), c.By
	}
	return h.tell(Record{Chat: c.chat, Place: "message " + c.ID, Change: &became})
}

// Add holds a record and does what it changes.
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

// React does what says that somebody reacts to a message, or takes that back.
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

// remember keeps a change for a message that may come later, of several edits the last. What is too much is told.
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

// change does to a record what another one says.
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

// flush tells the oldest records until no more than so many of them are held, with no more
// bytes of text.
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
