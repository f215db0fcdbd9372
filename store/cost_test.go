package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// costs are lines of a reply.
func costs(r reverie.CostsReply) map[string][]string {
	lines := func(list []reverie.Cost) []string {
		found := []string{}
		for _, c := range list {
			found = append(found, fmt.Sprintf("%s%s%s %s: %d calls, %d failed, %d in, %d out, %.2f", c.Date, c.GroupID, c.Model, c.Purpose,
				c.Calls, c.Failed, c.InputTokens, c.OutputTokens, c.CostUSD))
		}
		return found
	}
	return map[string][]string{"total": lines([]reverie.Cost{{Spend: r.Total}}), "days": lines(r.Days), "groups": lines(r.Groups), "models": lines(r.Models)}
}

// TestCosts sums calls up by day in UTC, group and model, within bounds.
func TestCosts(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.ensure("g2")
	for _, c := range []reverie.Call{
		{GroupID: group, Purpose: "evolve", Provider: "gemini", Model: "flash", InputTokens: 100, OutputTokens: 10, CostUSD: 0.5, Outcome: "ok", CreatedAt: noon},
		{GroupID: group, Purpose: "evolve", Provider: "gemini", Model: "flash", InputTokens: 100, CostUSD: 0.25, Outcome: "timeout", CreatedAt: noon.Add(12*time.Hour - time.Microsecond)},
		{GroupID: group, Purpose: "dream", Provider: "gemini", Model: "flash", InputTokens: 1, OutputTokens: 1, CostUSD: 2, Outcome: "ok", CreatedAt: noon.Add(12 * time.Hour)},
		{GroupID: "g2", Purpose: "evolve", Provider: "offline", Model: "offline", InputTokens: 7, OutputTokens: 7, Outcome: "ok", CreatedAt: noon.Add(36 * time.Hour)},
		{GroupID: "g2", Purpose: "evolve", Provider: "gemini", Model: "flash", InputTokens: 9, CostUSD: 9, Outcome: "ok", CreatedAt: noon.Add(48 * time.Hour)},
	} {
		check(t, w.RecordCall(ctx, c))
	}
	until := noon.Add(48 * time.Hour)
	reply := must(w.Costs(ctx, reverie.CostQuery{Since: noon, Until: until, Limit: 10}))(t)
	all := map[string][]string{"total": {" : 4 calls, 0 failed, 208 in, 18 out, 2.75"},
		"days": {"2026-01-15 : 2 calls, 1 failed, 200 in, 10 out, 0.75", "2026-01-16 : 1 calls, 0 failed, 1 in, 1 out, 2.00",
			"2026-01-17 : 1 calls, 0 failed, 7 in, 7 out, 0.00"},
		"groups": {"g1 : 3 calls, 1 failed, 201 in, 11 out, 2.75", "g2 : 1 calls, 0 failed, 7 in, 7 out, 0.00"},
		"models": {"gemini/flash dream: 1 calls, 0 failed, 1 in, 1 out, 2.00", "gemini/flash evolve: 2 calls, 1 failed, 200 in, 10 out, 0.75",
			"offline/offline evolve: 1 calls, 0 failed, 7 in, 7 out, 0.00"}}
	if diff := cmp.Diff(all, costs(reply)); diff != "" || reply.Cut {
		t.Errorf("all, cut %v (-want +got):\n%s", reply.Cut, diff)
	}
	reply = must(w.Costs(ctx, reverie.CostQuery{Since: noon, Until: until, Limit: 2}))(t)
	all["days"], all["models"] = all["days"][1:], all["models"][:2]
	if diff := cmp.Diff(all, costs(reply)); diff != "" || !reply.Cut {
		t.Errorf("two rows of each, cut %v (-want +got):\n%s", reply.Cut, diff)
	}
	reply = must(w.Costs(ctx, reverie.CostQuery{GroupID: "g2", Since: noon, Until: until.Add(time.Microsecond), Limit: 10}))(t)
	if got := costs(reply)["total"][0]; got != " : 2 calls, 0 failed, 16 in, 7 out, 9.00" || len(reply.Groups) != 1 || reply.GroupID != "g2" {
		t.Errorf("of one group: %s, %+v", got, reply)
	}
	reply = must(w.Costs(ctx, reverie.CostQuery{Since: until.Add(time.Hour), Until: until.Add(2 * time.Hour), Limit: 10}))(t)
	if reply.Total != (reverie.Spend{}) || reply.Days == nil || reply.Groups == nil || reply.Models == nil || len(reply.Days) != 0 {
		t.Errorf("of no calls: %+v", reply)
	}
	wantErr(t, second(w.Costs(ctx, reverie.CostQuery{GroupID: "nowhere", Since: noon, Until: until, Limit: 1})), reverie.ErrNotFound)
}

