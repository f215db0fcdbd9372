package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// said gives a step evidence of its own: messages by their ids.
func saidIn(st reverie.Step, ids ...string) reverie.Step {
	st.Evidence = nil
	for _, id := range ids {
		st.Evidence = append(st.Evidence, evidence(id, "2026-01-15"))
	}
	return st
}

// on gives a step the memories that it rests on.
func on(st reverie.Step, sources ...reverie.Memory) reverie.Step {
	for _, m := range sources {
		st.Sources = append(st.Sources, reverie.Source{MemoryID: m.ID, LineageID: m.LineageID})
	}
	return st
}

// dreams applies a plan that creates memories of kind dream.
func (w *world) dreams(steps ...reverie.Step) {
	w.t.Helper()
	p := w.plan(steps...)
	p.Kind = reverie.KindDream
	must(w.Apply(w.t.Context(), w.lease, p))(w.t)
}

// waits are the memories that wait to be judged again, with the reason.
func (w *world) waits() (list []string) {
	w.t.Helper()
	for _, m := range w.active() {
		if m.JudgeAgain != "" {
			list = append(list, m.Statement+": "+m.JudgeAgain)
		}
	}
	slices.Sort(list)
	return list
}

func (w *world) wantWaits(when string, want ...string) {
	w.t.Helper()
	if got := w.waits(); !slices.Equal(got, want) {
		w.t.Errorf("%s: waiting are\n %q, want\n %q", when, got, want)
	}
}

// settle has a run judge all that waits, and leave it as it is.
func (w *world) settle() (run string) {
	w.t.Helper()
	p := w.plan()
	for _, m := range w.active() {
		if m.JudgeAgain != "" {
			p.Judged = append(p.Judged, m.LineageID)
		}
	}
	must(w.Apply(w.t.Context(), w.lease, p))(w.t)
	return p.RunID
}

// TestCascade follows what rests on memories that change, by sources and by messages.
func TestCascade(t *testing.T) {
	w, db := newWorld(t), raw(t)
	w.messages(2)
	w.apply(saidIn(create("lives in Lisbon"), "m0001"), saidIn(create("translates books"), "m0001"), saidIn(create("搬到里斯本了"), "m0001", "m0002"), saidIn(create("is plain"), "m0010"))
	now := w.active()
	w.dreams(saidIn(on(create("a life abroad"), now["lives in Lisbon"]), "m0009"), saidIn(create("dreams of a message"), "m0001"), saidIn(create("untouched"), "m0008"))
	summary := saidIn(on(create("what was told"), now["lives in Lisbon"]), "m0001")
	summary.Tags = []string{reverie.TagDream, reverie.TagSummary}
	w.dreams(summary)
	w.wantWaits("made")
	w.apply(support(now["lives in Lisbon"], "2026-01-16", 0.5))
	w.wantWaits("supported")

	same := saidIn(update(now["is plain"], "is plain"), "m0011") // other tags alone
	same.Tags = []string{"other"}
	w.apply(same)
	w.wantWaits("retagged")

	// One that the same plan supports has been before whoever judged, and is not asked about again.
	p := w.plan(saidIn(update(now["lives in Lisbon"], "lives in Porto"), "m0003"), support(now["translates books"], "2026-01-17", 0.6))
	must(w.Apply(t.Context(), w.lease, p))(t)
	const moved = `: “lives in Lisbon” -> “lives in Porto”`
	w.wantWaits("moved", "a life abroad: a memory that it rests on was updated"+moved,
		"dreams of a message: a memory that rests on the same messages was updated"+moved, "搬到里斯本了: a memory that rests on the same messages was updated"+moved)
	for run, want := range map[string]int{p.RunID: 0, "": 3, reverie.NewID(): 3} {
		state := must(w.Gather(t.Context(), reverie.GatherQuery{GroupID: group, RunID: run, Kind: reverie.KindGroup, Limit: 1}))(t)
		again := 0
		for _, h := range slices.Concat(state.Heads, state.Again) {
			if h.JudgeAgain != "" {
				again++
			}
		}
		if again != want {
			t.Errorf("run %q judges %d again, want %d", run, again, want)
		}
	}

	// A second cause leaves the reason of the first.
	porto := w.active()["lives in Porto"]
	must(w.Edit(t.Context(), reverie.Edit{GroupID: group, MemoryID: porto.ID, Action: reverie.ActionDelete}))(t)
	if got := w.waits(); len(got) != 3 || !strings.Contains(got[0], "updated"+moved) {
		t.Errorf("deleted too: %q", got)
	}
	w.settle()
	w.wantWaits("settled")

	// What was judged again itself calls up nothing that shares its messages.
	p = w.plan(saidIn(update(w.active()["搬到里斯本了"], "不住在里斯本了"), "m0004"))
	p.Steps[0].Judged = reverie.StatusActive
	must(w.Apply(t.Context(), w.lease, p))(t)
	w.wantWaits("judged")

	// An erasure's reason stays, and what came back after one is known as that.
	long := saidIn(create(strings.Repeat("很长", 200)), "m0012")
	w.apply(long)
	w.dreams(saidIn(on(create("rests on much"), w.active()[long.Statement]), "m0007"), saidIn(on(create("was held"), w.active()[long.Statement]), "m0007"),
		saidIn(on(create("waits for other reasons"), w.active()[long.Statement]), "m0007"))
	for statement, held := range map[string]bool{"was held": true, "waits for other reasons": false} {
		run := any(nil)
		if held {
			run = p.RunID
		}
		check(t, second(db.ExecContext(t.Context(), `insert into rejudgements (group_id, lineage_id, memory_id, reason, created_at, run_id, held)
			select group_id, lineage_id, memory_id, 'evidence erased', now(), $2, $3 from memories where statement = $1`, statement, run, held)))
	}
	w.apply(remove(w.active()[long.Statement], "no more"))
	const gone = "rests on much: a memory that it rests on was deleted: “"
	if got := w.waits(); len(got) != 2 || !strings.HasPrefix(got[0], gone) || len([]rune(got[0])) > 180 || got[1] != "waits for other reasons: evidence erased" {
		t.Errorf("long: %q", got)
	}
	check(t, second(db.ExecContext(t.Context(), `update memory_change_log set old_statement = $1 where old_statement = $2`, text.Erased, long.Statement)))
	w.wantWaits("erased since", "rests on much: a memory that it rests on was deleted", "waits for other reasons: evidence erased")
}

