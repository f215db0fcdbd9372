package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/events"
	"reverie/store/pg"
)

const RunColumns = `group_id, run_id, job, session_id, window_since, window_until, status, attempt, model,
	prompt_version, prompt_sha256,
	stats, error, started_at, finished_at, undone_at`

const (
	// If the clock was set back, a run begins just after the newest start and the newest change. So runs are undone in
	// the order of their starts, with everything that was archived since.
	startRunQuery = `with begun as (insert into runs (` + RunColumns + `)
		select $1, $2::uuid, $3, $11, $4::timestamptz, $5::timestamptz, 'running', 1 + count(*), $6, $7, $8, $9::jsonb, '',
			(select case when $10::timestamptz < n.at then n.at + interval '1 microsecond' else $10::timestamptz end
				from (select greatest((select max(started_at) from runs where group_id = $1), ` + newestChange + `) as at) n),
					null, null
		from runs where group_id = $1 and job = $3 and window_since = $4 and window_until = $5 and session_id = $11
		returning attempt, started_at) select attempt, started_at from begun`

	finishRunQuery = `with ended as (update runs r set status = $3, stats = $4::jsonb || ('{"deferred": ' || w.pending::text || '}')::jsonb,
		error = $5,
			finished_at = greatest(r.started_at, $6::timestamptz, (select ` + newestChange + ` where $11::boolean)),
				model = $7, prompt_version = $8, prompt_sha256 = $9, window_until = w.until
		from (select o.run_id, u.until, p.pending from runs o
			cross join lateral (select greatest(o.window_until, $10::timestamptz) as until) u
			cross join lateral (` + pendingOfRun + `) p
			where o.group_id = $1 and o.run_id = $2) w
		where r.group_id = $1 and r.run_id = w.run_id
		returning r.run_id, r.status, r.finished_at as at, w.pending), ` + events.OfRuns + ` select pending from ended`

	// If the last run of a session left work that it was meant to do, the session is due at once. A dream only names a
	// session, and does no work on it.
	unfinishedQuery = `update sessions set unfinished = $3 where group_id = $1 and session_id = $2 and unfinished <> $3
		and exists (select 1 from runs r where r.group_id = $1 and r.run_id = $4::uuid and r.job <> 'dream')`
)

// StartRun writes a run that begins now. It sets an empty id, status and start. It also sets the attempt: one more than
// there are runs of the same group, job, session and window. A window is due again when messages arrive late. The
// session of a run must exist, or StartRun returns reverie.ErrNotFound; it may have merged with another. For a dream,
// the session only marks how far the dream reaches, so it need not exist. In a team only maintenance runs.
func (s *Store) StartRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (reverie.Run, error) {
	return s.startRun(ctx, lease, run, nil)
}

// OpenRun is [Store.StartRun] for a run with its first chunk. The same transaction saves the chunk and adopts the
// answers of the run before; "" means none. So a process that dies leaves a run that can be resumed, or none.
func (s *Store) OpenRun(ctx context.Context, lease reverie.Lease, run reverie.Run, chunk reverie.Chunk,
	before string) (reverie.Run, error) {
	return s.startRun(ctx, lease, run, func(ctx context.Context, t *pg.Tx, runID string) error {
		chunk.RunID = runID
		if err := s.saveChunk(ctx, t, lease, chunk); err != nil || before == "" {
			return err
		}
		return s.adoptAnswers(ctx, t, lease.GroupID, before, runID)
	})
}

