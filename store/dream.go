package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// DreamQueue is the store as dreams see it: what is due are groups in which
// something has been said that no dream has covered. Otherwise it is the [Store].
type DreamQueue struct{ *Store }

// Dreams returns the store as dreams look at it.
func (s *Store) Dreams() DreamQueue { return DreamQueue{s} }

const (
	// A session s with messages that no dream has covered, as its index has it.
	undreamt = `(s.dreamt_until is null or s.dreamt_until < s.last_at)`

	// A session s that a query is about: silent since $2, and no later than $3 and $4.
	withinDream = `s.last_at <= $2::timestamptz and (s.last_at, s.session_id) <= ($3::timestamptz, $4::text)`

	// True for a memory version m that a dream has taken in, else null: one probe of
	// the key, where a join that was planned in small tables would compare each with each.
	dreamtOf = `(select true from memory_uses u where u.group_id = m.group_id and u.job = 'dream'
		and u.memory_id = m.memory_id)`

	// What is new of a group: of its own, of sessions that the query is about, and of
	// those that nobody knows; or, of the versions $5, what still is: those are looked up
	// by key, for a plan that is made before they are known compares each with each.
	newMaterial = ` from (
			select * from memories where group_id = $1 and cardinality($5::uuid[]) = 0
			union all select v.* from (select distinct id from unnest($5::uuid[]) as u (id)) x
				cross join lateral (select * from memories where group_id = $1 and memory_id = x.id limit 1) v) m
			left join lateral (select s.last_at, s.session_id from sessions s
				where m.kind = 'session' and s.group_id = m.group_id and s.session_id = m.session_id limit 1) s on true
		where m.group_id = $1 and m.status = 'active' and m.kind in ('group', 'session') and ` + dreamtOf + ` is null
			and (cardinality($5::uuid[]) > 0 or s.session_id is null or ` + withinDream + `)`

	// A dream that came to an end, whatever a person made of it, and was not taken back.
	dreamEnded = `job = 'dream' and status in ('succeeded', 'held', 'rejected') and undone_at is null`

	dreamSignsQuery = `select f.fresh, f.quiet_since as quietsince, f.unread,
			(select max(finished_at) from runs where group_id = $1 and ` + dreamEnded + `) as lastat,
			i.interrupted, i.interrupted and exists (select 1 from leases l
				where l.group_id = $1 and l.lease_name = '` + reverie.LeaseGroup + `' and ` + leaseLives + `) as underway,
			(select count(*)` + newMaterial + `) as new,
			coalesce((select s.session_id from sessions s where s.group_id = $1 and ` + withinDream + `
				order by s.last_at desc, s.session_id desc limit 1), '') as through
		from (select count(*) as fresh, min(s.last_at) as quiet_since, count(*) filter (where s.new_messages > 0) as unread
			from sessions s where s.group_id = $1 and ` + undreamt + ` and ` + withinDream + `) f
			cross join (select exists (select 1 from runs r
				where r.group_id = $1 and r.job = 'dream' and r.status = 'running' and ` + begunAsChunk + `) as interrupted) i`

	// A dream that was interrupted goes on, whatever has been said since.
	dueDreamGroups = `select ` + GroupColumns + `, coalesce((select s.last_at from sessions s
				where s.group_id = g.group_id and ` + undreamt + ` order by s.last_at limit 1), now()) as first_pending,
			exists (select 1 from past_calendars c where c.group_id = g.group_id) as moved,
			exists (select 1 from setbacks b where b.group_id = g.group_id and b.job = 'dream') as failed
		from groups g where (exists (select 1 from sessions s where s.group_id = g.group_id and ` + undreamt + `)
			or exists (select 1 from runs r where r.group_id = g.group_id and r.job = 'dream' and r.status = 'running'))`

	dueDreamPageQuery = dueDreamGroups + ` and g.group_id > $1 and not g.paused order by g.group_id
		limit nullif($2::int, 0)`
	dueDreamGroupQuery = dueDreamGroups + ` and g.group_id = $1`
)

// DueGroups is [Store.DueGroups] for groups with a session that no dream has
// covered, ended or not, or with a dream that was interrupted. In place of the first
// pending message stands the last one of that session, of the one that has been
// silent the longest. Whether the group is to dream is said by its [Store.DreamSigns].
func (q DreamQueue) DueGroups(ctx context.Context, due reverie.DueQuery) ([]reverie.DueGroup, error) {
	due.Job = reverie.JobDream
	if due.GroupID != "" {
		return q.dueGroups(ctx, "look for sessions to dream of", due, dueDreamGroupQuery, []any{due.GroupID})
	}
	return q.dueGroups(ctx, "list groups with sessions to dream of", due, dueDreamPageQuery, []any{due.After, due.Limit})
}

// DreamSigns reads what says whether a group is due to dream, in one snapshot. An
// unknown group is reverie.ErrNotFound, and so is an unknown session to reach up to.
func (s *Store) DreamSigns(ctx context.Context, q reverie.DreamQuery) (reverie.DreamSigns, error) {
	var signs reverie.DreamSigns
	err := s.db.Run(ctx, pg.Work{
		What:     fmt.Sprintf("look whether group %q is due to dream", q.GroupID),
		ReadOnly: true,
		ByKey:    true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if _, err := GetGroup(ctx, t, q.GroupID); err != nil {
				return err
			}
			args, err := dreamArgs(ctx, t, q)
			if err != nil {
				return err
			}
			signs, err = dreamSigns(ctx, t, args)
			return err
		},
	})
	return signs, err
}

// dreamArgs are what the statements of a query take: group, ended by, up to when
// and which session, versions. A dream that is continued up to a session which has
// become part of another since is about those of its versions alone.
func dreamArgs(ctx context.Context, t *pg.Tx, q reverie.DreamQuery) ([]any, error) {
	var at, id any = "infinity", ""
	if q.Through != "" {
		through, err := getSession(ctx, t, q.GroupID, q.Through)
		switch {
		case err == nil:
			at, id = through.LastAt, through.ID
		case errors.Is(err, reverie.ErrNotFound) && len(q.MemoryIDs) > 0:
			at = "-infinity"
		default:
			return nil, err
		}
	}
	return []any{q.GroupID, pg.OrInfinity(q.EndedBy), at, id, pq.StringArray(append([]string{}, q.MemoryIDs...))}, nil
}

func dreamSigns(ctx context.Context, t *pg.Tx, args []any) (reverie.DreamSigns, error) {
	var signs reverie.DreamSigns
	err := t.Get(ctx, &signs, dreamSignsQuery, args...)
	for _, at := range []**time.Time{&signs.LastAt, &signs.QuietSince} {
		*at = pg.UTC(*at)
	}
	return signs, err
}
