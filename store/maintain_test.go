package store_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// archive has maintenance archive memories.
func (w *world) archive(statements ...string) {
	w.t.Helper()
	run := must(w.StartRun(w.t.Context(), w.lease, reverie.Run{Job: reverie.JobMaintain, WindowSince: w.now, WindowUntil: w.now}))(w.t)
	active := w.active()
	var fades []reverie.Fading
	for _, s := range statements {
		fades = append(fades, reverie.Fading{HeadState: reverie.HeadState{Memory: active[s]}, Reason: "weak"})
	}
	stats, changes, err := w.Fade(w.t.Context(), w.lease, run, fades)
	check(w.t, err)
	if stats.Archived != len(statements) || len(changes) != len(statements) {
		w.t.Fatalf("%+v, %d archived", stats, len(changes))
	}
	run.Status, run.Stats = reverie.RunSucceeded, stats
	check(w.t, second(w.FinishRun(w.t.Context(), w.lease, run)))
	if _, _, err := w.Fade(w.t.Context(), w.lease, run, nil); err == nil {
		w.t.Error("a run that has ended still writes")
	}
}

// Runs that are taken back leave strength as the evidence that is left makes it; what was
// archived since comes back, of theirs or not, and what was archived before stays so.
func TestRewindOfWhatFaded(t *testing.T) {
	w := newWorld(t)
	db := raw(t)
	w.nightOf(create("supported"), create("rewritten"), create("archived"), create("untouched"), create("forgotten before"))
	w.now = noon.Add(20 * 24 * time.Hour)
	w.archive("forgotten before")
	heads := w.active()
	w.now = noon.Add(21 * 24 * time.Hour)
	since := w.sent
	rewritten := update(heads["rewritten"], "rewritten now")
	rewritten.Evidence = nil
	w.nightOf(support(heads["supported"], "2026-02-05", 0.6), rewritten, update(heads["archived"], "archived now"), create("gone"))
	w.now = noon.Add(60 * 24 * time.Hour)
	w.archive("archived now", "gone", "untouched")
	from := noon.Add(time.Duration(since+1-1000) * time.Minute)
	if _, res := w.rewind(from); len(res.Left) != 0 {
		t.Errorf("%+v", res)
	}
	active := w.active()
	for _, statement := range []string{"supported", "rewritten", "archived", "untouched"} {
		if m := active[statement]; len(active) != 4 || math.Abs(m.Strength-heads[statement].Strength) > 1e-9 {
			t.Errorf("%s: %+v", statement, m)
		}
	}
	if n := count(t, db, `select count(*) from memories where statement = 'gone' and status = 'deprecated' and ended_at is not null`); n != 1 {
		t.Error("what the runs made and maintenance archived did not end")
	}
	if n := count(t, db, `select count(*) from memories where status = 'archived'`); n != 1 {
		t.Errorf("%d versions are archived, and only one is forgotten", n)
	}
	if runs, _ := w.rewind(from); runs != 0 {
		t.Errorf("again: %d runs", runs)
	}
}

// nightOf is a run of evolve that does these steps.
func (w *world) nightOf(steps ...reverie.Step) {
	w.t.Helper()
	plan := w.plan(steps...)
	must(w.Apply(w.t.Context(), w.lease, plan))(w.t)
	w.finish(plan)
}

// A reply that is lost neither doubles what was done nor loses its count.
func TestUpkeepSurvivesALostReply(t *testing.T) {
	var n network
	w := openWorld(t, n.options())
	w.nightOf(create("one"), create("other"))
	usage := reverie.Usage{GroupID: group, UsageID: reverie.NewID(), Position: 1, CreatedAt: noon}
	for i := range 4 {
		usage.MemoryID, usage.LineageID = reverie.NewID(), fmt.Sprintf("00000000-0000-4000-8000-%012d", i%2)
		check(t, w.LogUsage(t.Context(), []reverie.Usage{usage}))
	}
	w.now = noon.Add(20 * 24 * time.Hour)
	run := must(w.StartRun(t.Context(), w.lease, reverie.Run{Job: reverie.JobMaintain, WindowSince: w.now, WindowUntil: w.now}))(t)
	batch := reverie.PruneBatch{Run: run, Limit: 2, Expiry: reverie.Expiry{Usage: w.now}}
	for statement, f := range map[string]fault{"one": lostReply, "other": lostSend} {
		m := w.active()[statement]
		n.once("COMMIT", f)
		stats, list, err := w.Fade(t.Context(), w.lease, run, []reverie.Fading{{HeadState: reverie.HeadState{Memory: m}, Reason: "weak"}})
		check(t, err)
		n.once("COMMIT", f)
		p, _, err := w.Prune(t.Context(), w.lease, batch)
		check(t, err)
		if len(list) != 1 || stats.Archived != 1 || p.Usage != 2 {
			t.Errorf("%s: archived %d, pruned %+v", statement, len(list), p)
		}
	}
	db := raw(t)
	if c := count(t, db, `select count(*) from memory_change_log where action = 'archive'`); c != 2 {
		t.Errorf("%d changes", c)
	}
	if c := count(t, db, `select sum(offered) * 10 + count(*) from memory_usage_totals`); c != 42 {
		t.Errorf("totals %d", c)
	}
}
