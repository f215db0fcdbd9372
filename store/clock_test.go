package store_test

import (
	"fmt"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// sound holds all that is stored of a group to its invariants, but those named.
func (w *world) sound(except ...string) {
	w.t.Helper()
	pgtest.Sound(w.t, w.Store, group, except...)
}

// TestRunsWhileTheClockGoesBack begins, ends, settles and takes back runs under a clock
// that goes back a year each time: none ends before it began, and each begins after what
// was done before, so that those since the second take nothing of the first along.
func TestRunsWhileTheClockGoesBack(t *testing.T) {
	w := newWorld(t)
	w.apply(create("a"))
	w.now = noon.Add(time.Hour)
	var newest time.Time
	for i, end := range []func(run string){
		func(run string) { w.finish(reverie.Plan{RunID: run}) },
		func(run string) { w.finish(reverie.Plan{RunID: run}) },
		func(string) { check(t, second(settle(t.Context(), w, w.lease))) },
		func(run string) { w.undo(run) },
	} {
		plan := w.plan(create(fmt.Sprint("run ", i)))
		run := must(w.Run(t.Context(), group, plan.RunID))(t).Run
		if !run.StartedAt.After(newest) {
			t.Errorf("run %d began %s, and %s something was done", i, run.StartedAt, newest)
		}
		w.now = w.now.AddDate(-1, 0, 0)
		changes := must(w.Apply(t.Context(), w.lease, plan))(t)
		newest = changes[0].CreatedAt
		end(run.ID)
		w.now = w.now.AddDate(-1, 0, 0)
	}
	w.sound("the ledger is complete", "counts of messages add up", "counts of changes add up", "evidence is of its message")
	if runs, _ := w.rewind(noon.Add((5 - 1000) * time.Minute)); runs != 3 { // of the second run's first message
		t.Errorf("%d runs, want three", runs)
	}
}

// TestClaimsWhileTheClockGoesBack replaces, ends and takes back claims under such a clock.
func TestClaimsWhileTheClockGoesBack(t *testing.T) {
	w := newWorld(t)
	lin := w.people("Lin")[0]
	for _, city := range []string{"Porto", "Rome"} {
		w.now = w.now.AddDate(-1, 0, 0)
		plan := w.entityPlan(func(p *reverie.EntityPlan) {
			e := w.whole(lin)[0]
			p.Heads[lin], p.Claims = e.Version, []reverie.ClaimStep{replace(e.Claims[0], city)}
		})
		must(w.ApplyEntities(t.Context(), w.lease, plan))(t)
		if city == "Rome" {
			w.now = w.now.AddDate(-1, 0, 0)
			w.undo(plan.RunID)
		}
	}
	wantSaid(t, w.whole(lin)[0], "subject Lin", "id account of Lin", "city Porto v4")
	w.sound("the ledger is complete", "counts of messages add up", "counts of changes add up", "quotes are found", "one run at a time")
}
