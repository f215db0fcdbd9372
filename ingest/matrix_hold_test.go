package ingest

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"reverie"
)

func heldMessage(id, text string) heldEvent {
	return heldEvent{Record: Record{Message: reverie.Message{ID: id, AuthorID: "@a:x", Text: text, SentAt: time.Unix(1768464000, 0)}}}
}

func heldEdit(target, text string) matrixChange {
	return matrixChange{matrixTarget{matrixEdit, target, "@a:x"}, text, 1768464009000}
}

// TestMatrixHold holds no more than it should: what is edited long after is told as it was.
func TestMatrixHold(t *testing.T) {
	for name, c := range map[string]struct {
		between int
		text    string
		want    string // of the message that is edited
	}{
		"soon":            {10, "hi", "new"},
		"after many":      {matrixEvents, "hi", "old"},
		"after much text": {9, strings.Repeat("x", 1<<20), "old"},
	} {
		told := map[string]string{}
		h := newMatrixHold(func(r Record) bool { told[r.Message.ID] = r.Message.Text; return true })
		err := h.add(heldMessage("1", "old"), matrixChange{})
		for i := range c.between {
			err = errors.Join(err, h.add(heldMessage("b"+strconv.Itoa(i), c.text), matrixChange{}))
		}
		if h.held > matrixBytes || len(h.queue) > matrixEvents {
			t.Errorf("%s: %d events with %d bytes are held", name, len(h.queue), h.held)
		}
		err = errors.Join(err, h.add(heldMessage("e", ""), heldEdit("1", "new")), h.flush(0, 0))
		if err != nil || told["1"] != c.want || h.held != 0 || len(h.byID) != 0 {
			t.Errorf("%s: %q, %d bytes and %d ids are still held, %v", name, told["1"], h.held, len(h.byID), err)
		}
	}
	h := newMatrixHold(func(Record) bool { return false })
	if err := errors.Join(h.add(heldMessage("1", "x"), matrixChange{}), h.flush(0, 0)); !errors.Is(err, errStopped) {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestMatrixAhead keeps no more edits than it should of messages that may still come.
func TestMatrixAhead(t *testing.T) {
	for name, c := range map[string]struct {
		before int
		text   string
		want   string
	}{
		"few":       {10, "hi", "new"},
		"many":      {matrixEvents, "hi", "old"},
		"much text": {8, strings.Repeat("x", 1<<20), "old"},
	} {
		told := map[string]string{}
		h := newMatrixHold(func(r Record) bool { told[r.Message.ID] = r.Message.Text; return true })
		var err error
		for i := range c.before {
			err = errors.Join(err, h.add(heldMessage("b"+strconv.Itoa(i), ""), heldEdit("of "+strconv.Itoa(i), c.text)))
		}
		err = errors.Join(err, h.add(heldMessage("e", ""), heldEdit("1", "new")), h.add(heldMessage("1", "old"), matrixChange{}), h.flush(0, 0))
		if err != nil || told["1"] != c.want || h.kept > matrixBytes || len(h.ahead) > matrixEvents {
			t.Errorf("%s: %q, %d edits with %d bytes are kept, %v", name, told["1"], len(h.ahead), h.kept, err)
		}
	}
}
