package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/decide"
	"reverie/internal/eval"
	"reverie/internal/llm"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/prompts"
)

// dropPatience is how long a schema may take to be dropped, also where the command was
// stopped.
const dropPatience = 30 * time.Second

// playScenarios plays scenarios in one schema of their own, one after the other. Beside an
// error stands the report of those that were played before it.
func (a *app) playScenarios(ctx context.Context, list []*eval.Scenario, f evalFlags) (report eval.Report, err error) {
	if err := a.settings(); err != nil {
		return report, err
	}
	cfg := evalConfig(a.cfg, f.recorded)
	if err := checkModels(cfg, reverie.JobEvolve); err != nil {
		return report, fmt.Errorf("%w; --recorded plays the answers that the scenarios bring with them", err)
	}
	if err := a.open(ctx); err != nil {
		return report, err
	}
	scratch, err := a.store.Scratch(ctx)
	if err != nil {
		return report, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropPatience)
		defer cancel()
		err = errors.Join(err, scratch.Drop(ctx))
	}()
	clock := &eval.Clock{}
	scratch.SetNow(clock.Now)
	// Whoever works in it sees its store, its clock, and no more of the live one than
	// the settings. The daemon's metrics are not told.
	trial := &app{Console: a.Console, cfg: cfg, prov: a.prov, log: a.log,
		store: scratch.Store, watchers: watchers{tracer: a.tracer}}
	trial.Now, trial.Tick = clock.Now, nil
	player, embedder, err := trial.player(ctx, f, clock)
	if err != nil {
		return report, err
	}
	ctx = llm.WithBudget(ctx, a.budget(a.dayBudget()))
	model := player.Pipeline.Model.Name()
	var results []eval.Result
	for i, s := range list {
		a.tellPlaying(i, len(list), s.Name)
		var res eval.Result
		if res, err = playOne(ctx, player, s, f.record); err != nil {
			break // what was played has been paid for
		}
		results = append(results, res)
	}
	a.tellPlaying(len(list), len(list), "")
	report = eval.NewReport(model, embedder, f.k, results)
	report.Success = report.Success && err == nil
	return report, err
}

// tellPlaying says on a terminal what is being played; at the end it leaves the screen.
func (a *app) tellPlaying(i, n int, name string) {
	switch {
	case !cli.Terminal(a.Stderr):
	case i == n:
		fmt.Fprint(a.Stderr, "\r\x1b[K")
	default:
		fmt.Fprintf(a.Stderr, "\r\x1b[K%d of %d: %s", i+1, n, name)
	}
}

// playOne plays a scenario and scores it. One that cannot be played to the end earns
// nothing, and says why; what would befall all others, too, is an error.
func playOne(ctx context.Context, player *eval.Player, s *eval.Scenario, record bool) (eval.Result, error) {
	played, err := player.Play(ctx, s)
	switch {
	case ctx.Err() != nil || jobs.IsGlobal(err) || errors.Is(err, reverie.ErrDeferred):
		return eval.Result{}, err
	case err != nil:
		return eval.Failed(s, played, err), nil
	}
	if r, ok := player.Script.(*eval.Recorder); ok && record {
		if err := r.Save(); err != nil {
			return eval.Result{}, err
		}
	}
	return eval.Score(s, played), nil
}

// evalConfig are the settings that scenarios are played with. Where no embedding model is
// configured, and for recorded answers, it is the offline one, which needs no key.
func evalConfig(c *config.Config, recorded bool) *config.Config {
	cfg := *c
	if recorded {
		cfg.LLM.Provider, cfg.LLM.BaseURL, cfg.LLM.Model = config.ProviderOffline, "", ""
		cfg.LLM.Evolve, cfg.LLM.Compare, cfg.LLM.Observe = config.JobConfig{}, config.JobConfig{}, config.JobConfig{}
	}
	if _, err := cfg.Embedding(); recorded || err != nil && cfg.Embed.Provider == "" && cfg.Embed.BaseURL == "" {
		e := &cfg.Embed
		e.Provider, e.BaseURL, e.APIKey, e.Model, e.Floor, e.Ceiling = config.ProviderOffline, "", "", "", 0, 0
	}
	return &cfg
}

// player wires what plays scenarios: evolve, the search and the contexts of the
// configuration. It says which embedder that is.
func (a *app) player(ctx context.Context, f evalFlags, clock *eval.Clock) (*eval.Player, string, error) {
	set, err := prompts.Open(a.cfg.Prompts.Dir)
	if err != nil {
		return nil, "", err
	}
	if !f.recorded {
		set = a.remotePrompts(ctx, set)
	}
	p := &eval.Player{Store: a.store, Clock: clock, Leases: a.leases(), K: f.k, Watch: time.Now, Log: a.log}
	if p.Pipeline, err = a.evolution(set); err != nil {
		return nil, "", err
	}
	p.Pipeline.Impressions = false
	layer, compares := p.Pipeline.Decider.(*decide.Comparer)
	switch {
	case f.recorded:
		script := &eval.Recorded{}
		model := llm.NewModel(script, llm.Account{Provider: eval.RecordedModel, Model: "answers", Free: true, Privacy: privacyOf(a.cfg)})
		p.Script, p.Pipeline.Model = script, model
		if compares {
			layer.Model = model
		}
	case f.record:
		script := &eval.Recorder{}
		p.Script, p.Pipeline.Model = script, script.Of(p.Pipeline.Model)
		if compares {
			layer.Model = script.Of(layer.Model)
		}
	}
	if p.Searcher, err = a.searcherWith(a.cfg); err != nil {
		return nil, "", err
	}
	p.Searcher.Teams = recall.TeamRule{}
	p.Recaller = &recall.Recaller{Store: a.store, Searcher: p.Searcher, Options: recallOptions(a.cfg), Now: clock.Now, Log: a.log}
	embedder, _, err := a.embeddings()
	if err != nil {
		return nil, "", err
	}
	return p, embedder.Name(), nil
}
