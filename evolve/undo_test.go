package evolve

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/history"
)

// TestUndoOfNights takes the nights of random histories back one by one, the newest first:
// each time the group remembers what it did before that night, strength and time of
// support included. Those of a night that wait to be read again lead to the same end.
func TestUndoOfNights(t *testing.T) {
	for _, seed := range []uint64{0, 2} { // 2: a person approves what is held
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newTale(t, seed)
			s.nights = 6
			s.tell()
			end, kept := s.remembered(content), s.history()
			runs := must(s.store.Runs(t.Context(), reverie.RunQuery{GroupID: s.group}))(t)
			if len(runs) != s.nights {
				t.Fatalf("%d runs, want one a night", len(runs))
			}
			for i, run := range runs {
				n := s.nights - 1 - i
				s.now = s.now.Add(time.Minute)
				h := s.hold()
				res := must(history.New(s.store.DB()).Undo(t.Context(), h.lease, reverie.UndoQuery{GroupID: s.group, RunID: run.ID, Requeue: true}))(t)
				s.release(h)
				if now := s.remembered(supported); !maps.Equal(now, s.before[n]) || !res.Exact || len(res.Left) > 0 {
					t.Fatalf("night %d is undone: %+v\n got %q\nwant %q", n, res, sorted(now), sorted(s.before[n]))
				}
				if pending := must(s.store.CountPending(t.Context(), s.group, night(n).Since, night(n).Until))(t); pending != res.Requeued || pending == 0 {
					t.Errorf("night %d: %d messages are pending, %d were requeued", n, pending, res.Requeued)
				}
			}
			s.replay()
			if now := s.remembered(content); fmt.Sprint(sorted(now)) != fmt.Sprint(sorted(end)) {
				t.Errorf("evolved anew:\n got %q\nwant %q", sorted(now), sorted(end))
			}
			for i, now := range s.history() {
				if now < kept[i] {
					t.Errorf("history fell from %v to %v", kept, s.history())
				}
			}
			s.wantSound()
			s.wantWithdrawn()
		})
	}
}
