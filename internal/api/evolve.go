package api

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
)

// Evolved is what became of a request to evolve a group: a reply, or a run that goes on.
type Evolved struct {
	Reply reverie.EvolveReply // where Done
	RunID string              // where not Done; "" if it has not come that far
	Done  bool
}

// Evolve takes in a group's pending messages, with those of so many days before as
// context. It waits for the answer as long as the [Evolver] says; the run goes on
// whether or not anybody waits for it.
//
// A group that another process works on is a [reverie.BusyError], a server without a
// model a [reverie.ErrConfiguration]; else its errors are those of the run.
func (s *Service) Evolve(ctx context.Context, groupID string, days int) (Evolved, error) {
	if _, err := allowed(ctx, groupID, reverie.ScopeWrite); err != nil {
		return Evolved{}, err
	}
	if days < 0 || days > MaxDays {
		return Evolved{}, fmt.Errorf("days %d: it is 0 to %d: %w", days, MaxDays, reverie.ErrInvalid)
	}
	if _, err := s.Store.Group(ctx, groupID); err != nil {
		return Evolved{}, err
	}
	if err := reverie.CheckChat(groupID); err != nil {
		return Evolved{}, err
	}
	if s.Evolver == nil {
		return Evolved{}, fmt.Errorf("this server evolves no groups, since no model is configured for it ([llm] provider): %w", reverie.ErrConfiguration)
	}
	return s.Evolver.Evolve(ctx, groupID, days)
}
