package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/fault"
	"reverie/internal/reverie"
	"reverie/store/events"
	"reverie/store/pg"
)

// Interrupted is the error of a run that was left open, and that no later run resumed.
const Interrupted = "interrupted: the process ended before the run did, or its last write was not confirmed"

const (
	settleRunsQuery = `with ended as (
		update runs r set finished_at = greatest(r.started_at, $3::timestamptz),
			stats = r.stats || ('{"deferred": ' || w.pending::text || '}')::jsonb,
			status = case when not w.whole then 'failed' when w.waits then 'held' else 'succeeded' end,
			error = case when w.whole then '' else $4 end
		from (
			select o.run_id, p.pending,
				p.pending = 0 and not exists (select 1 from run_chunks c
					where c.group_id = $1 and c.run_id = o.run_id and c.status not in ('applied', 'held')) as whole,
				exists (select 1 from held_plans h
					where h.group_id = $1 and h.run_id = o.run_id and h.status = 'waiting') as waits
			from runs o cross join lateral (select o.window_until as until) u
			cross join lateral (` + pendingOfRun + `) p
			where o.group_id = $1 and o.job = $2 and o.status = 'running' and o.run_id is distinct from $5::uuid
				and ($6::text is null or o.session_id = $6)
				and not exists (select 1 from batch_questions b -- it waits, and goes on when the batch has answered
					where b.group_id = $1 and b.run_id = o.run_id and b.status = 'waiting')) w
		where r.group_id = $1 and r.run_id = w.run_id returning r.run_id, r.status, r.finished_at as at), ` + events.OfRuns + ` select 1`

	// A stored answer is used again while all messages of its chunk are pending. A chunk of the resumed run comes
	// first.
	answeredQuery = `select ` + chunkColumns + ` from run_chunks c
		where group_id = $1 and status = 'answered' and cardinality(message_ids) > 0
			and exists (select 1 from runs r where r.group_id = $1 and r.run_id = c.run_id and r.job = $2
				and r.status <> 'succeeded'
				and r.undone_at is null)
			and cardinality(message_ids) = (select count(*) from messages m
				where m.group_id = $1 and m.message_id = any (c.message_ids) and m.run_id is null and m.outcome is null)
		order by run_id is not distinct from $3::uuid desc, created_at desc, chunk_no desc limit 1`

	runningOfSessionQuery = `select ` + RunColumns + ` from runs where group_id = $1 and job = $2 and session_id = $3
		and session_id <> ''
			and status = 'running' order by started_at desc, run_id desc limit 1`

	// An open chunk is resumed while all of its messages are still in the queue of the job. Its questions are asked
	// again, except those with a stored answer. It may be of a run that was deferred. A chunk of the resumed run comes
	// first.
	openQuery = `select ` + chunkColumns + ` from run_chunks c
		where group_id = $1 and status in ('open', 'answered') and cardinality(message_ids) > 0
			and exists (select 1 from runs r where r.group_id = $1 and r.run_id = c.run_id and r.job = $2
				and r.status <> 'succeeded'
				and r.undone_at is null and ($4::text is null or r.session_id = $4))
			and cardinality(message_ids) = (select count(*) from message_uses u
				where u.group_id = $1 and u.job = $2 and u.message_id = any (c.message_ids) and u.run_id is null)
		order by run_id is not distinct from $3::uuid desc, created_at desc, chunk_no desc limit 1`

	runningDreamQuery = `select ` + RunColumns + ` from runs r where group_id = $1 and job = 'dream'
		and status = 'running'
		order by started_at desc, run_id desc limit 1`

	// An open chunk of a dream is resumed while any of its versions is unchanged and new. One index probe for each
	// version, up to the first that is new. A chunk from before the last dream is left out, because its question would
	// be another now.
	openDreamQuery = `select ` + chunkColumns + ` from run_chunks c
		where group_id = $1 and status in ('open', 'answered') and cardinality(memory_ids) > 0
			and run_id = any (array(select r.run_id from runs r where r.group_id = $1 and r.job = $2 and r.job = 'dream'
				and r.status in ('running', 'deferred', 'failed') and r.undone_at is null
				and (r.status = 'running' or r.started_at >= coalesce((select max(started_at) from runs where group_id = $1
					and ` + dreamEnded + `), '-infinity'))))
			and exists (select 1 from unnest(c.memory_ids) as x (id) where (
				select m.status = 'active' and ` + dreamtOf + ` is not true from memories m where m.group_id = $1
					and m.memory_id = x.id))
		order by run_id is not distinct from $3::uuid desc, created_at desc, chunk_no desc limit 1`

	runningQuery = `select ` + RunColumns + ` from runs where group_id = $1 and job = $2 and status = 'running'
			and ($3::timestamptz is null or window_since = $3)
			and case when $4::timestamptz is null then coalesce((stats->>'open_ended')::boolean, false) else window_until = $4
				end
		order by started_at desc, run_id desc limit 1`

	// Anything to resume or settle is a run with the status running, or a chunk of a run that did not succeed. Usually
	// there is none.
	interruptedQuery = `select exists (select 1 from leases
				where group_id = $1 and lease_name = $3 and holder = $4 and fence = $5) as held,
			exists (select 1 from runs where group_id = $1 and job = $2 and status = 'running')
			or exists (select 1 from runs r join run_chunks c on c.group_id = $1 and c.run_id = r.run_id
				where r.group_id = $1 and r.job = $2 and r.status <> 'succeeded' and r.undone_at is null
					and c.status = any ($6::text[])) as some`
)

