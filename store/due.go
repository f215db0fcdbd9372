package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// The past calendars of a group g, and its setback of a job, which the caller appends. Usually there are none.
	duePast = `(select json_agg(json_build_object('time_zone', c.time_zone, 'day_boundary', c.day_boundary,
			'valid_until', to_char(c.valid_until` + forJSON + `) order by c.valid_until)
		from past_calendars c where c.group_id = g.group_id) as past`
	dueSetback = `(select json_build_object('job', s.job, 'failures', s.failures, 'error', s.error,
			'retry_at', to_char(s.retry_at` + forJSON + `, 'parked_at', to_char(s.parked_at` + forJSON + `,
			'updated_at', to_char(s.updated_at` + forJSON + `)
		from setbacks s where s.group_id = g.group_id and s.job = `

	// One probe for each group into the index of pending messages, or of the queue of the job. It goes in the order of
	// the groups' key, so that the query ends when the page is full.
	dueSelect = `select ` + GroupColumns + `, p.first_pending, ` + duePast + `, ` + dueSetback + `$1) as setback
		from groups g cross join lateral (`
	dueFrom = dueSelect + `select m.sent_at as first_pending from messages m
			where m.group_id = g.group_id and m.run_id is null and m.outcome is null
			order by m.sent_at, m.seq limit 1) p where `
	waitingFrom = dueSelect + `select u.sent_at as first_pending from message_uses u
			where u.group_id = g.group_id and u.job = $1 and u.session_id = '' and u.run_id is null
			order by u.sent_at limit 1) p where `

	duePage          = `g.group_id > $2 and not g.paused order by g.group_id limit nullif($3::int, 0)`
	duePageQuery     = dueFrom + duePage
	waitingPageQuery = waitingFrom + `($1 <> 'impression' or g.impressions <> 'off') and ` + duePage
)

// Separate queries, since the plan of a common one would read all groups.
var (
	dueGroupQuery     = inGroup(dueFrom, "$2") + `g.group_id = $2`
	waitingGroupQuery = inGroup(waitingFrom, "$2") + `g.group_id = $2`
)

// inGroup restricts a part of a query over groups g to the group in a parameter.
func inGroup(query, parameter string) string {
	return strings.ReplaceAll(query, "g.group_id", parameter)
}

// Windows with messages of a group: pending ones, ones in the queue of a job, or all.
var (
	pendingWindowsQuery = windowsQuery(`select text from messages
		where group_id = $1 and run_id is null and outcome is null and sent_at >= w.since and sent_at < w.until`)

	waitingWindowsQuery = windowsQuery(`select m.text
		from message_uses u join messages m on m.group_id = $1 and m.message_id = u.message_id
		where u.group_id = $1 and u.job = $4 and u.session_id = '' and u.run_id is null and u.sent_at >= w.since
			and u.sent_at < w.until`)

	// Each half has its own index.
	allWindowsQuery = windowsQuery(`select text from messages
		where group_id = $1 and run_id is null and outcome is null and sent_at >= w.since and sent_at < w.until
		union all select text from messages
		where group_id = $1 and run_id is not null and sent_at >= w.since and sent_at < w.until`)
)

// windowsQuery sums up the texts in each window w, with one range of the same index for each window. The aggregate
// prevents a plan that compares every message with every window.
func windowsQuery(texts string) string {
	return `select w.no, l.messages, l.characters, l.bytes
		from unnest($2::timestamptz[], $3::timestamptz[]) with ordinality as w (since, until, no)
		cross join lateral (
			select count(*) as messages, coalesce(sum(char_length(text)), 0) as characters,
				coalesce(sum(octet_length(text)), 0) as bytes
			from (` + texts + `) m) l
		where l.messages > 0 order by w.no`
}

