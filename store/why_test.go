package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// story is a lineage to which all that can happen has happened, an hour apart.
type story struct {
	*world
	born, green, restored string // its versions
	runs                  []string
	ids                   map[string]string // what else is there, by statement
}

func tellStory(t *testing.T) story {
	s := story{world: newWorld(t), ids: map[string]string{}}
	ctx := t.Context()
	hour := func() { s.now = s.now.Add(time.Hour) }
	apply := func(decisions []reverie.Decision, steps ...reverie.Step) {
		t.Helper()
		plan := s.plan(steps...)
		plan.Decisions = decisions
		must(s.Apply(ctx, s.lease, plan))(t)
		s.runs = append(s.runs, plan.RunID)
		hour()
	}
	edit := func(id string, action reverie.Action, value float64, reason string) reverie.Memory {
		t.Helper()
		m := must(s.Edit(ctx, reverie.Edit{GroupID: group, MemoryID: id, Action: action, Value: value, Reason: reason}))(t)
		hour()
		return m
	}
	born := create("likes tea")
	s.born = born.MemoryID
	apply([]reverie.Decision{decided(1, reverie.DecisionAdd, reverie.BasisNone, "likes tea", "", s.born)}, born, create("has two cats"))
	head := s.active()["likes tea"]
	s.ids["has two cats"] = s.active()["has two cats"].ID
	apply([]reverie.Decision{
		decided(1, reverie.DecisionNone, reverie.BasisCompared, "is fond of tea", s.born, s.born),
		decided(2, reverie.DecisionAdd, reverie.BasisNone, "plays go", "", ""),
	}, support(head, "2026-01-16", 0.51))
	green := update(head, "likes green tea")
	s.green = green.MemoryID
	apply([]reverie.Decision{decided(1, reverie.DecisionUpdate, reverie.BasisCompared, "prefers green tea", s.born, s.green)}, green)
	edit(s.green, reverie.ActionStrength, 0.9, "everybody knows")
	edit(s.green, reverie.ActionWeight, 1.6, "")
	edit(s.green, reverie.ActionDelete, 0, "too private")
	s.restored = edit(s.green, reverie.ActionRestore, 0, "not at all").ID
	apply(nil, support(s.active()["likes green tea"], "2026-01-17", 0.95))
	apply(nil, remove(s.active()["likes green tea"], "no longer so"))
	return s
}

// what sums a version up: its action, reason, run, and all that befell it.
func (s story) what(v reverie.WhyVersion) []string {
	number := func(run string) string {
		for i, id := range s.runs {
			if id == run {
				return " run " + string(rune('1'+i))
			}
		}
		return ""
	}
	made := string(v.Action) + ": " + v.Reason
	if v.Run != nil {
		made += number(v.Run.ID)
	}
	list := []string{v.Memory.Statement, made}
	for _, e := range v.Evidence {
		list = append(list, "evidence "+e.Quote+" "+e.LocalDate)
	}
	for _, d := range v.Decisions {
		list = append(list, "decision "+string(d.Action)+" "+d.Statement+number(d.RunID))
	}
	for _, l := range v.Later {
		line := strings.TrimSuffix("later "+string(l.Action)+" "+l.Reason, " ") + number(l.RunID)
		for _, e := range l.Evidence {
			line += " " + e.Quote
		}
		list = append(list, line)
	}
	return list
}

