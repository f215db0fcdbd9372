package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// The time of a message is read from message_uses, so that its index gives the order.
	waitingMessages = `select ` + MessageColumns + ` from (
			select m.*, u.sent_at as at from message_uses u join messages m on m.group_id = $1
				and m.message_id = u.message_id
			where u.group_id = $1 and u.job = $2 and u.session_id = '' and u.run_id is null
				and u.sent_at >= $3::timestamptz and u.sent_at < $4::timestamptz) w`

	waitingQuery = waitingMessages + ` order by at, seq limit $5`

	chosenWaitingQuery = waitingMessages + ` where message_id = any ($5::text[]) order by at, seq`

	messagesQuery = `select ` + MessageColumns + ` from messages
		where group_id = $1 and message_id = any ($2::text[]) order by sent_at, seq`

	// A recursive query through the index, however much an account has written.
	namesakesQuery = `select n.name as author, a.author_id, (select role from messages
				where group_id = $1 and author <> '' and author = n.name and author_id = a.author_id limit 1) as role
		from unnest($2::text[]) as n (name) cross join lateral (
			with recursive bearers (author_id, no) as (
				(select author_id, 1 from messages where group_id = $1 and author <> '' and author = n.name and author_id <> ''
					order by author_id limit 1)
				union all
				select (select author_id from messages where group_id = $1 and author <> '' and author = n.name
					and author_id > b.author_id order by author_id limit 1), b.no + 1
				from bearers b where b.author_id is not null and b.no < $3)
			select author_id from bearers where author_id is not null) a
		order by author, author_id`

	indexQuery = `select n.name_id, n.entity_id, n.kind, n.name, n.name_key, n.created_at, n.run_id,
		e.kind as entity_kind
		from entity_names n join entities e on e.group_id = $1 and e.entity_id = n.entity_id
		where n.group_id = $1 and n.ended_at is null order by n.created_at, n.name_id`
)

// GatherEntities reads what one chunk of impressions needs, in one snapshot and at most six statements. It reads the
// pending messages of the job, those that they reply to, the identity index, and the postponed observations. If there
// are too many of the latter, it reads the newest and the oldest. The names of a merged entity belong to the entity
// that it is merged into. A zero Until is no bound. An unknown group is reverie.ErrNotFound.
func (s *Store) GatherEntities(ctx context.Context, q reverie.EntityQuery) (reverie.EntityState, error) {
	what := fmt.Sprintf("gather the entities of group %q", q.GroupID)
	return lookup(ctx, s, q.GroupID, what, func(ctx context.Context, t *pg.Tx) (state reverie.EntityState, err error) {
		if state.Group, err = GetGroup(ctx, t, q.GroupID); err != nil {
			return state, err
		}
		if state.Messages, state.More, err = waiting(ctx, t, q); err != nil {
			return state, err
		}
		if state.Replied, err = replied(ctx, t, q.GroupID, state.Messages); err != nil {
			return state, err
		}
		if state.Index, err = identityIndex(ctx, t, q.GroupID); err != nil {
			return state, err
		}
		if state.Waiting, err = waitingObservations(ctx, t, endsOfWaitingQuery, q.GroupID, maxWaiting); err != nil {
			return state, err
		}
		state.Namesakes, err = namesakes(ctx, t, q.GroupID, state)
		return state, err
	})
}

// waiting reads the oldest pending messages of the window and reports whether there are more, or those of them that are
// named, and reports true.
func waiting(ctx context.Context, t *pg.Tx, q reverie.EntityQuery) ([]reverie.Message, bool, error) {
	var list []reverie.Message
	job, since, until := string(reverie.JobImpression), pg.OrMinusInfinity(q.Since), pg.OrInfinity(q.Until)
	if len(q.MessageIDs) > 0 {
		ids := pq.StringArray(q.MessageIDs)
		err := t.Select(ctx, &list, chosenWaitingQuery, q.GroupID, job, since, until, ids)
		return list, true, err
	}
	limit := max(q.Limit, 0)
	if err := t.Select(ctx, &list, waitingQuery, q.GroupID, job, since, until, limit+1); err != nil {
		return nil, false, err
	}
	more := len(list) > limit
	return list[:min(limit, len(list))], more, nil
}

