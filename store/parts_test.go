package store_test

import (
	"context"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/archive"
	"reverie/store/audit"
	"reverie/store/batches"
	"reverie/store/erase"
	"reverie/store/history"
	"reverie/store/hooks"
	"reverie/store/links"
	"reverie/store/teams"
)

// past has another name than [store.Store.History].
type past = history.History

// parts are the store and the packages that work on its database beside it.
type parts struct {
	*store.Store
	*archive.Archive
	*batches.Batches
	*erase.Eraser
	*hooks.Hooks
	*past
	*links.Links
	*teams.Teams
}

func partsOf(s *store.Store) parts {
	return parts{s, archive.New(s.DB()), batches.New(s.DB()), erase.New(s.DB()), hooks.New(s.DB()), history.New(s.DB()), links.New(s.DB(), reverie.ReachPerson), teams.New(s.DB())}
}

func (p parts) Audit(ctx context.Context, groupID string) ([]reverie.Invariant, error) {
	return audit.Run(ctx, p.DB(), groupID)
}
