package store_test

import (
	"database/sql"
	"fmt"
	"math"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// decayedAt is up to when the strength of a statement's active version was lowered,
// the zero time for never.
func (w *world) decayedAt(db *sql.DB, statement string) time.Time {
	w.t.Helper()
	var at sql.NullTime
	check(w.t, db.QueryRow(`select decayed_at from memories where statement = $1 and status = 'active'`, statement).Scan(&at))
	return at.Time.UTC()
}

// Strength that a person sets, and that of what is core no longer, decays from then
// on, and not for the time before.
func TestDecayBeginsAnew(t *testing.T) {
	w := newWorld(t)
	db, set, praised, blamed := raw(t), create("set by hand"), create("core no longer"), create("blamed")
	w.apply(set, praised, blamed)
	for _, st := range []reverie.Step{praised, blamed} {
		must(w.edit(st.MemoryID, reverie.ActionWeight, 1.5))(t)
	}
	for statement, id := range map[string]string{"set by hand": set.MemoryID, "core no longer": praised.MemoryID, "blamed": blamed.MemoryID} {
		if at := w.decayedAt(db, statement); !at.IsZero() {
			t.Errorf("%s (%s): decayed at %s already", statement, id, at)
		}
	}
	w.now = noon.Add(100 * 24 * time.Hour)
	must(w.edit(set.MemoryID, reverie.ActionStrength, 0.6))(t)
	must(w.edit(praised.MemoryID, reverie.ActionWeight, 1.4))(t)
	u := reverie.Usage{GroupID: group, UsageID: reverie.NewID(), MemoryID: blamed.MemoryID, LineageID: blamed.LineageID, Position: 1}
	check(t, w.LogUsage(t.Context(), []reverie.Usage{u}))
	must(w.Judge(t.Context(), group, u.UsageID, []reverie.UsageVerdict{{MemoryID: u.MemoryID}}, reverie.WeightRule{Referenced: 0.1, Ignored: -0.02, Max: 2}))(t)
	for _, statement := range []string{"set by hand", "core no longer", "blamed"} {
		if at := w.decayedAt(db, statement).Truncate(time.Millisecond); !at.Equal(w.now) { // of two edits at one instant one is the later
			t.Errorf("%s: decayed at %s, want %s", statement, at, w.now)
		}
	}
	then := w.now
	w.now = then.Add(time.Hour)
	must(w.edit(praised.MemoryID, reverie.ActionWeight, 1.2))(t)
	if at := w.decayedAt(db, "core no longer").Truncate(time.Millisecond); !at.Equal(then) {
		t.Errorf("a weight that was below before: decayed at %s", at)
	}
}

// lower has time tell on memories, as maintenance would.
func (w *world) lower(archive bool, statements ...string) {
	w.t.Helper()
	run := must(w.StartRun(w.t.Context(), w.lease, reverie.Run{Job: reverie.JobMaintain, WindowSince: w.now, WindowUntil: w.now}))(w.t)
	active, at := w.active(), w.now
	var fades []reverie.Fade
	for _, s := range statements {
		m := active[s]
		fades = append(fades, reverie.Fade{Fading: reverie.Fading{Memory: m}, To: m.Strength / 2, ToAt: &at, Archive: archive, Reason: "weak"})
	}
	stats, changes, err := w.Fade(w.t.Context(), w.lease, run, fades)
	check(w.t, err)
	if stats.Decayed != len(statements) || archive != (len(changes) == len(statements)) {
		w.t.Fatalf("%+v, %d archived", stats, len(changes))
	}
	run.Status, run.Stats = reverie.RunSucceeded, stats
	check(w.t, second(w.FinishRun(w.t.Context(), w.lease, run)))
	if _, _, err := w.Fade(w.t.Context(), w.lease, run, nil); err == nil {
		w.t.Error("a run that has ended still writes")
	}
}

// Runs that are taken back leave strength as the evidence that is left makes it, or
// as it had decayed where none of it goes; what was archived since comes back, of
// theirs or not, and what was archived before stays so.
func TestRewindOfWhatFaded(t *testing.T) {
	w := newWorld(t)
	db := raw(t)
	w.nightOf(create("supported"), create("rewritten"), create("archived"), create("untouched"), create("forgotten before"))
	w.now = noon.Add(20 * 24 * time.Hour)
	w.lower(false, "supported", "rewritten", "archived", "untouched")
	w.lower(true, "forgotten before")
	faded := w.now
	heads := w.active()
	w.now = noon.Add(21 * 24 * time.Hour)
	since := w.sent
	rewritten := update(heads["rewritten"], "rewritten now")
	rewritten.Evidence = nil
	w.nightOf(support(heads["supported"], "2026-02-05", 0.4), rewritten, update(heads["archived"], "archived now"), create("gone"))
	if at := w.decayedAt(db, "rewritten now"); !at.Equal(faded) { // its evidence may be older than that
		t.Errorf("rewritten now: decayed at %s, want %s", at, faded)
	}
	w.now = noon.Add(60 * 24 * time.Hour)
	w.lower(false, "supported", "rewritten now")
	w.lower(true, "archived now", "gone", "untouched")
	from := noon.Add(time.Duration(since+1-1000) * time.Minute)
	if _, res := w.rewind(from); len(res.Left) != 0 {
		t.Errorf("%+v", res)
	}
	active := w.active()
	if m := active["supported"]; len(active) != 4 || math.Abs(m.Strength-0.15) > 1e-9 || !w.decayedAt(db, "supported").Equal(faded) {
		t.Errorf("supported: %v, decayed at %s", m.Strength, w.decayedAt(db, "supported"))
	}
	if m := active["rewritten"]; math.Abs(m.Strength-0.15) > 1e-9 || !w.decayedAt(db, "rewritten").Equal(faded) {
		t.Errorf("rewritten: %v, decayed at %s, want %s", m.Strength, w.decayedAt(db, "rewritten"), faded)
	}
	for _, statement := range []string{"archived", "untouched"} {
		if m := active[statement]; math.Abs(m.Strength-0.15) > 1e-9 || !w.decayedAt(db, statement).Equal(faded) {
			t.Errorf("%s: %+v", statement, m)
		}
	}
	if n := count(t, db, `select count(*) from memories where statement = 'gone' and status = 'deprecated' and ended_at is not null`); n != 1 {
		t.Error("what the runs made and time archived did not end")
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
		stats, list, err := w.Fade(t.Context(), w.lease, run, []reverie.Fade{{Fading: reverie.Fading{Memory: m}, To: m.Strength, Archive: true, Reason: "weak"}})
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
