package api_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/api"
	"reverie/internal/reverie"
)

// TestOverview adds up what ran, failed, waits, was spent and fell silent, of all groups
// or of the caller's own.
func TestOverview(t *testing.T) {
	a := newAlmanac(t)
	now := time.Date(2026, 3, 30, 12, 0, 0, 0, time.UTC)
	a.Now = func() time.Time { return now }
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	const hour, day = time.Hour, 24 * time.Hour
	said := func(groupID string, at time.Time, consumed bool) {
		a.write(`insert into messages (group_id, message_id, role, text, sent_at, run_id, outcome) values ($1, $2, 'user', 'x', $3,
			case when $4 then (select run_id from runs where group_id = $1 limit 1) end, case when $4 then 'cited' end)`, groupID, reverie.NewID(), at, consumed)
	}
	for _, id := range []string{petitioned, "other", "gone", "quiet", "paused"} {
		a.group(id, "UTC")
	}
	a.write(`update groups set name = 'The quiet ones' where group_id = 'quiet'`)
	a.write(`update groups set paused = true where group_id = 'paused'`)
	for _, at := range []time.Duration{hour, 23 * hour, 25 * hour, 40 * day} {
		a.run(petitioned, reverie.Run{Job: reverie.JobEvolve, WindowSince: ago(at), WindowUntil: ago(at), StartedAt: ago(at)})
	}
	a.run(petitioned, reverie.Run{Job: reverie.JobPropose, WindowSince: now, WindowUntil: now, StartedAt: ago(hour)})
	failed := a.run("other", reverie.Run{Job: reverie.JobDream, WindowSince: now, WindowUntil: now, StartedAt: ago(2 * hour)})
	a.write(`update runs set status = 'failed', stats = '{}' where run_id = $1`, failed)
	held := a.run("other", reverie.Run{Job: reverie.JobEvolve, WindowSince: now, WindowUntil: now, StartedAt: ago(3 * day)})
	for no, status := range []string{"waiting", "waiting", "approved"} {
		a.write(`insert into run_chunks (group_id, run_id, chunk_no, status, created_at) values ('other', $1, $2, 'held', $3)`, held, no+1, now)
		a.write(`insert into held_plans (group_id, run_id, chunk_no, kind, plan, heads, status, created_at) values ('other', $1, $2, 'group', '[]', '[]', $3, $4)`,
			held, no+1, status, now)
	}
	for i, job := range []reverie.Job{reverie.JobEvolve, reverie.JobDream, reverie.JobExtract} {
		a.write(`insert into setbacks (group_id, job, failures, error, retry_at, parked_at, updated_at) values ($1, $2, 3, 'no answer', $3, $4, $5)`,
			[]string{"other", "gone", petitioned}[i], string(job), now, []any{nil, now, nil}[i], ago(time.Duration(3-i)*hour))
	}
	for i, at := range []time.Duration{hour, 13 * hour, 34 * hour, 37 * hour} {
		a.write(`insert into llm_calls (group_id, call_id, purpose, provider, model, cost_usd, outcome, created_at) values ($1, $2, 'evolve', 'p', 'm', $3, 'ok', $4)`,
			[]string{petitioned, "other"}[i%2], reverie.NewID(), 0.5, ago(at))
	}
	said(petitioned, ago(8*day), true) // and somebody has spoken since
	said(petitioned, ago(6*day), false)
	said("other", ago(8*day), true)
	said("quiet", ago(20*day), false)
	said("quiet", ago(7*day+hour), false)
	said("gone", ago(37*day+hour), false) // long ago
	said("paused", ago(8*day), false)

	got, err := a.Overview(a.ctx)
	a.check(err)
	tell := func(o reverie.Overview) (list []string) {
		for _, r := range o.Runs {
			list = append(list, fmt.Sprintf("%d %s, %d created", r.Runs, r.Status, r.Created))
		}
		for _, f := range o.Failing {
			list = append(list, fmt.Sprintf("%s of %s, parked %t, of %d", f.Job, f.GroupID, f.ParkedAt != nil, f.Total))
		}
		for _, s := range o.Silent {
			list = append(list, fmt.Sprintf("%s %s %d days, of %d", s.ID, s.Name, int(now.Sub(s.Last)/day), s.Total))
		}
		return append(list, fmt.Sprintf("%d waits, %g USD today, %g yesterday", o.Waiting, o.Today.CostUSD, o.Yesterday.CostUSD))
	}
	if diff := cmp.Diff([]string{"1 failed, 0 created", "2 succeeded, 2 created", "dream of gone, parked true, of 3", "extract of " + petitioned + ", parked false, of 3",
		"evolve of other, parked false, of 3", "quiet The quiet ones 7 days, of 2", "other  8 days, of 2", "1 waits, 0.5 USD today, 1 yesterday"}, tell(got)); diff != "" {
		t.Error(diff)
	}
	if got.LastRun == nil || !got.LastRun.Equal(ago(hour)) {
		t.Errorf("the last run began at %v", got.LastRun)
	}

	own := api.WithCaller(t.Context(), api.Caller{GroupID: petitioned, Scope: reverie.ScopeRead})
	got, err = a.Overview(own)
	a.check(err)
	if diff := cmp.Diff([]string{"2 succeeded, 2 created", "extract of " + petitioned + ", parked false, of 1", "0 waits, 0.5 USD today, 0.5 yesterday"}, tell(got)); diff != "" {
		t.Error(diff)
	}
	if _, err := a.Overview(t.Context()); !errors.Is(err, reverie.ErrUnauthorized) {
		t.Errorf("nobody: %v", err)
	}
}

