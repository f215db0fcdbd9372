package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/diff"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// moment is what was seen at an instant, by looking then.
type moment struct {
	at        time.Time
	active    []string
	memories  []reverie.Memory
	histories map[string][]string // by lineage, of one that was looked at
}

// asSeen tells a memory as a list shows it.
func asSeen(m reverie.Memory) string {
	return fmt.Sprintf("%s v%d %s %s %s %s, %v of weight %v, supported %s", m.ID, m.Version, m.Kind, m.Status, m.Statement, strings.Join(m.Tags, ","),
		m.Strength, m.Weight, m.LastSupportedAt.Format(time.RFC3339Nano))
}

func allSeen(list []reverie.Memory) []string {
	seen := make([]string, len(list))
	for i, m := range list {
		seen[i] = asSeen(m)
	}
	return seen
}

// pastStory is a random history of a group, and the moments at which it was looked at.
type pastStory struct {
	*world
	*rand.Rand
	runs    []string
	said    int
	moments []moment
}

// step has one thing happen: a night, an edit by a person, time, an erasure that holds a
// memory, or a run that is taken back.
func (s *pastStory) step(hold func(memoryID string)) {
	s.t.Helper()
	all, _, err := s.ListMemories(s.t.Context(), reverie.MemoryQuery{GroupID: group})
	check(s.t, err)
	heads := map[string]reverie.Memory{}
	for _, m := range all {
		heads[m.LineageID] = m
	}
	var active, gone []reverie.Memory
	for _, m := range all {
		switch head := heads[m.LineageID]; {
		case head.ID != m.ID:
		case m.Status == reverie.StatusActive:
			active = append(active, m)
		default:
			gone = append(gone, m)
		}
	}
	some := func(list []reverie.Memory) reverie.Memory { return list[s.IntN(len(list))] }
	fresh := func() string { s.said++; return fmt.Sprintf("第 %d 条 note of the group", s.said) }
	switch n := s.IntN(16); {
	case n > 13 && len(active) > 1: // values that are changed in place: by support, or by a person
		m := some(active)
		s.night(support(m, fmt.Sprintf("2026-01-%d", 16+s.IntN(9)), float64(1+s.IntN(9))/9))
	case n > 11 && len(active) > 1:
		action := []reverie.Action{reverie.ActionStrength, reverie.ActionWeight}[s.IntN(2)]
		must(s.edit(some(active).ID, action, float64(1+s.IntN(8))/8))(s.t)
	case n < 3 || len(active) < 2:
		s.night(create(fresh()), create(fresh()))
	case n < 6:
		m := some(active)
		st := update(m, fresh())
		if s.IntN(3) == 0 { // tags alone
			st.Statement, st.ContentHash, st.Tags = m.Statement, m.ContentHash, []string{"t" + fmt.Sprint(s.said)}
		}
		s.night(st)
	case n == 6:
		s.night(remove(some(active), "no longer"), create(fresh()))
	case n == 7:
		must(s.edit(some(active).ID, reverie.ActionDelete, 0))(s.t)
	case n == 8:
		s.archive(some(active).Statement)
	case n == 9:
		hold(some(active).ID)
	case n == 10 && len(gone) > 0:
		must(s.edit(some(gone).ID, reverie.ActionRestore, 0))(s.t)
	case len(s.runs) > 0:
		i := s.IntN(len(s.runs))
		must(s.Undo(s.t.Context(), s.lease, reverie.UndoQuery{GroupID: group, RunID: s.runs[i], Reason: "a bad night", Force: s.IntN(2) == 0}))(s.t)
		s.runs = slices.Delete(s.runs, i, i+1)
	}
}

// night is a run that has ended.
func (s *pastStory) night(steps ...reverie.Step) {
	s.t.Helper()
	plan := s.plan(steps...)
	must(s.Apply(s.t.Context(), s.lease, plan))(s.t)
	s.finish(plan)
	s.runs = append(s.runs, plan.RunID)
}

// look notes what is there now, at the instant of the last change or later.
func (s *pastStory) look(at time.Time) {
	s.t.Helper()
	list, _, err := s.ListMemories(s.t.Context(), reverie.MemoryQuery{GroupID: group, Status: reverie.StatusActive})
	check(s.t, err)
	m := moment{at: at, memories: list, active: allSeen(list), histories: map[string][]string{}}
	all, _, err := s.ListMemories(s.t.Context(), reverie.MemoryQuery{GroupID: group})
	check(s.t, err)
	if len(all) > 0 {
		one := all[s.IntN(len(all))]
		m.histories[one.ID] = allSeen(must(s.HistoryAt(s.t.Context(), group, one.ID, reverie.When{}))(s.t))
	}
	s.moments = append(s.moments, m)
}