// undisturbed reports whether a job of a group has left nothing to resume or settle. Then a night after a successful
// one begins without a write. A lost lease is an error.
func (s *Store) undisturbed(ctx context.Context, lease reverie.Lease, job reverie.Job, what string) (bool, error) {
	takenUp := pq.StringArray{string(reverie.ChunkAnswered)}
	if !ofEvolve(job) {
		takenUp = append(takenUp, string(reverie.ChunkOpen))
	}
	found, err := pg.QueryByKey[struct{ Held, Some bool }](ctx, s.db.Of(ctx, lease.GroupID), what, interruptedQuery, lease.GroupID, string(job), lease.Name,
		lease.Holder, lease.Fence, takenUp)
	switch {
	case err != nil:
		return false, err
	case !found[0].Held && !fault.Off(fault.Fence):
		return false, fmt.Errorf("%s: %w", what, lost(lease))
	}
	return !found[0].Some, nil
}

// Resume finds the interrupted work of processes that died. The caller holds the lease, so a run with the status
// running has no process. It returns the newest such run of this job and window. It also returns the newest chunk that
// was answered but not applied, and whose messages are all pending: its answer is paid for. Each is nil if there is
// none. A zero since matches any window. A zero until matches a run whose end came from the clock. All other running
// runs of the job are settled: see settleRuns.
//
// A job other than evolve stores its answers with the run. For it, the chunk is the newest that was not applied and
// whose messages are all in the queue of the job, also of a run that has ended.
func (s *Store) Resume(ctx context.Context, lease reverie.Lease, job reverie.Job, since,
	until time.Time) (*reverie.Run, *reverie.Chunk, error) {
	what := fmt.Sprintf("look for interrupted runs of %s of group %q", job, lease.GroupID)
	return s.resume(ctx, lease, job, what, nil, runningQuery, lease.GroupID, string(job), pg.OrNull(since),
		pg.OrNull(until))
}

// resume resumes the run that a query finds, if any, and settles all others of the job, or of a session in it.
func (s *Store) resume(ctx context.Context, lease reverie.Lease, job reverie.Job, what string, sessionID *string,
	running string, args ...any) (*reverie.Run, *reverie.Chunk, error) {
	if quiet, err := s.undisturbed(ctx, lease, job, what); quiet || err != nil {
		return nil, nil, err
	}
	var run *reverie.Run
	var chunk *reverie.Chunk
	err := s.underLease(ctx, lease, pg.Work{
		What:  what,
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			run, chunk = nil, nil
			rows, err := pg.Select[reverie.Run](ctx, t, running, args...)
			if err != nil {
				return err
			}
			if len(rows) > 0 {
				run = &rows[0]
			}
			chunk, err = s.settleRuns(ctx, t, lease.GroupID, job, run, sessionID)
			return err
		},
	})
	return run, chunk, err
}