// TestRunsPaging goes on from a run, also where several began in the same instant, and
// finds those of which a plan waits.
func TestRunsPaging(t *testing.T) {
	w := newWorld(t)
	ctx, db := t.Context(), raw(t)
	w.ensure("g2")
	mustExec(t, db, `insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at, finished_at)
		select 'g' || 1 + i % 2, gen_random_uuid(), 'evolve', now(), now(), 'succeeded', 1, timestamptz '2026-01-15Z' + i / 4 * interval '1 minute', now()
		from generate_series(1, 17) i`)
	mustExec(t, db, `insert into run_chunks (group_id, run_id, chunk_no, status, created_at) select group_id, run_id, 1, 'held', now() from runs`)
	mustExec(t, db, `insert into held_plans (group_id, run_id, chunk_no, kind, plan, heads, status, created_at)
		select group_id, run_id, 1, 'group', '[]', '[]', case row_number() over () % 3 when 0 then 'waiting' when 1 then 'approved' else 'rejected' end, now() from runs`)
	mustExec(t, db, `insert into llm_calls (group_id, call_id, run_id, purpose, provider, model, input_tokens, outcome, created_at)
		select group_id, gen_random_uuid(), run_id, 'evolve', 'p', 'm', 5, 'ok', now() from runs`)
	for _, q := range []reverie.RunQuery{{}, {GroupID: "g1"}, {Held: true}, {GroupID: "g2", Held: true, Status: reverie.RunSucceeded}} {
		want := pgtest.Rows(t, db, `select run_id from runs r where ($1 = '' or group_id = $1) and (not $2::bool or exists (
				select 1 from held_plans h where h.group_id = r.group_id and h.run_id = r.run_id and status = 'waiting'))
			order by started_at desc, run_id desc`, q.GroupID, q.Held)
		var got []string
		for q.Limit = 3; ; {
			list := must(w.Runs(ctx, q))(t)
			for _, r := range list {
				got, q.Before = append(got, r.ID), r.ID
				if r.Spend.InputTokens != 5 {
					t.Errorf("run %s has spent %+v", r.ID, r.Spend)
				}
			}
			if len(list) < q.Limit {
				break
			}
		}
		if !slices.Equal(got, want) || len(want) < 3 {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
	theirs := pgtest.Rows(t, db, `select run_id from runs where group_id = 'g2' limit 1`)[0]
	for _, q := range []reverie.RunQuery{{Before: "what is no id"}, {Before: reverie.NewID()}, {GroupID: "g1", Before: theirs}} {
		wantErr(t, second(w.Runs(ctx, q)), reverie.ErrNotFound)
	}
}

// TestRunUpTo cuts each part of a run, and says so.
func TestRunUpTo(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.apply(create("likes tea"), create("plays go"), create("has a dog"))
	run := must(w.Runs(ctx, reverie.RunQuery{}))(t)[0].ID
	for range 3 {
		check(t, w.RecordCall(ctx, reverie.Call{GroupID: group, RunID: &run, InputTokens: 2, Outcome: "ok", Purpose: "evolve"}))
	}
	whole := must(w.Run(ctx, group, run))(t)
	cut := must(w.RunUpTo(ctx, group, run, 2))(t)
	if len(whole.Changes) != 3 || len(whole.Calls) != 3 || whole.Cut || !cut.Cut {
		t.Fatalf("whole %+v\ncut %+v", whole, cut)
	}
	if diff := cmp.Diff(whole.Changes[:2], cut.Changes); diff != "" || len(cut.Calls) != 2 || cut.Spend != whole.Spend || cut.Spend.InputTokens != 6 {
		t.Errorf("cut to %+v, changes (-want +got):\n%s", cut, diff)
	}
	if all := must(w.RunUpTo(ctx, group, run, 3))(t); all.Cut || cmp.Diff(whole, all) != "" {
		t.Errorf("of as many as there are: %s", cmp.Diff(whole, all))
	}
}