// DueGroups lists the groups with pending messages by id, with their past calendars and the setback of the job. For a
// job other than evolve, messages in its queue count. Paused groups are left out unless one is named, and so are groups
// in which people and things are not observed. A named group that does not exist is reverie.ErrNotFound.
func (s *Store) DueGroups(ctx context.Context, q reverie.DueQuery) ([]reverie.DueGroup, error) {
	page, named := duePageQuery, dueGroupQuery
	if !ofEvolve(q.Job) {
		page, named = waitingPageQuery, waitingGroupQuery
	}
	if q.GroupID != "" {
		return s.dueGroups(ctx, "look for pending messages", q, named, []any{string(q.Job), q.GroupID})
	}
	return s.dueGroups(ctx, "list groups with pending messages", q, page, []any{string(q.Job), q.After, q.Limit})
}

func (s *Store) dueGroups(ctx context.Context, what string, q reverie.DueQuery, query string,
	args []any) ([]reverie.DueGroup, error) {
	type row struct {
		reverie.Group
		FirstPending time.Time              `db:"first_pending"`
		Past         []reverie.PastCalendar `db:"past"`
		Setback      *reverie.Setback       `db:"setback"`
	}
	var rows []row
	var err error
	if q.GroupID != "" {
		rows, err = pg.QueryByKey[row](ctx, s.db.Of(ctx, q.GroupID), what, query, args...)
	} else {
		rows, err = pg.Read(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) ([]row, error) {
			return pg.Select[row](ctx, t, query, args...)
		})
	}
	if err == nil && len(rows) == 0 && q.GroupID != "" {
		_, err = s.Group(ctx, q.GroupID)
	}
	list := make([]reverie.DueGroup, len(rows))
	for i, r := range rows {
		if r.Group.Past = r.Past; r.Setback != nil {
			r.Setback.GroupID = r.ID
		}
		list[i] = reverie.DueGroup{Group: r.Group, FirstPending: r.FirstPending, Setback: r.Setback}
	}
	return list, err
}

// PendingWindows returns the windows with pending messages of a group, in the given order, with the size of these
// messages.
func (s *Store) PendingWindows(ctx context.Context, groupID string, windows []reverie.Window) ([]reverie.WindowLoad,
	error) {
	return s.windowLoads(ctx, pendingWindowsQuery, groupID, windows)
}

// WindowLoads is [Store.PendingWindows] for all messages, including consumed ones.
func (s *Store) WindowLoads(ctx context.Context, groupID string, windows []reverie.Window) ([]reverie.WindowLoad,
	error) {
	return s.windowLoads(ctx, allWindowsQuery, groupID, windows)
}

func (s *Store) windowLoads(ctx context.Context, query, groupID string, windows []reverie.Window,
	further ...any) ([]reverie.WindowLoad, error) {
	if len(windows) == 0 {
		return nil, nil
	}
	var bounds pg.Columns
	for _, w := range windows {
		bounds.Add(pg.OrMinusInfinity(w.Since), pg.OrInfinity(w.Until))
	}
	args, err := bounds.Args(groupID)
	if err != nil {
		return nil, err
	}
	rows, err := pg.QueryByKey[struct {
		No int
		reverie.WindowLoad
	}](ctx, s.db.Of(ctx, groupID), fmt.Sprintf("look for messages of group %q", groupID), query, append(args, further...)...)
	list := make([]reverie.WindowLoad, len(rows))
	for i, r := range rows {
		r.Window = windows[r.No-1]
		list[i] = r.WindowLoad
	}
	return list, err
}

const (
	setbacksQuery = `select group_id, job, failures, error, retry_at, parked_at, updated_at from setbacks
		where group_id = any ($1::text[]) and ($2 = '' or job = $2) order by group_id, job`

	noteFailureQuery = `insert into setbacks (group_id, job, failures, error, retry_at, parked_at, updated_at)
		values ($1, $2, $3, $4, $5::timestamptz, $6::timestamptz, $7::timestamptz)
		on conflict (group_id, job) do update set failures = excluded.failures, error = excluded.error,
			retry_at = excluded.retry_at, parked_at = excluded.parked_at, updated_at = excluded.updated_at`
)

