package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// Which messages are pending depends on the job. For evolve they are the messages that no run has consumed. Any other
// job uses messages after evolve, each once: its queue is the rows of message_uses without a run. A row stays when
// evolve is rewound, so that a message that evolve reads again is not used again. Extraction has such a queue, too. In
// it, every message is queued by its session when it arrives.

// Queue is the [Store] for a job other than evolve. Its pending messages are those in the queue of the job.
type Queue struct {
	*Store
	job reverie.Job
}

// For returns the store for a job.
func (s *Store) For(job reverie.Job) Queue { return Queue{s, job} }

// ofEvolve reports whether a job takes pending messages themselves. A query without a job means evolve.
func ofEvolve(job reverie.Job) bool { return job == "" || job == reverie.JobEvolve }

const (
	waitingWhere = ` from message_uses u where u.group_id = $1 and u.job = $2 and u.session_id = '' and u.run_id is null
		and u.sent_at >= $3::timestamptz and u.sent_at < $4::timestamptz`

	countWaitingQuery = `select count(*)` + waitingWhere

	// pendingOfRun counts the pending messages for the job of a run o in its window, up to u.until; for a run of one
	// session, those of the session. For evolve the second half finds nothing, for other jobs the first.
	pendingOfRun = `select count(*) as pending from (
			select 1 from messages m where o.job = 'evolve' and m.group_id = $1 and m.run_id is null
				and m.outcome is null
				and m.sent_at >= o.window_since and m.sent_at < u.until
			union all select 1 from message_uses q where o.session_id = '' and q.group_id = $1 and q.job = o.job
				and q.session_id = '' and q.run_id is null
				and q.sent_at >= o.window_since and q.sent_at < u.until
			union all select 1 from message_uses q where o.session_id <> '' and q.group_id = $1 and q.job = o.job
				and q.session_id = o.session_id and q.session_id <> '' and q.run_id is null) x`

	// Filtered messages were never shown, so no other job reads them. Nor does it read messages without a text.
	queueQuery = `insert into message_uses (group_id, job, message_id, sent_at)
		select group_id, $2, message_id, sent_at from messages
		where group_id = $1 and run_id is not null and outcome <> 'filtered' and role <> 'tool' and pruned_at is null
			and sent_at >= $3::timestamptz and sent_at < $4::timestamptz
		order by message_id
		on conflict (group_id, job, message_id) do nothing`

	useOfSessionQuery = `update message_uses set run_id = $3::uuid
		where group_id = $1 and job = $2 and message_id = any ($4::text[]) and run_id is null and session_id = $5
			and exists (select 1 from runs r where r.group_id = $1 and r.run_id = $3::uuid and r.session_id = $5)`

	// Extracted facts are new to dreams.
	extractedQuery = `update sessions set extractions = extractions + 1, failures = 0, failure = '', retry_at = null,
		parked_at = null,
			dreamt_until = null,
			extracted_until = greatest(extracted_until, (select max(m.sent_at) from ` + messagesByID + `))
		where group_id = $1 and session_id = $2`

	useQuery = `update message_uses set run_id = $3::uuid
		where group_id = $1 and job = $2 and message_id = any ($4::text[]) and run_id is null`
)

// PendingWindows is [Store.PendingWindows] for the queue of the job.
func (q Queue) PendingWindows(ctx context.Context, groupID string, windows []reverie.Window) ([]reverie.WindowLoad,
	error) {
	if ofEvolve(q.job) {
		return q.Store.PendingWindows(ctx, groupID, windows)
	}
	return q.windowLoads(ctx, waitingWindowsQuery, groupID, windows, string(q.job))
}

// CountPending is [Store.CountPending] for the queue of the job.
func (q Queue) CountPending(ctx context.Context, groupID string, since, until time.Time) (int, error) {
	if ofEvolve(q.job) {
		return q.Store.CountPending(ctx, groupID, since, until)
	}
	what := fmt.Sprintf("count what waits for %s in group %q", q.job, groupID)
	var n int
	err := q.db.Of(ctx, groupID).QueryRow(ctx, what, &n, countWaitingQuery, groupID, string(q.job), pg.OrMinusInfinity(since),
		pg.OrInfinity(until))
	return n, err
}

// QueueMessages adds messages of a group to the queue of a job, and returns the number of new ones. It adds those sent
// in [since, until) that evolve has consumed and shown, and that the job has not used. Zero times are no bound. An
// unknown group is reverie.ErrNotFound. Evolve has no such queue: that is reverie.ErrInvalid.
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

// use sets the run of each message, exactly once. A message that is no longer in the queue of the job fails the whole
// transaction.
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

// extracted sets the run that extracts each message of a session, exactly once, and updates the counts of the session.
func extracted(ctx context.Context, t *pg.Tx, plan reverie.Plan, at time.Time) error {
	if err := LockSession(ctx, t, plan.GroupID, plan.SessionID); err != nil {
		return err
	}
	ids := slices.Sorted(slices.Values(plan.Used)) // all writers lock in this order
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
