package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	setbacksQuery = `select group_id, job, failures, error, retry_at, parked_at, updated_at from setbacks
		where group_id = any ($1::text[]) and ($2 = '' or job = $2) order by group_id, job`

	noteFailureQuery = `insert into setbacks (group_id, job, failures, error, retry_at, parked_at, updated_at)
		values ($1, $2, $3, $4, $5::timestamptz, $6::timestamptz, $7::timestamptz)
		on conflict (group_id, job) do update set failures = excluded.failures, error = excluded.error,
			retry_at = excluded.retry_at, parked_at = excluded.parked_at, updated_at = excluded.updated_at`
)

// NoteFailure counts one more failure of a job in a row and returns what the rule
// makes of it, on the database's clock. Each call counts once, whatever becomes of
// its connection. An unknown group is reverie.ErrNotFound.
func (s *Store) NoteFailure(ctx context.Context, groupID string, job reverie.Job, reason string,
	rule reverie.ParkRule) (reverie.Setback, error) {
	var noted reverie.Setback
	var xid string
	err := s.db.Run(ctx, pg.Work{
		What: fmt.Sprintf("note that %s of group %q failed", job, groupID),
		Do: func(ctx context.Context, t *pg.Tx) error {
			if _, err := LockGroup(ctx, t, groupID); err != nil { // two that fail at a time count as two
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
			if _, err := t.Exec(ctx, noteFailureQuery, groupID, string(job), noted.Failures, noted.Error,
				noted.RetryAt, noted.ParkedAt, noted.UpdatedAt); err != nil {
				return err
			}
			return t.Get(ctx, &xid, pg.XIDQuery)
		},
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
			if _, err := LockGroup(ctx, t, groupID); err != nil {
				return false, err
			}
			return pg.WasCommitted(ctx, t, xid)
		},
	})
	return noted, err
}

// ClearSetback forgets the failures of a job, if there are any.
func (s *Store) ClearSetback(ctx context.Context, groupID string, job reverie.Job) error {
	return s.db.Run(ctx, pg.Work{What: fmt.Sprintf("clear the setback of %s of group %q", job, groupID),
		Do: func(ctx context.Context, t *pg.Tx) error {
			_, err := t.Exec(ctx, `delete from setbacks where group_id = $1 and job = $2`, groupID, string(job))
			return err
		}})
}

// ResumeParked forgets the failures of all groups that are parked, or have a parked
// session, and returns how many groups that were. Paused ones stay paused.
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

// setbacks are those of the groups, for one job or, with "", for all.
func setbacks(ctx context.Context, t *pg.Tx, ids []string, job reverie.Job) (map[string][]reverie.Setback, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []reverie.Setback
	if err := t.Select(ctx, &rows, setbacksQuery, pq.StringArray(ids), string(job)); err != nil {
		return nil, err
	}
	found := map[string][]reverie.Setback{}
	for _, r := range rows {
		r.RetryAt, r.UpdatedAt, r.ParkedAt = r.RetryAt.UTC(), r.UpdatedAt.UTC(), pg.UTC(r.ParkedAt)
		found[r.GroupID] = append(found[r.GroupID], r)
	}
	return found, nil
}