// startRun writes the row of a run, and calls with in the same transaction; with may be nil.
func (s *Store) startRun(ctx context.Context, lease reverie.Lease, run reverie.Run, with func(ctx context.Context,
	t *pg.Tx, runID string) error) (reverie.Run, error) {
	run.GroupID, run.Status, run.FinishedAt = lease.GroupID, reverie.RunRunning, nil
	if run.Job != reverie.JobMaintain { // maintenance also computes the vectors of a team
		if err := reverie.CheckChat(run.GroupID); err != nil {
			return run, err
		}
	}
	if run.ID == "" {
		run.ID = reverie.NewID()
	}
	err := s.underLease(ctx, lease, pg.Work{
		What:  fmt.Sprintf("start a run of %s for group %q", run.Job, lease.GroupID),
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if run.SessionID != "" {
				err := LockSession(ctx, t, run.GroupID, run.SessionID)
				if err != nil && (run.Job != reverie.JobDream || !errors.Is(err, reverie.ErrNotFound)) {
					return err
				}
			}
			s.insertRun(ctx, t, &run)
			if with == nil {
				return nil
			}
			return with(ctx, t, run.ID)
		},
		Committed: CommittedUnder(lease, `select 1 from runs where group_id = $1 and run_id = $2`, run.GroupID, run.ID),
	})
	return run, err
}

// insertRun queues the insert of a run's row, which sets its attempt and its start.
func (s *Store) insertRun(ctx context.Context, t *pg.Tx, run *reverie.Run) {
	at := run.StartedAt
	if at.IsZero() {
		at = s.db.Now()
	}
	var row struct {
		Attempt   int
		StartedAt time.Time `db:"started_at"`
	}
	t.Ask(ctx, &row, startRunQuery, run.GroupID, run.ID, string(run.Job), run.WindowSince, run.WindowUntil, run.Model,
		run.PromptVersion, run.PromptSHA256, pg.AsJSON(run.Stats), at, run.SessionID).Then(func(err error) error {
		run.Attempt, run.StartedAt = row.Attempt, row.StartedAt
		return err
	})
}

// FinishRun writes the end of a run. Another holder may have resumed the run: a lost lease is reverie.ErrLeaseLost, and
// nothing is written. A zero FinishedAt means now. The window of a resumed run is extended to the present one.
// FinishRun counts the messages of the window that are still pending for the run's job, in the stats and in the result.
// A session is unfinished if a run that was cut short, or failed, left some of its work.
func (s *Store) FinishRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (pending int, err error) {
	run.GroupID = lease.GroupID
	err = s.underLease(ctx, lease, pg.Work{
		What:  fmt.Sprintf("finish run %s of group %q", run.ID, lease.GroupID),
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			return s.finishRun(ctx, t, run, false, &pending)
		},
	})
	return pending, err
}

// finishRun queues the statements of [Store.FinishRun] in a transaction that holds the lease. If the transaction has
// changed memories of the group, the run ends no earlier than these changes.
func (s *Store) finishRun(ctx context.Context, t *pg.Tx, run reverie.Run, changed bool, pending *int) error {
	if run.Status == reverie.RunRunning {
		return fmt.Errorf("finish run %s: status is still running: %w", run.ID, reverie.ErrInvalid)
	}
	finished := s.db.Now()
	if run.FinishedAt != nil && !run.FinishedAt.IsZero() {
		finished = *run.FinishedAt
	}
	ended := t.Ask(ctx, pending, finishRunQuery, run.GroupID, run.ID, run.Status, pg.AsJSON(run.Stats),
		pg.ValidText(run.Error), finished, run.Model, run.PromptVersion, run.PromptSHA256, run.WindowUntil, changed).
		Then(func(err error) error { return pg.NotFoundIfEmpty(err, "run %s", run.ID) })
	if run.SessionID == "" {
		return nil
	}
	if err := ended.Read(); err != nil {
		return err
	}
	short := (run.Status == reverie.RunDeferred || run.Status == reverie.RunFailed) && *pending > 0 && !run.Stats.Through
	return t.Exec(ctx, unfinishedQuery, run.GroupID, run.SessionID, short, run.ID)
}

