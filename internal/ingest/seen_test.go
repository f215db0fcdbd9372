package ingest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// TestSeen: another message of an id gets one of its own, the same one and an empty one do not, and each import
// gives the same ids.
func TestSeen(t *testing.T) {
	at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	long := strings.Repeat("长", reverie.MaxMessageIDLength/3)
	list := []reverie.Message{{ID: "1", AuthorID: "a", Text: "x", SentAt: at}, {ID: "1", AuthorID: "a", Text: "x", SentAt: at},
		{ID: "1", AuthorID: "a", Text: "", SentAt: at}, {ID: "1", AuthorID: "b", Text: "x", SentAt: at}, {ID: "1", AuthorID: "b", Text: "x", SentAt: at},
		{ID: "1", AuthorID: "a", Text: "x", SentAt: at.Add(time.Second)}, {ID: "1", AuthorID: "a", Text: "y", SentAt: at},
		{ID: "1", GroupID: "other", AuthorID: "a", Text: "y", SentAt: at}, {ID: long, AuthorID: "a", Text: "x", SentAt: at},
		{ID: long, AuthorID: "a", Text: "y", SentAt: at}}
	want := []bool{false, false, false, true, false, true, true, false, false, true}
	var first []string
	for range 2 {
		var s seen
		ids := map[string]bool{}
		var all []string
		for i, m := range list {
			if got := s.resolveID(&m, false) == otherOfID; got != want[i] {
				t.Errorf("message %d gets an id of its own: %t", i, got)
			}
			if m.GroupID == "" && len(m.ID) > 0 {
				ids[m.ID] = true
			}
			if all = append(all, m.ID); m.Normalize() != nil {
				t.Errorf("message %d has the id %q", i, m.ID)
			}
		}
		if len(ids) != 6 || first != nil && strings.Join(first, " ") != strings.Join(all, " ") {
			t.Errorf("ids are %q, and before %q", all, first)
		}
		first = all
	}
	var g seen
	for i, m := range []reverie.Message{{ID: "1", Text: "x"}, {ID: "1", Deleted: true}, {ID: "1", Text: "x"}, {ID: "1", Deleted: true},
		{ID: "2", Deleted: true}, {ID: "2", Text: "x"}} {
		if got := g.resolveID(&m, false); got != []sameID{firstOfID, editOfID, oldOfID, oldOfID, firstOfID, oldOfID}[i] {
			t.Errorf("message %d of those that are deleted: %d", i, got)
		}
	}
	var s seen
	for i := range 2*maxSeen + 2 {
		s.resolveID(&reverie.Message{ID: strconv.Itoa(i), Text: "x", SentAt: at}, false)
	}
	if n := len(s.now) + len(s.before); n > 2*maxSeen {
		t.Errorf("%d are remembered", n)
	}
}
