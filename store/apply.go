package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	lockChunkQuery  = `select ` + lockChunk
	lockNewestQuery = `select ` + newestChange + ` as newest, ` + lockChunk
	lockChunk       = `c.status as chunk, r.status as run from run_chunks c
		join runs r on r.group_id = c.group_id and r.run_id = c.run_id
		where c.group_id = $1 and c.run_id = $2 and c.chunk_no = $3 for update`

	// What was shown waits for the impression job next, where people and things
	// are followed. A message that is consumed once more is not used once more.
	consumeQuery = `with consumed as (
			update messages m set run_id = $2::uuid, outcome = u.outcome
			from unnest($3::text[], $4::text[]) as u (id, outcome)
			where m.group_id = $1 and m.message_id = u.id and m.run_id is null and m.outcome is null
			returning m.message_id, m.sent_at, m.role, m.outcome),
		queued as (
			insert into message_uses (group_id, job, message_id, sent_at)
			select $1, 'impression', message_id, sent_at from consumed
			where outcome <> 'filtered' and role <> 'tool' and (
				select g.impressions = 'on' or g.impressions = '' and $5::bool from groups g where g.group_id = $1)
			order by message_id
			on conflict (group_id, job, message_id) do nothing)
		select count(*) from consumed`

	finishChunkQuery = `with c as (
			update run_chunks set status = $4, refusals = $5::jsonb where group_id = $1 and run_id = $2 and chunk_no = $3)
		update runs set stats = $6::jsonb where group_id = $1 and run_id = $2`
)

