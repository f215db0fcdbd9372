package history

import (
	"context"
	"fmt"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// A group's runs of a job follow one another, so that the order of their starts is the
// order of their work. One that was undone, and whose messages do not wait again, belongs
// to it.
const rewoundRunsQuery = `select run_id from runs r
	where group_id = $1 and job = $2 and (started_at, run_id) >= (
		select f.started_at, f.run_id from runs f
		where f.group_id = $1 and f.job = $2 and exists (
			select 1 from messages m where m.group_id = f.group_id and m.run_id = f.run_id and m.sent_at >= $3::timestamptz
				and (f.undone_at is null or m.pruned_at is null))
		order by f.started_at, f.run_id limit 1)
		and (undone_at is null or exists (
			select 1 from messages m where m.group_id = r.group_id and m.run_id = r.run_id and m.pruned_at is null))
	order by started_at, run_id`

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
func (h *History) Rewind(ctx context.Context, lease reverie.Lease, q reverie.RewindQuery) (reverie.Rewound, error) {
	what := fmt.Sprintf("take back runs of %s of group %q", q.Job, q.GroupID)
	if !q.DryRun && q.GroupID != lease.GroupID {
		return reverie.Rewound{}, fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	var result reverie.Rewound
	var first *string
	err := h.db.Run(ctx, pg.Work{
		What:     what,
		ReadOnly: q.DryRun,
		Do: func(ctx context.Context, t *pg.Tx) error {
			result, first = reverie.Rewound{Skipped: []reverie.RewindSkip{}}, nil
			if _, err := store.GetGroup(ctx, t, q.GroupID); err != nil {
				return err
			}
			if !q.DryRun {
				if err := store.Fence(ctx, t, lease); err != nil {
					return err
				}
			}
			var runs pq.StringArray
			err := t.Select(ctx, &runs, rewoundRunsQuery, q.GroupID, string(q.Job), pg.OrMinusInfinity(q.Since))
			if err != nil || len(runs) == 0 {
				return err
			}
			first = &runs[0]
			result.Runs = len(runs)
			return h.rewind(ctx, t, q, runs, &result)
		},
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
			return store.CommittedUnder(lease, `select 1 from runs where group_id = $1 and run_id = $2::uuid
				and undone_at is not null`, q.GroupID, first)(ctx, t)
		},
	})
	if err != nil {
		return reverie.Rewound{}, err
	}
	return result, nil
}

func (h *History) rewind(ctx context.Context, t *pg.Tx, q reverie.RewindQuery, runs pq.StringArray,
	result *reverie.Rewound) error {
	b := takeBack{groupID: q.GroupID, runs: runs, reason: q.Reason, replay: true}
	read, err := consumedBy(ctx, t, b, q.Since, "begin after them")
	if err != nil {
		return err
	}
	result.Messages = read.Messages
	if read.Earliest != nil {
		result.Earliest = *read.Earliest
	}
	back, err := b.look(ctx, t, q.DryRun)
	if err != nil {
		return err
	}
	result.Restored, result.Deprecated, result.Weakened = back.counts()
	result.Kept = back.kept
	for _, l := range back.left {
		result.Skipped = append(result.Skipped, reverie.RewindSkip{MemoryID: l.HeadID, Statement: l.Statement,
			Reason: l.reason})
	}
	if q.DryRun {
		return nil
	}
	at, err := store.NextTimestamp(ctx, h.db, t, q.GroupID)
	if err != nil {
		return err
	}
	if _, err := b.write(ctx, t, at, back); err != nil {
		return err
	}
	_, err = t.Exec(ctx, freeMessagesQuery, q.GroupID, runs)
	return err
}
