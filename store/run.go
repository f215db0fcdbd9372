package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"reverie"
)

const runColumns = `group_id, run_id, job, window_since, window_until, status, attempt, model, prompt_version, prompt_sha256,
	stats, error, started_at, finished_at`

// runRow reads what the domain's struct leaves to us: the stats.
type runRow struct {
	reverie.Run
	StatsJSON []byte `db:"stats"`
}

func (r runRow) run() (reverie.Run, error) {
	run := r.Run
	run.WindowSince, run.WindowUntil, run.StartedAt = run.WindowSince.UTC(), run.WindowUntil.UTC(), run.StartedAt.UTC()
	if run.FinishedAt != nil {
		at := run.FinishedAt.UTC()
		run.FinishedAt = &at
	}
	if err := json.Unmarshal(r.StatsJSON, &run.Stats); err != nil {
		return run, fmt.Errorf("read the stats of run %s: %w", run.ID, err)
	}
	return run, nil
}

// asJSON writes v as text: the driver would send bytes as binary.
func asJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// StartRun writes a run that begins now: it fills what is empty of id, status
// and start, and the attempt, which is one more than there are runs of the same
// group, job and window that did not succeed.
func (s *Store) StartRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (reverie.Run, error) {
	run.GroupID, run.Status, run.FinishedAt = lease.GroupID, reverie.RunRunning, nil
	if run.ID == "" {
		run.ID = reverie.NewID()
	}
	if run.StartedAt.IsZero() {
		run.StartedAt = s.now()
	}
	stats, err := asJSON(run.Stats)
	if err != nil {
		return run, err
	}
	const query = `insert into runs (` + runColumns + `)
		select $1, $2::uuid, $3, $4::timestamptz, $5::timestamptz, 'running', 1 + count(*), $6, $7, $8, $9::jsonb, '', $10::timestamptz, null
		from runs where group_id = $1 and job = $3 and window_since = $4 and window_until = $5 and status <> 'succeeded'
		returning attempt`
	err = s.run(ctx, work{
		what:    fmt.Sprintf("start a run of %s for group %q", run.Job, lease.GroupID),
		prepare: []string{extendLeaseQuery},
		do: func(ctx context.Context, t *tx) error {
			if err := fenced(ctx, t, lease); err != nil {
				return err
			}
			return t.get(ctx, &run.Attempt, query, run.GroupID, run.ID, string(run.Job), run.WindowSince, run.WindowUntil,
				run.Model, run.PromptVersion, run.PromptSHA256, stats, run.StartedAt)
		},
		committed: ledger(lease, `select 1 from runs where group_id = $1 and run_id = $2`, run.GroupID, run.ID),
	})
	return run, err
}

// FinishRun writes how a run ended. One that lost the lease may still say so, as
// long as nobody else has settled the run: then nothing is written, without an
// error. A zero FinishedAt is now.
func (s *Store) FinishRun(ctx context.Context, lease reverie.Lease, run reverie.Run) error {
	if run.Status == reverie.RunRunning {
		return fmt.Errorf("finish run %s: status is still running: %w", run.ID, reverie.ErrInvalid)
	}
	finished := s.now()
	if run.FinishedAt != nil && !run.FinishedAt.IsZero() {
		finished = *run.FinishedAt
	}
	stats, err := asJSON(run.Stats)
	if err != nil {
		return err
	}
	const query = `update runs set status = $3, stats = $4::jsonb, error = $5, finished_at = $6::timestamptz, model = $7,
			prompt_version = $8, prompt_sha256 = $9
		where group_id = $1 and run_id = $2 and ($10 or status = 'running')`
	return s.run(ctx, work{
		what:    fmt.Sprintf("finish run %s of group %q", run.ID, lease.GroupID),
		prepare: []string{extendLeaseQuery},
		do: func(ctx context.Context, t *tx) error {
			err := fenced(ctx, t, lease)
			if err != nil && !errors.Is(err, reverie.ErrLeaseLost) {
				return err
			}
			holds := err == nil
			n, err := t.exec(ctx, query, lease.GroupID, run.ID, string(run.Status), stats, run.Error, finished,
				run.Model, run.PromptVersion, run.PromptSHA256, holds)
			if err == nil && n == 0 && holds {
				return fmt.Errorf("run %s: %w", run.ID, reverie.ErrNotFound)
			}
			return err
		},
	})
}