// Apply writes what one chunk decided, in one transaction whose number of
// statements does not depend on the plan's size: versions, change log, evidence,
// decisions, outcomes of messages, what is held, the chunk's status and the run's
// stats. Memories that were to be judged again, and are by it, no longer are; what rests on memories that it
// changes is. Where people and things are followed, the messages that were shown wait
// for the impression job from here on. A plan of a session takes its messages out
// of what waits for extraction, and leaves their outcomes, which are evolve's,
// alone; the session is new to dreams again. A plan of a dream takes in memory
// versions, and covers sessions. Where the run ends with the chunk, it ends as by
// [Store.FinishRun]. It returns the changes, support not among them.
//
// Nothing is written and the error is reverie.ErrLeaseLost when another holder
// took the lease; reverie.ErrConflict when a head has moved, a statement's twin
// is active, a message is no longer pending or waiting, a memory version no longer
// new, or what a version rests on was deleted; reverie.ErrInvalid when the plan
// contradicts itself; reverie.ErrNotFound when a version rests on a memory that the
// group does not have. A chunk that has been applied already returns its changes.
func (s *Store) Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error) {
	what := fmt.Sprintf("apply chunk %d of run %s to group %q", plan.ChunkNo, plan.RunID, plan.GroupID)
	if plan.GroupID != lease.GroupID {
		return nil, fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	if err := checkPlan(plan); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var list []reverie.Change
	err := s.db.Run(ctx, pg.Work{
		What:  what,
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := Fence(ctx, t, lease); err != nil {
				return err
			}
			var err error
			if list, err = s.applyPlan(ctx, t, plan); err != nil || plan.End == nil {
				return err
			}
			plan.End.Stats.Deferred, err = s.finishRun(ctx, t, *plan.End, true)
			return err
		},
		Committed: CommittedUnder(lease, `select 1 from run_chunks
			where group_id = $1 and run_id = $2 and chunk_no = $3 and status in ('applied',
				'held')`, plan.GroupID, plan.RunID, plan.ChunkNo),
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// checkPlan refuses what no plan may be, before anything is locked.
func checkPlan(plan reverie.Plan) error {
	if plan.HeldAll && (len(plan.Steps) > 0 || len(plan.Held) == 0) {
		return fmt.Errorf("a plan held whole has held steps and no others: %w", reverie.ErrInvalid)
	}
	if err := checkSteps(plan.Steps); err != nil {
		return err
	}
	if err := checkDecisions(plan.Decisions); err != nil {
		return err
	}
	if (plan.SessionID == "") != (len(plan.Used) == 0) || plan.SessionID != "" && len(plan.Outcomes) > 0 {
		return fmt.Errorf("an extraction has a session and messages that it uses, and gives them no outcome: %w",
			reverie.ErrInvalid)
	}
	if d := plan.Dream; d != nil && (len(d.MemoryIDs) == 0 || plan.SessionID != "" || len(plan.Outcomes) > 0) {
		return fmt.Errorf("a dream takes in memories, and no messages: %w", reverie.ErrInvalid)
	}
	return nil
}

func (s *Store) applyPlan(ctx context.Context, t *pg.Tx, plan reverie.Plan) ([]reverie.Change, error) {
	var status struct {
		Chunk, Run string
		Newest     *time.Time
	}
	if err := t.Get(ctx, &status, lockNewestQuery, plan.GroupID, plan.RunID, plan.ChunkNo); err != nil {
		return nil, pg.NotFoundIfEmpty(err, "chunk %d of run %s: save the chunk first", plan.ChunkNo, plan.RunID)
	}
	switch reverie.ChunkStatus(status.Chunk) {
	case reverie.ChunkApplied, reverie.ChunkHeld:
		return runChanges(ctx, t, plan.GroupID, plan.RunID, plan.ChunkNo, 0)
	}
	if status.Run != string(reverie.RunRunning) {
		return nil, fmt.Errorf("the run has ended as %s: %w", status.Run, reverie.ErrConflict)
	}
	b := &batch{groupID: plan.GroupID, runID: plan.RunID, chunkNo: plan.ChunkNo, kind: plan.Kind, at: after(s.db.Now(),
		status.Newest),
		steps: plan.Steps}
	list, err := s.writeSteps(ctx, t, b)
	if err != nil {
		return nil, err
	}
	at := b.at
	if err := insertDecisions(ctx, t, plan, at); err != nil {
		return nil, err
	}
	if err := judged(ctx, t, plan.GroupID, plan.RunID, plan.Steps, plan.Judged); err != nil {
		return nil, err
	}
	if _, err := cascade(ctx, t, plan.GroupID, list, plan.Steps, at); err != nil {
		return nil, err
	}
	switch {
	case plan.Dream != nil:
		err = takeIn(ctx, t, plan)
	case plan.SessionID != "":
		err = extracted(ctx, t, plan, at)
	default:
		err = consume(ctx, t, plan)
	}
	if err != nil {
		return nil, err
	}
	if len(plan.Held) > 0 {
		if err := s.hold(ctx, t, plan); err != nil {
			return nil, err
		}
	}
	return list, finishChunk(ctx, t, plan)
}

// consume gives each message its outcome, exactly once: one that is no longer
// pending fails the whole plan.
func consume(ctx context.Context, t *pg.Tx, plan reverie.Plan) error {
	if len(plan.Outcomes) == 0 {
		return nil
	}
	var ids, outcomes pq.StringArray
	for id := range plan.Outcomes {
		ids = append(ids, id)
	}
	slices.Sort(ids) // one order of locks for everybody
	for _, id := range ids {
		outcomes = append(outcomes, string(plan.Outcomes[id]))
	}
	var n int
	err := t.Get(ctx, &n, consumeQuery, plan.GroupID, plan.RunID, ids, outcomes, plan.Impressions)
	if err == nil && n != len(ids) {
		return fmt.Errorf("%d of the chunk's %d messages are no longer pending: %w", len(ids)-n, len(ids),
			reverie.ErrConflict)
	}
	return err
}

func finishChunk(ctx context.Context, t *pg.Tx, plan reverie.Plan) error {
	refusals, err := refusalsJSON(plan.Refusals)
	if err != nil {
		return err
	}
	stats, err := pg.JSONText(plan.Stats)
	if err != nil {
		return err
	}
	status := reverie.ChunkApplied
	if plan.HeldAll {
		status = reverie.ChunkHeld
	}
	_, err = t.Exec(ctx, finishChunkQuery, plan.GroupID, plan.RunID, plan.ChunkNo, string(status), refusals, stats)
	return err
}
