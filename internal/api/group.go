package api

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/reverie"
)

// Groups returns a page of the groups that the caller sees, by id.
func (s *Service) Groups(ctx context.Context, q reverie.GroupQuery) (reverie.GroupsReply, error) {
	ctx, confined, err := reading(ctx, q.GroupID, reverie.ScopeRead, page(q.Limit, 0))
	if err != nil {
		return reverie.GroupsReply{}, err
	}
	limit := q.Limit
	q.GroupID, q.Limit = confined, limit+1 // one more, to see whether there are more
	list, err := s.Store.GroupList(ctx, q)
	if err != nil {
		return reverie.GroupsReply{}, err
	}
	reply := reverie.GroupsReply{Success: true, Groups: []reverie.GroupReply{}}
	if len(list) > limit {
		list = list[:limit]
		reply.Next = list[limit-1].ID
	}
	for _, g := range list {
		reply.Groups = append(reply.Groups, reverie.GroupReply{GroupEntry: g, State: g.State()})
	}
	return reply, nil
}

// Group returns a group with its state.
func (s *Service) Group(ctx context.Context, groupID string) (reverie.GroupReply, error) {
	ctx, _, err := reading(ctx, groupID, reverie.ScopeRead)
	if err != nil {
		return reverie.GroupReply{}, err
	}
	if groupID == "" {
		return reverie.GroupReply{}, reverie.ErrNotFound
	}
	list, err := s.Store.GroupList(ctx, reverie.GroupQuery{GroupID: groupID, Limit: 1})
	if err != nil {
		return reverie.GroupReply{}, err
	}
	return reverie.GroupReply{GroupEntry: list[0], State: list[0].State()}, nil
}

// Costs returns the cost of models, by day in UTC, group and model. The default period is the last [CostDays] days.
func (s *Service) Costs(ctx context.Context, q reverie.CostQuery) (reverie.CostsReply, error) {
	ctx, confined, err := reading(ctx, q.GroupID, reverie.ScopeRead, page(q.Limit, 0))
	if err != nil {
		return reverie.CostsReply{}, err
	}
	if q, err = s.period(q); err != nil {
		return reverie.CostsReply{}, err
	}
	q.GroupID = confined
	return s.Store.Costs(ctx, q)
}

// period sets missing bounds of a query: up to now, and whole days in UTC before.
func (s *Service) period(q reverie.CostQuery) (reverie.CostQuery, error) {
	if q.Until.IsZero() {
		q.Until = s.Now().UTC()
	}
	if q.Since.IsZero() {
		q.Since = q.Until.Add(-time.Microsecond).Truncate(day).Add(-(CostDays - 1) * day)
	}
	if !q.Since.Before(q.Until) || q.Until.Sub(q.Since) > MaxDays*day {
		return q, fmt.Errorf("since %s, until %s: the one is before the other, by at most %d days: %w",
			q.Since.Format(time.RFC3339), q.Until.Format(time.RFC3339), MaxDays, reverie.ErrInvalid)
	}
	return q, nil
}
