package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/diff"
	"reverie/internal/reverie"
)

// cited gives a step evidence of one message, sent on a day of the chat, or none.
func cited(st reverie.Step, sent time.Time) reverie.Step {
	if st.Evidence = nil; !sent.IsZero() {
		e := evidence("m0001", sent.Format(time.DateOnly))
		e.SentAt = sent
		st.Evidence = []reverie.Evidence{e}
	}
	return st
}

// toldAt is what lists, searches, differences and histories tell of an instant, once each.
func (w *world) toldAt(when reverie.When) string {
	w.t.Helper()
	ctx := w.t.Context()
	list, total, err := w.ListMemories(ctx, reverie.MemoryQuery{GroupID: group, At: when.At, Recorded: when.Recorded})
	check(w.t, err)
	hits := must(w.Search(ctx, reverie.SearchQuery{GroupID: group, Vector: []float32{1, 0, 0}, Model: model,
		At: when.At, Recorded: when.Recorded}))(w.t).Hits
	d := diff.Memories(must(w.Between(ctx, reverie.BetweenQuery{GroupID: group, From: noon.AddDate(-9, 0, 0), To: when.At,
		Recorded: when.Recorded}))(w.t))
	var listed, found, added []string
	for _, m := range list {
		listed = append(listed, m.Statement)
		versions := must(w.HistoryAt(ctx, group, m.ID, when))(w.t)
		if last := versions[len(versions)-1]; last.ID != m.ID || last.Status != reverie.StatusActive {
			w.t.Errorf("at %+v the history of %q ends with %q, %s", when, m.Statement, last.Statement, last.Status)
		}
	}
	for _, h := range hits {
		found = append(found, h.Statement)
	}
	for _, e := range d.Added {
		added = append(added, e.After.Statement)
	}
	slices.Sort(listed)
	slices.Sort(found)
	slices.Sort(added)
	if !slices.Equal(listed, found) || !slices.Equal(listed, added) || total != len(list) || len(d.Changed)+len(d.Gone) > 0 {
		w.t.Errorf("at %+v: listed %q of %d, found %q, added %q, and changed or gone %d", when, listed, total, found, added,
			len(d.Changed)+len(d.Gone))
	}
	return strings.Join(listed, ", ")
}