// TestEachPastInstantIsAsItWas holds what is told of past instants against what was seen
// then, over a random history: lists with all that narrows them, histories, and the
// difference of any two instants.
func TestEachPastInstantIsAsItWas(t *testing.T) {
	seed := seedOf(t)
	s := &pastStory{world: newWorld(t), Rand: rand.New(rand.NewPCG(seed, 0))}
	db := raw(t)
	// The newest instant at which anything happened, though the clock may stand still or
	// go back.
	newest := func() (at time.Time) {
		check(t, db.QueryRowContext(t.Context(), `select coalesce(greatest(max(updated_at), max(ended_at),
			(select max(valid_until) from memory_values where group_id = $1),
			(select max(created_at) from memory_change_log where group_id = $1)), $2) from memories where group_id = $1`, group, s.now).Scan(&at))
		return at.UTC()
	}
	held := noon
	hold := func(memoryID string) {
		s.now = newest().Add(time.Second)
		held = s.now.Add(time.Second)
		check(t, second(db.ExecContext(t.Context(), `update memories set status = 'held', ended_at = $2, said_until = $2 where memory_id = $1`, memoryID, s.now)))
	}
	for range 60 {
		s.step(hold)
		if s.IntN(3) > 0 { // else more happens before anybody looks
			s.look(newest())
			if s.now = s.now.Add(time.Duration(s.IntN(1<<40)-1<<37) * time.Microsecond); s.now.Before(held) {
				s.now = held // the change log has no row of it that others could come after
			}
		}
	}
	s.look(newest())
	for _, m := range s.moments {
		s.wantAsThen(m)
	}
	for range 40 {
		i := s.IntN(len(s.moments) - 1)
		s.wantDiff(s.moments[i], s.moments[i+1+s.IntN(len(s.moments)-1-i)])
	}
}

func (s *pastStory) wantAsThen(m moment) {
	t, ctx := s.t, s.t.Context()
	t.Helper()
	list, total, err := s.ListMemories(ctx, reverie.MemoryQuery{GroupID: group, At: m.at, Recorded: true})
	check(t, err)
	if d := cmp.Diff(m.active, allSeen(list)); d != "" || total != len(m.active) {
		t.Fatalf("at %s, %d in all (-then +told):\n%s", m.at, total, d)
	}
	if got, want := reverie.ActiveSHA256(list), reverie.ActiveSHA256(m.memories); got != want {
		t.Errorf("at %s: hash %s, want %s", m.at, got, want)
	}
	hits := must(s.Search(ctx, reverie.SearchQuery{GroupID: group, Vector: []float32{1, 0, 0}, Model: model, At: m.at, Recorded: true}))(t).Hits
	var found []string
	for _, h := range hits {
		found = append(found, asSeen(h.Then()))
	}
	if d := cmp.Diff(slices.Sorted(slices.Values(m.active)), slices.Sorted(slices.Values(found))); d != "" {
		t.Errorf("a search at %s (-then +found):\n%s", m.at, d)
	}
	core, _, err := s.ListMemories(ctx, reverie.MemoryQuery{GroupID: group, At: m.at, Recorded: true, Core: true})
	check(t, err)
	heavy := slices.DeleteFunc(slices.Clone(m.memories), func(m reverie.Memory) bool { return m.Weight < reverie.CoreWeight })
	if d := cmp.Diff(allSeen(heavy), allSeen(core)); d != "" {
		t.Errorf("core at %s (-then +told):\n%s", m.at, d)
	}
	from := min(1, len(list))
	page, total, err := s.ListMemories(ctx, reverie.MemoryQuery{GroupID: group, At: m.at, Recorded: true, Kind: reverie.KindGroup, Tag: "food", Limit: 2, Offset: from})
	check(t, err)
	tagged := slices.DeleteFunc(slices.Clone(list), func(m reverie.Memory) bool { return !slices.Contains(m.Tags, "food") })
	want := allSeen(tagged[min(from, len(tagged)):min(from+2, len(tagged))])
	if d := cmp.Diff(want, allSeen(page)); d != "" || total != len(tagged) {
		t.Errorf("a page at %s of %d, want of %d (-then +told):\n%s", m.at, total, len(tagged), d)
	}
	for id, want := range m.histories {
		if d := cmp.Diff(want, allSeen(must(s.HistoryAt(ctx, group, id, reverie.When{At: m.at, Recorded: true}))(t))); d != "" {
			t.Errorf("history of %s at %s (-then +told):\n%s", id, m.at, d)
		}
	}
}

