package store_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// nth breaks the network at the nth request from now on, once.
func (n *network) nth(number int64, f fault) {
	var sent atomic.Int64
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop = func([]byte) fault {
		if sent.Add(1) == number {
			return f
		}
		return healthy
	}
}

// The link breaks at every request of an import, of applying an extraction and of a
// fold: each is done once, and told as done, or can be done again.
func TestSessionsSurviveBrokenLinks(t *testing.T) {
	var n network
	w := openWorld(t, n.options())
	ctx := t.Context()
	twice := func(what string, do func() error) {
		t.Helper()
		if err := do(); err != nil {
			n.heal()
			if err := do(); err != nil {
				t.Fatalf("%s, again: %v", what, err)
			}
		}
		n.heal()
	}
	for at := range int64(12) {
		for name, f := range map[string]fault{"reply": lostReply, "request": lostSend} {
			if (at%2 == 0) != (f == lostReply) && at < 7 { // the one or the other, but both where commits are
				continue
			}
			session := fmt.Sprint(name, at)
			list := []reverie.Message{line(session+"u", session, "user", 0), line(session+"a", session, "assistant", 1), line(session+"c", "", "user", int(at)*7)}
			n.nth(at+1, f)
			twice("import of "+session, func() error { return second(w.ImportMessages(ctx, group, list)) })
			run := w.extraction(session, []string{session + "u", session + "a"})
			n.nth(at+1, f)
			twice("extraction of "+session, func() error {
				return second(w.Apply(ctx, w.lease, takes(run, 1, session, []string{session + "u", session + "a"}, ofSession(create(session), session, reverie.TagSession))))
			})
			n.nth(at+1, f)
			if err := w.ApplyFold(ctx, w.lease, folds(run, session, list[:2]...)); err != nil {
				t.Fatalf("fold of %s: %v", session, err)
			}
			n.heal()
			check(t, second(w.FinishRun(ctx, w.lease, reverie.Run{ID: run, Status: reverie.RunSucceeded})))
		}
	}
	sessions := w.counted(group)
	for id, s := range sessions {
		if want := (reverie.Tally{}); !s.Cut && (s.New != want || s.Extractions != 1 || s.Folded != s.Total || s.Total.Turns != 1) {
			t.Errorf("%s is %+v", id, s)
		}
	}
	if rows := pgtest.Rows(t, raw(t), `select (select count(*) from messages), (select count(*) from message_uses where job = 'extract'),
			(select count(*) from message_uses where job = 'summarize'), (select count(*) from memories), (select count(*) from sessions where cut)`); rows[0] != "51|51|34|17|1" {
		t.Errorf("rows: %v", rows)
	}
}
