package store_test

import (
	"context"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/audit"
)

// parts are the store and the packages that work on its database beside it.
type parts struct {
	*store.Store
}

func partsOf(s *store.Store) parts { return parts{s} }

func (p parts) Audit(ctx context.Context, groupID string) ([]reverie.Invariant, error) {
	return audit.Run(ctx, p.DB(), groupID)
}
