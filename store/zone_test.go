package store_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// The database's zone is half an hour off and behind UTC: a time that took its
// zone, or a date that was counted in it, would show.
func TestTimesAreUTC(t *testing.T) {
	w := newWorld(t)
	db := raw(t)
	var zone string
	check(t, db.QueryRow(`show timezone`).Scan(&zone))
	if zone != pgtest.TimeZone {
		t.Fatalf("the test database is in %s: this test proves nothing", zone)
	}
	ctx := t.Context()
	late := create("late at night")
	late.Evidence = []reverie.Evidence{evidence("m0001", "2026-01-16")} // 00:30 in Shanghai, the 15th elsewhere
	late.Evidence[0].SentAt = time.Date(2026, 1, 15, 16, 30, 0, 0, time.UTC)
	plan := w.plan(late)
	plan.Held = []reverie.Step{create("held")}
	must(w.Apply(ctx, w.lease, plan))(t)
	check(t, w.RecordCall(ctx, reverie.Call{GroupID: group, RunID: &plan.RunID}))
	check(t, second(w.FinishRun(ctx, w.lease, reverie.Run{ID: plan.RunID, Status: reverie.RunHeld})))
	w.messages(1)

	var date string
	check(t, db.QueryRow(`select to_char(local_date, 'YYYY-MM-DD') from memory_evidence`).Scan(&date))
	if date != "2026-01-16" {
		t.Errorf("local date %s, want the group's 2026-01-16", date)
	}
	state := must(w.Gather(ctx, reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, Limit: 9, ContextSince: noon.AddDate(-1, 0, 0), ContextLimit: 9}))(t)
	if d := state.Heads[0].SupportDates; len(d) != 1 || d[0] != "2026-01-16" {
		t.Errorf("support dates %v", d)
	}
	setback := must(w.NoteFailure(ctx, group, reverie.JobEvolve, "why", reverie.ParkRule{After: 1}))(t)
	changed := must(w.ChangeGroup(ctx, group, reverie.GroupChange{TimeZone: pointer("Asia/Tokyo")}, noon))(t)
	due := must(w.DueGroups(ctx, reverie.DueQuery{Job: reverie.JobEvolve}))(t)
	entries := must(w.GroupList(ctx, reverie.GroupQuery{}))(t)
	memory := must(w.Memory(ctx, group, late.MemoryID))(t)
	detail := must(w.Run(ctx, group, plan.RunID))(t)
	for name, v := range map[string]any{"state": state, "memory": memory, "run": detail, "lease": w.lease,
		"changes": must(w.Changes(ctx, group, time.Time{}, time.Time{}, 0))(t), "info": must(w.Info(ctx))(t),
		"setback": setback, "changed": changed, "due": due, "entries": entries, "runs": must(w.Runs(ctx, reverie.RunQuery{}))(t),
		"renewed": must(w.RenewLease(ctx, w.lease, time.Minute))(t)} {
		if n := foreign(reflect.ValueOf(v)); n > 0 {
			text, _ := json.Marshal(v)
			t.Errorf("%d times of %s are not UTC: %s", n, name, text)
		}
	}
}

// foreign counts the times within v that are not in UTC.
func foreign(v reflect.Value) (n int) {
	if at, ok := v.Interface().(time.Time); ok {
		if at.Location() != time.UTC {
			return 1
		}
		return 0
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n = foreign(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += foreign(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += foreign(v.Field(i))
		}
	}
	return n
}