// TestTimeOfTheChat reads a chat two years after it: what is told of its instants is what had
// been said by then, whenever that was written.
func TestTimeOfTheChat(t *testing.T) {
	w := newWorld(t)
	day := func(n int) time.Time { return noon.AddDate(0, 0, n) }
	written := func(n int) time.Time { return noon.AddDate(2, 0, n) } // each night an hour before it is read
	w.now = written(0).Add(-time.Hour)
	night := func(steps ...reverie.Step) string {
		plan := w.plan(steps...)
		must(w.Apply(t.Context(), w.lease, plan))(t)
		w.finish(plan)
		w.now = w.now.AddDate(0, 0, 1)
		return plan.RunID
	}
	read := func(step reverie.Step) reverie.Memory {
		return must(w.LineageHead(t.Context(), group, step.LineageID))(t)
	}
	tea, walk, dog := cited(create("tea"), day(-10)), cited(create("walk"), time.Time{}), cited(create("dog"), day(-9))
	night(tea, walk, dog) // 0; the walk has no evidence: said by the end of the window
	milk := cited(update(read(tea), "milk"), day(-4))
	night(milk, cited(remove(read(dog), "it ran away"), day(-5))) // 1
	// A message that came late is older than what it changes.
	cola := cited(update(read(milk), "cola"), day(-8))
	night(cola)                                                                              // 2
	wine := night(cited(update(read(cola), "wine"), day(-2)), cited(create("cat"), day(-2))) // 3
	must(w.Undo(t.Context(), w.lease, reverie.UndoQuery{GroupID: group, RunID: wine, Reason: "not so"}))(t)
	undone := w.now
	w.now = w.now.AddDate(0, 0, 1) // 5
	for _, c := range []struct {
		at       time.Time
		recorded bool
		want     string
	}{
		{day(-11), false, ""}, {day(-10), false, "tea"}, {day(-9), false, "dog, tea"}, {day(-6), false, "dog, tea"},
		{day(-5), false, "tea"}, {day(-4), false, "cola"}, {day(-3), false, "cola"}, {day(-2), false, "cat, wine"},
		{day(0), false, "cat, walk, wine"}, {undone.Add(-time.Second), false, "cat, walk, wine"},
		{undone, false, "cola, walk"}, {w.now, false, "cola, walk"},
		{day(0), true, ""}, {written(0), true, "dog, tea, walk"}, {written(1), true, "milk, walk"},
		{written(2), true, "cola, walk"}, {undone.Add(-time.Second), true, "cat, walk, wine"}, {w.now, true, "cola, walk"},
	} {
		if got := w.toldAt(reverie.When{At: c.at, Recorded: c.recorded}); got != c.want {
			t.Errorf("%s, recorded %v: %s, want %s", c.at, c.recorded, got, c.want)
		}
	}
	d := diff.Memories(must(w.Between(t.Context(), reverie.BetweenQuery{GroupID: group, From: day(-7), To: day(-3)}))(t))
	var steps []string
	for _, e := range slices.Concat(d.Changed, d.Gone) {
		for _, st := range e.Steps {
			steps = append(steps, fmt.Sprintf("%s %d", st.Action, int(st.At.Sub(noon).Hours()/24)))
		}
	}
	if got := strings.Join(steps, ", "); got != "update -4, update -4, delete -5" || d.Counts.Unchanged != 0 {
		t.Errorf("in between: %s; %+v", got, d.Counts)
	}
	why := must(w.Why(t.Context(), group, cola.MemoryID))(t)
	if !why.Since.Equal(day(-10)) || len(why.Versions) != 5 {
		t.Errorf("remembered since %s, %d versions", why.Since, len(why.Versions))
	}
	past := must(w.WhyAt(t.Context(), group, cola.MemoryID, reverie.When{At: day(-5)}))(t)
	if past.Memory.Statement != "tea" || len(past.Versions) != 1 {
		t.Errorf("then it said %q, in %d versions", past.Memory.Statement, len(past.Versions))
	}
}

// TestSaidByTheNewestMessage has a run without an end say by its newest message what rests on
// none; and what a person does, or brings back, be said as it is done.
func TestSaidByTheNewestMessage(t *testing.T) {
	w := newWorld(t)
	w.now = noon.AddDate(1, 0, 0)
	ids := w.messages(2)
	run := must(w.StartRun(t.Context(), w.lease, reverie.Run{Job: reverie.JobEvolve, WindowSince: noon.Add(-24 * time.Hour),
		WindowUntil: w.now, Model: "offline/offline", Stats: reverie.Stats{OpenEnded: true}}))(t)
	tea := cited(create("tea"), time.Time{})
	plan := reverie.Plan{GroupID: group, RunID: w.chunk(run.ID, 1, ids), ChunkNo: 1, Kind: reverie.KindGroup,
		Steps: []reverie.Step{tea}, Outcomes: map[string]reverie.Outcome{ids[0]: reverie.OutcomeCited,
			ids[1]: reverie.OutcomeConsidered}}
	must(w.Apply(t.Context(), w.lease, plan))(t)
	var newest time.Time
	check(t, raw(t).QueryRowContext(t.Context(), `select max(sent_at) from messages where group_id = $1`, group).Scan(&newest))
	m := must(w.LineageHead(t.Context(), group, tea.LineageID))(t)
	if !m.SaidAt.Equal(newest) || !m.UpdatedAt.Equal(w.now) {
		t.Errorf("said %s, written %s; the newest message is of %s", m.SaidAt, m.UpdatedAt, newest)
	}
	w.now = w.now.Add(time.Hour)
	gone := must(w.edit(m.ID, reverie.ActionDelete, 0))(t)
	w.now = w.now.Add(time.Hour)
	back := must(w.edit(gone.ID, reverie.ActionRestore, 0))(t)
	if gone.SaidUntil == nil || !gone.SaidUntil.Equal(w.now.Add(-time.Hour)) || !back.SaidAt.Equal(w.now) || back.SaidUntil != nil {
		t.Errorf("deleted %v, restored %s to %v", gone.SaidUntil, back.SaidAt, back.SaidUntil)
	}
}
