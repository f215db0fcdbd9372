package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store"
)

// consume has evolve read messages of a group, with these outcomes, and nobody else.
func (w *world) consume(id string, outcomes map[string]reverie.Outcome) {
	w.t.Helper()
	db := raw(w.t)
	defer func() { _ = db.Close() }()
	run := reverie.NewID()
	_, err := db.Exec(`insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at, finished_at)
		values ($1, $2, 'evolve', 'epoch', 'epoch', 'succeeded', 1, 'epoch', 'epoch')`, id, run)
	check(w.t, err)
	for message, outcome := range outcomes {
		_, err := db.Exec(`update messages set run_id = $1, outcome = $2 where group_id = $3 and message_id = $4`, run, string(outcome), id, message)
		check(w.t, err)
	}
}

var impressions = reverie.DueQuery{Job: reverie.JobImpression}

// What evolve has consumed and shown waits once it is queued, and no message twice.
func TestQueueMessages(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	tool := reverie.Message{ID: "tool", Author: "t", Role: reverie.RoleTool, Text: "x", SentAt: noon}
	must(w.ImportMessages(ctx, group, []reverie.Message{tool}))(t)
	ids := w.messages(5) // sent from noon-999m on, a minute apart
	w.consume(group, map[string]reverie.Outcome{ids[0]: reverie.OutcomeCited, ids[1]: reverie.OutcomeConsidered, ids[2]: reverie.OutcomeFiltered,
		ids[3]: reverie.OutcomeConsidered, "tool": reverie.OutcomeConsidered})
	first := noon.Add(-999 * time.Minute)
	queue := func(since, until time.Time) int {
		t.Helper()
		return must(w.QueueMessages(ctx, group, reverie.JobImpression, since, until))(t)
	}
	for i, tt := range []struct {
		since, until time.Time
		want         int
	}{{first, first, 0}, {first, first.Add(time.Minute), 1}, {first, first.Add(time.Minute), 0}, {time.Time{}, time.Time{}, 2}, {time.Time{}, time.Time{}, 0}} {
		if n := queue(tt.since, tt.until); n != tt.want {
			t.Errorf("%d: %d messages, want %d", i, n, tt.want)
		}
	}
	run := w.impression(ids[:2])
	must(w.ApplyEntities(ctx, w.lease, reverie.EntityPlan{GroupID: group, RunID: run, ChunkNo: 1,
		Outcomes: map[string]reverie.Outcome{ids[0]: reverie.OutcomeCited, ids[1]: reverie.OutcomeConsidered}}))(t)
	if n := queue(time.Time{}, time.Time{}); n != 0 {
		t.Errorf("%d used messages wait again", n)
	}
	q := w.For(reverie.JobImpression)
	if n := must(q.CountPending(ctx, group, time.Time{}, time.Time{}))(t); n != 1 {
		t.Errorf("%d wait, want 1", n)
	}
	if n := must(w.CountPending(ctx, group, time.Time{}, time.Time{}))(t); n != 1 { // evolve's own
		t.Errorf("%d are pending, want 1", n)
	}
	for _, job := range []reverie.Job{"", reverie.JobEvolve} {
		wantErr(t, second(w.QueueMessages(ctx, group, job, time.Time{}, time.Time{})), reverie.ErrInvalid)
	}
	wantErr(t, second(w.QueueMessages(ctx, "nowhere", reverie.JobImpression, time.Time{}, time.Time{})), reverie.ErrNotFound)
}

