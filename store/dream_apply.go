package store

import (
	"context"
	"fmt"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// What dreams leave is nothing new to them. A version that is superseded by now was
	// new when it was chosen; the one after it is new by itself.
	takeInQuery = `insert into memory_uses (group_id, job, memory_id, run_id)
		select $1, 'dream', u.id, $2::uuid from unnest($3::uuid[]) as u (id)
		where (select m.kind in ('group', 'session') from memories m where m.group_id = $1 and m.memory_id = u.id)
			and exists (select 1 from runs r where r.group_id = $1 and r.run_id = $2::uuid and r.job = 'dream')
		order by u.id
		on conflict (group_id, job, memory_id) do nothing`

	// Sessions that are no more have become part of others. One to which messages came
	// since it was gathered stays as they left it: the dream has not seen those. The order
	// of locks is that of messages that come in.
	coverSessionsQuery = `with covered as (
			select s.session_id, u.last_at from sessions s
			join unnest($2::text[], $3::timestamptz[], $4::int[]) as u (id, last_at, messages) on u.id = s.session_id
				and u.messages = s.messages
			where s.group_id = $1 order by s.session_id for no key update of s)
		update sessions s set dreamt_until = greatest(s.dreamt_until, c.last_at) from covered c
		where s.group_id = $1 and s.session_id = c.session_id`
)

// takeIn gives memory versions the dream that they are taken in by, each exactly once,
// and marks the sessions, to which nothing came since, up to what was known of them: one that is no longer new, or
// never was a dream's to take in, fails the whole plan.
func takeIn(ctx context.Context, t *pg.Tx, plan reverie.Plan) error {
	ids := pq.StringArray(plan.Dream.MemoryIDs)
	n, err := t.Exec(ctx, takeInQuery, plan.GroupID, plan.RunID, ids)
	if err != nil {
		return err
	}
	if n != len(ids) {
		return fmt.Errorf("%d of the dream's %d memories are no longer new to dreams, or none that they take in: %w",
			len(ids)-n, len(ids), reverie.ErrConflict)
	}
	if len(plan.Dream.Sessions) == 0 {
		return nil
	}
	var sessions, until pq.StringArray
	var messages pq.Int64Array
	for _, s := range plan.Dream.Sessions {
		sessions, until, messages = append(sessions, s.ID), append(until, pg.Timestamp(s.LastAt)), append(messages,
			int64(s.Total.Messages))
	}
	_, err = t.Exec(ctx, coverSessionsQuery, plan.GroupID, sessions, until, messages)
	return err
}
