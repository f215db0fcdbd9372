package export

import (
	"cmp"
	"errors"
)

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
	Edited int64 // when its text was, 0 where it never was
}

// How much is held: a change counts if no more lies between it and its message.
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
	return cmp.Or(h.flush(0, 0), err)
}

// Add holds a record and does what it changes.
func (h *Hold) Add(r HeldRecord, c Change) error {
	if target := h.byID[c.ID]; c.ID != "" && target != nil {
		before := len(target.Message.Text)
		target.change(c)
		h.held += len(target.Message.Text) - before
	} else if c.ID != "" {
		h.remember(c)
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

// remember keeps a change for a message that may come later, of several edits the last.
func (h *Hold) remember(c Change) {
	known, found := h.ahead[c.ChangeTarget]
	if found && known.At >= c.At || len(h.ahead) >= holdMost || h.kept+len(c.Text) > holdBytes {
		return
	}
	h.kept += len(c.Text) - len(known.Text)
	h.ahead[c.ChangeTarget] = c
}

// change does to a record what another one says.
func (r *HeldRecord) change(c Change) {
	switch m := &r.Message; {
	case c.Kind == ChangeGone:
		r.Event, m.Text = true, ""
	case c.Kind == ChangeThread:
		m.SessionID = cmp.Or(m.SessionID, m.ID)
	case c.By == m.AuthorID && c.At >= r.Edited && !r.Event:
		m.Text, r.Edited = c.Text, c.At
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
		if err := h.tell(r.Record); err != nil {
			h.queue = nil
			return err
		}
	}
	return nil
}
