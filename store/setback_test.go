package store_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

var rule = reverie.ParkRule{After: 3, RetryAfter: 30 * time.Minute, MaxRetryAfter: 45 * time.Minute}

// setbackOf is what is stored for the group's job, nil if nothing is.
func (w *world) setbackOf(id string, job reverie.Job) *reverie.Setback {
	w.t.Helper()
	for _, s := range must(w.GroupList(w.t.Context(), reverie.GroupQuery{GroupID: id}))(w.t)[0].Setbacks {
		if s.Job == job {
			return &s
		}
	}
	return nil
}

// Failures in a row make a group wait longer, on the database's clock, and park it.
func TestNoteFailure(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.now = noon.AddDate(10, 0, 0) // of no account
	var clock time.Time
	for n, wait := range []time.Duration{30 * time.Minute, 45 * time.Minute, 45 * time.Minute, 45 * time.Minute} {
		s := must(w.NoteFailure(ctx, group, reverie.JobEvolve, "the model \x00 said \xff", rule))(t)
		if s.Failures != n+1 || s.RetryAt.Sub(s.UpdatedAt) != wait || s.Error != "the model \uFFFD said \uFFFD" || (s.ParkedAt != nil) != (n >= 2) {
			t.Errorf("failure %d: %+v", n+1, s)
		}
		if stored := w.setbackOf(group, reverie.JobEvolve); stored == nil || cmp.Diff(*stored, s) != "" {
			t.Errorf("stored %+v, told %+v", stored, s)
		}
		check(t, raw(t).QueryRow(`select clock_timestamp()`).Scan(&clock))
		if d := clock.Sub(s.UpdatedAt); d < 0 || d > time.Minute {
			t.Errorf("noted %s before the database's clock", d)
		}
	}
	if s := must(w.NoteFailure(ctx, group, "dream", "other", rule))(t); s.Failures != 1 || s.ParkedAt != nil {
		t.Errorf("another job's first failure: %+v", s)
	}
	check(t, w.ClearSetback(ctx, group, reverie.JobEvolve))
	check(t, w.ClearSetback(ctx, group, reverie.JobEvolve))
	if w.setbackOf(group, reverie.JobEvolve) != nil || w.setbackOf(group, "dream") == nil {
		t.Error("clearing one job's setback took none or the other's")
	}
	if s := must(w.NoteFailure(ctx, group, reverie.JobEvolve, "again", rule))(t); s.Failures != 1 || s.ParkedAt != nil {
		t.Errorf("the first failure after a success: %+v", s)
	}
	wantErr(t, second(w.NoteFailure(ctx, "nowhere", reverie.JobEvolve, "why", rule)), reverie.ErrNotFound)
}

// Failures that are noted at the same time all count, the first one included.
func TestNoteFailureRace(t *testing.T) {
	s := pgtest.New(t)
	const at = 6
	for _, id := range []string{"a", "b", "c"} {
		check(t, s.AddGroup(t.Context(), reverie.Group{ID: id}))
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[int]bool{}
		for range at {
			wg.Go(func() {
				got, err := s.NoteFailure(t.Context(), id, reverie.JobEvolve, "why", reverie.ParkRule{After: at})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				seen[got.Failures] = true
				if (got.ParkedAt != nil) != (got.Failures == at) {
					t.Errorf("failure %d parked: %v", got.Failures, got.ParkedAt)
				}
			})
		}
		wg.Wait()
		if len(seen) != at || !seen[1] || !seen[at] {
			t.Fatalf("counted %v, want each of 1 to %d once", seen, at)
		}
	}
}

// A failure whose commit is in doubt counts once.
func TestNoteFailureSurvivesALostReply(t *testing.T) {
	for name, f := range map[string]fault{"reply lost": lostReply, "request lost": lostSend} {
		t.Run(name, func(t *testing.T) {
			var n network
			w := openWorld(t, n.options())
			for i := range 3 {
				n.once("COMMIT", f)
				if s := must(w.NoteFailure(t.Context(), group, reverie.JobEvolve, "why", rule))(t); s.Failures != i+1 {
					t.Errorf("failure %d counts as %d", i+1, s.Failures)
				}
			}
			if s := w.setbackOf(group, reverie.JobEvolve); s == nil || s.Failures != 3 {
				t.Errorf("stored %+v", s)
			}
		})
	}
}
