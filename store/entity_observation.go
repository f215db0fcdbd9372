package store

import (
	"context"
	"fmt"
	"time"

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
		reverie.Observation
		Body pg.JSON[reverie.Observation] `db:"body"`
	}
	err := t.Select(ctx, &rows, query, groupID, limit)
	list := make([]reverie.Observation, len(rows))
	for i, r := range rows {
		o := r.Body.V // the columns say better than the body where it stands
		o.GroupID, o.ID, o.RunID, o.Status, o.Postponed = r.GroupID, r.ID, r.RunID, r.Status, r.Postponed
		o.LastAt, o.ExpiresAt, o.CreatedAt = r.LastAt, r.ExpiresAt, r.CreatedAt
		list[i] = o
	}
	return list, err
}

// postpone lets a plan's observations wait, and settles those that are part of an
// entity by now, go on in one that waits anew, or have waited too long. One that no
// longer waits is reverie.ErrConflict.
func postpone(ctx context.Context, t *pg.Tx, plan reverie.EntityPlan, at time.Time) error {
	var settled pg.Columns
	for _, id := range plan.Joined {
		settled.Add(id, reverie.ObservationJoined)
	}
	for _, id := range plan.Expired {
		settled.Add(id, reverie.ObservationExpired)
	}
	for _, o := range plan.Postponed {
		for _, id := range o.Continues {
			settled.Add(id, reverie.ObservationContinued)
		}
	}
	n, err := settled.Exec(ctx, t, settleObservationsQuery, plan.GroupID, plan.RunID)
	if err != nil {
		return err
	}
	if n != settled.Len() {
		return fmt.Errorf("%d of %d observations do not wait any more; read the group again: %w", settled.Len()-n,
			settled.Len(), reverie.ErrConflict)
	}
	var rows pg.Columns
	for _, o := range plan.Postponed {
		o.GroupID, o.RunID, o.CreatedAt, o.Status = plan.GroupID, plan.RunID, at, reverie.ObservationWaiting
		rows.Add(o.ID, o.Subject, pg.JSON[any]{V: o}, o.Postponed, o.LastAt, o.ExpiresAt)
	}
	_, err = rows.Exec(ctx, t, insertObservationsQuery, plan.GroupID, plan.RunID, at)
	return err
}
