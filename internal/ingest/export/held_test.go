package export

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
)

func heldText(id, text string) HeldRecord {
	return HeldRecord{Record: Record{Message: reverie.Message{ID: id, AuthorID: "@a:x", Text: text, SentAt: time.Unix(1768464000, 0)}}}
}

func editOf(target, text string) Change {
	return Change{ChangeTarget: ChangeTarget{ChangeEdit, target, "@a:x"}, Text: text, At: 1768464009000}
}

// tellInto notes what is told: what messages say, and what becomes of them later.
func tellInto(told map[string]string) func(Record) error {
	return func(r Record) error {
		if told[r.Message.ID] = r.Message.Text; r.Change != nil {
			told["later "+r.Change.ID] = *r.Change.Text + " by " + r.Change.By
		}
		return nil
	}
}

// TestHold holds no more than it should: what is edited long after is told as it was.
func TestHold(t *testing.T) {
	for name, c := range map[string]struct {
		between int
		text    string
		want    string // of the message that is edited
	}{
		"soon":            {10, "hi", "new"},
		"after many":      {holdMost, "hi", "old"},
		"after much text": {9, strings.Repeat("x", 1<<20), "old"},
	} {
		told := map[string]string{}
		h := newHold(tellInto(told))
		err := h.Add(heldText("1", "old"), Change{})
		for i := range c.between {
			err = errors.Join(err, h.Add(heldText("b"+strconv.Itoa(i), c.text), Change{}))
		}
		if h.held > holdBytes || len(h.queue) > holdMost {
			t.Errorf("%s: %d events with %d bytes are held", name, len(h.queue), h.held)
		}
		err = errors.Join(err, h.Add(heldText("e", ""), editOf("1", "new")), h.flush(0, 0), h.tellAhead())
		if later := told["later 1"]; (later == "new by @a:x") != (c.want == "old") {
			t.Errorf("%s: the edit is told as %q", name, later)
		}
		if err != nil || told["1"] != c.want || h.held != 0 || len(h.byID) != 0 {
			t.Errorf("%s: %q, %d bytes and %d ids are still held, %v", name, told["1"], h.held, len(h.byID), err)
		}
	}
	h := newHold(func(Record) error { return errStopped })
	if err := errors.Join(h.Add(heldText("1", "x"), Change{}), h.flush(0, 0)); !errors.Is(err, errStopped) {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestHoldAhead keeps no more edits than it should of messages that may still come.
func TestHoldAhead(t *testing.T) {
	for name, c := range map[string]struct {
		before int
		text   string
		want   string
	}{
		"few":       {10, "hi", "new"},
		"many":      {holdMost, "hi", "old"},
		"much text": {8, strings.Repeat("x", 1<<20), "old"},
	} {
		told := map[string]string{}
		h := newHold(tellInto(told))
		var err error
		for i := range c.before {
			err = errors.Join(err, h.Add(heldText("b"+strconv.Itoa(i), ""), editOf("of "+strconv.Itoa(i), c.text)))
		}
		err = errors.Join(err, h.Add(heldText("e", ""), editOf("1", "new")), h.Add(heldText("1", "old"), Change{}), h.flush(0, 0), h.tellAhead())
		if (told["later 1"] != "") != (c.want == "old") || told["later of 0"] == "" {
			t.Errorf("%s: of what is not there %q and %.20q are told", name, told["later 1"], told["later of 0"])
		}
		if err != nil || told["1"] != c.want || h.kept > holdBytes || len(h.ahead) > holdMost {
			t.Errorf("%s: %q, %d edits with %d bytes are kept, %v", name, told["1"], len(h.ahead), h.kept, err)
		}
	}
}