// The costs are summed for the runs of the page only.
const runsQuery = `with page as materialized (
		select group_id, run_id from runs
		where ($1 = '' or group_id = $1) and ($2 = '' or job = $2) and ($3 = '' or status = $3 or $3 = 'held' and exists (
				select 1 from held_plans h where h.group_id = runs.group_id and h.run_id = runs.run_id and h.status = 'waiting'))
			and started_at >= $4::timestamptz and ($6::uuid is null or (started_at, run_id) < ($7::timestamptz, $6::uuid))%s
		order by started_at desc, run_id desc limit nullif($5::int, 0))
	select r.*, s.* from page p
	join lateral (select ` + RunColumns + ` from runs) r on r.group_id = p.group_id and r.run_id = p.run_id
	cross join lateral (
		select ` + SpendColumns + ` from llm_calls c where c.group_id = r.group_id and c.run_id = r.run_id) s
	order by r.started_at desc, r.run_id desc`

// Few runs have pending plans, so a search for them begins there.
var (
	allRunsQuery     = fmt.Sprintf(runsQuery, ``)
	waitingRunsQuery = fmt.Sprintf(runsQuery, ` and (group_id, run_id) in (
				select h.group_id, h.run_id from held_plans h where h.status = 'waiting' and ($1 = '' or h.group_id = $1))`)
)

// Runs lists runs with their costs, newest first. A limit of 0 is no limit. With the status held, it lists all runs
// that have a pending plan, whatever their status. If the run to continue after does not exist, or belongs to another
// group, the error is reverie.ErrNotFound.
func (s *Store) Runs(ctx context.Context, q reverie.RunQuery) ([]reverie.RunEntry, error) {
	return pg.Read(ctx, s.db, "list runs", func(ctx context.Context, t *pg.Tx) (list []reverie.RunEntry, err error) {
		var before *string
		var startedAt any
		if q.Before != "" {
			last, err := GetRun(ctx, t, q.GroupID, q.Before)
			if err != nil {
				return list, err
			}
			before, startedAt = &last.ID, last.StartedAt
		}
		query := allRunsQuery
		if q.Held {
			query = waitingRunsQuery
		}
		list, err = RunEntries(ctx, t, query, q.GroupID, string(q.Job), string(q.Status), pg.OrMinusInfinity(q.Since),
			q.Limit, before, startedAt)
		return list, err
	})
}

// RunEntries reads runs with their costs.
func RunEntries(ctx context.Context, t *pg.Tx, query string, args ...any) ([]reverie.RunEntry, error) {
	rows, err := pg.Select[struct {
		reverie.Run
		reverie.Spend
	}](ctx, t, query, args...)
	list := []reverie.RunEntry{}
	for _, r := range rows {
		list = append(list, reverie.RunEntry{Run: r.Run, Spend: r.Spend})
	}
	return list, err
}

// SoFar returns the changes, the refusals and the held plans of a run, for whoever resumes it.
func (s *Store) SoFar(ctx context.Context, groupID, runID string) (changes []reverie.Change,
	refusals []reverie.Refusal, held []reverie.HeldPlan, err error) {
	d, err := s.Run(ctx, groupID, runID)
	for _, c := range d.Chunks {
		refusals = append(refusals, c.Refusals...)
	}
	return d.Changes, refusals, d.Held, err
}

// Run returns everything that the ledger has about a run, each part in order. An empty groupID searches all groups. An
// unknown run is reverie.ErrNotFound.
func (s *Store) Run(ctx context.Context, groupID, runID string) (reverie.RunDetail, error) {
	return s.RunUpTo(ctx, groupID, runID, 0)
}

// RunUpTo is [Store.Run] with at most rows rows of each part; 0 is no limit. It drops the end of longer parts and
// reports that in Cut.
func (s *Store) RunUpTo(ctx context.Context, groupID, runID string, rows int) (reverie.RunDetail, error) {
	return read(ctx, s, groupID, "read a run", func(ctx context.Context, t *pg.Tx) (d reverie.RunDetail, err error) {
		if d.Run, err = GetRun(ctx, t, groupID, runID); err != nil {
			return d, err
		}
		err = readParts(ctx, t, &d, rows)
		return d, err
	})
}

