package app

import (
	"context"
	"slices"
	"strings"

	"reverie/internal/config"
	"reverie/internal/recall"
	"reverie/store"
)

// searcherOf is what searches a group.
type searcherOf func(ctx context.Context, groupID string) (*recall.Searcher, error)

// Searcher wires the search in a group.
func (a *App) Searcher(ctx context.Context, groupID string) (*recall.Searcher, error) {
	return a.searchers()(ctx, groupID)
}

// searchers wires the search in any group, for many at a time. Where no model is
// configured at all, and a group's vectors are the offline embedder's, it is that one:
// nothing else could compare with them, and it needs no network and no key.
func (a *App) searchers() searcherOf {
	configured, err := a.searcherWith(a.Config)
	if a.Config.LLM.ProviderInUse() != "" || a.Config.Embed.Provider != "" || a.Config.Embed.BaseURL != "" {
		return func(context.Context, string) (*recall.Searcher, error) { return configured, err }
	}
	cfg := *a.Config
	cfg.Embed.Provider = config.ProviderOffline
	offline, offlineErr := a.searcherWith(&cfg)
	return func(ctx context.Context, groupID string) (*recall.Searcher, error) {
		is, lookErr := a.embeddedOffline(ctx, groupID)
		switch {
		case lookErr != nil:
			return nil, lookErr
		case is:
			return offline, offlineErr
		}
		return configured, err
	}
}

// searcherWith wires the search with the embedding model of a configuration.
func (a *App) searcherWith(cfg *config.Config) (*recall.Searcher, error) {
	embed, es, err := a.embeddingsOf(cfg)
	if err != nil {
		return nil, err
	}
	return &recall.Searcher{Store: a.Store, Embeddings: embed, Calibration: a.Calibration(es),
		Teams: recall.TeamRule{On: a.Config.Team.Recall, Name: a.Config.Team.Name, Beside: store.Beside}}, nil
}

// embeddedOffline tells whether all vectors of a group's active memories, at
// least one, are the offline embedder's.
func (a *App) embeddedOffline(ctx context.Context, groupID string) (bool, error) {
	models, err := a.Store.VectorModels(ctx, groupID)
	return len(models) > 0 && !slices.ContainsFunc(models, func(m string) bool {
		return !strings.HasPrefix(m, config.DefaultEmbedModels[config.ProviderOffline]+"@")
	}), err
}
