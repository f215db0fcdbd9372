package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"reverie/internal/config"
	"reverie/prompts"
)

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
		return badRequest(fmt.Errorf("--model %q names no model", name))
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
			"--prompt %q is no file, and no Langfuse is configured that could have it as a label ([prompts.langfuse])", prompt))
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