func GetRun(ctx context.Context, t *pg.Tx, groupID, runID string) (reverie.Run, error) {
	if !reverie.IsID(runID) {
		return reverie.Run{}, fmt.Errorf("run %q: %w", runID, reverie.ErrNotFound)
	}
	run, err := pg.Get[reverie.Run](ctx, t, `select `+RunColumns+` from runs where run_id = $2 and ($1 = ''
		or group_id = $1)`, groupID, runID)
	return run, pg.NotFoundIfEmpty(err, "run %s", runID)
}

// readParts reads the parts of a run.
func readParts(ctx context.Context, t *pg.Tx, d *reverie.RunDetail, rows int) error {
	groupID, runID, limit := d.Run.GroupID, d.Run.ID, rows
	if rows > 0 {
		limit++ // to see whether there are more
	}
	var err error
	if d.Chunks, err = chunks(ctx, t, groupID, runID, limit); err != nil {
		return err
	}
	if d.Held, err = heldPlans(ctx, t, groupID, runID, limit); err != nil {
		return err
	}
	if d.Changes, err = runChanges(ctx, t, groupID, runID, 0, limit); err != nil {
		return err
	}
	if d.Decisions, err = runDecisions(ctx, t, groupID, runID, limit); err != nil {
		return err
	}
	if d.Entities, err = pg.Select[reverie.EntityChange](ctx, t, entityRunChangesQuery, groupID, runID, 0, limit); err != nil {
		return err
	}
	if d.Names, err = subjects(ctx, t, groupID, d.Entities); err != nil {
		return err
	}
	if d.Calls, err = calls(ctx, t, groupID, runID, limit); err != nil {
		return err
	}
	if rows > 0 {
		d.Chunks, d.Held, d.Changes = UpTo(d.Chunks, rows, &d.Cut), UpTo(d.Held, rows, &d.Cut), UpTo(d.Changes, rows, &d.Cut)
		d.Decisions, d.Entities, d.Calls = UpTo(d.Decisions, rows, &d.Cut), UpTo(d.Entities, rows, &d.Cut), UpTo(d.Calls,
			rows, &d.Cut)
	}
	return t.Get(ctx, &d.Spend, `select `+SpendColumns+` from llm_calls where group_id = $1
		and run_id = $2`, groupID, runID)
}

// UpTo returns the first rows of a list, and sets cut if there are more.
func UpTo[T any](list []T, rows int, cut *bool) []T {
	if len(list) > rows {
		*cut = true
		return list[:rows]
	}
	return list
}

const (
	planMessagesQuery = `select ` + MessageColumns + ` from messages
		where group_id = $1 and message_id = any ($2::text[]) and pruned_at is null order by sent_at, seq`

	// This locks them against other writers until the commit.
	restsOnQuery = `select memory_id from memories where group_id = $1 and kind = $2 and status = 'active'
		order by memory_id for share`
)

// PlanState reads what a plan file is checked against, in one snapshot: the run that has its id, and the named
// messages. An unknown group is reverie.ErrNotFound.
func (s *Store) PlanState(ctx context.Context, groupID, planID string, messageIDs []string) (reverie.PlanState, error) {
	what := fmt.Sprintf("read what a plan for group %q rests on", groupID)
	return read(ctx, s, groupID, what, func(ctx context.Context, t *pg.Tx) (state reverie.PlanState, err error) {
		if _, err := GetGroup(ctx, t, groupID); err != nil {
			return state, err
		}
		runs, err := pg.Select[reverie.Run](ctx, t, `select `+RunColumns+` from runs where group_id = $1 and run_id = $2`, groupID, planID)
		if err != nil {
			return state, err
		}
		if len(runs) > 0 {
			state.Run = &runs[0]
		}
		err = t.Select(ctx, &state.Messages, planMessagesQuery, groupID, pq.StringArray(append([]string{}, messageIDs...)))
		return state, err
	})
}

