package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

func TestAttemptCountsRunsOfTheSameWindow(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	window := reverie.Run{Job: reverie.JobEvolve, WindowSince: noon.Add(-24 * time.Hour), WindowUntil: noon,
		Model: "openai/m", PromptVersion: "2", PromptSHA256: "abc", Stats: reverie.Stats{Kept: 3}}
	for i, status := range []reverie.RunStatus{reverie.RunDeferred, reverie.RunFailed, reverie.RunSucceeded, reverie.RunFailed} {
		run := must(w.StartRun(ctx, w.lease, window))(t)
		if want := []int{1, 2, 3, 4}[i]; run.Attempt != want || run.Status != reverie.RunRunning || run.GroupID != group {
			t.Fatalf("run %d: %+v, want attempt %d", i, run, want)
		}
		if got := must(w.Run(ctx, group, run.ID))(t).Run; cmp.Diff(run, got) != "" {
			t.Errorf("stored run (-want +got):\n%s", cmp.Diff(run, got))
		}
		run.Status, run.Error = status, "why"
		w.now = w.now.Add(time.Minute)
		check(t, second(w.FinishRun(ctx, w.lease, run)))
	}
	other := window
	other.WindowSince = time.Time{} // the beginning
	run := must(w.StartRun(ctx, w.lease, other))(t)
	if run.Attempt != 1 {
		t.Errorf("attempt %d of another window, want 1", run.Attempt)
	}
	list := must(w.Runs(ctx, reverie.RunQuery{GroupID: group, Job: reverie.JobEvolve, Limit: 2}))(t)
	if len(list) != 2 || list[0].ID != run.ID || !list[0].WindowSince.IsZero() {
		t.Errorf("newest runs %+v", list)
	}
	if list = must(w.Runs(ctx, reverie.RunQuery{Status: reverie.RunFailed, Since: noon.Add(2 * time.Minute)}))(t); len(list) != 1 {
		t.Errorf("%d failed runs since, want 1", len(list))
	}
	wantErr(t, second(w.FinishRun(ctx, w.lease, reverie.Run{ID: reverie.NewID(), Status: reverie.RunFailed})), reverie.ErrNotFound)
	wantErr(t, second(w.FinishRun(ctx, w.lease, reverie.Run{ID: run.ID, Status: reverie.RunRunning})), reverie.ErrInvalid)
	wantErr(t, second(w.Run(ctx, "", "no id")), reverie.ErrNotFound)
	wantErr(t, second(w.Run(ctx, "elsewhere", run.ID)), reverie.ErrNotFound)
}

// settle resumes a window that no run has, so that none is continued and all
// are settled.
func settle(ctx context.Context, w *world, lease reverie.Lease) (*reverie.Chunk, error) {
	_, chunk, err := w.Resume(ctx, lease, reverie.JobEvolve, time.Unix(1, 0), time.Unix(2, 0))
	return chunk, err
}