// TestCascadeCalms has nothing judged for a change that is taken back, by a person who
// restores the memory or by undoing the run, but what came of it.
func TestCascadeCalms(t *testing.T) {
	w := newWorld(t)
	w.messages(1)
	w.apply(saidIn(create("plays on Mondays"), "m0001"), saidIn(create("sings"), "m0008"))
	now := w.active()
	w.dreams(saidIn(on(create("keeps a rhythm"), now["plays on Mondays"]), "m0009"), saidIn(on(create("is musical"), now["plays on Mondays"], now["sings"]), "m0009"))
	deleted := must(w.Edit(t.Context(), reverie.Edit{GroupID: group, MemoryID: now["plays on Mondays"].ID, Action: reverie.ActionDelete}))(t)
	const gone = ": a memory that it rests on was deleted: “plays on Mondays”"
	w.wantWaits("deleted", "is musical"+gone, "keeps a rhythm"+gone)
	w.apply(saidIn(update(now["sings"], "sings no more"), "m0007"))
	must(w.Edit(t.Context(), reverie.Edit{GroupID: group, MemoryID: deleted.ID, Action: reverie.ActionRestore}))(t)
	w.wantWaits("restored", "is musical: a memory that it rests on was updated: “sings” -> “sings no more”") // there is that other one, too
	w.settle()

	p := w.plan(saidIn(update(w.active()["plays on Mondays"], "plays on Fridays"), "m0006"))
	must(w.Apply(t.Context(), w.lease, p))(t)
	if got := w.waits(); len(got) != 2 {
		t.Errorf("moved: %q", got)
	}
	w.now = w.now.Add(time.Minute)
	w.dreams(saidIn(on(create("likes weekends"), w.active()["plays on Fridays"]), "m0009"))
	must(w.Undo(t.Context(), w.lease, reverie.UndoQuery{GroupID: group, RunID: p.RunID}))(t)
	w.wantWaits("taken back", // what it sang was judged
		"likes weekends: a memory that it rests on was undone: “plays on Fridays” -> “plays on Mondays”")
}

// TestCascadeCalmsButForAnother has wait on what waits for two changes of which the first
// is taken back, for the second, by messages as by sources; but not what the plan of the
// second had before it.
func TestCascadeCalmsButForAnother(t *testing.T) {
	w := newWorld(t)
	w.messages(4)
	w.did(saidIn(create("A"), "m0001"), saidIn(create("B"), "m0002"), saidIn(create("M"), "m0001", "m0002"), saidIn(create("N"), "m0001", "m0002"), saidIn(create("O"), "m0001"))
	w.dreams(saidIn(on(create("D"), w.active()["A"], w.active()["B"]), "m0009"))
	first := w.did(saidIn(update(w.active()["A"], "A2"), "m0003"))
	w.now = w.now.Add(time.Minute)
	second := w.did(saidIn(update(w.active()["B"], "B2"), "m0004"), support(w.active()["N"], "2026-01-16", 0.5))
	const shared, source = ": a memory that rests on the same messages was updated: “", ": a memory that it rests on was updated: “"
	w.wantWaits("both", "D"+source+"A” -> “A2”", "M"+shared+"A” -> “A2”", "N"+shared+"A” -> “A2”", "O"+shared+"A” -> “A2”")
	w.now = w.now.Add(time.Minute)
	w.undo(first)
	w.wantWaits("the first is taken back", "D"+source+"B” -> “B2”", "M"+shared+"B” -> “B2”")
	w.now = w.now.Add(time.Minute)
	w.undo(second)
	w.wantWaits("both are")
}

// TestCascadeEnds lets memories that share a message be judged again, night after night:
// each change reaches the others once, and they do not call each other up for ever.
func TestCascadeEnds(t *testing.T) {
	w := newWorld(t)
	w.messages(1)
	w.apply(saidIn(create("one"), "m0001"), saidIn(create("two"), "m0001"), saidIn(create("three"), "m0001"))
	w.apply(saidIn(update(w.active()["one"], "one, and more"), "m0001"))
	judged := []int{}
	for night := range 5 {
		var steps []reverie.Step
		for _, m := range w.active() {
			if m.JudgeAgain != "" { // whatever the model is asked about it rewrites, from the same message
				st := saidIn(update(m, fmt.Sprintf("%s, night %d", m.Statement, night)), "m0001")
				st.Judged = reverie.StatusActive
				steps = append(steps, st)
			}
		}
		judged = append(judged, len(steps))
		w.apply(steps...)
	}
	if !slices.Equal(judged, []int{2, 0, 0, 0, 0}) {
		t.Errorf("judged in the nights are %d", judged)
	}
}