// PlanSeal returns a seal of a text that only this database can make, and only for this group. It writes nothing. An
// unknown group is reverie.ErrNotFound.
func (s *Store) PlanSeal(ctx context.Context, groupID, text string) (string, error) {
	var key string
	err := s.db.QueryRow(ctx, fmt.Sprintf("seal a plan for group %q", groupID), &key,
		`select plan_key from groups where group_id = $1`, groupID)
	if err != nil {
		return "", pg.NotFoundIfEmpty(err, "seal a plan for group %q", groupID)
	}
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// ApplyPlanned writes a new run with all of its chunks and ends it, in one transaction: everything or nothing. It
// returns the results of [Store.Apply] for each chunk in order, and how many messages of the window are still pending.
// If the group's active memories of the plans' kind are not the expected heads, or Apply refuses a chunk, it returns
// reverie.ErrConflict and writes nothing. The caller sets the run's status and stats.
func (s *Store) ApplyPlanned(ctx context.Context, lease reverie.Lease, planned reverie.PlannedRun) (list []reverie.Change, pending int, err error) {
	run := planned.Run
	what := fmt.Sprintf("apply the plan of run %s to group %q", run.ID, run.GroupID)
	if run.GroupID != lease.GroupID || len(planned.Plans) == 0 || len(planned.Plans) != len(planned.Chunks) || run.Status == reverie.RunRunning {
		return nil, 0, fmt.Errorf("%s: it is not in the group of the lease, or not planned: %w", what, reverie.ErrInvalid)
	}
	if err := reverie.CheckChat(run.GroupID); err != nil {
		return nil, 0, err
	}
	for i, p := range planned.Plans {
		if p.GroupID != run.GroupID || p.RunID != run.ID || p.ChunkNo != planned.Chunks[i].No || p.Kind != planned.Plans[0].Kind {
			return nil, 0, fmt.Errorf("%s: chunk %d is not the run's: %w", what, p.ChunkNo, reverie.ErrInvalid)
		}
		if err := checkPlan(p); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", what, err)
		}
	}
	err = s.underLease(ctx, lease, pg.Work{
		What: what,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := sameHeads(ctx, t, planned); err != nil {
				return err
			}
			list, pending = nil, 0
			if err := s.beginPlanned(ctx, t, lease, planned); err != nil {
				return err
			}
			for _, p := range planned.Plans {
				changes, err := s.applyPlan(ctx, t, p)
				if err != nil {
					return fmt.Errorf("chunk %d: %w", p.ChunkNo, err)
				}
				list = append(list, changes...)
			}
			return s.finishRun(ctx, t, run, true, &pending)
		},
		Committed: CommittedUnder(lease, `select 1 from runs where group_id = $1 and run_id = $2`, run.GroupID, run.ID),
	})
	return list, pending, err
}

// sameHeads refuses a run if the active memories of its group have changed since it was planned.
func sameHeads(ctx context.Context, t *pg.Tx, planned reverie.PlannedRun) error {
	var ids []string
	if err := t.Select(ctx, &ids, restsOnQuery, planned.Run.GroupID, string(planned.Plans[0].Kind)); err != nil {
		return err
	}
	heads := slices.Sorted(slices.Values(planned.Heads))
	if !slices.Equal(ids, heads) {
		return fmt.Errorf("the group's memories have changed just now: %w: plan again", reverie.ErrConflict)
	}
	return nil
}

// beginPlanned writes the rows of a run and of its chunks.
func (s *Store) beginPlanned(ctx context.Context, t *pg.Tx, lease reverie.Lease, planned reverie.PlannedRun) error {
	run := planned.Run
	s.insertRun(ctx, t, &run)
	for _, c := range planned.Chunks {
		c.RunID, c.Status = run.ID, reverie.ChunkAnswered
		if err := s.saveChunk(ctx, t, lease, c); err != nil {
			return err
		}
	}
	return nil
}