// replied reads the messages that the given ones reply to, without those that are given.
func replied(ctx context.Context, t *pg.Tx, groupID string, messages []reverie.Message) ([]reverie.Message, error) {
	here := map[string]bool{}
	for _, m := range messages {
		here[m.ID] = true
	}
	var ids []string
	for _, m := range messages {
		if m.ReplyTo != "" && !here[m.ReplyTo] {
			ids = append(ids, m.ReplyTo)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	var list []reverie.Message
	err := t.Select(ctx, &list, messagesQuery, groupID, pq.StringArray(slices.Compact(ids)))
	return list, err
}

// maxNamesakes is how many accounts with one name are read: two make it ambiguous.
const maxNamesakes = 8

// namesakes reads the accounts that have used a name of the authors, or of postponed observations, exactly as written.
// It returns one message of each account, without its text.
func namesakes(ctx context.Context, t *pg.Tx, groupID string, state reverie.EntityState) ([]reverie.Message, error) {
	var names []string
	for _, m := range state.Messages {
		names = append(names, m.Author)
	}
	for _, o := range state.Waiting {
		names = append(append(names, o.Subject), o.Aliases...)
	}
	slices.Sort(names)
	if names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" }); len(names) == 0 {
		return nil, nil
	}
	var list []reverie.Message
	err := t.Select(ctx, &list, namesakesQuery, groupID, pq.StringArray(names), maxNamesakes)
	return list, err
}

// identityIndex reads the active names of all entities. Names of a merged entity have the id and the kind of the entity
// that it is merged into.
func identityIndex(ctx context.Context, t *pg.Tx, groupID string) ([]reverie.EntityName, error) {
	merged, err := readMerges(ctx, t, mergesQuery, groupID)
	if err != nil {
		return nil, err
	}
	var list []reverie.EntityName
	if err := t.Select(ctx, &list, indexQuery, groupID); err != nil {
		return nil, err
	}
	kinds := map[string]reverie.EntityKind{} // each entity has a name
	for _, n := range list {
		kinds[n.EntityID] = n.Entity
	}
	for i := range list {
		n := &list[i]
		n.EntityID = merged.root(n.EntityID)
		n.Entity = kinds[n.EntityID]
	}
	return list, nil
}

const (
	observationColumns = `group_id, observation_id, body, reason, status, run_id, last_at, expires_at, created_at`

	waitingObservationsQuery = `select ` + observationColumns + ` from entity_observations
		where group_id = $1 and status = 'waiting' order by created_at, observation_id limit $2`

	// The newest may be joined by the next messages, and the oldest may have expired. So all are read at some time,
	// however many there are.
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

// maxWaiting is how many of the newest, and of the oldest, postponed observations one chunk gets.
const maxWaiting = 500

// WaitingObservations lists the postponed observations of a group, oldest first, at most limit. An unknown group is
// reverie.ErrNotFound.
func (s *Store) WaitingObservations(ctx context.Context, groupID string, limit int) ([]reverie.Observation, error) {
	what := fmt.Sprintf("list the observations that wait in group %q", groupID)
	return read(ctx, s, groupID, what, func(ctx context.Context, t *pg.Tx) ([]reverie.Observation, error) {
		if _, err := GetGroup(ctx, t, groupID); err != nil {
			return nil, err
		}
		return waitingObservations(ctx, t, waitingObservationsQuery, groupID, limit)
	})
}

func waitingObservations(ctx context.Context, t *pg.Tx, query, groupID string, limit int) ([]reverie.Observation,
	error) {
	var rows []struct {
		reverie.Observation
		Body reverie.Observation `db:"body"`
	}
	err := t.Select(ctx, &rows, query, groupID, limit)
	list := make([]reverie.Observation, len(rows))
	for i, r := range rows {
		o := r.Body // the columns are newer than the body
		o.GroupID, o.ID, o.RunID, o.Status, o.Postponed = r.GroupID, r.ID, r.RunID, r.Status, r.Postponed
		o.LastAt, o.ExpiresAt, o.CreatedAt = r.LastAt, r.ExpiresAt, r.CreatedAt
		list[i] = o
	}
	return list, err
}

// postpone writes the postponed observations of a plan. It settles those that an entity has taken over, that a new one
// continues, or that have expired. An observation that is no longer pending is reverie.ErrConflict.
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
	n, err := settled.ExecRows(ctx, t, settleObservationsQuery, plan.GroupID, plan.RunID)
	if err != nil {
		return err
	}
	if n != settled.Len() {
		return fmt.Errorf("%d of %d observations are no longer pending; run the job again: %w", settled.Len()-n,
			settled.Len(), reverie.ErrConflict)
	}
	var rows pg.Columns
	for _, o := range plan.Postponed {
		o.GroupID, o.RunID, o.CreatedAt, o.Status = plan.GroupID, plan.RunID, at, reverie.ObservationWaiting
		rows.Add(o.ID, o.Subject, pg.JSON[any]{V: o}, o.Postponed, o.LastAt, o.ExpiresAt)
	}
	return rows.Exec(ctx, t, insertObservationsQuery, plan.GroupID, plan.RunID, at)
}
