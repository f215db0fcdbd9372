package main

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

// searcher wires the search in a group.
func (a *app) searcher(ctx context.Context, groupID string) (*recall.Searcher, error) {
	return a.searchers()(ctx, groupID)
}

// searchers wires the search in any group, for many at a time. Where no model is
// configured at all, and a group's vectors are the offline embedder's, it is that one:
// nothing else could compare with them, and it needs no network and no key.
func (a *app) searchers() searcherOf {
	configured, err := a.searcherWith(a.cfg)
	if a.cfg.LLM.ProviderInUse() != "" || a.cfg.Embed.Provider != "" || a.cfg.Embed.BaseURL != "" {
		return func(context.Context, string) (*recall.Searcher, error) { return configured, err }
	}
	cfg := *a.cfg
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
func (a *app) searcherWith(cfg *config.Config) (*recall.Searcher, error) {
	embed, es, err := a.embeddingsOf(cfg)
	if err != nil {
		return nil, err
	}
	return &recall.Searcher{Store: a.store, Embeddings: embed, Calibration: a.calibration(es),
		Teams: recall.TeamRule{On: a.cfg.Team.Recall, Name: a.cfg.Team.Name, Beside: store.Beside}}, nil
}

// embeddedOffline tells whether all vectors of a group's active memories, at
// least one, are the offline embedder's.
func (a *app) embeddedOffline(ctx context.Context, groupID string) (bool, error) {
	models, err := a.store.VectorModels(ctx, groupID)
	return len(models) > 0 && !slices.ContainsFunc(models, func(m string) bool {
		return !strings.HasPrefix(m, config.DefaultEmbedModels[config.ProviderOffline]+"@")
	}), err
}