// A job is due where something waits for it, whatever is pending for another.
func TestDueGroupsOfAJob(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, id := range []string{"a", "b", "c", "off", "paused", "quiet"} {
		w.ensure(id)
		w.note(id, noon, "later")
		w.note(id, noon.Add(-time.Hour), "earlier")
		if id == "quiet" { // pending for evolve only
			continue
		}
		list := must(w.Gather(ctx, reverie.GatherQuery{GroupID: id, Kind: reverie.KindGroup, Limit: 5}))(t).Pending
		w.consume(id, map[string]reverie.Outcome{list[0].ID: reverie.OutcomeCited, list[1].ID: reverie.OutcomeCited})
		must(w.QueueMessages(ctx, id, reverie.JobImpression, time.Time{}, time.Time{}))(t)
	}
	must(w.PauseGroup(ctx, "paused"))(t)
	must(w.ChangeGroup(ctx, "off", reverie.GroupChange{Impressions: pointer("off")}, noon))(t)
	must(w.ChangeGroup(ctx, "b", reverie.GroupChange{Impressions: pointer("on")}, noon))(t)
	must(w.NoteFailure(ctx, "c", reverie.JobEvolve, "not asked for", rule))(t)
	failed := must(w.NoteFailure(ctx, "b", reverie.JobImpression, "why", rule))(t)

	list := must(w.DueGroups(ctx, impressions))(t)
	if diff := cmp.Diff([]string{"a", "b", "c"}, dueIDs(list)); diff != "" {
		t.Fatalf("due (-want +got):\n%s", diff)
	}
	want := reverie.DueGroup{Group: must(w.Group(ctx, "b"))(t), FirstPending: noon.Add(-time.Hour), Setback: &failed}
	if diff := cmp.Diff(want, list[1]); diff != "" || list[2].Setback != nil {
		t.Errorf("b (-want +got):\n%s", diff)
	}
	page := impressions
	page.After, page.Limit = "a", 1
	if got := dueIDs(must(w.For(reverie.JobImpression).DueGroups(ctx, page))(t)); cmp.Diff([]string{"b"}, got) != "" {
		t.Errorf("a page is %v", got)
	}
	for id, want := range map[string]int{"off": 1, "paused": 1, "quiet": 0, "a": 1} { // by name
		named := impressions
		named.GroupID = id
		if got := must(w.DueGroups(ctx, named))(t); len(got) != want {
			t.Errorf("%s by name: %+v", id, got)
		}
	}
	if got := dueIDs(must(w.DueGroups(ctx, reverie.DueQuery{Job: reverie.JobEvolve}))(t)); cmp.Diff([]string{"quiet"}, got) != "" {
		t.Errorf("for evolve %v is due", got)
	}
	q := w.For(reverie.JobImpression)
	windows := []reverie.Window{{Until: noon.Add(-time.Hour)}, {Since: noon.Add(-time.Hour), Until: noon}, {Since: noon}}
	loads := must(q.PendingWindows(ctx, "a", windows))(t)
	if diff := cmp.Diff([]reverie.WindowLoad{{Window: windows[1], Messages: 1, Characters: 7, Bytes: 7}, {Window: windows[2], Messages: 1, Characters: 5, Bytes: 5}}, loads); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	if loads = must(w.For(reverie.JobEvolve).PendingWindows(ctx, "a", windows))(t); len(loads) != 0 {
		t.Errorf("for evolve there is %+v", loads)
	}
}

// A page of what is due costs one probe for each group that it passes over, of an
// index that holds only what waits.
func TestDuePageOfAJobIsCheap(t *testing.T) {
	w := newWorld(t)
	db := raw(t)
	const groups, due = 20000, 50
	for _, statement := range []string{
		`insert into groups (group_id, impressions) select 'h' || lpad(n::text, 6, '0'), case when n % 7 = 0 then 'off' else '' end from generate_series(1, 20000) n`,
		`insert into messages (group_id, message_id, role, text, sent_at) select group_id, 'm' || k, 'user', 'x', 'epoch' from groups, generate_series(1, 3) k where group_id like 'h%'`,
		`insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at, finished_at)
			select group_id, gen_random_uuid(), 'impression', 'epoch', 'epoch', 'succeeded', 1, 'epoch', 'epoch' from groups where group_id like 'h%'`,
		`insert into message_uses (group_id, job, message_id, sent_at, run_id) select m.group_id, 'impression', m.message_id, m.sent_at, r.run_id
			from messages m join runs r using (group_id) where m.group_id like 'h%'`,
		`update message_uses set run_id = null where message_id = 'm2' and group_id in (select group_id from groups where impressions = '' and group_id like 'h%' order by group_id desc limit 50)`,
		`analyze groups, messages, message_uses`,
	} {
		_, err := db.Exec(statement)
		check(t, err)
	}
	if list := must(w.DueGroups(t.Context(), impressions))(t); len(list) != due {
		t.Fatalf("%d groups are due, want %d", len(list), due)
	}
	var plan []byte
	check(t, db.QueryRow(`explain (analyze, buffers, format json) `+store.WaitingPageQuery(), "impression", "", 500).Scan(&plan))
	var found []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
		Time float64 `json:"Execution Time"`
	}
	check(t, json.Unmarshal(plan, &found))
	blocks := found[0].Plan.Hit + found[0].Plan.Read
	t.Logf("%d groups, %d due: %d blocks, %.0f ms", groups, due, blocks, found[0].Time)
	if blocks > 3*groups {
		t.Errorf("%d blocks are looked at for %d groups:\n%s", blocks, groups, plan)
	}
}

