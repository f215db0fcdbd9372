package app

import (
	"errors"
	"fmt"

	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/llm/anthropic"
	"reverie/internal/llm/gemini"
	"reverie/internal/llm/offline"
	"reverie/internal/llm/openai"
	"reverie/internal/llm/recorded"
	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// ErrNoEmbeddings says that the configuration names no embedding model, which
// evolving can do without and searching cannot.
var ErrNoEmbeddings = errors.New("no embedding model is configured")

// noEmbeddings is the configuration's own error, recognisable.
type noEmbeddings struct{ error }

func (e *noEmbeddings) Is(target error) bool { return target == ErrNoEmbeddings }
func (e *noEmbeddings) Unwrap() error        { return e.error }

// adapter is a provider's client: both sides of it, or only the first.
type adapter struct {
	generator llm.Generator
	embedder  llm.Embedder
}

// connect makes the client of a provider.
func connect(provider, baseURL, key, model string, temperature *float64, dims int) (adapter, error) {
	switch provider {
	case config.ProviderOpenAI:
		c, err := openai.New(openai.Options{BaseURL: baseURL, APIKey: key, Model: model, Temperature: temperature, Dims: dims})
		return adapter{c, c}, err
	case config.ProviderGemini:
		c, err := gemini.New(gemini.Options{BaseURL: baseURL, APIKey: key, Model: model, Temperature: temperature, Dims: dims})
		return adapter{c, c}, err
	case config.ProviderAnthropic:
		c, err := anthropic.New(anthropic.Options{BaseURL: baseURL, APIKey: key, Model: model, Temperature: temperature})
		return adapter{generator: c}, err
	case config.ProviderOffline:
		c := offline.New(dims)
		return adapter{c, c}, nil
	}
	return adapter{}, fmt.Errorf("unknown provider %q: %w", provider, reverie.ErrConfiguration)
}

// account says how calls to a provider are made and written down.
//
// What asks one server for the same shares one policy: its limits and its
// breaker. Embeddings that fail do not keep the model from being asked.
func (a *App) account(use, provider, baseURL, model string) (llm.Account, error) {
	prices, err := llm.ParsePrices(a.Config.LLM.Prices)
	if err != nil {
		return llm.Account{}, err
	}
	l, server := a.Config.LLM, use+" "+provider+" "+baseURL
	if a.policies == nil {
		a.policies = map[string]*llm.Policy{}
	}
	if a.policies[server] == nil {
		a.policies[server] = llm.NewPolicy(llm.PolicyOptions{Attempts: l.Attempts, BreakerFailures: l.BreakerFailures,
			BreakerDelay: l.BreakerDelay.Duration, RequestsPerMinute: l.RequestsPerMinute, TokensPerMinute: l.TokensPerMinute})
	}
	return llm.Account{Provider: provider, Model: model, Prices: prices, Free: config.Keyless(provider), Ledger: a.metrics.Ledger(a.Store), Policy: a.policies[server], Privacy: PrivacyOf(a.Config)}, nil
}

// PrivacyOf is how texts are treated on their way into memory.
func PrivacyOf(c *config.Config) safety.Privacy {
	return safety.Privacy{PII: safety.PII(c.Privacy.PII)}
}

// Model is the generating model of a use.
func (a *App) Model(use string) (*llm.Model, config.ModelSettings, error) {
	s, err := a.Config.Generation(use)
	if err != nil {
		return nil, s, err
	}
	client, err := a.generator(s)
	if err != nil {
		return nil, s, err
	}
	account, err := a.account("generate", s.Provider, s.BaseURL, s.Model)
	if a.calls == nil {
		a.calls = llm.NewSemaphore(a.Config.Jobs.Concurrency)
	}
	account.Timeout, account.Calls = s.Timeout, a.calls
	return llm.NewModel(a.tracer.Generator(client, s.Provider, s.Model, s.BaseURL), account), s, err
}

// generator is the client that answers questions.
func (a *App) generator(s config.ModelSettings) (llm.Generator, error) {
	if s.Provider != config.ProviderRecorded {
		client, err := connect(s.Provider, s.BaseURL, s.APIKey.Reveal(), s.Model, s.Temperature, 0)
		return client.generator, err
	}
	if a.Config.LLM.Recorded == "" {
		return nil, fmt.Errorf("no recorded answers are named: %w: set llm.recorded (REVERIE_LLM_RECORDED) "+
			"to a file of them, such as examples/demo/answers.jsonl", reverie.ErrConfiguration)
	}
	return recorded.Open(a.Config.LLM.Recorded)
}

// Embeddings is the embedding model, with the database as its cache.
func (a *App) Embeddings() (*llm.Embeddings, config.EmbedSettings, error) {
	return a.embeddingsOf(a.Config)
}

func (a *App) embeddingsOf(cfg *config.Config) (*llm.Embeddings, config.EmbedSettings, error) {
	s, err := cfg.Embedding()
	if err != nil {
		return nil, s, &noEmbeddings{err}
	}
	client, err := connect(s.Provider, s.BaseURL, s.APIKey.Reveal(), s.Model, nil, s.Dimensions)
	if err != nil {
		return nil, s, err
	}
	account, err := a.account("embed", s.Provider, s.BaseURL, s.Model)
	account.Timeout = s.Timeout
	options := llm.EmbeddingOptions{Dims: s.Dimensions, Explicit: s.DimensionsSet, Batch: s.Batch, Cache: a.Store}
	if s.Provider == config.ProviderOffline { // nobody is asked, and vectors are made sooner than they are looked up
		account.Ledger, account.Policy, options.Cache = nil, nil, nil
	}
	return llm.NewEmbeddings(a.tracer.Embedder(client.embedder, s.Provider, s.Model, s.BaseURL), account, options), s, err
}
