package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// What is pending depends on the job. For evolve it is a message that no run has
// consumed. Any other job uses messages after evolve, each once: what waits for
// it is a row of message_uses without a run. Such a row outlives a rewind of
// evolve: a message that evolve reads once more is not used once more. Extraction
// has a queue of the same kind, in which every message waits by its session from
// its arrival on.

// Queue is the store as a job other than evolve sees it: what is pending in it is
// what waits for that job.
type Queue struct {
	*Store
	job reverie.Job
}

// For returns the store as a job sees it.
func (s *Store) For(job reverie.Job) Queue { return Queue{s, job} }

// ofEvolve tells whether a job takes pending messages themselves. A query that
// names no job means evolve.
func ofEvolve(job reverie.Job) bool { return job == "" || job == reverie.JobEvolve }

const (
	waitingWhere = ` from message_uses u where u.group_id = $1 and u.job = $2 and u.session_id = '' and u.run_id is null
		and u.sent_at >= $3::timestamptz and u.sent_at < $4::timestamptz`

	countWaitingQuery = `select count(*)` + waitingWhere

	// pendingOfRun counts what waits for the job of a run o in its window, up to
	// u.until; for a run of one session, what of that waits. For evolve the second
	// half finds nothing, for others the first.
	pendingOfRun = `select count(*) as pending from (
			select 1 from messages m where o.job = 'evolve' and m.group_id = $1 and m.run_id is null
				and m.outcome is null
				and m.sent_at >= o.window_since and m.sent_at < u.until
			union all select 1 from message_uses q where o.session_id = '' and q.group_id = $1 and q.job = o.job
				and q.session_id = '' and q.run_id is null
				and q.sent_at >= o.window_since and q.sent_at < u.until
			union all select 1 from message_uses q where o.session_id <> '' and q.group_id = $1 and q.job = o.job
				and q.session_id = o.session_id and q.session_id <> '' and q.run_id is null) x`

	// What a run filtered was shown to nobody, and is nothing to any other job; nor is
	// what has no text any more.
	queueQuery = `insert into message_uses (group_id, job, message_id, sent_at)
		select group_id, $2, message_id, sent_at from messages
		where group_id = $1 and run_id is not null and outcome <> 'filtered' and role <> 'tool' and pruned_at is null
			and sent_at >= $3::timestamptz and sent_at < $4::timestamptz
		order by message_id
		on conflict (group_id, job, message_id) do nothing`

	useOfSessionQuery = `update message_uses set run_id = $3::uuid
		where group_id = $1 and job = $2 and message_id = any ($4::text[]) and run_id is null and session_id = $5
			and exists (select 1 from runs r where r.group_id = $1 and r.run_id = $3::uuid and r.session_id = $5)`

	// What was extracted is new to dreams.
	extractedQuery = `update sessions set extractions = extractions + 1, failures = 0, failure = '', retry_at = null,
		parked_at = null,
			dreamt_until = null,
			extracted_until = greatest(extracted_until, (select max(m.sent_at) from ` + messagesByID + `))
		where group_id = $1 and session_id = $2`

	useQuery = `update message_uses set run_id = $3::uuid
		where group_id = $1 and job = $2 and message_id = any ($4::text[]) and run_id is null`
)

// PendingWindows is [Store.PendingWindows] for what waits for the job.
func (q Queue) PendingWindows(ctx context.Context, groupID string, windows []reverie.Window) ([]reverie.WindowLoad,
	error) {
	if ofEvolve(q.job) {
		return q.Store.PendingWindows(ctx, groupID, windows)
	}
	return q.windowLoads(ctx, waitingWindowsQuery, groupID, windows, string(q.job))
}

// CountPending is [Store.CountPending] for what waits for the job.
func (q Queue) CountPending(ctx context.Context, groupID string, since, until time.Time) (int, error) {
	if ofEvolve(q.job) {
		return q.Store.CountPending(ctx, groupID, since, until)
	}
	what := fmt.Sprintf("count what waits for %s in group %q", q.job, groupID)
	return lookup(ctx, q.Store, groupID, what, func(ctx context.Context, t *pg.Tx) (int, error) {
		return pg.Get[int](ctx, t, countWaitingQuery, groupID, string(q.job), pg.OrMinusInfinity(since), pg.OrInfinity(until))
	})
}

// QueueMessages lets those messages of a group wait for a job that evolve has
// consumed and shown, that were sent in [since, until), and that the job has not
// used; zero times are no bound. It returns how many did not wait before. An
// unknown group is reverie.ErrNotFound; evolve, which has no such queue, is
// reverie.ErrInvalid.
func (s *Store) QueueMessages(ctx context.Context, groupID string, job reverie.Job, since, until time.Time) (int,
	error) {
	what := fmt.Sprintf("queue messages of group %q for %s", groupID, job)
	if ofEvolve(job) {
		return 0, fmt.Errorf("%s: it takes pending messages themselves: %w", what, reverie.ErrInvalid)
	}
	return pg.Run(ctx, s.db, pg.Work{What: what}, func(ctx context.Context, t *pg.Tx) (int, error) {
		if _, err := GetGroup(ctx, t, groupID); err != nil {
			return 0, err
		}
		return t.ExecRows(ctx, queueQuery, groupID, string(job), pg.OrMinusInfinity(since), pg.OrInfinity(until))
	})
}

// use gives each message its run, exactly once: one that does not wait for the
// job any more fails the whole transaction.
func use(ctx context.Context, t *pg.Tx, groupID string, job reverie.Job, runID string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	n, err := t.ExecRows(ctx, useQuery, groupID, string(job), runID, ids)
	if err == nil && n != len(ids) {
		return fmt.Errorf("%d of the chunk's %d messages are no longer pending for %s: %w", len(ids)-n, len(ids), job,
			reverie.ErrConflict)
	}
	return err
}

// extracted gives messages of a session the run that extracts them, each exactly
// once, and counts what of the session is left.
func extracted(ctx context.Context, t *pg.Tx, plan reverie.Plan, at time.Time) error {
	if err := LockSession(ctx, t, plan.GroupID, plan.SessionID); err != nil {
		return err
	}
	ids := slices.Sorted(slices.Values(plan.Used)) // one order of locks for everybody
	n, err := t.ExecRows(ctx, useOfSessionQuery, plan.GroupID, string(reverie.JobExtract), plan.RunID, ids, plan.SessionID)
	if err != nil {
		return err
	}
	if n != len(ids) {
		return fmt.Errorf("%d of the chunk's %d messages are not pending for this run of session %q: %w", len(ids)-n, len(ids),
			plan.SessionID, reverie.ErrConflict)
	}
	if err := t.Exec(ctx, extractedQuery, plan.GroupID, plan.SessionID, ids); err != nil {
		return err
	}
	return t.Exec(ctx, AddNewQuery, plan.GroupID, plan.SessionID, ids, at, -1)
}
