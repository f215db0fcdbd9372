package history

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
)

// The runs of a job in a group never overlap, so their starts order their work. An undone run counts unless its
// messages are pending again. Runs of maintenance count because they may have archived memories that existed before the
// first run.
const rewoundRunsQuery = `with since as (
		select r.* from runs r where group_id = $1 and job in ('evolve', 'maintain') and (started_at, run_id) >= (
			select f.started_at, f.run_id from runs f
			where f.group_id = $1 and f.job = 'evolve' and exists (
				select 1 from messages m where m.group_id = $1 and m.run_id = f.run_id and m.sent_at >= $2::timestamptz
					and (f.undone_at is null or m.pruned_at is null))
			order by f.started_at, f.run_id limit 1)
			and (undone_at is null or exists (
				select 1 from messages m where m.group_id = $1 and m.run_id = r.run_id and m.pruned_at is null))),
	read as (
		select min(sent_at) as earliest, count(*) filter (where pruned_at is not null) as pruned
		from messages where group_id = $1 and run_id in (select run_id from since))
	select array(select run_id from since order by started_at desc, run_id desc) as runs, earliest, pruned from read`

// Rewindable is what to undo before a group is evolved anew.
type Rewindable struct {
	Runs     pq.StringArray // runs of evolve and of maintenance, newest first
	Earliest *time.Time     // sent_at of the earliest message that they have read; nil for none
	Pruned   int            // how many of these messages have no text any more
}

// Rewindable returns the first run of evolve that consumed a message sent at since or later, and all later runs of
// evolve and of maintenance. If messages of theirs have lost their text, nothing could be learnt from them again: that
// is [reverie.ErrConflict].
func (h *History) Rewindable(ctx context.Context, groupID string, since time.Time) (r Rewindable, err error) {
	what := fmt.Sprintf("look for runs of group %q to undo", groupID)
	err = h.db.QueryRow(ctx, what, &r, rewoundRunsQuery, groupID, since)
	if err == nil && r.Pruned > 0 {
		err = fmt.Errorf("the texts of %d of the messages are gone ([retention] messages), so what they led to could not be learnt again; "+
			"choose a later date: %w", r.Pruned, reverie.ErrConflict)
	}
	return r, err
}
