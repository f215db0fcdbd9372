package store

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// requeueQuery makes the messages of chunks that are held whole pending again,
// and says how many there were of each outcome.
const requeueQuery = `with freed as (
		update messages m set run_id = null, outcome = null
		from (select m2.message_id, m2.outcome from held_plans h
			join run_chunks c on c.group_id = h.group_id and c.run_id = h.run_id and c.chunk_no = h.chunk_no
			join messages m2 on m2.group_id = c.group_id and m2.message_id = any (c.message_ids)
			where h.group_id = $1 and h.run_id = $2 and h.status = 'waiting' and h.whole and m2.run_id = $2) old
		where m.group_id = $1 and m.message_id = old.message_id and m.run_id = $2
		returning old.outcome)
	select count(*) filter (where outcome = 'cited') as cited, count(*)
		filter (where outcome = 'considered') as considered,
		count(*) filter (where outcome = 'filtered') as filtered from freed`

// RejectHeld refuses all plans of a run that wait, and the run with them. With
// requeue, the messages of chunks that were held whole become pending again, and what
// a dream took in becomes new again that wrote no item; it returns how many messages,
// or memory versions. A run of which nothing waits is reverie.ErrConflict.
func (s *Store) RejectHeld(ctx context.Context, lease reverie.Lease, groupID, runID string,
	requeue bool) (requeued int, err error) {
	what := fmt.Sprintf("reject what run %s holds", runID)
	if groupID != lease.GroupID {
		return 0, fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	if !reverie.IsID(runID) {
		return 0, fmt.Errorf("%s: %w", what, reverie.ErrNotFound)
	}
	err = s.db.Run(ctx, pg.Work{
		What: what,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := Fence(ctx, t, lease); err != nil {
				return err
			}
			var err error
			requeued, err = s.reject(ctx, t, groupID, runID, requeue)
			return err
		},
		Committed: CommittedUnder(lease, `select 1 from runs where group_id = $1 and run_id = $2
			and status = 'rejected'`, groupID, runID),
	})
	return requeued, err
}

func (s *Store) reject(ctx context.Context, t *pg.Tx, groupID, runID string, requeue bool) (requeued int, err error) {
	if err := standing(ctx, t, groupID, runID); err != nil {
		return 0, err
	}
	run, err := lockRun(ctx, t, groupID, runID)
	if err != nil {
		return 0, err
	}
	if requeue {
		if requeued, err = s.giveBack(ctx, t, &run); err != nil {
			return 0, err
		}
	}
	n, err := t.Exec(ctx, `update held_plans set status = 'rejected' where group_id = $1 and run_id = $2
		and status = 'waiting'`, groupID, runID)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fmt.Errorf("nothing of it waits: %w", reverie.ErrConflict)
	}
	text, err := pg.JSONText(run.Stats)
	if err != nil {
		return 0, err
	}
	_, err = t.Exec(ctx, `update runs set status = 'rejected', stats = $3::jsonb where group_id = $1
		and run_id = $2`, groupID, runID, text)
	return requeued, err
}

// giveBack makes new again what a run took for plans that wait, corrects its counts,
// and says how much that is.
func (s *Store) giveBack(ctx context.Context, t *pg.Tx, run *reverie.Run) (int, error) {
	if run.Job == reverie.JobDream {
		return requeueDream(ctx, t, run)
	}
	stats := &run.Stats
	var back int
	if run.SessionID != "" {
		var err error
		if back, err = requeueSession(ctx, t, *run, s.db.Now()); err != nil {
			return 0, err
		}
		gone := 0
		for _, n := range []*int{&stats.Considered, &stats.Cited, &stats.Filtered} { // which was which is not kept
			less := min(*n, back-gone)
			*n, gone = *n-less, gone+less
		}
	}
	var freed struct{ Cited, Considered, Filtered int }
	if err := t.Get(ctx, &freed, requeueQuery, run.GroupID, run.ID); err != nil {
		return 0, err
	}
	// Their messages will be another chunk's: this one consumed nothing.
	if _, err := t.Exec(ctx, `update run_chunks c set status = 'failed' from held_plans h
		where c.group_id = $1 and c.run_id = $2 and h.group_id = c.group_id and h.run_id = c.run_id
			and h.chunk_no = c.chunk_no
			and h.status = 'waiting' and h.whole`, run.GroupID, run.ID); err != nil {
		return 0, err
	}
	back += freed.Cited + freed.Considered + freed.Filtered
	stats.Cited, stats.Considered, stats.Filtered = stats.Cited-freed.Cited, stats.Considered-freed.Considered,
		stats.Filtered-freed.Filtered
	stats.Deferred += back
	return back, nil
}
