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

// dropPatience is how long dropping a schema may take, also after the command was stopped.
const dropPatience = 30 * time.Second

// PlayOptions configure how scenarios are played.
type PlayOptions struct {
	Recorded bool                        // play their recorded answers
	Record   bool                        // record the answers of the model
	Answers  io.Writer                   // gets each question and its raw answer; may be nil
	K        int                         // number of memories for answering a question
	Playing  func(i, n int, name string) // called before each scenario, and at the end with i = n
	Refused  func(reason string)         // called for each refused line; may be nil
}

// PlayScenarios plays scenarios in a separate schema, one after the other. With an error it also returns the report
// of those that were played.
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
				break // the results so far have been paid for
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

// stage is the environment in which something is played.
type stage struct {
	*App
	player   *eval.Player
	embedder string
}

// try plays in a separate schema, which is dropped at the end.
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
	// The environment has its own store and clock, and shares only the settings. The daemon's metrics do not count it.
	t := &stage{App: &App{Config: cfg, Version: a.Version, Log: a.Log, Clock: clock.Now, LookupEnv: a.LookupEnv, Notify: a.Notify,
		Store: tried.Store, monitors: monitors{tracer: a.tracer}}}
	if t.player, t.embedder, err = t.App.player(ctx, f, clock); err != nil {
		return err
	}
	return play(llm.WithBudget(ctx, a.Budget(a.DayBudget())), t)
}

// playOne plays a scenario and scores it. A scenario that fails earns nothing, and says why. A failure that would
// affect all others is an error.
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

// evalConfig returns the settings for playing. It uses the offline embedder, which needs no key, if no embedding
// model is configured, and for recorded answers.
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

// player wires evolve, search and contexts of the configuration, and returns the name of the embedder.
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

// OtherModel sets another model for evolve, by its name or by provider/name.
func (a *App) OtherModel(name string) error {
	if name == "" {
		return nil
	}
	cfg := *a.Config
	provider, model := "", name
	now, err := cfg.Generation(config.UseEvolve)
	before, after, slash := strings.Cut(name, "/")
	if slash && (err != nil || now.BaseURL == "") { // names on other servers may contain a slash
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

// ReplayPrompts returns the configured prompts with another one for memory_evolve.
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
