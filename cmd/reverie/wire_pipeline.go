package main

import (
	"context"
	"errors"
	"slices"

	"reverie/dream"
	"reverie/evolve"
	"reverie/internal/config"
	"reverie/internal/decide"
	"reverie/internal/entity"
	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/prompts"
)

// pipelines are what works on groups. Those of jobs that were not asked for are nil.
type pipelines struct {
	prompts    *prompts.Set
	evolve     *evolve.Pipeline
	impression *entity.Pipeline // follows evolve
	session    *session.Pipeline
	dream      *dream.Pipeline
}

// modelUses are what a job, and what follows it, ask models for.
func modelUses(c *config.Config, job reverie.Job) []string {
	var uses []string
	switch job {
	case reverie.JobEvolve:
		uses = []string{config.UseEvolve, config.UseObserve}
	case reverie.JobExtract:
		uses = []string{config.UseExtract, config.UseFold}
	case reverie.JobDream:
		uses = []string{config.UseDream}
	}
	if c.Decide.Enabled && len(uses) > 0 {
		uses = append(uses, config.UseCompare)
	}
	return uses
}

// checkModels refuses models that lack a setting which one of the jobs needs, before
// a database is started for nothing.
func checkModels(c *config.Config, wanted ...reverie.Job) error {
	for _, job := range wanted {
		for _, use := range modelUses(c, job) {
			if _, err := c.Generation(use); err != nil {
				return err
			}
		}
	}
	return nil
}

// worker opens what a job needs, the database last.
func (a *app) worker(ctx context.Context, wanted reverie.Job) (pipelines, error) {
	if err := a.settings(); err != nil {
		return pipelines{}, err
	}
	if err := checkModels(a.cfg, wanted); err != nil {
		return pipelines{}, err
	}
	go privacyOf(a.cfg).Mask("the rules are read while the database is waited for")
	if err := a.open(ctx); err != nil {
		return pipelines{}, err
	}
	p, err := a.pipelines(wanted)
	if err != nil {
		return pipelines{}, err
	}
	return p.with(a.remotePrompts(ctx, p.prompts)), nil
}

// pipelines wires jobs, with the prompts of this machine.
func (a *app) pipelines(wanted ...reverie.Job) (p pipelines, err error) {
	if p.prompts, err = prompts.Open(a.cfg.Prompts.Dir); err != nil {
		return pipelines{}, err
	}
	if slices.Contains(wanted, reverie.JobEvolve) {
		if p.evolve, err = a.evolution(p.prompts); err != nil {
			return pipelines{}, err
		}
		if p.impression, err = a.impressions(p.prompts); err != nil {
			return pipelines{}, err
		}
	}
	if slices.Contains(wanted, reverie.JobExtract) {
		if p.session, err = a.extraction(p.prompts); err != nil {
			return pipelines{}, err
		}
	}
	if slices.Contains(wanted, reverie.JobDream) {
		if p.dream, err = a.dreaming(p.prompts); err != nil {
			return pipelines{}, err
		}
	}
	return p, nil
}

// with is the same pipelines with other prompts.
func (p pipelines) with(set *prompts.Set) pipelines {
	p.prompts = set
	if p.evolve != nil {
		e, i := *p.evolve, *p.impression
		e.Prompts, i.Prompts, e.Decider = set, set, deciderWith(e.Decider, set)
		p.evolve, p.impression = &e, &i
	}
	if p.session != nil {
		s := *p.session
		s.Prompts, s.Decider = set, deciderWith(s.Decider, set)
		p.session = &s
	}
	if p.dream != nil {
		d := *p.dream
		d.Prompts, d.Decider = set, deciderWith(d.Decider, set)
		p.dream = &d
	}
	return p
}

// deciderWith is the same decider with other prompts.
func deciderWith(d decide.Decider, set *prompts.Set) decide.Decider {
	if l, ok := d.(*decide.Comparer); ok {
		layer := *l
		layer.Prompts = set
		return &layer
	}
	return d
}

