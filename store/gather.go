package store

import (
	"context"
	"fmt"

	"github.com/lib/pq"

	"reverie"
)

// headRow is an active memory with the dates of its lineage's evidence.
type headRow struct {
	memoryRow
	SupportDates pq.StringArray `db:"support_dates"`
}

const (
	// headColumns are those of a headRow, of memories m.
	headColumns = memoryColumns + `, array(
			select distinct to_char(e.local_date, 'YYYY-MM-DD') from memory_evidence e
			where e.group_id = m.group_id and e.lineage_id = m.lineage_id and e.action <> 'delete' and e.withdrawn_at is null
			order by 1) as support_dates`

	headsQuery = `select ` + headColumns + ` from memories m where group_id = $1 and kind = $2 and status = 'active'
		order by created_at, lineage_id`

	pendingWhere = ` from messages where group_id = $1 and run_id is null and outcome is null
		and sent_at >= $2::timestamptz and sent_at < $3::timestamptz`

	pendingQuery = `select ` + messageColumns + pendingWhere + ` order by sent_at, seq limit $4 offset $5`

	chosenQuery = `select ` + messageColumns + pendingWhere + ` and message_id = any ($4::text[]) order by sent_at, seq`

	moreQuery = `select exists (select 1` + pendingWhere + ` and message_id <> all ($4::text[]))`

	contextQuery = `select ` + messageColumns + ` from (
			select ` + messageColumns + `, seq from messages
			where group_id = $1 and run_id is not null and pruned_at is null and sent_at >= $2::timestamptz and sent_at < $3::timestamptz
			order by sent_at desc, seq desc limit $4) newest
		order by sent_at, seq`
)

// Gather reads what one chunk needs, in one snapshot and at most five
// statements. A zero Until is no bound. An unknown group is reverie.ErrNotFound.
func (s *Store) Gather(ctx context.Context, q reverie.GatherQuery) (reverie.State, error) {
	var state reverie.State
	err := s.run(ctx, work{
		what:     fmt.Sprintf("gather group %q", q.GroupID),
		prepare:  []string{groupQuery, headsQuery, pendingQuery, chosenQuery, moreQuery, contextQuery},
		readOnly: true,
		byKey:    true,
		do: func(ctx context.Context, t *tx) error {
			state = reverie.State{}
			var err error
			if state.Group, err = getGroup(ctx, t, q.GroupID); err != nil {
				return err
			}
			if state.Heads, err = heads(ctx, t, q); err != nil {
				return err
			}
			if state.Pending, state.More, err = pending(ctx, t, q); err != nil {
				return err
			}
			state.Context, err = contextMessages(ctx, t, q)
			return err
		},
	})
	return state, err
}

func heads(ctx context.Context, t *tx, q reverie.GatherQuery) ([]reverie.HeadState, error) {
	var rows []headRow
	if err := t.list(ctx, &rows, headsQuery, q.GroupID, string(q.Kind)); err != nil {
		return nil, err
	}
	list := make([]reverie.HeadState, len(rows))
	for i, r := range rows {
		list[i] = reverie.HeadState{Memory: r.memory(), SupportDates: r.SupportDates}
	}
	return list, nil
}

// pending reads the oldest messages of the window and looks one further, or
// those of it that are named and whether there are others.
func pending(ctx context.Context, t *tx, q reverie.GatherQuery) ([]reverie.Message, bool, error) {
	var list []reverie.Message
	since, until := orMinusInfinity(q.Since), orInfinity(q.Until)
	if len(q.MessageIDs) > 0 {
		if err := t.list(ctx, &list, chosenQuery, q.GroupID, since, until, pq.StringArray(q.MessageIDs)); err != nil {
			return nil, false, err
		}
		var more bool
		err := t.get(ctx, &more, moreQuery, q.GroupID, since, until, pq.StringArray(q.MessageIDs))
		return utcMessages(list), more, err
	}
	limit := max(q.Limit, 0)
	if err := t.list(ctx, &list, pendingQuery, q.GroupID, since, until, limit+1, q.Skip); err != nil {
		return nil, false, err
	}
	more := len(list) > limit
	return utcMessages(list[:min(limit, len(list))]), more, nil
}

func contextMessages(ctx context.Context, t *tx, q reverie.GatherQuery) ([]reverie.Message, error) {
	if q.ContextSince.IsZero() || q.ContextLimit <= 0 {
		return nil, nil
	}
	var list []reverie.Message
	err := t.list(ctx, &list, contextQuery, q.GroupID, q.ContextSince, orInfinity(q.Until), q.ContextLimit)
	return utcMessages(list), err
}