// wantDiff has the difference make the one moment of the other.
func (s *pastStory) wantDiff(a, b moment) {
	t := s.t
	t.Helper()
	said := func(list []reverie.Memory) map[string]string {
		by := map[string]string{}
		for _, m := range list {
			by[m.LineageID] = m.Statement + " " + strings.Join(m.Tags, ",")
		}
		return by
	}
	d := diff.Memories(must(s.Between(t.Context(), reverie.BetweenQuery{GroupID: group, From: a.at, To: b.at, Recorded: true}))(t))
	got, unchanged := said(a.memories), 0
	want := said(b.memories)
	for lineage, text := range want {
		if got[lineage] == text {
			unchanged++
		}
	}
	for _, e := range slices.Concat(d.Added, d.Changed, d.Gone) {
		if e.Before != nil {
			if was := e.Before.Statement + " " + strings.Join(e.Before.Tags, ","); got[e.LineageID] != was {
				t.Errorf("%s said %q, not %q", e.LineageID, got[e.LineageID], was)
			}
			delete(got, e.LineageID)
		}
		if e.After != nil {
			got[e.LineageID] = e.After.Statement + " " + strings.Join(e.After.Tags, ",")
		}
		if len(e.Steps) == 0 || slices.ContainsFunc(e.Steps, func(st reverie.DiffStep) bool { return st.Action == "" }) {
			t.Errorf("from %s to %s, %s has steps %+v", a.at, b.at, e.LineageID, e.Steps)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("from %s to %s (-want +got):\n%s", a.at, b.at, d)
	}
	if d.Counts.Unchanged != unchanged {
		t.Errorf("from %s to %s: %d unchanged, want %d", a.at, b.at, d.Counts.Unchanged, unchanged)
	}
}

// Before the first there was nothing, what is still to come is now, and what was erased
// is gone from the past too.
func TestEdgesOfThePast(t *testing.T) {
	w, db := newWorld(t), raw(t)
	tea, coffee := create("likes tea"), create("likes coffee")
	w.apply(tea, coffee)
	at := func(at time.Time) int {
		list, total, err := w.ListMemories(t.Context(), reverie.MemoryQuery{GroupID: group, At: at, Recorded: true})
		check(t, err)
		hits := must(w.Search(t.Context(), reverie.SearchQuery{GroupID: group, Vector: []float32{1, 0, 0}, Model: model, At: at, Recorded: true}))(t).Hits
		if len(hits) != len(list) || total != len(list) {
			t.Errorf("at %s: %d are listed of %d, %d are found", at, len(list), total, len(hits))
		}
		return total
	}
	if n := at(noon.Add(-time.Microsecond)); n != 0 {
		t.Errorf("%d before the first", n)
	}
	if n := at(noon); n != 2 {
		t.Errorf("%d at the instant of the first", n)
	}
	if n := at(noon.AddDate(100, 0, 0)); n != 2 {
		t.Errorf("%d in a hundred years", n)
	}
	if _, err := w.HistoryAt(t.Context(), "", tea.MemoryID, reverie.When{At: noon.Add(-time.Second), Recorded: true}); !errors.Is(err, reverie.ErrNotFound) {
		t.Errorf("a history from before its beginning: %v", err)
	}
	check(t, second(db.ExecContext(t.Context(), `update memories set statement = $1, status = 'deprecated', ended_at = $2, said_until = $2 where memory_id = $3`,
		text.Erased, noon.Add(time.Hour), coffee.MemoryID)))
	if n := at(noon); n != 1 {
		t.Errorf("%d after one was erased", n)
	}
	w.now = noon.Add(2 * time.Hour)
	d := diff.Memories(must(w.Between(t.Context(), reverie.BetweenQuery{GroupID: group, From: noon.Add(-time.Second), To: w.now, Recorded: true}))(t))
	if len(d.Added) != 1 || d.Counts.Passing != 0 {
		t.Errorf("what was erased is in the difference: %+v", d)
	}
}