// A run of the job ends, is settled and goes on by what waits for the job, not by
// what is pending for evolve.
func TestRunsOfAJobCountWhatWaits(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	ids := w.used(3)
	w.messages(2) // pending for evolve, in the same window
	run := w.impression(ids[:2])
	use := func(run string, ids ...string) {
		t.Helper()
		plan := reverie.EntityPlan{GroupID: group, RunID: run, ChunkNo: 1, Outcomes: map[string]reverie.Outcome{}}
		for _, id := range ids {
			plan.Outcomes[id] = reverie.OutcomeConsidered
		}
		must(w.ApplyEntities(ctx, w.lease, plan))(t)
	}
	since, until := noon.Add(-24*time.Hour), noon
	endless := func() string {
		t.Helper()
		_, err := raw(t).Exec(`update leases set expires_at = 'epoch'`)
		check(t, err)
		defer func() {
			_, err := raw(t).Exec(`update leases set expires_at = statement_timestamp() + '1 min'`)
			check(t, err)
		}()
		return strings.Join(must(w.Endless(ctx, reverie.JobImpression))(t), ",")
	}
	if got := endless(); got != "" {
		t.Errorf("%q has a run without an end, though messages wait", got)
	}
	// Killed before applying: the run goes on with the same messages.
	row, chunk, err := w.Resume(ctx, w.lease, reverie.JobImpression, since, until)
	check(t, err)
	if row == nil || row.ID != run || chunk == nil || chunk.No != 1 || cmp.Diff(ids[:2], chunk.MessageIDs) != "" || chunk.Status != reverie.ChunkOpen {
		t.Fatalf("resumed %+v with %+v", row, chunk)
	}
	// Evolve knows nothing of it.
	row, chunk, err = w.Resume(ctx, w.lease, reverie.JobEvolve, since, until)
	check(t, err)
	if chunk != nil || row != nil && row.Job != reverie.JobEvolve {
		t.Errorf("evolve resumed %+v with %+v", row, chunk)
	}
	// Killed after applying: there is no chunk to take up, and one message waits.
	use(run, ids[:2]...)
	row, chunk, err = w.Resume(ctx, w.lease, reverie.JobImpression, since, until)
	check(t, err)
	if row == nil || row.ID != run || chunk != nil {
		t.Errorf("resumed %+v with %+v, want no chunk", row, chunk)
	}
	if left := must(w.FinishRun(ctx, w.lease, reverie.Run{ID: run, Status: reverie.RunDeferred}))(t); left != 1 {
		t.Errorf("%d wait at the run's end, want 1", left)
	}
	// Killed before its last line: it is settled as what it was.
	last := w.impression(ids[2:])
	use(last, ids[2])
	if got := endless(); got != group {
		t.Errorf("%q have runs without an end, want %s", got, group)
	}
	check(t, w.Settle(ctx, w.lease, reverie.JobImpression))
	if got := must(w.Run(ctx, group, last))(t).Run; got.Status != reverie.RunSucceeded || got.Stats.Deferred != 0 {
		t.Errorf("settled as %+v", got)
	}
	// And one of which something waits fails.
	w.used(1)
	cut := w.impression(nil)
	check(t, w.Settle(ctx, w.lease, reverie.JobImpression))
	if got := must(w.Run(ctx, group, cut))(t).Run; got.Status != reverie.RunFailed || got.Stats.Deferred != 1 {
		t.Errorf("settled as %+v", got)
	}
}

// What evolve takes back is not used once more: neither what was used, nor twice
// what waits.
func TestRewindKeepsUses(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	ids := w.used(2)
	run := w.impression(ids[:1])
	must(w.ApplyEntities(ctx, w.lease, reverie.EntityPlan{GroupID: group, RunID: run, ChunkNo: 1,
		Outcomes: map[string]reverie.Outcome{ids[0]: reverie.OutcomeConsidered}}))(t)
	if _, res := w.rewind(time.Time{}); res.Requeued != 2 {
		t.Fatalf("taken back: %+v", res)
	}
	uses := func() string {
		return fmt.Sprint(strings1(t, raw(t), `select message_id || ' ' || (run_id is null)::text from message_uses where job = 'impression' order by message_id`))
	}
	want := fmt.Sprint([]string{ids[0] + " false", ids[1] + " true"})
	if got := uses(); got != want {
		t.Errorf("after taking back %s, want %s", got, want)
	}
	must(w.Apply(ctx, w.lease, func() reverie.Plan {
		plan := consumeAll(w.chunk("", 1, ids), ids)
		plan.Impressions = true
		return plan
	}()))(t)
	if n := must(w.QueueMessages(ctx, group, reverie.JobImpression, time.Time{}, time.Time{}))(t); n != 0 || uses() != want {
		t.Errorf("after evolving again %d more wait: %s, want %s", n, uses(), want)
	}
}
