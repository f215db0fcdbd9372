package store_test

import (
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// TestNights reads what past nights were asked and did, without what a person approved
// of them later, and what was taken back apart.
func TestNights(t *testing.T) {
	w := newWorld(t)
	gone := w.plan(create("taken back"))
	must(w.Apply(t.Context(), w.lease, gone))(t)
	w.finish(gone)
	w.now = w.now.Add(time.Hour)
	must(w.Undo(t.Context(), w.lease, reverie.UndoQuery{GroupID: group, RunID: gone.RunID}))(t)
	w.now = w.now.Add(time.Hour)
	plan := w.plan(create("likes tea"))
	later := create("plays chess")
	plan.Held = []reverie.Step{later}
	must(w.Apply(t.Context(), w.lease, plan))(t)
	w.bill(group, plan.RunID, reverie.Call{Purpose: "evolve", Provider: "openai", Model: "m", InputTokens: 70, OutputTokens: 7, CostUSD: 0.5, Outcome: "ok"})
	check(t, second(w.FinishRun(t.Context(), w.lease, reverie.Run{ID: plan.RunID, Status: reverie.RunHeld})))
	w.now = w.now.Add(time.Hour)
	must(w.ApplyHeld(t.Context(), w.lease, reverie.HeldPlan{GroupID: group, RunID: plan.RunID, ChunkNo: 1}, []reverie.Step{later}, nil))(t)

	nights, undone, err := w.Nights(t.Context(), group, noon.Add(-24*time.Hour), noon)
	check(t, err)
	if len(nights) != 1 || len(undone) != 1 || undone[0].Run.ID != gone.RunID {
		t.Fatalf("%d nights, taken back %+v", len(nights), undone)
	}
	n := nights[0]
	if n.Run.ID != plan.RunID || len(n.Chunks) != 1 || n.Chunks[0].Answer == "" || len(n.Chunks[0].MessageIDs) != 2 {
		t.Errorf("%+v", n)
	}
	if c := n.Chunks[0].Changes; len(c) != 1 || c[0].NewStatement != "likes tea" {
		t.Errorf("changes of the night: %+v", c)
	}
	if n.Spend.Calls != 1 || n.Spend.InputTokens != 70 || n.Spend.CostUSD != 0.5 {
		t.Errorf("spent: %+v", n.Spend)
	}
	if nights, undone, err = w.Nights(t.Context(), group, noon, time.Time{}); err != nil || len(nights)+len(undone) != 0 {
		t.Errorf("windows that begin later: %d, %d (%v)", len(nights), len(undone), err)
	}
	_, _, err = w.Nights(t.Context(), "unknown", time.Time{}, time.Time{})
	wantErr(t, err, reverie.ErrNotFound)
}

// TestShadowThatWentAnotherWay carries what fits over, leaves the rest with a reason, and
// knows a memory by its text that the shadow made by another id.
func TestShadowThatWentAnotherWay(t *testing.T) {
	w := newWorld(t)
	w.nightOf(create("likes tea"), create("plays chess"), create("has a cat"))
	began := w.now.Add(time.Minute)
	w.now = w.now.Add(time.Hour)
	night := w.plan(create("speaks Greek"), update(w.active()["likes tea"], "likes green tea"))
	must(w.Apply(t.Context(), w.lease, night))(t)
	w.finish(night)
	w.now = w.now.Add(time.Hour)
	must(w.edit(w.active()["speaks Greek"].ID, reverie.ActionStrength, 0.9))(t)
	must(w.edit(w.active()["likes green tea"].ID, reverie.ActionDelete, 0))(t)
	must(w.edit(w.active()["has a cat"].ID, reverie.ActionWeight, 1.7))(t)
	must(w.edit(w.active()["plays chess"].ID, reverie.ActionDelete, 0))(t)

	x := must(w.Scratch(t.Context()))(t)
	wantErr(t, x.CopyGroup(t.Context(), "unknown", began), reverie.ErrNotFound)
	check(t, x.CopyGroup(t.Context(), group, began))
	wantErr(t, x.CopyGroup(t.Context(), group, began), reverie.ErrConflict)
	ids := []string{"nobody's"}
	for id := range night.Outcomes {
		ids = append(ids, id)
	}
	missing := must(x.CopyMessages(t.Context(), group, ids))(t)
	if !slices.Equal(missing, []string{"nobody's"}) {
		t.Errorf("missing: %q", missing)
	}
	shadow := &world{parts: partsOf(x.Store), t: t, now: w.now, sent: 100}
	shadow.lease = must(x.AcquireLease(t.Context(), group, reverie.LeaseGroup, "host:1:b", time.Minute))(t)
	shadow.nightOf(create("speaks Greek"), update(shadow.active()["has a cat"], "has two cats"))

	got := must(x.Carry(t.Context(), group, began, time.Time{}, []string{night.RunID}))(t)
	var left []string
	for _, l := range got.Left {
		left = append(left, string(l.Action)+" "+l.Statement+": "+l.Reason)
	}
	want := []string{"delete likes green tea: the memory says something else in the shadow", "values has a cat: the memory says something else in the shadow"}
	if !slices.Equal(left, want) || got.Changes != 2 {
		t.Errorf("%d carried, left %q, want %q", got.Changes, left, want)
	}
	active := shadow.active()
	if m := active["speaks Greek"]; m.Strength != 0.9 {
		t.Errorf("strength set by a person: %+v", m)
	}
	if _, there := active["plays chess"]; there || len(active) != 3 {
		t.Errorf("active in the shadow: %v", active)
	}
	check(t, x.Drop(t.Context()))
}