func TestWhy(t *testing.T) {
	s := tellStory(t)
	ctx := t.Context()
	why := must(s.Why(ctx, group, s.born))(t)
	var got [][]string
	for _, v := range why.Versions {
		got = append(got, s.what(v))
	}
	want := [][]string{
		{"likes tea", "create: said so run 1", "evidence message m0001 2026-01-15", "decision ADD likes tea run 1",
			"decision NONE is fond of tea run 2", "later keep run 2 message m0002"},
		{"likes green tea", "update: said so run 3", "evidence message m0001 2026-01-15", "decision UPDATE prefers green tea run 3",
			"later strength strength 0.30 -> 0.90: everybody knows", "later weight weight 1.00 -> 1.60", "later delete too private"},
		{"likes green tea", "restore: not at all", "later keep run 4 message m0002", "later delete no longer so run 5 message m0001"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	run := must(s.Run(ctx, group, s.runs[2]))(t).Run
	if diff := cmp.Diff(&run, why.Versions[1].Run); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	history := must(s.HistoryAt(ctx, group, s.born, reverie.When{}))(t)
	var versions []reverie.Memory
	for i, v := range why.Versions {
		versions = append(versions, v.Memory)
		if want := []int{1, 1, 0}[i]; v.ChunkNo != want {
			t.Errorf("version %d is of chunk %d, want %d", i+1, v.ChunkNo, want)
		}
		if v.Evidence == nil || v.Decisions == nil || v.Later == nil {
			t.Errorf("version %d has lists that JSON would call null", i+1)
		}
	}
	if diff := cmp.Diff(history, versions); diff != "" {
		t.Errorf("versions (-history +why):\n%s", diff)
	}
	if diff := cmp.Diff(history[2], why.Memory); diff != "" {
		t.Errorf("memory (-newest +got):\n%s", diff)
	}
	for name, id := range map[string]string{"the second version": s.green, "the newest": s.restored} {
		if diff := cmp.Diff(why, must(s.Why(ctx, "", id))(t)); diff != "" {
			t.Errorf("asked for %s (-first +this):\n%s", name, diff)
		}
	}
}

// What belongs to another lineage, or another group, is not told.
func TestWhyOfOthers(t *testing.T) {
	s := tellStory(t)
	ctx := t.Context()
	cats := must(s.Why(ctx, "", s.ids["has two cats"]))(t)
	if len(cats.Versions) != 1 {
		t.Fatalf("%d versions", len(cats.Versions))
	}
	want := []string{"has two cats", "create: said so run 1", "evidence message m0001 2026-01-15"}
	if diff := cmp.Diff(want, s.what(cats.Versions[0])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, err := range map[string]error{
		"another group": second(s.Why(ctx, "g2", s.born)),
		"unknown":       second(s.Why(ctx, "", reverie.NewID())),
		"no id":         second(s.Why(ctx, "", "likes tea")),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		wantErr(t, err, reverie.ErrNotFound)
	}
}

// A run that is taken back leaves its row, and its evidence supports nothing; the
// version that comes back is the operator's.
func TestWhyAfterARewind(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	s := story{world: w}
	first := w.plan(create("likes tea"))
	must(w.Apply(ctx, w.lease, first))(t)
	since := noon.Add(time.Duration(w.sent-999) * time.Minute) // of the next message
	w.now = noon.Add(time.Hour)
	second := w.plan(update(w.active()["likes tea"], "likes green tea"))
	must(w.Apply(ctx, w.lease, second))(t)
	w.now = noon.Add(2 * time.Hour)
	third := w.plan(support(w.active()["likes green tea"], "2026-01-16", 0.51))
	must(w.Apply(ctx, w.lease, third))(t)
	s.runs = []string{first.RunID, second.RunID, third.RunID}
	w.now = noon.Add(3 * time.Hour)
	w.rewind(since)
	why := must(w.Why(ctx, group, w.active()["likes tea"].ID))(t)
	var got [][]string
	for _, v := range why.Versions {
		got = append(got, s.what(v))
	}
	want := [][]string{{"likes tea", "create: said so run 1", "evidence message m0001 2026-01-15"},
		{"likes green tea", "update: said so run 2", "later undo strength 0.51 -> 0.30: wrong model"}, {"likes tea", "undo: wrong model"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if v := why.Versions[1]; v.Run.UndoneAt == nil || why.Versions[0].Run.UndoneAt != nil {
		t.Errorf("which run was taken back is not told: %+v", v.Run)
	}
}

// What was replaced says by what: at once, or once a person has let it pass, and
// not while it waits.
func TestWhyOfWhatWasReplaced(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.apply(create("meets on Friday"), create("likes tea"))
	friday, tea := w.active()["meets on Friday"], w.active()["likes tea"]
	saturday, coffee := create("meets on Saturday"), create("likes coffee")
	plan := w.plan(remove(friday, "conflict"), saturday)
	plan.Held = []reverie.Step{remove(tea, "conflict"), coffee}
	plan.Decisions = []reverie.Decision{
		decided(1, reverie.DecisionReplace, reverie.BasisCompared, "meets on Saturday", friday.ID, saturday.MemoryID),
		decided(2, reverie.DecisionHold, reverie.BasisCompared, "likes coffee", tea.ID, coffee.MemoryID)}
	must(w.Apply(ctx, w.lease, plan))(t)
	replaced := func(id string) []string {
		t.Helper()
		v := must(w.Why(ctx, group, id))(t).Versions[0]
		var list []string
		for _, d := range v.Decisions {
			list = append(list, d.Statement+" "+d.MemoryID)
		}
		for _, l := range v.Later {
			if l.Approved {
				list = append(list, "approved: "+string(l.Action))
			}
		}
		return list
	}
	if diff := cmp.Diff([]string{"meets on Saturday " + saturday.MemoryID}, replaced(friday.ID)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := replaced(tea.ID); len(got) != 0 {
		t.Errorf("while it waits: %q", got)
	}
	held := must(w.Run(ctx, group, plan.RunID))(t).Held[0]
	must(w.ApplyHeld(ctx, w.lease, held, held.Steps, nil))(t)
	if diff := cmp.Diff([]string{"likes coffee " + coffee.MemoryID, "approved: delete"}, replaced(tea.ID)); diff != "" {
		t.Errorf("approved (-want +got):\n%s", diff)
	}
	if v := must(w.Why(ctx, group, coffee.MemoryID))(t).Versions[0]; !v.Approved || len(v.Decisions) != 1 {
		t.Errorf("what a person let pass: %+v", v)
	}
	if v := must(w.Why(ctx, group, saturday.MemoryID))(t).Versions[0]; v.Approved {
		t.Errorf("what nobody was asked about: %+v", v)
	}
}

// Support that a person let pass later belongs to its decision, and that of a run
// which was taken back leaves a decision that says so.
func TestWhyOfLateAndUndoneSupport(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.apply(create("likes tea"))
	tea := w.active()["likes tea"]
	since := noon.Add(time.Duration(w.sent-999) * time.Minute) // of the next message
	plan := w.plan()
	plan.HeldAll, plan.Held = true, []reverie.Step{support(tea, "2026-01-16", 0.51)}
	plan.Decisions = []reverie.Decision{decided(1, reverie.DecisionNone, reverie.BasisCompared, "is fond of tea", tea.ID, tea.ID)}
	must(w.Apply(ctx, w.lease, plan))(t)
	if v := must(w.Why(ctx, group, tea.ID))(t).Versions[0]; len(v.Decisions) != 0 || len(v.Later) != 0 {
		t.Errorf("while it waits: %+v", v)
	}
	w.now = noon.Add(time.Hour)
	held := must(w.Run(ctx, group, plan.RunID))(t).Held[0]
	must(w.ApplyHeld(ctx, w.lease, held, held.Steps, nil))(t)
	v := must(w.Why(ctx, group, tea.ID))(t).Versions[0]
	if len(v.Decisions) != 1 || len(v.Later) != 1 || v.Later[0].RunID != v.Decisions[0].RunID || !v.Later[0].Approved || v.Approved || v.Decisions[0].UndoneAt != nil {
		t.Errorf("once approved: %+v", v)
	}
	w.rewind(since)
	v = must(w.Why(ctx, group, tea.ID))(t).Versions[0]
	if len(v.Decisions) != 1 || v.Later[0].Action != reverie.ActionUndo || v.Decisions[0].UndoneAt == nil || v.Run.UndoneAt != nil {
		t.Errorf("once taken back: %+v", v)
	}
}
