package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"reverie/evolve"
	"reverie/internal/config"
	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/llm/offline"
	"reverie/internal/replay"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/prompts"
	"reverie/store"
)

// otherModel has evolve, and what compares facts unless it has a model of its own, ask a
// model by its name, or by provider/name. Vectors stay those of the model that they are by.
func (a *app) otherModel(name string) error {
	if name == "" {
		return nil
	}
	cfg := *a.cfg
	provider, model := "", name
	evolve, err := cfg.Generation(config.UseEvolve)
	if before, after, ok := strings.Cut(name, "/"); ok && (err != nil || evolve.BaseURL == "") { // a server of one's own may have names with a slash
		switch before {
		case config.ProviderOpenAI, config.ProviderGemini, config.ProviderAnthropic, config.ProviderOffline:
			provider, model = before, after
		}
	}
	if model == "" {
		return usageError(fmt.Errorf("--model %q names no model", name))
	}
	other := func(own config.JobConfig) config.JobConfig {
		if own.Model = model; provider != "" && provider != own.Provider {
			own.Provider, own.BaseURL, own.APIKey = provider, "", ""
		}
		return own
	}
	if alone := cfg.LLM.Compare; alone.Model == "" && alone.Provider == "" && alone.BaseURL == "" {
		cfg.LLM.Compare = other(cfg.LLM.Evolve)
	}
	cfg.LLM.Evolve = other(cfg.LLM.Evolve)
	a.cfg = &cfg
	if m, err := cfg.Generation(config.UseEvolve); err == nil && m.Provider == config.ProviderOffline && m.Model != config.DefaultModels[config.ProviderOffline] {
		return usageError(fmt.Errorf("--model %q: the provider is offline, which has no model but %s: name another as provider/model", name, config.DefaultModels[config.ProviderOffline]))
	}
	return nil
}

// replayPrompts are the prompts of now, with another one in place of memory_evolve.
func (a *app) replayPrompts(ctx context.Context, prompt string) (*prompts.Set, error) {
	set, err := prompts.Open(a.cfg.Prompts.Dir)
	if err != nil {
		return nil, err
	}
	if prompt == "" {
		return a.remotePrompts(ctx, set), nil
	}
	if _, err := os.Stat(prompt); err == nil {
		return a.remotePrompts(ctx, set).Replaced(prompts.MemoryEvolve, prompt)
	} else if strings.ContainsRune(prompt, filepath.Separator) || filepath.Ext(prompt) == ".md" || !errors.Is(err, os.ErrNotExist) {
		return nil, usageError(fmt.Errorf("--prompt: %w", err))
	}
	l := a.cfg.Prompts.Langfuse
	if l.BaseURL == "" {
		return nil, usageError(fmt.Errorf("--prompt %q is no file, and no Langfuse is configured that could have it as a label ([prompts.langfuse])", prompt))
	}
	labelled, warnings := set.With(ctx, &prompts.Langfuse{BaseURL: l.BaseURL, PublicKey: l.PublicKey, SecretKey: l.SecretKey.Reveal(),
		Label: prompt, Timeout: l.Timeout.Duration})
	for _, language := range []string{prompts.English, prompts.Chinese} {
		if version, _ := labelled.Version(prompts.MemoryEvolve, language); strings.HasPrefix(version, "langfuse:") {
			for _, w := range warnings {
				a.log.Warn("prompt from Langfuse not used: " + w)
			}
			return labelled, nil
		}
	}
	return nil, usageError(fmt.Errorf("no %s of Langfuse with the label %q can be used: %s", prompts.MemoryEvolve, prompt, strings.Join(warnings, "; ")))
}