// Runs lists runs, newest first. A limit of 0 is no limit.
func (s *Store) Runs(ctx context.Context, q reverie.RunQuery) ([]reverie.Run, error) {
	var rows []runRow
	err := s.run(ctx, work{what: "list runs", readOnly: true, do: func(ctx context.Context, t *tx) error {
		rows = nil
		return t.list(ctx, &rows, `select `+runColumns+` from runs
			where ($1 = '' or group_id = $1) and ($2 = '' or job = $2) and ($3 = '' or status = $3) and started_at >= $4::timestamptz
			order by started_at desc, run_id desc limit nullif($5::int, 0)`,
			q.GroupID, string(q.Job), string(q.Status), orMinusInfinity(q.Since), q.Limit)
	}})
	if err != nil {
		return nil, err
	}
	list := make([]reverie.Run, len(rows))
	for i, r := range rows {
		if list[i], err = r.run(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// RunDetail is everything that the ledger knows about a run.
type RunDetail struct {
	Run     reverie.Run
	Chunks  []reverie.Chunk
	Held    []reverie.HeldPlan
	Changes []reverie.Change
	Calls   []reverie.Call
}

// Run returns a run with its chunks, held plans, changes and calls, each in
// order. An empty groupID looks in all groups. An unknown run is
// reverie.ErrNotFound.
func (s *Store) Run(ctx context.Context, groupID, runID string) (RunDetail, error) {
	var d RunDetail
	if !reverie.IsID(runID) {
		return d, fmt.Errorf("run %q: %w", runID, reverie.ErrNotFound)
	}
	err := s.run(ctx, work{what: "read a run", readOnly: true, do: func(ctx context.Context, t *tx) error {
		d = RunDetail{}
		var row runRow
		err := t.get(ctx, &row, `select `+runColumns+` from runs where run_id = $2 and ($1 = '' or group_id = $1)`, groupID, runID)
		if err != nil {
			return one(err, "run %s", runID)
		}
		if d.Run, err = row.run(); err != nil {
			return err
		}
		if d.Chunks, err = chunks(ctx, t, row.GroupID, runID); err != nil {
			return err
		}
		if d.Held, err = heldPlans(ctx, t, row.GroupID, runID); err != nil {
			return err
		}
		if d.Changes, err = runChanges(ctx, t, row.GroupID, runID, 0); err != nil {
			return err
		}
		d.Calls, err = calls(ctx, t, row.GroupID, runID)
		return err
	}})
	return d, err
}

// interrupted is the error of a run whose process ended before it did.
const interrupted = "interrupted: the process ended before the run did"

// SettleInterrupted ends the runs of a job that still call themselves running:
// whoever holds the lease knows that their processes are gone. One that had
// applied all there was becomes succeeded, or held where a plan of it waits; the
// others fail. It returns the newest chunk that was answered but not applied and
// whose messages are all still pending, nil if there is none: its answer is paid
// for.
func (s *Store) SettleInterrupted(ctx context.Context, lease reverie.Lease, job reverie.Job) (*reverie.Chunk, error) {
	const settleQuery = `
		update runs r set finished_at = $3::timestamptz, stats = r.stats || jsonb_build_object('deferred', w.pending),
			status = case when not w.whole then 'failed' when w.waits then 'held' else 'succeeded' end,
			error = case when w.whole then '' else $4 end
		from (
			select o.run_id, p.pending,
				p.pending = 0 and not exists (select 1 from run_chunks c
					where c.group_id = o.group_id and c.run_id = o.run_id and c.status not in ('applied', 'held')) as whole,
				exists (select 1 from held_plans h
					where h.group_id = o.group_id and h.run_id = o.run_id and h.status = 'waiting') as waits
			from runs o cross join lateral (
				select count(*) as pending from messages m where m.group_id = o.group_id and m.run_id is null and m.outcome is null
					and m.sent_at >= o.window_since and m.sent_at < o.window_until) p
			where o.group_id = $1 and o.job = $2 and o.status = 'running') w
		where r.group_id = $1 and r.run_id = w.run_id`
	const resumeQuery = `select ` + chunkColumns + ` from run_chunks c
		where group_id = $1 and status = 'answered' and cardinality(message_ids) > 0
			and exists (select 1 from runs r where r.group_id = c.group_id and r.run_id = c.run_id and r.job = $2 and r.status <> 'succeeded')
			and cardinality(message_ids) = (select count(*) from messages m
				where m.group_id = c.group_id and m.message_id = any (c.message_ids) and m.run_id is null and m.outcome is null)
		order by created_at desc, chunk_no desc limit 1`
	var resume *reverie.Chunk
	err := s.run(ctx, work{
		what:    fmt.Sprintf("settle interrupted runs of %s for group %q", job, lease.GroupID),
		prepare: []string{extendLeaseQuery, resumeQuery},
		do: func(ctx context.Context, t *tx) error {
			resume = nil
			if err := fenced(ctx, t, lease); err != nil {
				return err
			}
			if _, err := t.exec(ctx, settleQuery, lease.GroupID, string(job), s.now(), interrupted); err != nil {
				return err
			}
			var rows []chunkRow
			if err := t.list(ctx, &rows, resumeQuery, lease.GroupID, string(job)); err != nil || len(rows) == 0 {
				return err
			}
			c, err := rows[0].chunk()
			resume = &c
			return err
		},
	})
	return resume, err
}