// NoteFailure counts one more failure of a job in a row. It returns the resulting setback, with times of the database's
// clock. Each call counts once, even if its connection is lost. An unknown group is reverie.ErrNotFound.
func (s *Store) NoteFailure(ctx context.Context, groupID string, job reverie.Job, reason string,
	rule reverie.ParkRule) (reverie.Setback, error) {
	var noted reverie.Setback
	err := s.db.Run(ctx, pg.Work{
		What: fmt.Sprintf("note that %s of group %q failed", job, groupID),
		Do: func(ctx context.Context, t *pg.Tx) error {
			if _, err := LockGroup(ctx, t, groupID); err != nil { // two failures at the same time count as two
				return err
			}
			found, err := setbacks(ctx, t, []string{groupID}, job)
			if err != nil {
				return err
			}
			noted = reverie.Setback{GroupID: groupID, Job: job}
			if list := found[groupID]; len(list) > 0 {
				noted = list[0]
			}
			var at time.Time
			if err := t.Get(ctx, &at, `select clock_timestamp()`); err != nil {
				return err
			}
			noted = rule.Next(noted, pg.ValidText(reason), at.UTC())
			noted.RetryAt = noted.RetryAt.Truncate(time.Microsecond)
			return t.Exec(ctx, noteFailureQuery, groupID, job, noted.Failures, noted.Error, noted.RetryAt, noted.ParkedAt,
				noted.UpdatedAt)
		},
	}.Once(groupID))
	return noted, err
}

// ClearSetback deletes the failures of a job, if there are any.
func (s *Store) ClearSetback(ctx context.Context, groupID string, job reverie.Job) error {
	return s.db.Of(ctx, groupID).Exec(ctx, fmt.Sprintf("clear the setback of %s of group %q", job, groupID),
		`delete from setbacks where group_id = $1 and job = $2`, groupID, string(job))
}

// This waits for another process that sends the same notice. A time far in the future was written before the clock was
// set back.
const mayNoticeQuery = `select coalesce((noticed ->> $2)::timestamptz, '-infinity')
		not between statement_timestamp() - $3::float8 * interval '1 second' and statement_timestamp() + interval '1 minute'
	from groups where group_id = $1 for update`

// ClaimNotice notes that a group's notice of a type is sent now. It returns false if one was sent within this time.
func (s *Store) ClaimNotice(ctx context.Context, groupID, of string, every time.Duration) (bool, error) {
	w := pg.Work{What: fmt.Sprintf("note a notice about group %q", groupID)}
	return pg.Run(ctx, s.db, w, func(ctx context.Context, t *pg.Tx) (may bool, err error) {
		if err := t.Get(ctx, &may, mayNoticeQuery, groupID, of, every.Seconds()); err != nil || !may {
			return false, IgnoreNoRows(err)
		}
		return true, t.Exec(ctx, `update groups set noticed = jsonb_set(noticed, array[$2::text], to_jsonb(statement_timestamp()))
			where group_id = $1`, groupID, of)
	})
}

// ResumeParked deletes the failures of all groups that are parked or have a parked session, and returns their number.
// Paused groups stay paused.
func (s *Store) ResumeParked(ctx context.Context) (int, error) {
	var n int
	err := s.db.Run(ctx, pg.Work{What: "resume the parked groups", Do: func(ctx context.Context, t *pg.Tx) error {
		resumed := map[string]bool{}
		for _, query := range []string{`delete from setbacks where parked_at is not null returning group_id`,
			forgetFailures + `parked_at is not null returning group_id`} {
			var groups []string
			if err := t.Select(ctx, &groups, query); err != nil {
				return err
			}
			for _, id := range groups {
				resumed[id] = true
			}
		}
		n = len(resumed)
		return nil
	}})
	return n, err
}

// setbacks returns the setbacks of groups, for one job or, with "", for all jobs.
func setbacks(ctx context.Context, t *pg.Tx, ids []string, job reverie.Job) (map[string][]reverie.Setback, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := pg.Select[reverie.Setback](ctx, t, setbacksQuery, ids, job)
	found := map[string][]reverie.Setback{}
	for _, r := range rows {
		found[r.GroupID] = append(found[r.GroupID], r)
	}
	return found, err
}
