package store

import (
	"context"

	"reverie"
)

// Costs sums up what models have cost.
func (s *Store) Costs(ctx context.Context, q reverie.CostQuery) (reverie.CostsReply, error) {
	return reverie.CostsReply{Success: true, GroupID: q.GroupID, Since: q.Since, Until: q.Until, Days: []reverie.Cost{},
		Groups: []reverie.Cost{}, Models: []reverie.Cost{}}, nil
}
