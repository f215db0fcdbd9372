package main

import (
	"context"
	"errors"
	"slices"

	"reverie"
	"reverie/decide"
	"reverie/evolve"
	"reverie/impression"
	"reverie/llm"
	"reverie/prompts"
)

// pipelines are what works on a group: evolve, and what follows it.
type pipelines struct {
	evolve     *evolve.Pipeline
	impression *impression.Pipeline
}

// checkModels refuses models that lack a setting, before a database is started for
// nothing.
func (c *Config) checkModels() error {
	uses := []string{useEvolve, useObserve}
	if c.Decide.Enabled {
		uses = append(uses, useCompare)
	}
	for _, use := range uses {
		if _, err := c.generation(use); err != nil {
			return err
		}
	}
	return nil
}

// worker opens what work on groups needs, the database last.
func (a *app) worker(ctx context.Context) (pipelines, error) {
	if err := a.settings(); err != nil {
		return pipelines{}, err
	}
	if err := a.cfg.checkModels(); err != nil {
		return pipelines{}, err
	}
	if err := a.open(ctx); err != nil {
		return pipelines{}, err
	}
	p, err := a.pipelines()
	if err != nil {
		return pipelines{}, err
	}
	return p.with(a.remotePrompts(ctx, p.evolve.Prompts)), nil
}

// pipelines wires the jobs, with the prompts of this machine.
func (a *app) pipelines() (pipelines, error) {
	set, err := prompts.Open(a.cfg.Prompts.Dir)
	if err != nil {
		return pipelines{}, err
	}
	e, err := a.evolution(set)
	if err != nil {
		return pipelines{}, err
	}
	i, err := a.impressions(set)
	return pipelines{e, i}, err
}

// with is the same pipelines with other prompts.
func (p pipelines) with(set *prompts.Set) pipelines {
	e, i := *p.evolve, *p.impression
	e.Prompts, i.Prompts = set, set
	if l, ok := e.Decider.(*decide.Layer); ok {
		layer := *l
		layer.Prompts = set
		e.Decider = &layer
	}
	return pipelines{&e, &i}
}

// evolution wires evolve.
func (a *app) evolution(set *prompts.Set) (*evolve.Pipeline, error) {
	model, settings, err := a.model(useEvolve)
	if err != nil {
		return nil, err
	}
	a.warnUnpriced(model, settings)
	e := a.cfg.Evolve
	p := &evolve.Pipeline{
		Store: a.store, Model: model, Prompts: set, Decider: decide.Plain{}, CompareShown: a.cfg.Decide.CompareShown,
		Impressions: a.cfg.Impression.Enabled, Now: a.now, Log: a.log, Phase: a.phase(reverie.JobEvolve, a.now),
		Limits: evolve.Limits{MaxMessages: e.MaxMessages, MaxInputTokens: e.MaxInputTokens, MaxOutputTokens: settings.MaxOutputTokens,
			MaxCreates: e.MaxCreates, MaxActive: e.MaxActive, Target: e.Target, MaxShown: reverie.MaxShown,
			StaleAfter: e.StaleAfter.Duration, HoldRatio: e.HoldRatio, HoldMin: e.HoldMin, ContextMessages: e.ContextLimit},
	}
	embed, es, err := a.embeddings()
	switch {
	case err == nil:
		p.Embeddings, p.EmbeddingsOptional = embed, !es.Explicit
	case !errors.Is(err, errNoEmbeddings):
		return nil, err
	}
	if !a.cfg.Decide.Enabled {
		return p, nil
	}
	layer, err := a.decider(set)
	if err == nil && p.Embeddings != nil {
		layer.Embeddings, layer.EmbeddingsOptional, layer.Calibration = embed, p.EmbeddingsOptional, a.calibration(es)
	}
	p.Decider = layer
	return p, err
}

// decider wires the comparison of facts, as yet without vectors.
func (a *app) decider(set *prompts.Set) (*decide.Layer, error) {
	model, settings, err := a.model(useCompare)
	if err != nil {
		return nil, err
	}
	a.warnUnpriced(model, settings)
	d := a.cfg.Decide
	return &decide.Layer{Store: a.store, Model: model, Prompts: set, Journal: a.store, Log: a.log,
		Options: decide.Options{TopK: d.CandidateTopK, MinScore: d.CandidateMinScore, Fallback: decide.Fallback(d.FallbackMode),
			MaxCalls: d.MaxCalls, MaxOutputTokens: settings.MaxOutputTokens}}, nil
}

// warnUnpriced tells, once for each model, that no budget in USD bounds its calls.
func (a *app) warnUnpriced(model *llm.Model, settings ModelSettings) {
	b := a.cfg.Budget
	if b.USDPerRun+b.USDPerDay == 0 || model.Priced() || settings.Provider == providerOffline || slices.Contains(a.unpriced, model.Name()) {
		return
	}
	a.unpriced = append(a.unpriced, model.Name())
	a.log.Warn("the model's price is not in [llm] prices, so its calls cost nothing and no limit in USD bounds them: add it, or limit calls or tokens", "model", model.Name())
}

// impressions wires the impression job.
func (a *app) impressions(set *prompts.Set) (*impression.Pipeline, error) {
	model, settings, err := a.model(useObserve)
	if err != nil {
		return nil, err
	}
	if a.cfg.Impression.Enabled {
		a.warnUnpriced(model, settings)
	}
	i := a.cfg.Impression
	return &impression.Pipeline{Store: a.store, Model: model, Prompts: set, Journal: a.store, Now: a.now, Log: a.log,
		Phase: a.phase(reverie.JobImpression, a.now),
		Limits: impression.Limits{MaxMessages: i.MaxMessages, MaxSubjects: i.MaxSubjects, MaxInputTokens: i.MaxInputTokens,
			MaxOutputTokens: settings.MaxOutputTokens, MinConfidence: i.MinConfidence, MinEvidence: i.MinEvidence, ExpireAfter: i.ExpireAfter.Duration}}, nil
}