// ResumeSession is [Store.Resume] for the runs of one session, whatever their windows. It does not change the runs of
// other sessions.
func (s *Store) ResumeSession(ctx context.Context, lease reverie.Lease, job reverie.Job,
	sessionID string) (*reverie.Run, *reverie.Chunk, error) {
	what := fmt.Sprintf("look for interrupted runs of %s of session %q of group %q", job, sessionID, lease.GroupID)
	if sessionID == "" || ofEvolve(job) {
		return nil, nil, fmt.Errorf("%s: %w", what, reverie.ErrInvalid)
	}
	return s.resume(ctx, lease, job, what, &sessionID, runningOfSessionQuery, lease.GroupID, string(job), sessionID)
}

// ResumeDream is [Store.Resume] for dreams, whatever their windows. The chunk was not applied, and at least one of its
// memory versions is active and new to dreams. It belongs to the resumed run, or is the newest since the last dream of
// a deferred or failed one.
func (s *Store) ResumeDream(ctx context.Context, lease reverie.Lease) (*reverie.Run, *reverie.Chunk, error) {
	what := fmt.Sprintf("look for interrupted dreams of group %q", lease.GroupID)
	return s.resume(ctx, lease, reverie.JobDream, what, nil, runningDreamQuery, lease.GroupID)
}

// settleRuns ends the running runs of a job, or of a session in it, except the resumed one. A run that had applied
// everything succeeds, or is held if a plan of it is pending. The others fail. It returns the chunk to resume.
func (s *Store) settleRuns(ctx context.Context, t *pg.Tx, groupID string, job reverie.Job, goesOn *reverie.Run,
	sessionID *string) (*reverie.Chunk, error) {
	var except *string
	if goesOn != nil {
		except = &goesOn.ID
	}
	if err := t.Exec(ctx, settleRunsQuery, groupID, string(job), s.db.Now(), Interrupted, except,
		sessionID); err != nil {
		return nil, err
	}
	query, args := openQuery, []any{groupID, string(job), except, sessionID}
	switch {
	case ofEvolve(job):
		query, args = answeredQuery, args[:3]
	case job == reverie.JobDream:
		query, args = openDreamQuery, args[:3]
	}
	list, err := pg.Select[reverie.Chunk](ctx, t, query, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// A run that only lacks its end makes no window due, since no message of it is pending. The partial index only has the
// running runs.
const endlessQuery = `select distinct r.group_id from runs r
	where r.job = $1 and r.status = 'running' and r.job <> 'dream'
		and not exists (select 1 from leases l
			where l.group_id = r.group_id and l.lease_name = $2 and ` + leaseLives + `)
		and not exists (select 1 from messages m where r.job = 'evolve' and m.group_id = r.group_id and m.run_id is null
			and m.outcome is null
			and m.sent_at >= r.window_since and m.sent_at < r.window_until)
		and not exists (select 1 from message_uses q where r.session_id = '' and q.group_id = r.group_id and q.job = r.job
			and q.session_id = '' and q.run_id is null
			and q.sent_at >= r.window_since and q.sent_at < r.window_until)
		and not exists (select 1 from message_uses q where r.session_id <> '' and q.group_id = r.group_id and q.job = r.job
			and q.session_id = r.session_id and q.session_id <> '' and q.run_id is null)
	order by r.group_id`

// Endless lists the groups with a running run of the job whose window or session has nothing pending, and whose lease
// is free. Its process died between the last commit and the end. Dreams are left out, because they are resumed.
func (s *Store) Endless(ctx context.Context, job reverie.Job) ([]string, error) {
	return pg.QueryAll[string](ctx, s.db, "look for runs without an end", endlessQuery, string(job), reverie.LeaseGroup)
}

// Settle ends the running runs of a job. The caller holds the lease, so they have no process: see settleRuns. Dreams
// are left out, because they are resumed.
func (s *Store) Settle(ctx context.Context, lease reverie.Lease, job reverie.Job) error {
	if job == reverie.JobDream {
		return nil
	}
	what := fmt.Sprintf("end interrupted runs of %s of group %q", job, lease.GroupID)
	return s.underLease(ctx, lease, pg.Work{What: what,
		Do: func(ctx context.Context, t *pg.Tx) error {
			_, err := s.settleRuns(ctx, t, lease.GroupID, job, nil, nil)
			return err
		}})
}
