package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pgtest"
)

// Sessions count as ended from the very instant on, are fresh until a dream has
// covered their last message, and a session to reach up to is the last that counts.
func TestDreamSigns(t *testing.T) {
	d := newDreamer(t)
	d.ensure("g2")
	d.quiet("g2", "elsewhere", 0)
	d.knows("g2", reverie.KindSession, "elsewhere", "another group's fact")
	d.quiet(group, "a", 0)
	d.quiet(group, "b", 10)
	d.quiet(group, "c", 10) // as late as b, behind it by id
	d.quiet(group, "d", 20)
	d.covers(group, "a", 0)
	d.knows(group, reverie.KindSession, "a", "a's fact")
	d.knows(group, reverie.KindSession, "b", "b's fact")
	d.knows(group, reverie.KindSession, "d", "d's fact")
	d.knows(group, reverie.KindSession, "gone", "an unknown session's fact")
	d.knows(group, reverie.KindSession, "", "no session's fact")
	d.knows(group, reverie.KindGroup, "", "the group's")
	d.knows(group, reverie.KindDream, "", "an item", reverie.TagDream)
	d.knows(group, reverie.KindTeam, "", "the team's")
	d.write(`update sessions set turns = 1 where session_id <> 'c'`) // in that no bot takes part
	d.write(`update sessions set new_messages = 0 where session_id = 'b'`)

	at := func(minute int) *time.Time { m := minutes(minute); return &m }
	for name, tt := range map[string]struct {
		q    reverie.DreamQuery
		want reverie.DreamSigns
	}{
		"all":                  {reverie.DreamQuery{}, reverie.DreamSigns{Fresh: 3, QuietSince: at(10), New: 6, Through: "d", Unread: 1}},
		"ended by the last":    {reverie.DreamQuery{EndedBy: minutes(20)}, reverie.DreamSigns{Fresh: 3, QuietSince: at(10), New: 6, Through: "d", Unread: 1}},
		"just before it":       {reverie.DreamQuery{EndedBy: minutes(20).Add(-time.Microsecond)}, reverie.DreamSigns{Fresh: 2, QuietSince: at(10), New: 5, Through: "c"}},
		"only what is covered": {reverie.DreamQuery{EndedBy: minutes(0)}, reverie.DreamSigns{New: 4, Through: "a"}},
		"none has ended":       {reverie.DreamQuery{EndedBy: minutes(-1)}, reverie.DreamSigns{New: 3}},
		"through b":            {reverie.DreamQuery{Through: "b"}, reverie.DreamSigns{Fresh: 1, QuietSince: at(10), New: 5, Through: "b"}},
		"through c":            {reverie.DreamQuery{Through: "c"}, reverie.DreamSigns{Fresh: 2, QuietSince: at(10), New: 5, Through: "c"}},
		"through d, ended by":  {reverie.DreamQuery{Through: "d", EndedBy: minutes(0)}, reverie.DreamSigns{New: 4, Through: "a"}},
	} {
		tt.q.GroupID = group
		if diff := cmp.Diff(tt.want, must(d.DreamSigns(t.Context(), tt.q))(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, after := range []time.Duration{-time.Microsecond, time.Microsecond} { // messages that came later, and that were taken away
		d.covers(group, "a", after)
		want := 3
		if after < 0 {
			want = 4
		}
		if got := must(d.DreamSigns(t.Context(), reverie.DreamQuery{GroupID: group}))(t); got.Fresh != want {
			t.Errorf("covered until %s after the last message: %+v", after, got)
		}
	}
	for _, q := range []reverie.DreamQuery{{GroupID: "nowhere"}, {GroupID: group, Through: "nowhere"}, {GroupID: group, Through: "elsewhere"}} {
		wantErr(t, second(d.DreamSigns(t.Context(), q)), reverie.ErrNotFound)
		wantErr(t, second(d.GatherDream(t.Context(), q)), reverie.ErrNotFound)
	}
}

// The last dream is the one that ended last, if it came to an end and still stands;
// one was interrupted that has begun and not been applied. What the newest one did not
// come to, as it failed, is left to dream of.
func TestSignsOfTheLastDream(t *testing.T) {
	d := newDreamer(t)
	d.ensure("g2")
	d.dreamt("g2", "succeeded", 90)
	signs := func(what string, last *time.Time, interrupted, cutShort bool) {
		t.Helper()
		want := reverie.DreamSigns{LastAt: last, Interrupted: interrupted, CutShort: cutShort}
		if diff := cmp.Diff(want, must(d.DreamSigns(t.Context(), reverie.DreamQuery{GroupID: group}))(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	at := func(minute int) *time.Time { m := minutes(minute); return &m }
	signs("none", nil, false, false)
	for _, status := range []string{"failed", "deferred"} {
		d.chunkOf(group, d.dreamt(group, status, 80), "open")
	}
	d.write(`insert into runs select group_id, gen_random_uuid(), 'extract', window_since, window_until, 'succeeded', 1, '', '', '', '{}', '', started_at, finished_at
		from runs where status = 'failed'`)
	signs("none that came to an end", nil, false, true)
	d.dreamt(group, "succeeded", 10)
	rejected := d.dreamt(group, "rejected", 30)
	signs("a rejected one", at(30), false, false)
	undone := d.dreamt(group, "held", 40)
	signs("a held one", at(40), false, false)
	d.write(`update runs set undone_at = now() where run_id in ($1, $2)`, undone, rejected)
	signs("what was taken back", at(10), false, false)
	running := d.dreamt(group, "running", 0)
	d.chunkOf(group, running, "open")
	signs("one that has begun", at(10), true, false)
	d.write(`update run_chunks set status = 'applied' where run_id = $1`, running)
	signs("one that may have more to do", at(10), true, false)
}

// Groups are listed like those of other jobs: paged, without paused ones, and named
// ones whatever else.
func TestDueGroupsOfDreams(t *testing.T) {
	d := newDreamer(t)
	ctx := t.Context()
	for i, id := range []string{"a", "b", "covered", "dreaming", "empty", "failed", "mended", "paused"} {
		d.ensure(id)
		if id != "empty" {
			d.quiet(id, "s", 30+i)
			d.quiet(id, "earlier", i)
			d.covers(id, "earlier", 0)
		}
	}
	for _, id := range []string{"covered", "dreaming", "failed", "mended"} {
		d.covers(id, "s", 0)
	}
	d.dreamt("dreaming", "running", 0)
	d.dreamt("failed", "succeeded", 2)
	d.dreamt("failed", "deferred", 1)
	d.dreamt("mended", "failed", 2)
	d.dreamt("mended", "succeeded", 1)
	d.knows("empty", reverie.KindGroup, "", "the group's")
	must(d.PauseGroup(ctx, "paused"))(t)
	must(d.NoteFailure(ctx, "b", reverie.JobExtract, "extract's", rule))(t)
	setback := must(d.NoteFailure(ctx, "b", reverie.JobDream, "why", rule))(t)

	q := d.Dreams()
	list := must(q.DueGroups(ctx, reverie.DueQuery{}))(t)
	if diff := cmp.Diff([]string{"a", "b", "dreaming", "failed"}, dueIDs(list)); diff != "" {
		t.Fatalf("due (-want +got):\n%s", diff)
	}
	want := reverie.DueGroup{Group: must(d.Group(ctx, "b"))(t), FirstPending: minutes(31), Setback: &setback}
	if diff := cmp.Diff(want, list[1]); diff != "" {
		t.Errorf("b (-want +got):\n%s", diff)
	}
	if got := dueIDs(must(q.DueGroups(ctx, reverie.DueQuery{After: "a", Limit: 1}))(t)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("a page is %v", got)
	}
	for id, want := range map[string]int{"paused": 1, "covered": 0, "empty": 0, "dreaming": 1} {
		if got := must(q.DueGroups(ctx, reverie.DueQuery{GroupID: id}))(t); len(got) != want {
			t.Errorf("%s by name: %+v", id, got)
		}
	}
	wantErr(t, second(q.DueGroups(ctx, reverie.DueQuery{GroupID: "nowhere"})), reverie.ErrNotFound)
}

// What is new is found by probes of keys, also by plans that were made while there
// was nothing, which keep to a connection for a while.
func TestDreamSignsAreCheap(t *testing.T) {
	pgtest.OnOneServer(t, "its workers read the tables")
	d := newDreamer(t)
	conn := must(d.db.Conn(t.Context()))(t)
	defer func() { _ = conn.Close() }()
	check(t, second(conn.ExecContext(t.Context(), `set plan_cache_mode = force_generic_plan; set enable_seqscan = off`)))
	calls := []string{`signs('g1', 'infinity', 'infinity', '', '{}')`, `material('g1', 'infinity', 'infinity', '', '{}', 'summary')`,
		`covered('g1', 'infinity', 'infinity', '', '{}', '{s1}')`}
	for i, query := range store.DreamQueries() {
		name, _, _ := strings.Cut(calls[i], "(")
		check(t, second(conn.ExecContext(t.Context(), `prepare `+name+query)))
		check(t, second(conn.ExecContext(t.Context(), `execute `+calls[i])))
	}
	const memories = 3000
	run := d.dreamt(group, "succeeded", 0)
	d.write(`insert into sessions (group_id, session_id, cut, first_at, last_at, dreamt_until, created_at, updated_at)
		select 'g1', 's' || n, false, 'epoch', 'epoch', case when n > 10 then timestamptz 'epoch' end, now(), now() from generate_series(1, 600) n`)
	d.write(`insert into memories (group_id, memory_id, lineage_id, kind, session_id, statement, version, status, strength, content_hash, created_at, updated_at, last_supported_at)
		select 'g1', gen_random_uuid(), gen_random_uuid(), 'session', 's' || n % 600 + 1, 's', 1, 'active', 0.3, n, now(), now(), now() from generate_series(1, $1) n`, memories)
	d.write(`insert into memory_uses select group_id, 'dream', memory_id, $1 from memories where session_id <> 's1'`, run)
	ids := pgtest.Rows(t, d.db, `select quote_literal(array_agg(memory_id)) from memories`)[0]
	for _, call := range calls { // the same of versions that were chosen
		calls = append(calls, strings.Replace(call, `'{}'`, ids, 1))
	}
	for _, call := range calls {
		blocks, plan := 0, ""
		rows := must(conn.QueryContext(t.Context(), `explain (analyze, buffers, costs off) execute `+call))(t)
		for rows.Next() {
			var line string
			check(t, rows.Scan(&line))
			if _, hits, found := strings.Cut(line, "Buffers: shared hit="); found && blocks == 0 { // the first is the whole
				check(t, second(fmt.Sscan(hits, &blocks)))
			}
			plan += line + "\n"
		}
		check(t, rows.Err())
		if blocks == 0 || blocks > 15*memories {
			t.Errorf("%s looks at %d blocks for %d memories:\n%s", call, blocks, memories, plan)
		}
	}
}
