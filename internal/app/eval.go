package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reverie/internal/config"
	"reverie/internal/decide"
	"reverie/internal/eval"
	"reverie/internal/llm"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/prompts"
	"reverie/store/scratch"
)

// dropPatience is how long a schema may take to be dropped, also where the command was
// stopped.
const dropPatience = 30 * time.Second

// PlayOptions say how scenarios are played.
type PlayOptions struct {
	Recorded bool                        // with the answers that they bring with them
	Record   bool                        // and keep the answers of the model
	Answers  io.Writer                   // takes each question and its raw answer; nil: nobody does
	K        int                         // memories that a question is answered from
	Playing  func(i, n int, name string) // hears of each before it is played, and at the end of n
	Refused  func(reason string)         // hears of each line that is refused; nil: nobody does
}

// PlayScenarios plays scenarios in one schema of their own, one after the other. Beside an
// error stands the report of those that were played before it.
func (a *App) PlayScenarios(ctx context.Context, list []*eval.Scenario, f PlayOptions) (report eval.Report, err error) {
	cfg := evalConfig(a.Config, f.Recorded)
	if err := CheckModels(cfg, reverie.JobEvolve); err != nil {
		return report, fmt.Errorf("%w; --recorded plays the scenarios' own answers instead", err)
	}
	err = a.try(ctx, cfg, f, func(ctx context.Context, t *stage) (err error) {
		var results []eval.Result
		for i, s := range list {
			f.Playing(i, len(list), s.Name)
			var res eval.Result
			if res, err = playOne(ctx, t.player, s, f.Record); err != nil {
				break // what was played has been paid for
			}
			results = append(results, res)
		}
		f.Playing(len(list), len(list), "")
		report = eval.NewReport(t.player.Pipeline.Model.Name(), t.embedder, f.K, results)
		return err
	})
	report.Success = report.Success && err == nil
	return report, err
}

// stage is where something is played.
type stage struct {
	*App
	player   *eval.Player
	embedder string
}

// try plays in a schema of its own, which is dropped at the end.
func (a *App) try(ctx context.Context, cfg *config.Config, f PlayOptions, play func(context.Context, *stage) error) (err error) {
	if err := a.Open(ctx); err != nil {
		return err
	}
	tried, err := scratch.New(ctx, a.Store)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropPatience)
		defer cancel()
		err = errors.Join(err, tried.Drop(ctx))
	}()
	clock := &eval.Clock{}
	tried.SetNow(clock.Now)
	// Whoever works in it sees its store, its clock, and no more of the live one than
	// the settings. The daemon's metrics are not told.
	t := &stage{App: &App{Config: cfg, Version: a.Version, Log: a.Log, Clock: clock.Now, LookupEnv: a.LookupEnv, Notify: a.Notify,
		Store: tried.Store, monitors: monitors{tracer: a.tracer}}}
	if t.player, t.embedder, err = t.App.player(ctx, f, clock); err != nil {
		return err
	}
	return play(llm.WithBudget(ctx, a.Budget(a.DayBudget())), t)
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
func (a *App) player(ctx context.Context, f PlayOptions, clock *eval.Clock) (*eval.Player, string, error) {
	set, err := prompts.Open(a.Config.Prompts.Dir)
	if err != nil {
		return nil, "", err
	}
	if !f.Recorded {
		set = a.RemotePrompts(ctx, set)
	}
	p := &eval.Player{Store: a.Store, Clock: clock, Leases: a.Leases(), K: f.K, Watch: time.Now, Log: a.Log}
	if p.Pipeline, err = a.Evolution(ctx, set); err != nil {
		return nil, "", err
	}
	p.Pipeline.Impressions, p.Pipeline.Refused = false, f.Refused
	layer, compares := p.Pipeline.Decider.(*decide.Comparer)
	switch {
	case f.Recorded:
		script := &eval.Recorded{}
		model := llm.NewModel(script, llm.Account{Provider: eval.RecordedModel, Model: "answers", Free: true, Privacy: PrivacyOf(a.Config)})
		p.Script, p.Pipeline.Model = script, model
		if compares {
			layer.Model = model
		}
	case f.Record:
		script := &eval.Recorder{}
		p.Script, p.Pipeline.Model = script, script.Of(p.Pipeline.Model)
		if compares {
			layer.Model = script.Of(layer.Model)
		}
	}
	if f.Answers != nil {
		p.Pipeline.Model = eval.Transcript{Model: p.Pipeline.Model, To: f.Answers}
		if compares {
			layer.Model = eval.Transcript{Model: layer.Model, To: f.Answers}
		}
	}
	p.Searcher = a.searcherWith(a.Config)
	p.Searcher.Teams = recall.TeamRule{}
	p.Recaller = &recall.Recaller{Store: a.Store, Searcher: p.Searcher, Options: recallOptions(a.Config), Privacy: PrivacyOf(a.Config), Now: clock.Now, Log: a.Log}
	embedder, err := a.Embedder()
	if err != nil {
		return nil, "", err
	}
	return p, embedder.Name(), nil
}

