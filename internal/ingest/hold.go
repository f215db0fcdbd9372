package ingest

import (
	"cmp"
	"context"
	"errors"
	"iter"
)

// hold keeps the newest records for a while, so that what changes them soon after (an
// edit, a redaction, the first answer of a thread) still can. Where an export has the
// newest first, a change comes before what it changes, and is kept instead.
type hold struct {
	tell  func(Record) bool
	queue []*heldRecord // in the order of the export
	byID  map[string]*heldRecord
	ahead map[changeTarget]change
	held  int // bytes of the texts in the queue
	kept  int // bytes of the texts ahead
}

type heldRecord struct {
	Record
	edited int64 // when its text was, 0 where it never was
}

// How much is held: a change counts if no more lies between it and its message.
const (
	holdMost  = 5000
	holdBytes = 8 << 20
)

// changeKind says what is done to a message.
type changeKind int

const (
	changeEdit   changeKind = iota + 1
	changeGone              // it was taken back
	changeThread            // a thread began with it
)

// changeTarget is what a change is done to, and who may: only its author edits a message.
type changeTarget struct {
	kind   changeKind
	id, by string // by is "" where anybody may
}

// change is what a record does to another one; the zero value is nothing.
type change struct {
	changeTarget
	text string // that the message has from now on
	at   int64  // when, in milliseconds
}

func newHold(tell func(Record) bool) *hold {
	return &hold{tell: tell, byID: map[string]*heldRecord{}, ahead: map[changeTarget]change{}}
}

// tellHeld tells what take makes of the parts of an export, which it adds to the hold that
// it is given. What is bad is told at once, and the rest when nothing changes it any more.
func tellHeld(ctx context.Context, opts ReadOptions, parts iter.Seq2[jsonPart, error], yield func(Record, error) bool, take func(*hold, jsonPart) error) {
	h := newHold(func(r Record) bool { return !opts.wants(r.Chat) || yield(r, nil) })
	for part, err := range parts {
		if err == nil {
			err = take(h, part)
		}
		var bad *Bad
		switch {
		case err == nil && ctx.Err() == nil:
		case errors.Is(err, errStopped):
			return
		case ctx.Err() != nil:
			yield(Record{}, ctx.Err())
			return
		case errors.As(err, &bad):
			if !yield(Record{}, bad) {
				return
			}
		default:
			if h.flush(0, 0) == nil {
				yield(Record{}, err)
			}
			return
		}
	}
	_ = h.flush(0, 0) // that nobody listens any more is no error at the end
}

// add holds a record and does what it changes. The error is errStopped where nobody
// listens any more.
func (h *hold) add(r heldRecord, c change) error {
	if target := h.byID[c.id]; c.id != "" && target != nil {
		before := len(target.Message.Text)
		target.change(c)
		h.held += len(target.Message.Text) - before
	} else if c.id != "" {
		h.remember(c)
	}
	id := r.Message.ID
	for _, key := range []changeTarget{{changeEdit, id, r.Message.AuthorID}, {changeGone, id, ""}, {changeThread, id, ""}} {
		if c, found := h.ahead[key]; found {
			delete(h.ahead, key)
			h.kept -= len(c.text)
			r.change(c)
		}
	}
	h.queue = append(h.queue, &r)
	h.byID[id] = &r
	h.held += len(r.Message.Text)
	return h.flush(holdMost, holdBytes)
}

// remember keeps a change for a message that may come later, of several edits the last.
func (h *hold) remember(c change) {
	known, found := h.ahead[c.changeTarget]
	if found && known.at >= c.at || len(h.ahead) >= holdMost || h.kept+len(c.text) > holdBytes {
		return
	}
	h.kept += len(c.text) - len(known.text)
	h.ahead[c.changeTarget] = c
}

// change does to a record what another one says.
func (r *heldRecord) change(c change) {
	switch m := &r.Message; {
	case c.kind == changeGone:
		r.Event, m.Text = true, ""
	case c.kind == changeThread:
		m.SessionID = cmp.Or(m.SessionID, m.ID)
	case c.by == m.AuthorID && c.at >= r.edited && !r.Event:
		m.Text, r.edited = c.text, c.at
	}
}

// flush tells the oldest records until no more than so many of them are held, with no more
// bytes of text.
func (h *hold) flush(records, bytes int) error {
	for len(h.queue) > 0 && (len(h.queue) > records || h.held > bytes) {
		r := h.queue[0]
		h.queue[0], h.queue = nil, h.queue[1:]
		h.held -= len(r.Message.Text)
		if h.byID[r.Message.ID] == r {
			delete(h.byID, r.Message.ID)
		}
		if !h.tell(r.Record) {
			h.queue = nil
			return errStopped
		}
	}
	return nil
}