// evolution wires evolve.
func (a *app) evolution(set *prompts.Set) (*evolve.Pipeline, error) {
	model, settings, err := a.model(config.UseEvolve)
	if err != nil {
		return nil, err
	}
	a.warnUnpriced(model, settings)
	v, err := a.vectors()
	if err != nil {
		return nil, err
	}
	p := a.evolveBase(set, settings.MaxOutputTokens)
	p.Model, p.Phase = model, a.phase(reverie.JobEvolve, a.Now)
	if v.model != nil {
		p.Embeddings, p.EmbeddingsOptional = v.model, v.optional
	}
	p.Decider, err = a.decider(set, v)
	return p, err
}

// evolveBase is the part of evolve that asks nobody.
func (a *app) evolveBase(set *prompts.Set, maxOutput int) *evolve.Pipeline {
	e := a.cfg.Evolve
	return &evolve.Pipeline{
		Store: a.store, Prompts: set, CompareShown: a.cfg.Decide.CompareShown,
		Impressions: a.cfg.Impression.Enabled, Privacy: privacyOf(a.cfg), Now: a.Now, Log: a.log,
		Limits: evolve.Limits{MaxMessages: e.MaxMessages, MaxInputTokens: e.MaxInputTokens, MaxOutputTokens: maxOutput,
			MaxCreates: e.MaxCreates, MaxActive: e.MaxActive, Target: e.Target, MaxShown: reverie.MaxShown,
			StaleAfter: e.StaleAfter.Duration, HoldRatio: e.HoldRatio, HoldMin: e.HoldMin, ContextMessages: e.ContextLimit},
	}
}

// vectors is what statements are turned into vectors with.
type vectors struct {
	model       *llm.Embeddings // nil: none is configured
	optional    bool            // nobody has named it: one that fails is a warning
	calibration func() reverie.Calibration
}

func (a *app) vectors() (vectors, error) {
	embed, es, err := a.embeddings()
	switch {
	case errors.Is(err, errNoEmbeddings):
		return vectors{}, nil
	case err != nil:
		return vectors{}, err
	}
	return vectors{embed, !es.Explicit, func() reverie.Calibration { return a.calibration(es) }}, nil
}

// decider wires what becomes of new facts: a comparison, or the exact text alone.
func (a *app) decider(set *prompts.Set, v vectors) (decide.Decider, error) {
	if !a.cfg.Decide.Enabled {
		return decide.Plain{}, nil
	}
	model, settings, err := a.model(config.UseCompare)
	if err != nil {
		return nil, err
	}
	a.warnUnpriced(model, settings)
	d := a.cfg.Decide
	layer := &decide.Comparer{Store: a.store, Model: model, Prompts: set, Journal: a.store, Log: a.log,
		Options: decide.Options{TopK: d.CandidateTopK, MinScore: d.CandidateMinScore, Fallback: decide.Fallback(d.FallbackMode),
			MaxCalls: d.MaxCalls, MaxOutputTokens: settings.MaxOutputTokens}}
	if v.model != nil {
		layer.Embeddings, layer.EmbeddingsOptional, layer.Calibration = v.model, v.optional, v.calibration()
	}
	return layer, nil
}

// warnUnpriced tells, once for each model, that no budget in USD bounds its calls.
func (a *app) warnUnpriced(model *llm.Model, settings config.ModelSettings) {
	b := a.cfg.Budget
	if b.USDPerRun+b.USDPerDay == 0 || model.Priced() || config.Keyless(settings.Provider) || slices.Contains(a.unpriced, model.Name()) {
		return
	}
	a.unpriced = append(a.unpriced, model.Name())
	a.log.Warn("the model's price is not in [llm] prices, so its calls cost nothing and no limit in USD bounds them: add it, or limit calls or tokens", "model", model.Name())
}

