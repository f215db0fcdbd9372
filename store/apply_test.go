package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

func TestApplyWritesVersions(t *testing.T) {
	w := newWorld(t)
	tea, cats, chess := create("likes tea"), create("has two cats"), create("plays chess")
	w.apply(tea, cats, chess)
	heads := w.active()
	if len(heads) != 3 {
		t.Fatalf("active %v", heads)
	}
	got := heads["likes tea"]
	want := reverie.Memory{GroupID: group, ID: tea.MemoryID, LineageID: tea.LineageID, Kind: reverie.KindGroup, Statement: "likes tea",
		Version: 1, CreatedAt: noon, UpdatedAt: noon, LastSupportedAt: noon.Add(-time.Hour), Status: reverie.StatusActive,
		Strength: 0.3, Weight: 1, Tags: []string{"food", `a "quoted", tag`}, ContentHash: hash("likes tea"), EmbeddingModel: model,
		ChangeSummary: "said so", RunID: got.RunID, Type: reverie.TypeFact, Origin: "model", SaidAt: noon.Add(-time.Hour)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}

	check(t, second(w.Edit(t.Context(), reverie.Edit{GroupID: group, MemoryID: tea.MemoryID, Action: reverie.ActionWeight, Value: 1.7})))
	w.now = noon.Add(24 * time.Hour)
	next := update(heads["likes tea"], "likes green tea")
	next.Tags = nil
	changes := w.apply(next, remove(heads["plays chess"], "stopped"), support(heads["has two cats"], "2026-01-16", 0.51), create("plays go"))
	heads = w.active()
	green, has := heads["likes green tea"]
	if !has || len(heads) != 3 {
		t.Fatalf("active %v", heads)
	}
	if green.Version != 2 || *green.ParentID != tea.MemoryID || green.Weight != 1.7 || !green.CreatedAt.Equal(noon) ||
		!green.UpdatedAt.Equal(w.now) || len(green.Tags) != 2 {
		t.Errorf("the update did not inherit its lineage: %+v", green)
	}
	if m := heads["has two cats"]; m.Version != 1 || m.Strength != 0.51 || !m.LastSupportedAt.Equal(noon) {
		t.Errorf("support: %+v", m)
	}
	var actions []reverie.Action
	for _, c := range changes {
		actions = append(actions, c.Action)
	}
	if diff := cmp.Diff([]reverie.Action{reverie.ActionUpdate, reverie.ActionDelete, reverie.ActionCreate}, actions); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	logged := must(w.Changes(t.Context(), group, w.now, time.Time{}, 0))(t)
	if len(logged) != 3 || logged[2].OldStatement != "likes tea" || logged[2].NewStatement != "likes green tea" || logged[2].Version != 2 ||
		*logged[2].OldID != tea.MemoryID || len(logged[2].Evidence) != 1 {
		t.Errorf("log %+v", logged)
	}
	if diff := cmp.Diff(changes[0], logged[2]); diff != "" {
		t.Errorf("what Apply returns and what is stored differ (-returned +stored):\n%s", diff)
	}
	history := must(w.HistoryAt(t.Context(), "", tea.MemoryID, reverie.When{}))(t)
	if len(history) != 2 || history[0].Status != reverie.StatusSuperseded || history[1].ID != green.ID {
		t.Errorf("history %+v", history)
	}
	state := must(w.Gather(t.Context(), reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup}))(t)
	for _, h := range state.Heads {
		if h.Statement == "has two cats" {
			if diff := cmp.Diff([]string{"2026-01-15", "2026-01-16"}, h.SupportDates); diff != "" {
				t.Errorf("support dates (-want +got):\n%s", diff)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestApplyIsIdempotentByChunk(t *testing.T) {
	w := newWorld(t)
	plan := w.plan(create("likes tea"))
	first := must(w.Apply(t.Context(), w.lease, plan))(t)
	again := must(w.Apply(t.Context(), w.lease, plan))(t)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("changes of the second (-first +second):\n%s", diff)
	}
	if n := count(t, raw(t), `select count(*) from memories`); n != 1 {
		t.Errorf("%d memories, want 1", n)
	}
}

// A plan that cannot be applied leaves nothing of itself behind.
func TestApplyIsAtomic(t *testing.T) {
	tests := map[string]struct {
		spoil func(w *world, head reverie.Memory, plan *reverie.Plan)
		want  error
	}{
		"head moved": {func(w *world, head reverie.Memory, plan *reverie.Plan) {
			w.apply(update(head, "likes black tea"))
		}, reverie.ErrConflict},
		"head deleted by a person": {func(w *world, head reverie.Memory, _ *reverie.Plan) {
			check(w.t, second(w.Edit(context.Background(), reverie.Edit{GroupID: group, MemoryID: head.ID, Action: reverie.ActionDelete})))
		}, reverie.ErrConflict},
		"version disagrees": {func(_ *world, _ reverie.Memory, plan *reverie.Plan) { plan.Steps[1].Head.Version = 7 }, reverie.ErrConflict},
		"text is taken": {func(w *world, _ reverie.Memory, plan *reverie.Plan) {
			w.apply(create(plan.Steps[0].Statement))
		}, reverie.ErrConflict},
		"same text twice": {func(_ *world, _ reverie.Memory, plan *reverie.Plan) {
			plan.Steps = append(plan.Steps, create(plan.Steps[0].Statement))
		}, reverie.ErrConflict},
		"message consumed": {func(w *world, _ reverie.Memory, plan *reverie.Plan) {
			for id := range plan.Outcomes {
				run := w.chunk("", 1, []string{id})
				check(w.t, second(w.Apply(context.Background(), w.lease, reverie.Plan{GroupID: group, RunID: run, ChunkNo: 1,
					Outcomes: map[string]reverie.Outcome{id: reverie.OutcomeConsidered}})))
				break
			}
		}, reverie.ErrConflict},
		"unknown message": {func(_ *world, _ reverie.Memory, plan *reverie.Plan) { plan.Outcomes["nowhere"] = reverie.OutcomeCited }, reverie.ErrConflict},
		"wrong outcome":   {func(_ *world, _ reverie.Memory, plan *reverie.Plan) { plan.Outcomes[first(plan.Outcomes)] = "eaten" }, reverie.ErrInvalid},
		"lineage twice": {func(_ *world, head reverie.Memory, plan *reverie.Plan) {
			plan.Steps = append(plan.Steps, remove(head, "also"))
		}, reverie.ErrInvalid},
		"vector without direction": {func(_ *world, _ reverie.Memory, plan *reverie.Plan) { plan.Steps[0].Embedding = []float32{0, 0, 0} }, reverie.ErrInvalid},
		"vector of another width":  {func(_ *world, _ reverie.Memory, plan *reverie.Plan) { plan.Steps[0].Embedding = []float32{1, 0} }, reverie.ErrInvalid},
		"strength out of range":    {func(_ *world, _ reverie.Memory, plan *reverie.Plan) { plan.Steps[0].Strength = 1.1 }, reverie.ErrInvalid},
		"evidence without a date":  {func(_ *world, _ reverie.Memory, plan *reverie.Plan) { plan.Steps[0].Evidence[0].LocalDate = "" }, reverie.ErrInvalid},
		"no such chunk":            {func(_ *world, _ reverie.Memory, plan *reverie.Plan) { plan.ChunkNo = 9 }, reverie.ErrNotFound},
		"run has ended": {func(w *world, _ reverie.Memory, plan *reverie.Plan) {
			check(w.t, second(w.FinishRun(context.Background(), w.lease, reverie.Run{ID: plan.RunID, Status: reverie.RunFailed})))
		}, reverie.ErrConflict},
		"another group's lease": {func(_ *world, _ reverie.Memory, plan *reverie.Plan) { plan.GroupID = "g2" }, reverie.ErrInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(create("likes tea"))
			head := w.active()["likes tea"]
			plan := w.plan(create("plays go"), update(head, "likes green tea"))
			tt.spoil(w, head, &plan)
			db := raw(t)
			before := snapshot(t, w)
			rows := count(t, db, `select (select count(*) from memories) + (select count(*) from memory_change_log)
				+ (select count(*) from memory_evidence) + (select count(*) from held_plans)`)
			_, err := w.Apply(t.Context(), w.lease, plan)
			wantErr(t, err, tt.want)
			if diff := cmp.Diff(before, snapshot(t, w)); diff != "" {
				t.Errorf("something was written (-before +after):\n%s", diff)
			}
			if after := count(t, db, `select (select count(*) from memories) + (select count(*) from memory_change_log)
				+ (select count(*) from memory_evidence) + (select count(*) from held_plans)`); after != rows {
				t.Errorf("%d rows were %d", after, rows)
			}
		})
	}
}

func first[V any](m map[string]V) string {
	for k := range m {
		return k
	}
	return ""
}

// snapshot is what a failed apply must not change.
func snapshot(t testing.TB, w *world) any {
	t.Helper()
	return []any{w.active(), must(w.MessageCounts(t.Context(), group))(t), must(w.Runs(t.Context(), reverie.RunQuery{GroupID: group}))(t)}
}

// Reusing the text of what the same plan ends is no conflict: ends come first.
func TestApplyMayReuseAFreedText(t *testing.T) {
	w := newWorld(t)
	w.apply(create("likes tea"), create("likes coffee"))
	heads := w.active()
	w.apply(remove(heads["likes tea"], reverie.ReasonMerged), update(heads["likes coffee"], "likes tea"))
	if heads = w.active(); len(heads) != 1 || heads["likes tea"].Version != 2 {
		t.Errorf("active %v", heads)
	}
}

func TestApplyCountsMessagesOnce(t *testing.T) {
	w := newWorld(t)
	ids := w.messages(10)
	run := w.chunk("", 1, ids[:4])
	w.chunk(run, 2, ids[4:7])
	for no, part := range map[int][]string{1: ids[:4], 2: ids[4:7]} {
		outcomes := map[string]reverie.Outcome{}
		for i, id := range part {
			outcomes[id] = []reverie.Outcome{reverie.OutcomeCited, reverie.OutcomeConsidered, reverie.OutcomeFiltered}[i%3]
		}
		check(t, second(w.Apply(t.Context(), w.lease, reverie.Plan{GroupID: group, RunID: run, ChunkNo: no, Outcomes: outcomes,
			Stats: reverie.Stats{Chunks: no}, Refusals: []reverie.Refusal{{Line: 1, Rule: "evidence", Detail: "none"}}})))
	}
	c := must(w.MessageCounts(t.Context(), group))(t)
	if c.Pending != 3 || c.Cited+c.Considered+c.Filtered != 7 {
		t.Errorf("counts %+v, want 3 pending and 7 consumed", c)
	}
	d := must(w.Run(t.Context(), "", run))(t)
	if len(d.Chunks) != 2 || d.Chunks[0].Status != reverie.ChunkApplied || len(d.Chunks[0].Refusals) != 1 || d.Run.Stats.Chunks == 0 {
		t.Errorf("ledger %+v", d)
	}
}

func TestFenceKeepsOldHoldersOut(t *testing.T) {
	w := newWorld(t)
	plan := w.plan(create("likes tea"))
	old := w.lease
	check(t, w.ReleaseLease(t.Context(), old))
	w.lease = must(w.AcquireLease(t.Context(), group, reverie.LeaseGroup, "host:2:b", time.Minute))(t)
	ctx := t.Context()
	for name, err := range map[string]error{
		"apply":   second(w.Apply(ctx, old, plan)),
		"start":   second(w.StartRun(ctx, old, reverie.Run{Job: reverie.JobEvolve})),
		"chunk":   w.SaveChunk(ctx, old, reverie.Chunk{RunID: plan.RunID, No: 2, Status: reverie.ChunkOpen}),
		"settle":  second(settle(ctx, w, old)),
		"renew":   second(w.RenewLease(ctx, old, time.Minute)),
		"finish":  second(w.FinishRun(ctx, old, reverie.Run{ID: plan.RunID, Status: reverie.RunFailed, Error: "late"})),
		"approve": second(w.ApplyHeld(ctx, old, reverie.HeldPlan{GroupID: group, RunID: plan.RunID, ChunkNo: 1}, nil, nil)),
		"reject":  second(w.RejectHeld(ctx, old, group, plan.RunID, true)),
	} {
		if !errors.Is(err, reverie.ErrLeaseLost) {
			t.Errorf("%s with the old fence: %v, want lease lost", name, err)
		}
	}
	if len(w.active()) != 0 {
		t.Error("the old holder wrote a memory")
	}
	if run := must(w.Run(ctx, group, plan.RunID))(t).Run; run.Status != reverie.RunRunning || run.Error != "" {
		t.Errorf("the old holder ended the run: %+v", run)
	}
	check(t, w.ReleaseLease(ctx, old)) // not the old holder's to free
	check(t, second(w.RenewLease(ctx, w.lease, time.Minute)))
}
