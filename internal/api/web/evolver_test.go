package web_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"reverie/evolve"
	"reverie/internal/api"
	"reverie/jobs"
)

// newEvolver evolves a sample's groups when clients ask for it.
func newEvolver(t testing.TB, s *sample) *api.Evolver {
	t.Helper()
	e := api.NewEvolver(api.EvolverOptions{Concurrency: 1, Log: slog.New(slog.DiscardHandler),
		Wait: func() (<-chan time.Time, func()) { return nil, func() {} }, // as long as it takes
		Run: func(ctx context.Context, order api.EvolveOrder) error {
			return s.leases.With(ctx, order.GroupID, func(ctx context.Context, held *jobs.Held) error {
				result, err := s.evolve.Run(ctx, held, evolve.Request{GroupID: order.GroupID, Until: s.now})
				order.Evolved(result.Reply())
				return err
			})
		}})
	t.Cleanup(func() { check(t, e.Close(context.Background())) })
	return e
}
