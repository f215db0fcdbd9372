package api

import (
	"context"

	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// Explain makes the context that [Service.Context] would, and says of every memory that
// was looked at what became of it. It is no use of them: nothing is logged.
func (s *Service) Explain(ctx context.Context, req recall.ContextRequest) (reverie.Recalled, error) {
	ctx, _, err := reading(ctx, req.GroupID, reverie.ScopeRead)
	if err != nil {
		return reverie.Recalled{}, err
	}
	if err := queryLength(req.Query); err != nil {
		return reverie.Recalled{}, err
	}
	r, err := s.Recaller(ctx, req.GroupID)
	if err != nil {
		return reverie.Recalled{}, err
	}
	return r.Explain(ctx, req)
}
