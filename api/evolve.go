package api

import (
	"context"

	"reverie"
)

// Evolver runs evolve for clients, in the background: a run goes on when its client has
// gone, until the server ends.
type Evolver struct{}

// Evolved is what became of a request to evolve a group: a reply, or a run that goes on.
type Evolved struct {
	Reply reverie.EvolveReply // where Done
	RunID string              // where not Done; "" if it has not come that far
	Done  bool
}

// Evolve takes in a group's pending messages.
func (s *Service) Evolve(ctx context.Context, groupID string, days int) (Evolved, error) {
	if _, err := allowed(ctx, groupID, reverie.ScopeWrite); err != nil {
		return Evolved{}, err
	}
	return Evolved{}, reverie.ErrConfiguration
}
