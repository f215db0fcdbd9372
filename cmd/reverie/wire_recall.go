package main

import (
	"context"
	"errors"
	"time"

	"reverie/internal/config"
	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// recaller wires what makes contexts in a group, with a usage log of its own, which
// whoever asks for it must close: see [app.closeUsage].
func (a *app) recaller(ctx context.Context, groupID string) (*recall.Recaller, error) {
	searcher, err := a.searcher(ctx, groupID)
	if err != nil && !errors.Is(err, errNoEmbeddings) {
		return nil, err
	}
	return a.recallerWith(searcher, err, recall.NewUsageLog(a.store, recall.UsageOptions{Log: a.log}), groupID), nil
}

// recallerWith is recaller with what has been wired before. Without an embedding model,
// of which the error tells, it finds no memories, and its contexts say so.
func (a *app) recallerWith(searcher *recall.Searcher, err error, usage *recall.UsageLog, groupID string) *recall.Recaller {
	if err != nil {
		a.log.Info("memories are not looked up", "group_id", groupID, "error", err)
	}
	return &recall.Recaller{Store: a.store, Searcher: searcher, Options: recallOptions(a.cfg), Now: a.Now, Log: a.log, Usage: usage}
}

// recallOptions are [recall] and [short_term] as the room takes them.
func recallOptions(c *config.Config) recall.Options {
	r := c.Recall
	kinds := make([]reverie.Kind, len(r.Kinds))
	for i, k := range r.Kinds {
		kinds[i] = reverie.Kind(k)
	}
	return recall.Options{FirstRoundEmpty: r.FirstRoundEmpty, MinQueryLength: r.MinQueryLength, Trigger: recall.Trigger(r.LongTermTrigger),
		Keywords: r.TriggerKeywords, SemanticThreshold: r.SemanticThreshold, MinSimilarity: r.MinSimilarity, HalfLife: r.HalfLife.Duration,
		Kinds: kinds, ShortTermCount: r.ShortTermCount, MaxReturn: r.MaxReturn, MaxEntities: r.MaxEntities, MaxTokens: r.MaxTokens,
		ShortTermTTL: c.ShortTerm.ExpireAfter.Duration, EmbedTimeout: r.EmbedTimeout.Duration}
}

// feedback wires what learns from answers in a group, or where it is not named in
// any. What was offered is in the database by then: each context has written it.
func (a *app) feedback(ctx context.Context, groupID string) (*recall.Feedback, error) {
	return a.feedbackWith(ctx, a.searcher, groupID)
}

// feedbackWith is feedback with what searches a group.
func (a *app) feedbackWith(ctx context.Context, search searcherOf, groupID string) (*recall.Feedback, error) {
	f := a.cfg.Feedback
	learns := &recall.Feedback{Store: a.store, Options: recall.FeedbackOptions{Threshold: f.Threshold,
		Weights: reverie.WeightRule{Referenced: f.WeightReferenced, Ignored: f.WeightIgnored, Min: f.MinWeight, Max: f.MaxWeight}}}
	if !f.Embeddings {
		return learns, nil
	}
	searcher, err := search(ctx, groupID)
	switch {
	case errors.Is(err, errNoEmbeddings):
		a.log.Warn("answers are judged by their words alone, whatever [feedback] embeddings says", "error", err)
		return learns, nil
	case err != nil:
		return nil, err
	}
	learns.Embeddings, learns.Calibration = searcher.Embeddings, searcher.Calibration
	return learns, nil
}

// usagePatience is how long the last uses are tried to be written before a command
// ends.
const usagePatience = 30 * time.Second

// closeUsage writes what is left of a usage log, also where the command was stopped.
func closeUsage(ctx context.Context, log *recall.UsageLog) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), usagePatience)
	defer cancel()
	if err := log.Close(ctx); err != nil {
		return &codeError{exitError, err} // whatever the database has against a row, nobody has used the command wrongly
	}
	return nil
}