// OtherModel has evolve ask a model by its name, or by provider/name.
func (a *App) OtherModel(name string) error {
	if name == "" {
		return nil
	}
	cfg := *a.Config
	provider, model := "", name
	now, err := cfg.Generation(config.UseEvolve)
	before, after, slash := strings.Cut(name, "/")
	if slash && (err != nil || now.BaseURL == "") { // a server of one's own may have names with a slash
		switch before {
		case config.ProviderOpenAI, config.ProviderGemini, config.ProviderAnthropic, config.ProviderOffline:
			provider, model = before, after
		}
	}
	if model == "" {
		return badRequest(fmt.Errorf("--model %q names no model: give a name, or provider/name", name))
	}
	e := &cfg.LLM.Evolve
	if e.Model = model; provider != "" && provider != e.Provider {
		e.Provider, e.BaseURL, e.APIKey = provider, "", ""
	}
	a.Config = &cfg
	m, err := cfg.Generation(config.UseEvolve)
	if err == nil && m.Provider == config.ProviderOffline && m.Model != config.DefaultModels[config.ProviderOffline] {
		return badRequest(fmt.Errorf("--model %q: the provider is offline, which has no model but %s: name another as provider/model",
			name, config.DefaultModels[config.ProviderOffline]))
	}
	return nil
}

// ReplayPrompts are the prompts as configured, with another one in place of memory_evolve.
func (a *App) ReplayPrompts(ctx context.Context, set *prompts.Set, prompt string) (*prompts.Set, error) {
	if prompt == "" {
		return set, nil
	}
	if _, err := os.Stat(prompt); err == nil {
		return set.Replaced(prompts.MemoryEvolve, prompt)
	} else if strings.ContainsRune(prompt, filepath.Separator) || filepath.Ext(prompt) == ".md" || !errors.Is(err, os.ErrNotExist) {
		return nil, badRequest(fmt.Errorf("--prompt: %w", err))
	}
	l := a.Config.Prompts.Langfuse
	if l.BaseURL == "" {
		return nil, badRequest(fmt.Errorf(
			"--prompt %q is not a file, and no Langfuse is configured to look it up as a label ([prompts.langfuse])", prompt))
	}
	labelled, warnings := set.With(ctx, &prompts.Langfuse{BaseURL: l.BaseURL, PublicKey: l.PublicKey, SecretKey: l.SecretKey.Reveal(),
		Label: prompt, Timeout: l.Timeout.Duration})
	for _, language := range []string{prompts.English, prompts.Chinese} {
		if version, _ := labelled.Version(prompts.MemoryEvolve, language); strings.HasPrefix(version, "langfuse:") {
			for _, w := range warnings {
				a.Log.Warn("prompt from Langfuse not used: " + w)
			}
			return labelled, nil
		}
	}
	return nil, badRequest(fmt.Errorf("no %s of Langfuse with the label %q can be used: %s",
		prompts.MemoryEvolve, prompt, strings.Join(warnings, "; ")))
}