// TestActivity counts changes by day of UTC, for all groups at once.
func TestActivity(t *testing.T) {
	a := newAlmanac(t)
	now := time.Date(2026, 3, 30, 12, 0, 0, 0, time.UTC)
	a.Now = func() time.Time { return now }
	today := now.Truncate(24 * time.Hour)
	a.group(petitioned, "Asia/Shanghai")
	a.group("other", "UTC")
	a.group("idle", "UTC")
	for _, at := range []time.Time{today.AddDate(0, 0, -29).Add(-time.Second), today.AddDate(0, 0, -29), today.Add(-time.Second), today, now} {
		a.changed(petitioned, nil, at)
	}
	a.changed("other", nil, now)
	got, err := a.Activity(a.ctx, []string{petitioned, "other", "idle", "nobody"})
	a.check(err)
	want := map[string][]int{petitioned: make([]int, api.OverviewDays), "other": make([]int, api.OverviewDays)}
	want[petitioned][0], want[petitioned][28], want[petitioned][29], want["other"][29] = 1, 1, 2, 1
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = a.Activity(api.WithCaller(t.Context(), api.Caller{GroupID: "other", Scope: reverie.ScopeRead}), []string{petitioned, "other"})
	a.check(err)
	if diff := cmp.Diff(map[string][]int{"other": want["other"]}, got); diff != "" {
		t.Errorf("of a caller of another group: %s", diff)
	}
}

// TestUnderWay reads once a second what runs in all groups, however many ask, and tells
// each of what it sees.
func TestUnderWay(t *testing.T) {
	a := newAlmanac(t)
	now := time.Date(2026, 3, 30, 12, 0, 0, 0, time.UTC)
	a.Now = func() time.Time { return now }
	a.group(petitioned, "UTC")
	a.group("other", "UTC")
	begin := func(groupID string, job reverie.Job) string {
		id := a.run(groupID, reverie.Run{Job: job, WindowSince: now.Add(-time.Hour), WindowUntil: now, StartedAt: now})
		a.write(`update runs set status = 'running', finished_at = null where run_id = $1`, id)
		return id
	}
	evolving := begin(petitioned, reverie.JobEvolve)
	a.write(`update leases set holder = 'x', expires_at = clock_timestamp() + interval '1 hour' where group_id = $1`, petitioned)
	a.write(`insert into run_chunks (group_id, run_id, chunk_no, status, message_ids, created_at)
		select $1, $2, no, status, array['a', 'b'], now() from unnest(array['applied', 'held', 'open']) with ordinality as c (status, no)`, petitioned, evolving)
	for _, at := range []time.Duration{time.Minute, 2 * time.Minute, 2 * time.Hour} { // the last is of no window of it
		a.write(`insert into messages (group_id, message_id, role, text, sent_at) values ($1, $2, 'user', 'x', $3)`, petitioned, reverie.NewID(), now.Add(-at))
	}
	tell := func(groupID string) (list []string) {
		runs, err := a.UnderWay(a.ctx, groupID)
		a.check(err)
		for _, r := range runs {
			list = append(list, fmt.Sprintf("%s: %d of %d parts, %d read and %d to read, %d changed, alive %t", r.GroupID, r.Applied, r.Chunks, r.Read, r.Pending, r.Changes, r.Alive))
		}
		return list
	}
	first := []string{petitioned + ": 2 of 3 parts, 4 read and 2 to read, 1 changed, alive true"}
	if diff := cmp.Diff(first, tell("")); diff != "" {
		t.Error(diff)
	}
	begin("other", reverie.JobDream)
	now = now.Add(999 * time.Millisecond)
	if diff := cmp.Diff(first, tell("")); diff != "" {
		t.Errorf("within the same second: %s", diff)
	}
	now = now.Add(time.Millisecond)
	dreaming := "other: 0 of 0 parts, 0 read and 0 to read, 1 changed, alive false"
	if diff := cmp.Diff([]string{dreaming}, tell("other")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(first, tell(petitioned)); diff != "" {
		t.Error(diff)
	}
	own := api.WithCaller(t.Context(), api.Caller{GroupID: "other", Scope: reverie.ScopeRead})
	if runs, err := a.UnderWay(own, ""); err != nil || len(runs) != 1 || runs[0].GroupID != "other" {
		t.Errorf("a caller of one group sees %+v, %v", runs, err)
	}
	if _, err := a.UnderWay(own, petitioned); !errors.Is(err, reverie.ErrNotFound) {
		t.Errorf("of another group: %v", err)
	}
	if _, err := a.UnderWay(t.Context(), ""); !errors.Is(err, reverie.ErrUnauthorized) {
		t.Errorf("nobody: %v", err)
	}
}
