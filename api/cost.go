package api

import (
	"context"

	"reverie"
)

// Costs says what models have cost, by day in UTC, group and model, over the last
// [CostDays] days unless the question says otherwise.
func (s *Service) Costs(ctx context.Context, q reverie.CostQuery) (reverie.CostsReply, error) {
	confined, err := allowed(ctx, q.GroupID, reverie.ScopeRead)
	if err != nil {
		return reverie.CostsReply{}, err
	}
	if err := page(q.Limit, 0); err != nil {
		return reverie.CostsReply{}, err
	}
	q.GroupID = confined
	return s.Store.Costs(ctx, q)
}