func TestSettleInterrupted(t *testing.T) {
	tests := map[string]struct {
		prepare func(w *world, run string, ids []string)
		want    reverie.RunStatus
		resume  bool
	}{
		"killed before the answer": {func(w *world, run string, ids []string) {
			check(w.t, w.SaveChunk(w.t.Context(), w.lease, reverie.Chunk{RunID: run, No: 1, MessageIDs: ids, Status: reverie.ChunkOpen}))
		}, reverie.RunFailed, false},
		"killed before applying": {func(*world, string, []string) {}, reverie.RunFailed, true},
		"killed before finishing": {func(w *world, run string, ids []string) {
			check(w.t, second(w.Apply(w.t.Context(), w.lease, consumeAll(run, ids))))
		}, reverie.RunSucceeded, false},
		"killed before the second chunk": {func(w *world, run string, ids []string) {
			w.messages(1)
			check(w.t, second(w.Apply(w.t.Context(), w.lease, consumeAll(run, ids))))
		}, reverie.RunFailed, false},
		"killed while held": {func(w *world, run string, ids []string) {
			plan := consumeAll(run, ids)
			plan.HeldAll, plan.Held = true, []reverie.Step{create("likes tea")}
			check(w.t, second(w.Apply(w.t.Context(), w.lease, plan)))
		}, reverie.RunHeld, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ids := w.messages(3)
			run := w.chunk("", 1, ids)
			tt.prepare(w, run, ids)
			w.now = noon.Add(time.Hour)
			chunk := must(settle(t.Context(), w, w.lease))(t)
			got := must(w.Run(t.Context(), group, run))(t).Run
			if got.Status != tt.want || got.FinishedAt == nil || (got.Error == "") != (tt.want != reverie.RunFailed) {
				t.Errorf("run %+v, want %s", got, tt.want)
			}
			if pending := must(w.MessageCounts(t.Context(), group))(t).Pending; got.Stats.Deferred != pending {
				t.Errorf("deferred %d, want %d", got.Stats.Deferred, pending)
			}
			if (chunk != nil) != tt.resume {
				t.Fatalf("resume %+v, want one: %v", chunk, tt.resume)
			}
			if chunk != nil && (chunk.Answer != `{"action":"none"}` || cmp.Diff(ids, chunk.MessageIDs) != "" || chunk.InputSHA256 != "in") {
				t.Errorf("resume %+v", chunk)
			}
			check(t, second(settle(t.Context(), w, w.lease)))
			if again := must(w.Run(t.Context(), group, run))(t).Run; cmp.Diff(got, again) != "" {
				t.Errorf("settling twice changed the run (-once +twice):\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func consumeAll(run string, ids []string) reverie.Plan {
	plan := reverie.Plan{GroupID: group, RunID: run, ChunkNo: 1, Kind: reverie.KindGroup, Outcomes: map[string]reverie.Outcome{}}
	for _, id := range ids {
		plan.Outcomes[id] = reverie.OutcomeConsidered
	}
	return plan
}

func TestSaveChunkLeavesAppliedOnes(t *testing.T) {
	w := newWorld(t)
	plan := w.plan(create("likes tea"))
	check(t, second(w.Apply(t.Context(), w.lease, plan)))
	err := w.SaveChunk(t.Context(), w.lease, reverie.Chunk{RunID: plan.RunID, No: 1, Status: reverie.ChunkOpen})
	wantErr(t, err, reverie.ErrConflict)
	err = w.SaveChunk(t.Context(), w.lease, reverie.Chunk{RunID: reverie.NewID(), No: 1, Status: reverie.ChunkOpen})
	wantErr(t, err, reverie.ErrNotFound)
}

func TestRecordCall(t *testing.T) {
	w := newWorld(t)
	run := w.chunk("", 1, w.messages(1))
	call := reverie.Call{GroupID: group, RunID: &run, ID: reverie.NewID(), Purpose: "evolve", Provider: "openai", Model: "m",
		InputTokens: 1200, OutputTokens: 34, CachedTokens: 900, Tier: "flex", CostUSD: 0.000123, Latency: 1500 * time.Millisecond, Outcome: "ok", CreatedAt: noon}
	check(t, w.RecordCall(t.Context(), call))
	check(t, w.RecordCall(t.Context(), call))
	dry := reverie.NewID()
	check(t, w.RecordCall(t.Context(), reverie.Call{GroupID: group, RunID: &dry, Purpose: "evolve", Outcome: "timeout"}))
	got := must(w.Run(t.Context(), group, run))(t).Calls
	if diff := cmp.Diff([]reverie.Call{call}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if n := count(t, raw(t), `select count(*) from llm_calls`); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

// A run that was interrupted goes on under its own row; older ones are settled.
func TestResume(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	since, until := noon.Add(-24*time.Hour), noon
	old := w.chunk("", 1, w.messages(1))
	w.now = noon.Add(time.Minute)
	ids := w.messages(2)
	run := w.chunk("", 1, ids)
	for _, window := range []struct {
		name         string
		since, until time.Time
	}{{"exact", since, until}, {"open end", since, time.Time{}}, {"any", time.Time{}, time.Time{}}} {
		name := window.name
		if name == "open end" { // from here on, as if the run's own end had come from the clock
			if _, err := raw(t).Exec(`update runs set stats = stats || '{"open_ended": true}' where run_id = $1`, run); err != nil {
				t.Fatal(err)
			}
		}
		row, chunk, err := w.Resume(ctx, w.lease, reverie.JobEvolve, window.since, window.until)
		check(t, err)
		if row == nil || row.ID != run || row.Status != reverie.RunRunning || chunk == nil || chunk.RunID != run || cmp.Diff(ids, chunk.MessageIDs) != "" {
			t.Fatalf("%s: resumed %+v with %+v, want %s with its answer", name, row, chunk, run)
		}
	}
	if got := must(w.Run(ctx, group, old))(t).Run; got.Status != reverie.RunFailed || got.Error == "" {
		t.Errorf("the older run is %+v, want failed", got)
	}
	// It reaches to where it was continued, and no less.
	check(t, second(w.FinishRun(ctx, w.lease, reverie.Run{ID: run, Status: reverie.RunDeferred, WindowUntil: noon.Add(time.Hour)})))
	if got := must(w.Run(ctx, group, run))(t).Run; !got.WindowUntil.Equal(noon.Add(time.Hour)) {
		t.Errorf("window ends %v", got.WindowUntil)
	}
	row, chunk, err := w.Resume(ctx, w.lease, reverie.JobEvolve, since, until)
	check(t, err)
	if row != nil || chunk == nil || chunk.RunID != run {
		t.Errorf("resumed %+v with %+v, want no run but the paid answer", row, chunk)
	}
	check(t, w.SaveChunk(ctx, w.lease, reverie.Chunk{RunID: w.chunk("", 9, nil), No: 1, Status: reverie.ChunkOpen}))
	if row, _, err = w.Resume(ctx, w.lease, reverie.JobEvolve, since.Add(time.Second), until); err != nil || row != nil {
		t.Errorf("another window's run was resumed: %+v, %v", row, err)
	}
}

// What a model writes is kept even where PostgreSQL could not keep it as it is.
func TestHostileTextIsKept(t *testing.T) {
	w := newWorld(t)
	ids := w.messages(1)
	run := w.chunk("", 1, ids)
	check(t, w.SaveChunk(t.Context(), w.lease, reverie.Chunk{RunID: run, No: 1, MessageIDs: ids, Answer: "a\x00b\xff", Status: reverie.ChunkAnswered}))
	plan := consumeAll(run, ids)
	plan.Refusals = []reverie.Refusal{{Line: 1, Handle: "m\x001", Rule: "id", Detail: "\xff"}}
	must(w.Apply(t.Context(), w.lease, plan))(t)
	check(t, second(w.FinishRun(t.Context(), w.lease, reverie.Run{ID: run, Status: reverie.RunFailed, Error: "x\x00"})))
	d := must(w.Run(t.Context(), group, run))(t)
	if d.Chunks[0].Answer != "a\uFFFDb\uFFFD" || d.Chunks[0].Refusals[0].Handle != "m\uFFFD1" || d.Run.Error != "x\uFFFD" {
		t.Errorf("kept %+v", d)
	}
}
