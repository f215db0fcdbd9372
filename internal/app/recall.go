package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/config"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/links"
)

// Recaller wires the contexts of a group, with its own usage log. The caller must close that log: see [CloseUsage].
func (a *App) Recaller(ctx context.Context, groupID string) (*recall.Recaller, error) {
	searcher, err := a.Searcher(ctx, groupID)
	if err != nil {
		return nil, err
	}
	return a.recallerWith(searcher, recall.NewUsageLog(a.Store, recall.UsageOptions{Log: a.Log})), nil
}

// recallerWith is Recaller with existing parts.
func (a *App) recallerWith(searcher *recall.Searcher, usage *recall.UsageLog) *recall.Recaller {
	return &recall.Recaller{Store: a.Store, Searcher: searcher, Options: recallOptions(a.Config), Privacy: PrivacyOf(a.Config), Now: a.Clock, Log: a.Log, Usage: usage}
}

// recallOptions converts [recall] and [short_term].
func recallOptions(c *config.Config) recall.Options {
	r := c.Recall
	kinds := text.Each(r.Kinds, func(k string) reverie.Kind { return reverie.Kind(k) })
	return recall.Options{FirstRoundEmpty: r.FirstRoundEmpty, MinQueryLength: r.MinQueryLength, Trigger: recall.Trigger(r.LongTermTrigger),
		Keywords: r.TriggerKeywords, SemanticThreshold: r.SemanticThreshold, MinSimilarity: r.MinSimilarity, HalfLife: r.HalfLife.Duration,
		Kinds: kinds, ShortTermCount: r.ShortTermCount, MaxReturn: r.MaxReturn, MaxEntities: r.MaxEntities, Messages: r.Messages, MaxTokens: r.MaxTokens,
		ShortTermTTL: c.ShortTerm.ExpireAfter.Duration}
}

// Feedback wires learning from answers in a group, or in any group if none is named. The offers are in the database
// by then: each context has written them.
func (a *App) Feedback(ctx context.Context, groupID string) (*recall.Feedback, error) {
	return a.feedbackWith(ctx, a.Searcher, groupID)
}

// feedbackWith is Feedback with a given search.
func (a *App) feedbackWith(ctx context.Context, search searcherOf, groupID string) (*recall.Feedback, error) {
	f := a.Config.Feedback
	learns := &recall.Feedback{Store: a.Store, Options: recall.FeedbackOptions{Threshold: f.Threshold,
		Weights: reverie.WeightRule{Referenced: f.WeightReferenced, Ignored: f.WeightIgnored, Min: f.MinWeight, Max: f.MaxWeight}}}
	if !f.Embeddings {
		return learns, nil
	}
	searcher, err := search(ctx, groupID)
	if err != nil {
		return nil, err
	}
	if searcher.Embeddings == nil {
		a.Log.Warn("answers are judged by their words alone, whatever [feedback] embeddings says: no embedding model is configured")
	}
	learns.Embeddings, learns.Calibration = searcher.Embeddings, searcher.Calibration
	return learns, nil
}

// usagePatience is how long a command tries to write the last uses before it ends.
const usagePatience = 30 * time.Second

// CloseUsage writes the rest of a usage log, even if the command was stopped.
func CloseUsage(ctx context.Context, log *recall.UsageLog) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), usagePatience)
	defer cancel()
	if err := log.Close(ctx); err != nil {
		return fmt.Errorf("%v", err) // hides the cause: a row that the database refuses is no usage error
	}
	return nil
}

// searcherOf returns the search of a group.
type searcherOf func(ctx context.Context, groupID string) (*recall.Searcher, error)

// Searcher wires the search of a group.
func (a *App) Searcher(ctx context.Context, groupID string) (*recall.Searcher, error) {
	return a.searchers()(ctx, groupID)
}

// searchers wires the search of any group, for concurrent use. If no model is configured at all, it uses the
// offline embedder, which needs no network and no key. It does not in a group with vectors of another model, which
// would be lost.
func (a *App) searchers() searcherOf {
	configured, cfg := a.searcherWith(a.Config), a.embedsOffline()
	if cfg == nil {
		return func(context.Context, string) (*recall.Searcher, error) { return configured, nil }
	}
	offline := a.searcherWith(cfg)
	return func(ctx context.Context, groupID string) (*recall.Searcher, error) {
		is, err := a.embeddedOffline(ctx, groupID)
		if is {
			return offline, err
		}
		return configured, err
	}
}

// embedsOffline returns the configuration with the offline embedder, for use if no model is configured at all; nil
// if one is.
func (a *App) embedsOffline() *config.Config {
	if a.Config.LLM.ProviderInUse() != "" || a.Config.Embed.Provider != "" || a.Config.Embed.BaseURL != "" {
		return nil
	}
	cfg := *a.Config
	cfg.Embed.Provider = config.ProviderOffline
	return &cfg
}

// searcherWith wires the search with the embedding model of a configuration, or only by words if it has no usable
// one.
func (a *App) searcherWith(cfg *config.Config) *recall.Searcher {
	s := &recall.Searcher{Store: a.Store, EmbedTimeout: cfg.Recall.EmbedTimeout.Duration,
		Teams: recall.TeamRule{On: a.Config.Team.Recall, Name: a.Config.Team.Name}, Instead: store.Instead,
		Links: links.New(a.Store.DB(), reverie.Reach(a.Config.Scopes.SelfFacts))}
	model, err := a.embedderOf(cfg)
	switch {
	case err == nil:
		s.Embeddings, s.Calibration = model.Embeddings, model.Calibrator
	case !errors.Is(err, ErrNoEmbeddings):
		s.Without = err
	}
	return s
}

// embeddedOffline reports whether all vectors of a group's active memories are the offline embedder's.
func (a *App) embeddedOffline(ctx context.Context, groupID string) (bool, error) {
	models, err := a.Store.VectorModels(ctx, groupID)
	return !slices.ContainsFunc(models, func(m string) bool {
		return !strings.HasPrefix(m, config.DefaultEmbedModels[config.ProviderOffline]+"@")
	}), err
}

// watchReader warns if clients would read without the database role that confines them to a group, and records it
// in the metrics.
func (a *App) watchReader(ctx context.Context) {
	r, err := a.Store.Reader(ctx)
	switch {
	case err != nil:
		a.Log.Warn("the role that clients read as could not be looked at", "error", err)
	case r.Why != "":
		a.Log.Warn("clients read without row-level security", "why", r.Why, "then", "start this again")
	}
	a.metrics.ReaderConfined(r.On)
}

// readerNote is the doctor's finding about the role with which clients read. Without it, serving works all the
// same.
func (a *App) readerNote(ctx context.Context) (string, error) {
	r, err := a.Store.Reader(ctx)
	switch {
	case err != nil:
		return "", err
	case r.Role == "":
		return "off ([database] reader_role is empty): clients read as the connection's own user", nil
	case !r.On:
		return "warning: clients read without row-level security: " + r.Why, nil
	}
	return r.Role + ", confined by row-level security", nil
}