// impressions wires the impression job.
func (a *app) impressions(set *prompts.Set) (*entity.Pipeline, error) {
	model, settings, err := a.model(config.UseObserve)
	if err != nil {
		return nil, err
	}
	if a.cfg.Impression.Enabled {
		a.warnUnpriced(model, settings)
	}
	i := a.cfg.Impression
	return &entity.Pipeline{Store: a.store, Model: model, Prompts: set, Journal: a.store, Privacy: privacyOf(a.cfg), Now: a.Now, Log: a.log,
		Phase: a.phase(reverie.JobImpression, a.Now),
		Limits: entity.Limits{MaxMessages: i.MaxMessages, MaxSubjects: i.MaxSubjects, MaxInputTokens: i.MaxInputTokens,
			MaxOutputTokens: settings.MaxOutputTokens, MinConfidence: i.MinConfidence, MinEvidence: i.MinEvidence, ExpireAfter: i.ExpireAfter.Duration}}, nil
}

// extraction wires the extraction of sessions.
func (a *app) extraction(set *prompts.Set) (*session.Pipeline, error) {
	model, settings, err := a.model(config.UseExtract)
	if err != nil {
		return nil, err
	}
	a.warnUnpriced(model, settings)
	summarizer, folding, err := a.model(config.UseFold)
	if err != nil {
		return nil, err
	}
	a.warnUnpriced(summarizer, folding)
	v, err := a.vectors()
	if err != nil {
		return nil, err
	}
	c, e := a.cfg.Session, a.cfg.Evolve
	p := &session.Pipeline{
		Store: a.store, Model: model, Summarizer: summarizer, Prompts: set, Journal: a.store, Rule: a.sessionRule(), Retry: a.parkRule(), Silence: c.Silence.Duration,
		Privacy: privacyOf(a.cfg), Now: a.Now, Log: a.log, Phase: a.phase(reverie.JobExtract, a.Now),
		Limits: session.Limits{MaxMessages: c.MaxMessages, MaxInputTokens: c.MaxInputTokens, MaxOutputTokens: settings.MaxOutputTokens,
			MaxSummaryTokens: folding.MaxOutputTokens, MaxFacts: c.MaxFacts, MinConfidence: c.MinConfidence, AutoTag: c.AutoTag,
			MaxShown: reverie.MaxShown, HoldRatio: e.HoldRatio, HoldMin: e.HoldMin},
	}
	if v.model != nil {
		p.Embeddings, p.EmbeddingsOptional = v.model, v.optional
	}
	p.Decider, err = a.decider(set, v)
	return p, err
}

// dreaming wires dreams.
func (a *app) dreaming(set *prompts.Set) (*dream.Pipeline, error) {
	model, settings, err := a.model(config.UseDream)
	if err != nil {
		return nil, err
	}
	a.warnUnpriced(model, settings)
	v, err := a.vectors()
	if err != nil {
		return nil, err
	}
	d := a.cfg.Dream
	p := &dream.Pipeline{
		Store: a.store, Model: model, Prompts: set, Journal: a.store, Rule: a.dreamRule(), Now: a.Now, Log: a.log, Phase: a.phase(reverie.JobDream, a.Now),
		Limits: dream.Limits{MaxInputTokens: d.MaxInputTokens, MaxOutputTokens: settings.MaxOutputTokens, MaxItems: d.MaxItems, MaxActive: d.MaxActive,
			MaxShown: reverie.MaxShown, MinConfidence: d.MinConfidence, HoldRatio: d.HoldRatio, HoldMin: d.HoldMin},
	}
	if v.model != nil {
		p.Embeddings, p.EmbeddingsOptional = v.model, v.optional
	}
	p.Decider, err = a.decider(set, v)
	return p, err
}

// sessionRule says when a session is due, as configured.
func (a *app) sessionRule() reverie.SessionRule {
	c, s := a.cfg.Session, a.cfg.ShortTerm
	return reverie.SessionRule{Tokens: c.Tokens, ToolCalls: c.ToolCalls, Turns: c.Turns, Idle: c.Idle.Duration,
		KeepTurns: s.MaxItems, FoldTurns: s.CompressionThreshold, FoldTokens: s.TriggerTokens, ShortTermTTL: s.ExpireAfter.Duration}
}
