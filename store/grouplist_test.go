package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

func entryIDs(list []reverie.GroupEntry) (ids []string) {
	for _, g := range list {
		ids = append(ids, g.ID)
	}
	return ids
}

func TestGroupList(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, id := range []string{"both", "new", "parked", "paused"} {
		w.ensure(id)
	}
	w.apply(create("likes tea"), create("plays go"))
	w.now = noon.Add(time.Hour)
	newest := must(w.StartRun(ctx, w.lease, reverie.Run{Job: "dream", Stats: reverie.Stats{Kept: 2}}))(t)
	late := noon.Add(4*time.Hour + 30*time.Minute) // the 16th in Shanghai
	w.note(group, late, "pending")
	w.note(group, late.Add(time.Hour), "pending")
	must(w.ChangeGroup(ctx, group, reverie.GroupChange{DayBoundary: pointer("04:00")}, late))(t)
	must(w.PauseGroup(ctx, "paused"))(t)
	must(w.PauseGroup(ctx, "both"))(t)
	must(w.NoteFailure(ctx, "new", "dream", "once", rule))(t)
	parked := must(w.NoteFailure(ctx, "parked", reverie.JobEvolve, "why", reverie.ParkRule{After: 1}))(t)
	must(w.NoteFailure(ctx, "both", reverie.JobEvolve, "why", reverie.ParkRule{After: 1}))(t)

	for _, c := range []struct {
		q    reverie.GroupQuery
		want []string
	}{
		{reverie.GroupQuery{}, []string{"both", group, "new", "parked", "paused"}},
		{reverie.GroupQuery{Limit: 2}, []string{"both", group}},
		{reverie.GroupQuery{After: group, Limit: 2}, []string{"new", "parked"}},
		{reverie.GroupQuery{State: reverie.GroupActive}, []string{group, "new"}},
		{reverie.GroupQuery{State: reverie.GroupPaused}, []string{"both", "paused"}},
		{reverie.GroupQuery{State: reverie.GroupParked}, []string{"both", "parked"}},
		{reverie.GroupQuery{State: reverie.GroupParked, After: "both"}, []string{"parked"}},
		{reverie.GroupQuery{State: "asleep"}, nil},
		{reverie.GroupQuery{Name: "P%"}, nil},
		{reverie.GroupQuery{Name: "PA", State: reverie.GroupPaused}, []string{"paused"}},
		{reverie.GroupQuery{GroupID: "parked"}, []string{"parked"}},
		{reverie.GroupQuery{GroupID: "parked", State: reverie.GroupActive}, nil},
	} {
		list := must(w.GroupList(ctx, c.q))(t)
		if diff := cmp.Diff(c.want, entryIDs(list)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.q, diff)
		}
	}
	wantErr(t, second(w.GroupList(ctx, reverie.GroupQuery{GroupID: "nowhere"})), reverie.ErrNotFound)

	list := must(w.GroupList(ctx, reverie.GroupQuery{}))(t)
	want := reverie.GroupEntry{Group: must(w.Group(ctx, group))(t), Pending: 2, OldestPending: &late, Active: 2, LastRun: &newest}
	if diff := cmp.Diff(want, list[1]); diff != "" || len(list[1].Past) != 1 {
		t.Errorf("%s (-want +got):\n%s", group, diff)
	}
	want = reverie.GroupEntry{Group: must(w.Group(ctx, "parked"))(t), Setbacks: []reverie.Setback{parked}}
	if diff := cmp.Diff(want, list[3]); diff != "" || !list[3].Parked() || list[2].Parked() {
		t.Errorf("parked (-want +got):\n%s", diff)
	}
}

// A page costs the same number of statements whatever its size.
func TestGroupListStatements(t *testing.T) {
	var n network
	w := openWorld(t, n.options())
	for i := range 30 {
		id := fmt.Sprintf("h%02d", i)
		w.ensure(id)
		w.note(id, noon, "hello")
		must(w.NoteFailure(t.Context(), id, reverie.JobEvolve, "why", rule))(t)
	}
	cost := func(limit int) (list, due int64) {
		start := n.trips.Load()
		must(w.GroupList(t.Context(), reverie.GroupQuery{Limit: limit}))(t)
		list = n.trips.Load() - start
		must(w.DueGroups(t.Context(), reverie.DueQuery{Job: reverie.JobEvolve, Limit: limit}))(t)
		return list, n.trips.Load() - start - list
	}
	for range 2 { // the second time prepares what is prepared
		cost(1)
	}
	oneList, oneDue := cost(1)
	list, due := cost(30)
	if list != oneList || due != oneDue {
		t.Errorf("listing takes %d requests for one group and %d for 30; what is due %d and %d", oneList, list, oneDue, due)
	}
}
