package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// heldRun applies a chunk that is held whole, and one of which a line is held.
func heldRun(t *testing.T) (w *world, run string, whole, line reverie.Step) {
	w = newWorld(t)
	w.apply(create("likes tea"), create("plays chess"))
	heads := w.active()
	whole, line = update(heads["likes tea"], "likes green tea"), remove(heads["plays chess"], "stopped")
	first, second := w.messages(2), w.messages(3)
	run = w.chunk("", 1, first)
	plan := consumeAll(run, first)
	plan.HeldAll, plan.Held, plan.HeldReason = true, []reverie.Step{whole}, "too much at once"
	plan.Outcomes[first[0]] = reverie.OutcomeCited
	plan.Stats = reverie.Stats{Kept: 2, Held: 1, Cited: 1, Considered: 1}
	must(w.Apply(t.Context(), w.lease, plan))(t)
	w.chunk(run, 2, second)
	plan = consumeAll(run, second)
	plan.ChunkNo, plan.Held = 2, []reverie.Step{line}
	plan.Stats = reverie.Stats{Kept: 2, Held: 2, Cited: 1, Considered: 4}
	must(w.Apply(t.Context(), w.lease, plan))(t)
	if _, err := w.FinishRun(t.Context(), w.lease, reverie.Run{ID: run, Status: reverie.RunHeld, Stats: plan.Stats}); err != nil {
		t.Fatal(err)
	}
	return w, run, whole, line
}

func TestApproveHeldPlans(t *testing.T) {
	w, run, whole, line := heldRun(t)
	ctx := t.Context()
	d := must(w.Run(ctx, group, run))(t)
	if len(d.Held) != 2 || !d.Held[0].Whole || d.Held[1].Whole || d.Held[0].Reason != "too much at once" ||
		d.Chunks[0].Status != reverie.ChunkHeld || d.Chunks[1].Status != reverie.ChunkApplied || len(d.Changes) != 0 {
		t.Fatalf("held run %+v", d)
	}
	stored := whole
	stored.Embedding, stored.EmbeddingModel = nil, "" // not kept: derived data
	if diff := cmp.Diff([]reverie.Step{stored}, d.Held[0].Steps); diff != "" {
		t.Errorf("held steps (-want +got):\n%s", diff)
	}
	changes := must(w.ApplyHeld(ctx, w.lease, d.Held[0], d.Held[0].Steps, nil))(t)
	if len(changes) != 1 || w.active()["likes green tea"].Version != 2 {
		t.Errorf("approved %+v", changes)
	}
	if got := must(w.Run(ctx, group, run))(t).Run; got.Status != reverie.RunHeld {
		t.Errorf("one plan still waits, and the run is %s", got.Status)
	}
	wantErr(t, second(w.ApplyHeld(ctx, w.lease, d.Held[0], d.Held[0].Steps, nil)), reverie.ErrConflict)

	// The other plan's head has moved meanwhile: a person refuses that line.
	moved := w.active()["plays chess"]
	w.apply(update(moved, "plays chess on Sundays"))
	wantErr(t, second(w.ApplyHeld(ctx, w.lease, d.Held[1], []reverie.Step{line}, nil)), reverie.ErrConflict)
	refusal := reverie.Refusal{Line: 1, Action: "delete", Rule: "stale", Detail: "the memory has moved"}
	check(t, second(w.ApplyHeld(ctx, w.lease, d.Held[1], nil, []reverie.Refusal{refusal})))
	d = must(w.Run(ctx, group, run))(t)
	want := reverie.Stats{Kept: 1, Updated: 1, Refused: 1, Cited: 1, Considered: 4}
	if d.Run.Status != reverie.RunSucceeded || d.Run.Stats != want || cmp.Diff([]reverie.Refusal{refusal}, d.Chunks[1].Refusals) != "" {
		t.Errorf("run %+v, chunks %+v", d.Run, d.Chunks)
	}
	wantErr(t, second(w.RejectHeld(ctx, w.lease, group, run, true)), reverie.ErrConflict)
}

func TestRejectHeldPlans(t *testing.T) {
	for name, want := range map[string]int{"requeue": 2, "drop": 0} { // the chunk that was held whole, not the one with a line
		t.Run(name, func(t *testing.T) {
			w, run, _, _ := heldRun(t)
			requeue := want > 0
			before := must(w.MessageCounts(t.Context(), group))(t)
			n := must(w.RejectHeld(t.Context(), w.lease, group, run, requeue))(t)
			after := must(w.MessageCounts(t.Context(), group))(t)
			d := must(w.Run(t.Context(), group, run))(t)
			if n != want || after.Pending != before.Pending+want {
				t.Errorf("%d requeued, %d pending, want %d", n, after.Pending, want)
			}
			if d.Run.Status != reverie.RunRejected || d.Held[0].Status != reverie.HeldRejected || d.Held[1].Status != reverie.HeldRejected {
				t.Errorf("ledger %+v", d)
			}
			if st := d.Run.Stats; st.Deferred != want || st.Cited+st.Considered != 5-want {
				t.Errorf("stats %+v", st)
			}
			wantErr(t, second(w.RejectHeld(t.Context(), w.lease, group, run, requeue)), reverie.ErrConflict)
			wantErr(t, second(w.RejectHeld(t.Context(), w.lease, group, reverie.NewID(), requeue)), reverie.ErrNotFound)
			if len(w.active()) != 2 {
				t.Errorf("active %v", w.active())
			}
		})
	}
}
