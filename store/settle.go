package store

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// A run that is done but for its last line makes no window due: nothing of it is
// pending. The partial index holds what runs now, and no more.
const endlessQuery = `select distinct r.group_id from runs r
	where r.job = $1 and r.status = 'running'
		and not exists (select 1 from leases l
			where l.group_id = r.group_id and l.lease_name = $2 and ` + leaseLives + `)
		and (r.job <> 'dream' or not ` + begunAsChunk + `)
		and not exists (select 1 from messages m where r.job = 'evolve' and m.group_id = r.group_id and m.run_id is null
			and m.outcome is null
			and m.sent_at >= r.window_since and m.sent_at < r.window_until)
		and not exists (select 1 from message_uses q where r.session_id = '' and q.group_id = r.group_id and q.job = r.job
			and q.session_id = '' and q.run_id is null
			and q.sent_at >= r.window_since and q.sent_at < r.window_until)
		and not exists (select 1 from message_uses q where r.session_id <> '' and q.group_id = r.group_id and q.job = r.job
			and q.session_id = r.session_id and q.session_id <> '' and q.run_id is null)
	order by r.group_id`

// Endless lists the groups with a run of the job that calls itself running, of
// whose window or session nothing is pending for it, and whose lease nobody holds: its process died
// between the last commit and the end. A dream that was begun and not applied is to
// go on, and is not among them.
func (s *Store) Endless(ctx context.Context, job reverie.Job) ([]string, error) {
	var groups []string
	err := s.db.Run(ctx, pg.Work{What: "look for runs without an end", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		groups = nil
		return t.Select(ctx, &groups, endlessQuery, string(job), reverie.LeaseGroup)
	}})
	return groups, err
}

// Settle ends the runs of a job that call themselves running, which the holder of
// the lease knows that they are not: see settleRuns. A dream that is to go on is left
// alone.
func (s *Store) Settle(ctx context.Context, lease reverie.Lease, job reverie.Job) error {
	return s.db.Run(ctx, pg.Work{What: fmt.Sprintf("end interrupted runs of %s of group %q", job, lease.GroupID),
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := Fence(ctx, t, lease); err != nil {
				return err
			}
			if job == reverie.JobDream {
				_, _, err := s.takeUpDream(ctx, t, lease.GroupID)
				return err
			}
			_, err := s.settleRuns(ctx, t, lease.GroupID, job, nil, nil)
			return err
		}})
}