// replayer wires a replay on a shadow: all that is asked there is written there, and
// counts for the day with what is spent live.
func (a *app) replayer(ctx context.Context, x *store.Scratch, set *prompts.Set, f replayFlags) (*replay.Engine, *llm.Budget, error) {
	clock := &replay.Clock{}
	x.SetNow(clock.Now)
	shadow := *a
	shadow.store = x.Store
	if f.recorded { // nobody is asked, so that no key is needed
		cfg := *a.cfg
		cfg.LLM.Provider, cfg.LLM.BaseURL, cfg.LLM.Model, cfg.LLM.Evolve, cfg.LLM.Compare = config.ProviderOffline, "", "", config.JobConfig{}, config.JobConfig{}
		shadow.cfg = &cfg
	}
	p, err := shadow.evolution(set)
	if err != nil {
		return nil, nil, err
	}
	if f.recorded {
		v, err := a.recordedVectors(ctx, x, f.group)
		if err != nil {
			return nil, nil, err
		}
		p.Embeddings, p.EmbeddingsOptional = nil, true
		if v.model != nil {
			p.Embeddings = v.model
		}
		if layer, ok := p.Decider.(*decide.Comparer); ok {
			layer.Embeddings, layer.EmbeddingsOptional = p.Embeddings, true
			if v.model != nil {
				layer.Calibration = v.calibration()
			}
		}
	}
	b := a.cfg.Budget
	day := llm.NewDayBudget(llm.Limits{Calls: b.CallsPerDay, Tokens: b.TokensPerDay, USD: b.USDPerDay}, func(ctx context.Context, since time.Time) (reverie.Spend, error) {
		live, err := a.store.SpendSince(ctx, since)
		if err != nil {
			return live, err
		}
		here, err := x.SpendSince(ctx, since)
		return live.Plus(here), err
	}, a.Now)
	leases := jobs.Leases{Store: x.Store, Holder: a.leases().Holder}
	hold := func(ctx context.Context, groupID string, fn func(context.Context, evolve.Hold) error) error {
		return leases.With(ctx, groupID, func(ctx context.Context, held *jobs.Held) error { return fn(ctx, held) })
	}
	engine := &replay.Engine{Live: a.store, Shadow: replayShadow{x}, Clock: clock, Pipeline: p, Recorded: f.recorded, Hold: hold, Log: a.log}
	return engine, a.budget(day), nil
}

// replayShadow is a scratch store that also knows the vectors which memories have.
type replayShadow struct{ *store.Scratch }

// CopyGroup copies a group as it was before an instant.
func (s replayShadow) CopyGroup(ctx context.Context, groupID string, at time.Time) error {
	if err := s.Scratch.CopyGroup(ctx, groupID, at); err != nil {
		return err
	}
	return s.RememberVectors(ctx, groupID)
}

// recordedVectors are those that are known of the model which the group's memories were
// embedded by: the configured one, if it is among those. The offline ones are made again.
func (a *app) recordedVectors(ctx context.Context, x *store.Scratch, groupID string) (vectors, error) {
	keys, err := a.store.VectorModels(ctx, groupID)
	if err != nil || len(keys) == 0 {
		return vectors{}, err
	}
	key := keys[0]
	if es, err := a.cfg.Embedding(); err == nil {
		for _, k := range keys {
			if strings.HasPrefix(k, es.Model+"@") {
				key = k
			}
		}
	}
	at := strings.LastIndexByte(key, '@')
	dims, err := strconv.Atoi(key[at+1:])
	if err != nil {
		return vectors{}, fmt.Errorf("vectors of %q have no width: %w", key, reverie.ErrInvalid)
	}
	var embedder llm.Embedder = noEmbedder{}
	if key[:at] == config.DefaultEmbedModels[config.ProviderOffline] {
		embedder = offline.New(dims)
	}
	model := llm.NewEmbeddings(embedder, llm.Account{Provider: "recorded", Model: key[:at], Free: true},
		llm.EmbeddingOptions{Dims: dims, Explicit: true, Cache: x})
	return vectors{model, true, func() reverie.Calibration {
		return a.calibration(config.EmbedSettings{Model: key[:at], Floor: a.cfg.Embed.Floor, Ceiling: a.cfg.Embed.Ceiling})
	}}, nil
}

// noEmbedder has no vector that the cache does not have.
type noEmbedder struct{}

func (noEmbedder) Embed(context.Context, []string) ([][]float32, llm.Usage, error) {
	return nil, llm.Usage{}, &llm.Error{Provider: "recorded", Fault: llm.FaultNotFound, Embedding: true,
		Err: errors.New("the vector is not stored, and a recorded replay asks for none")}
}
