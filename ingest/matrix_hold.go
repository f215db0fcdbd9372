package ingest

import "cmp"

// matrixHold keeps the newest records for a while, so that what changes them soon after
// (an edit, a redaction, the first answer of a thread) still can. Where an export has the
// newest first, a change comes before what it changes, and is kept instead.
type matrixHold struct {
	tell  func(Record) bool
	queue []*heldEvent // in the order of the export
	byID  map[string]*heldEvent
	ahead map[matrixTarget]matrixChange
	held  int // bytes of the texts in the queue
	kept  int // bytes of the texts ahead
}

type heldEvent struct {
	Record
	edited int64 // when its text was, 0 where it never was
}

// How much is held: a change counts if no more lies between it and its message.
const (
	matrixEvents = 5000
	matrixBytes  = 8 << 20
)

// matrixKind says what is done to a message.
type matrixKind int

const (
	matrixEdit   matrixKind = iota + 1
	matrixGone              // it was taken back
	matrixThread            // a thread began with it
)

// matrixTarget is what a change is done to, and who may: only its author edits a message.
type matrixTarget struct {
	kind   matrixKind
	id, by string // by is "" where anybody may
}

// matrixChange is what an event does to another one; the zero value is nothing.
type matrixChange struct {
	matrixTarget
	text string // that the message has from now on
	at   int64  // when, in milliseconds
}

func newMatrixHold(tell func(Record) bool) *matrixHold {
	return &matrixHold{tell: tell, byID: map[string]*heldEvent{}, ahead: map[matrixTarget]matrixChange{}}
}

// add holds an event and does what it changes. The error is errStopped where nobody
// listens any more.
func (h *matrixHold) add(e heldEvent, c matrixChange) error {
	if target := h.byID[c.id]; c.id != "" && target != nil {
		before := len(target.Message.Text)
		target.change(c)
		h.held += len(target.Message.Text) - before
	} else if c.id != "" {
		h.remember(c)
	}
	id := e.Message.ID
	for _, key := range []matrixTarget{{matrixEdit, id, e.Message.AuthorID}, {matrixGone, id, ""}, {matrixThread, id, ""}} {
		if c, found := h.ahead[key]; found {
			delete(h.ahead, key)
			h.kept -= len(c.text)
			e.change(c)
		}
	}
	h.queue = append(h.queue, &e)
	h.byID[id] = &e
	h.held += len(e.Message.Text)
	return h.flush(matrixEvents, matrixBytes)
}

// remember keeps a change for a message that may come later, of several edits the last.
func (h *matrixHold) remember(c matrixChange) {
	known, found := h.ahead[c.matrixTarget]
	if found && known.at >= c.at || len(h.ahead) >= matrixEvents || h.kept+len(c.text) > matrixBytes {
		return
	}
	h.kept += len(c.text) - len(known.text)
	h.ahead[c.matrixTarget] = c
}

// change does to an event what another one says.
func (e *heldEvent) change(c matrixChange) {
	switch m := &e.Message; {
	case c.kind == matrixGone:
		e.Event, m.Text = true, ""
	case c.kind == matrixThread:
		m.SessionID = cmp.Or(m.SessionID, m.ID)
	case c.by == m.AuthorID && c.at >= e.edited && !e.Event:
		m.Text, e.edited = c.text, c.at
	}
}

// flush tells the oldest events until no more than so many of them are held, with no more
// bytes of text.
func (h *matrixHold) flush(events, bytes int) error {
	for len(h.queue) > 0 && (len(h.queue) > events || h.held > bytes) {
		e := h.queue[0]
		h.queue[0], h.queue = nil, h.queue[1:]
		h.held -= len(e.Message.Text)
		if h.byID[e.Message.ID] == e {
			delete(h.byID, e.Message.ID)
		}
		if !h.tell(e.Record) {
			h.queue = nil
			return errStopped
		}
	}
	return nil
}
