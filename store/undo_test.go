package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// undo takes a run of the world's group back.
func (w *world) undo(run string, more ...func(*reverie.UndoQuery)) reverie.Undone {
	w.t.Helper()
	q := reverie.UndoQuery{GroupID: group, RunID: run, Reason: "the wrong model"}
	for _, set := range more {
		set(&q)
	}
	return must(w.Undo(w.t.Context(), w.lease, q))(w.t)
}

func forced(q *reverie.UndoQuery)   { q.Force = true }
func requeued(q *reverie.UndoQuery) { q.Requeue = true }

// did is a finished run of evolve with these steps.
func (w *world) did(steps ...reverie.Step) (run string) {
	w.t.Helper()
	w.now = w.now.Add(time.Hour)
	plan := w.plan(steps...)
	must(w.Apply(w.t.Context(), w.lease, plan))(w.t)
	w.finish(plan)
	return plan.RunID
}

// says are the statements that are active.
func (w *world) says() string {
	var list []string
	for s := range w.active() {
		list = append(list, s)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// What others have changed since is left, and goes back by force alone; what another
// memory says by now does not come back.
func TestUndoLeavesWhatOthersChanged(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name   string
		since  func(run string)
		plain  string // active after undo
		forced string // active after undo by force
		reason string
	}{
		{"another run", func(string) { w.did(update(w.active()["b"], "c")) }, "c", "a", "has changed it since"},
		{"a run deleted it", func(string) { w.did(remove(w.active()["b"], "gone")) }, "", "a", "has deleted it since"},
		{"a person deleted it", func(string) { must(w.edit(w.active()["b"].ID, reverie.ActionDelete, 0))(t) }, "", "a", "a person deleted it since"},
		{"it faded", func(string) { w.archive("b") }, "", "a", "has archived it since"},
		{"a twin", func(string) { w.did(create("a")) }, "a", "a", "another memory says by now"},
		{"strength and weight", func(string) {
			must(w.edit(w.active()["b"].ID, reverie.ActionStrength, 0.9))(t)
			must(w.edit(w.active()["b"].ID, reverie.ActionWeight, 1.7))(t)
		}, "a", "a", ""},
	} {
		for _, force := range []bool{false, true} {
			w.did(create("a"))
			run := w.did(update(w.active()["a"], "b"))
			c.since(run)
			res, want := reverie.Undone{}, c.plain
			if force {
				res, want = w.undo(run, forced), c.forced
			} else {
				res = w.undo(run)
			}
			if got := w.says(); got != want {
				t.Errorf("%s, forced %v: active is %q, want %q", c.name, force, got, want)
			}
			left := c.reason != "" && (!force || c.name == "a twin")
			if left != (len(res.Left) == 1) || left && !strings.Contains(res.Left[0].Reason, c.reason) {
				t.Errorf("%s, forced %v: left %+v, want %q", c.name, force, res.Left, c.reason)
			}
			if c.name == "strength and weight" && w.active()["a"].Weight != 1.7 {
				t.Errorf("the weight is %v", w.active()["a"].Weight)
			}
			for _, m := range w.active() { // a new beginning
				must(w.edit(m.ID, reverie.ActionDelete, 0))(t)
			}
		}
	}
}

// What cannot be undone says so, and changes nothing.
func TestUndoRefuses(t *testing.T) {
	w := newWorld(t)
	w.ensure("other")
	run := w.did(create("a"))
	lease := must(w.AcquireLease(t.Context(), "other", reverie.LeaseGroup, "host:1:b", time.Minute))(t)
	q := reverie.UndoQuery{GroupID: group, RunID: run}
	foreign, unknown := reverie.UndoQuery{GroupID: "other", RunID: run}, reverie.UndoQuery{GroupID: group, RunID: reverie.NewID()}
	wantErr(t, second(w.Undo(t.Context(), lease, q)), reverie.ErrInvalid)
	wantErr(t, second(w.Undo(t.Context(), lease, foreign)), reverie.ErrNotFound)
	wantErr(t, second(w.Undo(t.Context(), w.lease, unknown)), reverie.ErrNotFound)
	stale := w.lease
	stale.Fence--
	wantErr(t, second(w.Undo(t.Context(), stale, q)), reverie.ErrLeaseLost)
	empty := must(w.StartRun(t.Context(), w.lease, reverie.Run{Job: reverie.JobEvolve, WindowSince: noon, WindowUntil: noon}))(t)
	check(t, second(w.FinishRun(t.Context(), w.lease, reverie.Run{ID: empty.ID, Status: reverie.RunFailed})))
	if res := w.undo(empty.ID); !res.Nothing || !res.UndoneAt.IsZero() || must(w.Run(t.Context(), group, empty.ID))(t).Run.UndoneAt != nil {
		t.Errorf("a run that wrote nothing: %+v", res)
	}
	if w.says() != "a" {
		t.Errorf("active is %q", w.says())
	}
	w.undo(run)
	wantErr(t, second(w.Undo(t.Context(), w.lease, q)), reverie.ErrConflict)
}

// A run that is held, or whose process died, is taken back with what it holds, and
// nobody goes on with it.
func TestUndoOfWhatIsUnderWay(t *testing.T) {
	w := newWorld(t)
	plan := w.plan()
	plan.Held, plan.HeldAll = []reverie.Step{create("a")}, true
	must(w.Apply(t.Context(), w.lease, plan))(t)
	if res := w.undo(plan.RunID, requeued); res.Rejected != 1 || res.Requeued != 2 || !res.Exact {
		t.Errorf("%+v", res)
	}
	d := must(w.Run(t.Context(), group, plan.RunID))(t)
	if d.Run.Status != reverie.RunFailed || d.Run.UndoneAt == nil || d.Held[0].Status != reverie.HeldRejected {
		t.Errorf("the run is %+v, its plan %s", d.Run, d.Held[0].Status)
	}
	wantErr(t, second(w.ApplyHeld(t.Context(), w.lease, d.Held[0], plan.Held, nil)), reverie.ErrConflict)
	run, chunk, err := w.Resume(t.Context(), w.lease, reverie.JobEvolve, time.Time{}, time.Time{})
	if check(t, err); run != nil || chunk != nil {
		t.Errorf("to go on with are %+v and %+v", run, chunk)
	}
}

// A reply to the commit that is lost neither undoes twice nor loses the undo.
func TestUndoSurvivesALostReply(t *testing.T) {
	var n network
	w := openWorld(t, n.options())
	for name, f := range map[string]fault{"reply lost": lostReply, "request lost": lostSend} {
		run := w.did(create(name))
		n.once("COMMIT", f)
		if res := w.undo(run); res.Deprecated != 1 || !res.Exact || w.says() != "" {
			t.Errorf("%s: %+v", name, res)
		}
	}
	if c := count(t, raw(t), `select count(*) from memory_change_log where action = 'undo' and undone_run_id is not null`); c != 2 {
		t.Errorf("%d changes, want 2", c)
	}
}

// What a run has read waits again where that is asked for, also later, and else does not.
func TestUndoRequeues(t *testing.T) {
	w := openWorld(t, pg.Options{})
	night := w.did(create("a"))
	ids := w.turns("s", 0, 2)
	extract := w.extraction("s", ids)
	must(w.Apply(t.Context(), w.lease, takes(extract, 1, "s", ids, ofSession(create("fact"), "s"))))(t)
	check(t, second(w.FinishRun(t.Context(), w.lease, reverie.Run{ID: extract, SessionID: "s", Status: reverie.RunSucceeded})))
	w.now = w.now.Add(48 * time.Hour)
	material := must(w.GatherDream(t.Context(), reverie.DreamQuery{GroupID: group}))(t).Material
	dream := must(w.StartRun(t.Context(), w.lease, reverie.Run{Job: reverie.JobDream, SessionID: "s", WindowSince: noon, WindowUntil: noon}))(t).ID
	use := &reverie.DreamUse{}
	for _, m := range material {
		use.MemoryIDs = append(use.MemoryIDs, m.ID)
	}
	check(t, w.SaveChunk(t.Context(), w.lease, reverie.Chunk{RunID: dream, No: 1, MemoryIDs: use.MemoryIDs, Status: reverie.ChunkOpen}))
	must(w.Apply(t.Context(), w.lease, reverie.Plan{GroupID: group, RunID: dream, ChunkNo: 1, Kind: reverie.KindDream, Dream: use,
		Steps: []reverie.Step{on(create("theme"), w.active()["a"], w.active()["fact"])}}))(t)
	check(t, second(w.FinishRun(t.Context(), w.lease, reverie.Run{ID: dream, SessionID: "s", Status: reverie.RunSucceeded})))

	pending := func() string {
		signs := must(w.DreamSigns(t.Context(), reverie.DreamQuery{GroupID: group}))(t)
		return fmt.Sprintf("evolve %d, extract %d, dream %d", must(w.CountPending(t.Context(), group, time.Time{}, time.Time{}))(t), w.session("s").New.Messages, signs.New)
	}
	want := func(when, waits, says string) {
		t.Helper()
		if got := pending(); got != waits || w.says() != says {
			t.Errorf("%s: waiting are %s, want %s; active is %q, want %q", when, got, waits, w.says(), says)
		}
	}
	base := must(w.CountPending(t.Context(), group, time.Time{}, time.Time{}))(t) // what evolve has not read of the session
	want("before", fmt.Sprintf("evolve %d, extract 0, dream 0", base), "a, fact, theme")
	for range 2 { // versions that have ended are not new to anybody
		w.undo(w.did(update(w.active()["a"], "b")))
	}
	w.undo(dream)
	want("the dream undone", fmt.Sprintf("evolve %d, extract 0, dream 0", base), "a, fact")
	if res := w.undo(dream, requeued); res.Requeued != 2 || len(res.Changes) > 0 {
		t.Errorf("requeued later: %+v", res)
	}
	want("what it took in is new", fmt.Sprintf("evolve %d, extract 0, dream 2", base), "a, fact")
	if res := w.undo(extract, requeued); res.Requeued != len(ids) || !res.Exact {
		t.Errorf("the extraction: %+v", res)
	}
	want("the extraction undone", fmt.Sprintf("evolve %d, extract %d, dream 1", base, len(ids)), "a")
	w.counted(group)
	if res := w.undo(night, requeued); res.Requeued != 2 {
		t.Errorf("the night: %+v", res)
	}
	want("all undone", fmt.Sprintf("evolve %d, extract %d, dream 0", base+2, len(ids)), "")
	wantErr(t, second(w.Undo(t.Context(), w.lease, reverie.UndoQuery{GroupID: group, RunID: night, Requeue: true})), reverie.ErrConflict)
}

// Runs undone in another order than the newest first: what stays is listed, what stays
// rests on what it did, and what goes back is worth what it was.
func TestUndoOutOfOrder(t *testing.T) {
	w := newWorld(t)
	on := func(st reverie.Step, date string) reverie.Step {
		st.Evidence = []reverie.Evidence{evidence("m0002", date)}
		return st
	}
	restored := func(statement string) {
		id := w.active()[statement].ID
		must(w.edit(id, reverie.ActionDelete, 0))(t)
		must(w.edit(id, reverie.ActionRestore, 0))(t)
	}
	want := func(name, says string, u reverie.Undone, left ...string) {
		t.Helper()
		if got := w.says(); got != says || len(u.Left) != len(left) || u.Others > 0 {
			t.Errorf("%s: active is %q, want %q: left %+v, want %q, others %d", name, got, says, u.Left, left, u.Others)
			return
		}
		for i, l := range left {
			if !strings.Contains(u.Left[i].Reason, l) {
				t.Errorf("%s: left is %+v, want %q", name, u.Left[i], l)
			}
		}
	}
	evidenceOf := func(run string) int {
		return count(t, raw(t), `select count(*) from memory_evidence where withdrawn_at is null and run_id = $1`, run)
	}
	strength := func(name, statement string, f float64) {
		t.Helper()
		if got := w.active()[statement].Strength; got < f-1e-9 || got > f+1e-9 {
			t.Errorf("%s: the strength is %v, want %v", name, got, f)
		}
	}
	for _, c := range []struct {
		name string
		do   func(name string)
	}{
		{"an undo came last", func(name string) {
			r1 := w.did(create("a"))
			r2 := w.did(update(w.active()["a"], "b"))
			w.undo(w.did(update(w.active()["b"], "c")))
			want(name, "b", w.undo(r1), "run "+r2+" has changed it since")
			if evidenceOf(r1) != 1 {
				t.Error("what stays lost its evidence")
			}
			want(name, "", w.undo(r2), "has since been undone")
			if evidenceOf(r1) != 0 {
				t.Error("what has ended keeps evidence")
			}
		}},
		{"a person's restore", func(name string) {
			r1 := w.did(create("a"))
			restored("a")
			w.undo(w.did(update(w.active()["a"], "c")))
			want(name, "a", w.undo(r1), "a person restored it since")
			want(name+", forced", "", w.undo(r1, forced))
			wantErr(t, second(w.Undo(t.Context(), w.lease, reverie.UndoQuery{GroupID: group, RunID: r1, Force: true})), reverie.ErrConflict)
		}},
		{"the middle first", func(name string) {
			w.did(create("a"))
			r2 := w.did(on(update(w.active()["a"], "b"), "2026-01-16"))
			r3 := w.did(on(update(w.active()["b"], "c"), "2026-01-17"))
			want(name, "c", w.undo(r2), "has changed it since")
			want(name, "a", w.undo(r3), "what it said before the run has since been undone")
			strength(name, "a", 0.3)
			if evidenceOf(r2)+evidenceOf(r3) != 0 {
				t.Error("evidence of what is undone is left")
			}
		}},
		{"forced, with later evidence", func(name string) {
			w.did(create("a"))
			r2 := w.did(on(update(w.active()["a"], "b"), "2026-01-16"))
			w.did(on(update(w.active()["b"], "c"), "2026-01-17"))
			want(name, "c", w.undo(r2), "has changed it since")
			want(name+" later", "a", w.undo(r2, forced))
			strength(name, "a", 0.3)
		}},
		{"tags of a twin", func(name string) {
			w.did(create("x"))
			r2 := w.did(update(w.active()["x"], "y"))
			w.did(create("x"))
			twin := w.active()["x"]
			tags := update(twin, "x")
			tags.Tags = []string{"new"}
			r4 := w.did(update(w.active()["y"], "q"), tags)
			w.undo(r2)
			want(name, "x", w.undo(r4), "another memory says by now")
			if m := w.active()["x"]; m.LineageID != twin.LineageID || slices.Equal(m.Tags, tags.Tags) {
				t.Errorf("%s: %+v", name, m)
			}
		}},
	} {
		c.do(c.name)
		for _, m := range w.active() { // a new beginning
			must(w.edit(m.ID, reverie.ActionDelete, 0))(t)
		}
	}
}
