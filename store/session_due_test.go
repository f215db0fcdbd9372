package store_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store"
)

// What SQL says is due is what the rule says, for random sessions at, just under
// and just over each threshold.
func TestDueSessionsFollowTheRule(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.now = noon.AddDate(0, 1, 0)
	db := raw(t)
	r := rand.New(rand.NewPCG(12, 12))
	near := func(limits ...int) int { return max(0, limits[r.IntN(len(limits))]+r.IntN(3)-1) }
	var all []reverie.Session
	for i := range 400 {
		id := fmt.Sprintf("g%d", 2+i%40)
		w.ensureOnce(t, id, i < 40)
		s := reverie.Session{GroupID: id, ID: fmt.Sprintf("s%03d", i),
			New:    reverie.Tally{Messages: near(0, 1, 50), Tokens: near(0, 100, 12000), ToolCalls: near(0, 24), Turns: near(0, 5)},
			Folded: reverie.Tally{Turns: near(0, 3)}}
		if s.New.Messages == 0 {
			s.New = reverie.Tally{}
		}
		s.Total = s.New.Plus(s.Folded).Plus(reverie.Tally{Tokens: near(0, 6000), Turns: near(0, 6, 12)})
		s.LastAt = w.now.Add(-[]time.Duration{0, time.Hour, 7 * 24 * time.Hour}[r.IntN(3)]).Add(time.Duration(r.IntN(3)-1) * time.Microsecond)
		s.FirstAt = s.LastAt
		s.Unfinished = r.IntN(8) == 0
		at := func() *time.Time {
			if r.IntN(4) > 0 {
				return nil
			}
			retry := w.now.Add(time.Duration(r.IntN(3)-1) * time.Microsecond)
			if i%3 == 0 { // of before the clock was set back, or not quite
				retry = retry.Add(reverie.MaxRetryAfter)
			}
			return &retry
		}
		s.RetryAt, s.FoldRetryAt = at(), at()
		if r.IntN(12) == 0 {
			s.ParkedAt = &w.now
		}
		all = append(all, s)
	}
	_, err := db.Exec(`insert into sessions (group_id, session_id, cut, first_at, last_at, messages, tokens, tool_calls, turns, new_messages, new_tokens,
			new_tool_calls, new_turns, folded_turns, unfinished, retry_at, fold_retry_at, parked_at, created_at, updated_at)
		select x.group_id, x.session_id, false, x.first_at, x.last_at, (total->>'messages')::int, (total->>'tokens')::int, (total->>'tool_calls')::int,
			(total->>'turns')::int, (new->>'messages')::int, (new->>'tokens')::int, (new->>'tool_calls')::int, (new->>'turns')::int, (folded->>'turns')::int,
			unfinished, retry_at, fold_retry_at, parked_at, now(), now()
		from json_to_recordset($1) x (group_id text, session_id text, first_at timestamptz, last_at timestamptz, total json, new json, folded json,
			unfinished bool, retry_at timestamptz, fold_retry_at timestamptz, parked_at timestamptz)`,
		string(must(json.Marshal(grouped(all)))(t)))
	check(t, err)
	interrupted := all[3]
	_, err = db.Exec(`insert into runs (group_id, run_id, job, session_id, window_since, window_until, status, attempt, started_at)
		values ($1, gen_random_uuid(), 'extract', $2, 'epoch', 'epoch', 'running', 1, 'epoch')`, interrupted.GroupID, interrupted.ID)
	check(t, err)
	full := reverie.SessionRule{Tokens: 12000, ToolCalls: 24, Turns: 5, Idle: time.Hour, KeepTurns: 6, FoldTurns: 12, FoldTokens: 6000, ShortTermTTL: 7 * 24 * time.Hour}
	for i := range 12 {
		rule := full
		for j, limit := range []*int{&rule.Tokens, &rule.ToolCalls, &rule.Turns, &rule.FoldTurns, &rule.FoldTokens} {
			if i > 0 && (i == j+1 || r.IntN(3) == 0) {
				*limit = 0
			}
		}
		if i%2 == 1 {
			rule.Idle = 0
		}
		if i%3 == 2 {
			rule.ShortTermTTL = 0
		}
		rule.Asked = i%4 == 3
		want := map[string][]string{}
		for _, s := range all {
			if rule.Extract(s, w.now) || rule.Fold(s, w.now) || s.ID == interrupted.ID {
				want[s.GroupID] = append(want[s.GroupID], s.ID)
			}
		}
		q, got := w.Sessions(rule), map[string][]string{}
		for _, g := range must(q.DueGroups(ctx, reverie.DueQuery{Job: reverie.JobExtract}))(t) {
			list := must(q.DueSessions(ctx, g.ID))(t)
			if !slices.IsSortedFunc(list, func(a, b reverie.Session) int { return a.LastAt.Compare(b.LastAt) }) {
				t.Errorf("not by silence: %+v", list)
			}
			got[g.ID] = slices.Sorted(slices.Values(sessionIDs(list)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("rule %+v (-want +got):\n%s", rule, diff)
		}
	}
}

func (w *world) ensureOnce(t *testing.T, id string, first bool) {
	t.Helper()
	if first {
		w.ensure(id)
	}
}

// grouped are sessions with their groups, which their JSON has by the way.
func grouped(list []reverie.Session) (out []map[string]any) {
	for _, s := range list {
		out = append(out, map[string]any{"group_id": s.GroupID, "session_id": s.ID, "first_at": s.FirstAt, "last_at": s.LastAt,
			"total": s.Total, "new": s.New, "folded": s.Folded, "unfinished": s.Unfinished, "retry_at": s.RetryAt,
			"fold_retry_at": s.FoldRetryAt, "parked_at": s.ParkedAt})
	}
	return out
}

// Groups are listed like those of other jobs: paged, without paused ones. A session
// that is not due, or is left alone after a failure, keeps its group out, and no
// setback does.
func TestDueGroupsOfSessions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, id := range []string{"a", "b", "c", "few", "paused"} {
		w.ensure(id)
		w.bring(id, line("1", "s", "user", 0), line("2", "s", "assistant", 1))
		if id != "few" {
			w.bring(id, line("3", "s", "user", 2), line("4", "s", "assistant", 3))
		}
	}
	must(w.PauseGroup(ctx, "paused"))(t)
	must(w.NoteFailure(ctx, "b", reverie.JobExtract, "why", rule))(t)
	w.ensure("failed")
	w.bring("failed", line("1", "s", "user", 0), line("2", "s", "assistant", 1), line("3", "s", "user", 2), line("4", "s", "assistant", 3))
	for n := 1; n <= rule.After; n++ {
		noted := must(w.NoteSession(ctx, "failed", "s", "why", rule))(t)
		if noted.Failures != n || noted.Error != "why" || noted.SessionID != "s" || !noted.RetryAt.After(w.now) || (noted.ParkedAt != nil) != (n == rule.After) {
			t.Errorf("failure %d: %+v", n, noted)
		}
	}
	wantErr(t, second(w.NoteSession(ctx, "failed", "nowhere", "why", rule)), reverie.ErrNotFound)
	q := w.Sessions(reverie.SessionRule{Turns: 2})
	list := must(q.DueGroups(ctx, reverie.DueQuery{Job: reverie.JobExtract}))(t)
	if diff := cmp.Diff([]string{"a", "b", "c"}, dueIDs(list)); diff != "" {
		t.Fatalf("due (-want +got):\n%s", diff)
	}
	want := reverie.DueGroup{Group: must(w.Group(ctx, "b"))(t), FirstPending: noon.Add(3 * time.Minute)}
	if diff := cmp.Diff(want, list[1]); diff != "" {
		t.Errorf("b (-want +got):\n%s", diff)
	}
	if got := dueIDs(must(q.DueGroups(ctx, reverie.DueQuery{After: "a", Limit: 1}))(t)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("a page is %v", got)
	}
	for id, want := range map[string]int{"paused": 1, "few": 0, "a": 1} {
		if got := must(q.DueGroups(ctx, reverie.DueQuery{GroupID: id}))(t); len(got) != want {
			t.Errorf("%s by name: %+v", id, got)
		}
	}
	_, gone, err := w.ResumeGroup(ctx, "failed")
	check(t, err)
	if again := must(q.DueSessions(ctx, "failed"))(t); len(again) != 1 || again[0].Failures != 0 || len(gone) != 1 || gone[0].Failures != rule.After {
		t.Errorf("after %+v due are %+v", gone, again)
	}
	for range rule.After {
		must(w.NoteSession(ctx, "failed", "s", "why", rule))(t)
	}
	if n := must(w.ResumeParked(ctx))(t); n != 1 || len(must(q.DueSessions(ctx, "failed"))(t)) != 1 {
		t.Errorf("%d groups were resumed", n)
	}
	wantErr(t, second(q.DueGroups(ctx, reverie.DueQuery{GroupID: "nowhere"})), reverie.ErrNotFound)
	if list := must(q.DueSessions(ctx, "few"))(t); len(list) != 0 {
		t.Errorf("due are %+v", list)
	}
}

// A page of what is due costs some probes for each group, however many sessions
// wait there that are not due.
func TestDueSessionsAreCheap(t *testing.T) {
	w := newWorld(t)
	db := raw(t)
	const groups, each, due = 1500, 12, 20
	for _, statement := range []string{
		`insert into groups (group_id) select 'h' || lpad(n::text, 6, '0') from generate_series(1, 1500) n`,
		`insert into sessions (group_id, session_id, cut, first_at, last_at, messages, tokens, turns, new_messages, new_tokens, new_turns, created_at, updated_at)
			select group_id, 's' || k, true, 'epoch', 'epoch', 20, 900, 4, 20, 900, 4, now(), now() from groups, generate_series(1, 12) k where group_id like 'h%'`,
		`update sessions set new_turns = 5, turns = 5 where session_id = 's7' and group_id > 'h001480'`,
		`analyze groups, sessions, runs`,
	} {
		_, err := db.Exec(statement)
		check(t, err)
	}
	q := w.Sessions(reverie.SessionRule{Tokens: 12000, ToolCalls: 24, Turns: 5, KeepTurns: 6, FoldTurns: 12, FoldTokens: 6000, ShortTermTTL: time.Hour})
	if list := must(q.DueGroups(t.Context(), reverie.DueQuery{}))(t); len(list) != due {
		t.Fatalf("%d groups are due, want %d", len(list), due)
	}
	query, args := store.DueSessionPage(q)
	var plan []byte
	check(t, db.QueryRow(`explain (analyze, buffers, format json) `+query, append(args, "", 500)...).Scan(&plan))
	var found []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
		Time float64 `json:"Execution Time"`
	}
	check(t, json.Unmarshal(plan, &found))
	blocks := found[0].Plan.Hit + found[0].Plan.Read
	t.Logf("%d groups of %d sessions that wait, %d due: %d blocks, %.0f ms", groups, each, due, blocks, found[0].Time)
	if blocks > 14*groups {
		t.Errorf("%d blocks are looked at for %d groups:\n%s", blocks, groups, plan)
	}
}
