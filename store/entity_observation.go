package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	observationColumns = `group_id, observation_id, body, reason, status, run_id, last_at, expires_at, created_at`

	waitingObservationsQuery = `select ` + observationColumns + ` from entity_observations
		where group_id = $1 and status = 'waiting' order by created_at, observation_id limit $2`

	// Those that later words are the likeliest to join, and those that may have
	// waited too long: however many there are, none is passed over for ever.
	endsOfWaitingQuery = `select ` + observationColumns + ` from entity_observations
		where group_id = $1 and observation_id in (
			(select observation_id from entity_observations where group_id = $1 and status = 'waiting'
				order by created_at desc, observation_id desc limit $2)
			union (select observation_id from entity_observations where group_id = $1 and status = 'waiting'
				order by created_at, observation_id limit $2))
		order by created_at, observation_id`

	insertObservationsQuery = `insert into entity_observations (group_id, run_id, status, created_at, observation_id,
		subject, body, reason, last_at, expires_at)
		select $1, $2::uuid, 'waiting', $3::timestamptz, u.*
		from unnest($4::uuid[], $5::text[], $6::jsonb[], $7::text[], $8::timestamptz[], $9::timestamptz[]) as u`

	settleObservationsQuery = `update entity_observations o set status = u.status, settled_by = $2::uuid
		from unnest($3::uuid[], $4::text[]) as u (id, status)
		where o.group_id = $1 and o.observation_id = u.id and o.status = 'waiting'`
)

// maxWaiting bounds how many of the newest postponed observations one chunk is
// given, and how many of the oldest.
const maxWaiting = 500

// WaitingObservations lists the observations of a group that wait to be sure whom
// they are about, oldest first, at most so many. An unknown group is
// reverie.ErrNotFound.
func (s *Store) WaitingObservations(ctx context.Context, groupID string, limit int) ([]reverie.Observation, error) {
	var list []reverie.Observation
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("list the observations that wait in group %q", groupID),
		ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
			if _, err := GetGroup(ctx, t, groupID); err != nil {
				return err
			}
			var err error
			list, err = waitingObservations(ctx, t, waitingObservationsQuery, groupID, limit)
			return err
		}})
	return list, err
}

func waitingObservations(ctx context.Context, t *pg.Tx, query, groupID string, limit int) ([]reverie.Observation,
	error) {
	var rows []struct {
		GroupID   string    `db:"group_id"`
		ID        string    `db:"observation_id"`
		Body      []byte    `db:"body"`
		Reason    string    `db:"reason"`
		Status    string    `db:"status"`
		RunID     string    `db:"run_id"`
		LastAt    time.Time `db:"last_at"`
		ExpiresAt time.Time `db:"expires_at"`
		CreatedAt time.Time `db:"created_at"`
	}
	if err := t.Select(ctx, &rows, query, groupID, limit); err != nil {
		return nil, err
	}
	list := make([]reverie.Observation, len(rows))
	for i, r := range rows {
		o := &list[i]
		if err := json.Unmarshal(r.Body, o); err != nil {
			return nil, fmt.Errorf("read observation %s: %w", r.ID, err)
		}
		o.GroupID, o.ID, o.RunID = r.GroupID, r.ID, r.RunID
		o.Status, o.Postponed = reverie.ObservationStatus(r.Status), reverie.PostponementReason(r.Reason)
		o.LastAt, o.ExpiresAt, o.CreatedAt = r.LastAt.UTC(), r.ExpiresAt.UTC(), r.CreatedAt.UTC()
	}
	return list, nil
}

// postpone lets a plan's observations wait, and settles those that are part of an
// entity by now, go on in one that waits anew, or have waited too long. One that no
// longer waits is reverie.ErrConflict.
func postpone(ctx context.Context, t *pg.Tx, plan reverie.EntityPlan, at time.Time) error {
	var settled, statuses pq.StringArray
	var continued []string
	for _, o := range plan.Postponed {
		continued = append(continued, o.Continues...)
	}
	for status, ids := range map[reverie.ObservationStatus][]string{
		reverie.ObservationJoined: plan.Joined, reverie.ObservationContinued: continued,
		reverie.ObservationExpired: plan.Expired,
	} {
		for _, id := range ids {
			settled, statuses = append(settled, id), append(statuses, string(status))
		}
	}
	if len(settled) > 0 {
		n, err := t.Exec(ctx, settleObservationsQuery, plan.GroupID, plan.RunID, settled, statuses)
		if err == nil && n != len(settled) {
			err = fmt.Errorf("%d of %d observations do not wait any more; read the group again: %w", len(settled)-n,
				len(settled), reverie.ErrConflict)
		}
		if err != nil {
			return err
		}
	}
	if len(plan.Postponed) == 0 {
		return nil
	}
	columns := make([]pq.StringArray, 6)
	for _, o := range plan.Postponed {
		o.GroupID, o.RunID, o.CreatedAt, o.Status = plan.GroupID, plan.RunID, at, reverie.ObservationWaiting
		body, err := pg.JSONText(o)
		if err != nil {
			return err
		}
		for i, v := range []string{o.ID, o.Subject, body, string(o.Postponed), pg.Timestamp(o.LastAt),
			pg.Timestamp(o.ExpiresAt)} {
			columns[i] = append(columns[i], v)
		}
	}
	args := []any{plan.GroupID, plan.RunID, at}
	for _, c := range columns {
		args = append(args, c)
	}
	_, err := t.Exec(ctx, insertObservationsQuery, args...)
	return err
}
