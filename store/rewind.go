package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie"
)

const (
	// A group's runs of a job follow one another, so that the order of their
	// starts is the order of their work.
	rewoundRunsQuery = `select run_id from runs
		where group_id = $1 and job = $2 and undone_at is null and (started_at, run_id) >= (
			select f.started_at, f.run_id from runs f
			where f.group_id = $1 and f.job = $2 and f.undone_at is null and exists (
				select 1 from messages m where m.group_id = f.group_id and m.run_id = f.run_id and m.sent_at >= $3::timestamptz)
			order by f.started_at, f.run_id limit 1)
		order by started_at, run_id`

	// A run that still calls itself running is a dead process's: nobody else can
	// hold the lease.
	undoRunsQuery = `update runs set undone_at = $3::timestamptz, finished_at = coalesce(finished_at, $3::timestamptz),
			status = case status when 'running' then 'failed' when 'held' then 'rejected' else status end,
			error = case when status = 'running' then $4 else error end
		where group_id = $1 and run_id = any ($2::uuid[])`

	rejectPlansQuery = `update held_plans set status = 'rejected'
		where group_id = $1 and run_id = any ($2::uuid[]) and status = 'waiting'`

	withdrawEvidenceQuery = `update memory_evidence set withdrawn_at = $3::timestamptz
		where group_id = $1 and run_id = any ($2::uuid[]) and withdrawn_at is null`

	// What has no text any more can be read by nobody.
	freeMessagesQuery = `update messages set run_id = null, outcome = null
		where group_id = $1 and run_id = any ($2::uuid[]) and pruned_at is null`

	consumedQuery = `select count(*) filter (where pruned_at is null) as messages, min(sent_at) filter (where pruned_at is null) as earliest,
			count(*) filter (where pruned_at is not null and sent_at >= $3::timestamptz) as pruned
		from messages where group_id = $1 and run_id = any ($2::uuid[])`
)

// Rewind takes back what the runs of a job did to a group since the first of them
// that consumed a message sent at q.Since or later, in one transaction whose
// number of statements does not depend on how much that is. Nothing is deleted:
//
//   - The runs keep their rows, chunks, changes and calls, and are marked as
//     undone. What they hold is rejected; an answer of theirs is not used again.
//   - All messages that they consumed are pending again, but those of before q.Since
//     whose text was pruned. Another job that has used one, or waits for it, neither
//     forgets it nor uses it once more.
//   - Their evidence supports nothing any more.
//   - Each memory is again what the newest version says that none of them made,
//     as a new version with the lineage's weight of now. One that has no such
//     version ends. Where only support is taken away, strength and time of support
//     go back in place. All of it goes to the change log as undo.
//   - What was archived since they began comes back likewise, whether they touched it
//     or not, as strong as its evidence makes it: it was there when they began.
//   - What they judged again is held again, if it was, and waits to be judged anew:
//     it never says unjudged what it said. What was erased by that does not come back.
//   - What a person decided since stands: a memory that a person deleted or
//     restored after the runs changed it stays so. A strength that a person set
//     stays the value that later support builds on.
//   - Where another memory says by now, by a person's will, what a memory would
//     say again, that memory ends.
//
// Strength is that of the evidence that is left: see strengthOf. Repeated, it
// finds nothing to do until runs have consumed messages again. Where texts of
// messages sent since are gone, the error is reverie.ErrConflict, and nothing is
// written. An unknown group is reverie.ErrNotFound; a group that another holder has taken is
// reverie.ErrLeaseLost, and nothing is written.
func (s *Store) Rewind(ctx context.Context, lease reverie.Lease, q reverie.RewindQuery) (reverie.Rewound, error) {
	what := fmt.Sprintf("take back runs of %s of group %q", q.Job, q.GroupID)
	if !q.DryRun && q.GroupID != lease.GroupID {
		return reverie.Rewound{}, fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	var result reverie.Rewound
	var first *string
	err := s.run(ctx, work{
		what:     what,
		readOnly: q.DryRun,
		do: func(ctx context.Context, t *tx) error {
			result, first = reverie.Rewound{Skipped: []reverie.RewindSkip{}}, nil
			if _, err := getGroup(ctx, t, q.GroupID); err != nil {
				return err
			}
			if !q.DryRun {
				if err := fenced(ctx, t, lease); err != nil {
					return err
				}
			}
			var runs pq.StringArray
			err := t.list(ctx, &runs, rewoundRunsQuery, q.GroupID, string(q.Job), orMinusInfinity(q.Since))
			if err != nil || len(runs) == 0 {
				return err
			}
			first = &runs[0]
			result.Runs = len(runs)
			return s.rewind(ctx, t, q, runs, &result)
		},
		committed: func(ctx context.Context, t *tx) (bool, error) {
			return ledger(lease, `select 1 from runs where group_id = $1 and run_id = $2::uuid and undone_at is not null`, q.GroupID, first)(ctx, t)
		},
	})
	if err != nil {
		return reverie.Rewound{}, err
	}
	return result, nil
}

func (s *Store) rewind(ctx context.Context, t *tx, q reverie.RewindQuery, runs pq.StringArray, result *reverie.Rewound) error {
	var consumed struct {
		Messages, Pruned int
		Earliest         *time.Time
	}
	if err := t.get(ctx, &consumed, consumedQuery, q.GroupID, runs, orMinusInfinity(q.Since)); err != nil {
		return err
	}
	if consumed.Pruned > 0 {
		return fmt.Errorf("the texts of %d of the messages are gone ([retention] messages), so that what they led to could not be learnt again; "+
			"begin after them: %w", consumed.Pruned, reverie.ErrConflict)
	}
	result.Messages = consumed.Messages
	if consumed.Earliest != nil {
		result.Earliest = consumed.Earliest.UTC()
	}
	if !q.DryRun { // a person's edit locks its lineage too
		if _, err := t.exec(ctx, lockTouchedQuery, q.GroupID, runs); err != nil {
			return err
		}
	}
	var rows []touchedRow
	if err := t.list(ctx, &rows, touchedQuery, q.GroupID, runs); err != nil {
		return err
	}
	returns := unwind(rows, result)
	if q.DryRun {
		return nil
	}
	at := s.now()
	for _, w := range []struct {
		query string
		args  []any
	}{
		{undoRunsQuery, []any{at, interrupted}},
		{rejectPlansQuery, nil},
		{withdrawEvidenceQuery, []any{at}},
		{freeMessagesQuery, nil},
		{judgeAnewQuery, nil},
	} {
		if _, err := t.exec(ctx, w.query, append([]any{q.GroupID, runs}, w.args...)...); err != nil {
			return err
		}
	}
	return writeReturns(ctx, t, q, at, returns)
}

// standing refuses a run that was taken back, saying so, before anybody decides
// on what it held.
func standing(ctx context.Context, t *tx, groupID, runID string) error {
	var undone *time.Time
	err := t.get(ctx, &undone, `select undone_at from runs where group_id = $1 and run_id = $2`, groupID, runID)
	if err != nil {
		return one(err, "run %s", runID)
	}
	if undone != nil {
		return fmt.Errorf("the run was taken back at %s, and what it held is rejected; its messages wait for a new run: %w",
			undone.UTC().Format(time.RFC3339), reverie.ErrConflict)
	}
	return nil
}
