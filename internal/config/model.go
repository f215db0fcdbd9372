package config

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// The providers.
const (
	ProviderOpenAI    = "openai"
	ProviderGemini    = "gemini"
	ProviderAnthropic = "anthropic"
	ProviderOffline   = "offline"  // no network, no key
	ProviderRecorded  = "recorded" // answers from a file
)

// What a provider's models are unless the operator names others.
var (
	DefaultModels = map[string]string{
		ProviderOpenAI:    "gpt-5-mini",
		ProviderGemini:    "gemini-2.5-flash",
		ProviderAnthropic: "claude-haiku-4-5",
		ProviderOffline:   "offline-extractive-v1",
		ProviderRecorded:  "answers",
	}
	DefaultEmbedModels = map[string]string{
		ProviderOpenAI:  "text-embedding-3-small",
		ProviderGemini:  "gemini-embedding-001",
		ProviderOffline: "offline-ngram-v1",
	}
)

// Keyless tells the providers that ask nobody: they need no address and no key, and
// cost nothing.
func Keyless(provider string) bool {
	return provider == ProviderOffline || provider == ProviderRecorded
}

// defaultDimensions is the width that is asked for when none is set.
const defaultDimensions = 1536

// ModelSettings is a generating model, complete: nothing is left to inherit.
type ModelSettings struct {
	Provider        string // openai, gemini, anthropic, offline or recorded
	BaseURL         string // "" = the provider's own
	APIKey          Secret // "" where none is needed
	Model           string
	Timeout         time.Duration // of one call
	Temperature     *float64      // nil = not sent
	MaxOutputTokens int
}

// EmbedSettings is an embedding model, complete.
type EmbedSettings struct {
	Provider      string // openai, gemini or offline
	BaseURL       string // "" = the provider's own
	APIKey        Secret
	Model         string
	Dimensions    int           // the width to ask for
	DimensionsSet bool          // the operator chose it: another width is an error
	Timeout       time.Duration // of one call
	Batch         int           // texts of one call
	Floor         float64       // calibration; with Ceiling 0 too: what is known of the model
	Ceiling       float64
	Explicit      bool // [embed] names the endpoint or model; an inherited endpoint may lack embeddings
}

// ProviderInUse of [llm]: a base_url alone means an OpenAI-compatible server.
func (l *LLMConfig) ProviderInUse() string {
	if l.Provider == "" && l.BaseURL != "" {
		return ProviderOpenAI
	}
	return l.Provider
}

// What models are asked for: each has a section below [llm], and is the purpose
// of its calls in the ledger.
const (
	UseEvolve  = "evolve"
	UseCompare = "compare" // a new fact with memories
	UseObserve = "observe" // people and things
	UseExtract = "extract" // sessions
	UseFold    = "summarize"
	UseDream   = "dream"
)

// of returns the overrides of a use, none for one without a section.
func (l *LLMConfig) of(use string) JobConfig {
	switch use {
	case UseEvolve:
		return l.Evolve
	case UseCompare:
		return l.Compare
	case UseObserve:
		return l.Observe
	case UseExtract:
		return l.Extract
	case UseFold:
		return l.Summarize
	case UseDream:
		return l.Dream
	}
	return JobConfig{}
}

// Generation returns the model for a use ("" for [llm] itself): what [llm.<use>]
// sets, the rest from [llm]. Where [llm] names no model and only [llm.evolve] does,
// that is the model of all uses. Another provider brings its own base_url, key and
// model; another host its own key and model, so that a key is never sent where it
// does not belong. The error is a reverie.ErrConfiguration that names the settings
// to set: no provider, or no key where one is needed.
func (c *Config) Generation(use string) (ModelSettings, error) {
	llm, own := c.LLM, c.LLM.of(use)
	section := "llm"
	if e := llm.Evolve; llm.ProviderInUse() == "" && use != "" && use != UseEvolve && own.Provider == "" && own.BaseURL == "" && (e.Provider != "" || e.BaseURL != "") {
		section = "llm." + UseEvolve
		llm.Provider, llm.BaseURL, llm.APIKey, llm.Model = e.Provider, e.BaseURL, e.APIKey, e.Model
	}
	m := ModelSettings{
		Provider:        cmp.Or(own.Provider, llm.ProviderInUse()),
		BaseURL:         own.BaseURL,
		APIKey:          own.APIKey,
		Model:           own.Model,
		Timeout:         cmp.Or(own.Timeout, llm.Timeout).Duration,
		Temperature:     cmp.Or(own.Temperature, llm.Temperature),
		MaxOutputTokens: cmp.Or(own.MaxOutputTokens, llm.MaxOutputTokens),
	}
	if m.Provider == "" && own.BaseURL != "" {
		m.Provider = ProviderOpenAI
	}
	if m.Provider == "" {
		return ModelSettings{}, fmt.Errorf("no model is configured: %w: set REVERIE_LLM_PROVIDER (gemini, openai or anthropic) and REVERIE_LLM_API_KEY, "+
			"or REVERIE_LLM_BASE_URL for an OpenAI-compatible server, or use --llm offline, a simple extractive baseline without network", reverie.ErrConfiguration)
	}
	if m.Provider == llm.ProviderInUse() {
		if m.BaseURL == "" {
			m.BaseURL = llm.BaseURL
		}
		if sameHost(m.BaseURL, llm.BaseURL) {
			m.APIKey = cmp.Or(m.APIKey, llm.APIKey)
			m.Model = cmp.Or(m.Model, llm.Model)
		}
	}
	if own.Provider != "" || own.BaseURL != "" {
		section = "llm." + use
	}
	m.Model = cmp.Or(m.Model, DefaultModels[m.Provider])
	if Keyless(m.Provider) {
		m.BaseURL, m.APIKey = "", ""
	}
	if err := needKey(section, m.Provider, m.BaseURL, m.APIKey); err != nil {
		return ModelSettings{}, err
	}
	return m, nil
}

// Embedding returns the embedding model: what [embed] sets, the rest from [llm]
// where the provider is the same; the key only where the host is, too. The
// error is a reverie.ErrConfiguration that names the settings to set: no
// provider, one without embeddings, or no key where one is needed.
func (c *Config) Embedding() (EmbedSettings, error) {
	llm, own := c.LLM, c.Embed
	e := EmbedSettings{
		Provider:      cmp.Or(own.Provider, llm.ProviderInUse()),
		BaseURL:       own.BaseURL,
		APIKey:        own.APIKey,
		Dimensions:    cmp.Or(own.Dimensions, defaultDimensions),
		DimensionsSet: own.Dimensions != 0 && c.origins.Origin("embed.dimensions").Layer != LayerDefault,
		Timeout:       own.Timeout.Duration,
		Batch:         own.Batch,
		Floor:         own.Floor,
		Ceiling:       own.Ceiling,
		Explicit:      own.Provider != "" || own.BaseURL != "" || own.APIKey != "" || own.Model != "",
	}
	if own.Provider == "" && own.BaseURL != "" && e.Provider != ProviderGemini {
		e.Provider = ProviderOpenAI // an address alone is an OpenAI-compatible server
	}
	switch e.Provider {
	case ProviderRecorded: // it has answers and no vectors
		e.Provider = ProviderOffline
	case "":
		return EmbedSettings{}, fmt.Errorf("no embedding model is configured: %w: set REVERIE_EMBED_PROVIDER (openai, gemini or offline) and REVERIE_EMBED_API_KEY, "+
			"or REVERIE_LLM_PROVIDER and REVERIE_LLM_API_KEY for both, or use --llm offline", reverie.ErrConfiguration)
	case ProviderAnthropic:
		return EmbedSettings{}, fmt.Errorf("anthropic has no embeddings: %w: set REVERIE_EMBED_PROVIDER to openai or gemini together with REVERIE_EMBED_API_KEY, "+
			"or to offline, which needs no key", reverie.ErrConfiguration)
	}
	section := "embed"
	if e.Provider == llm.ProviderInUse() {
		if e.BaseURL == "" {
			e.BaseURL = llm.BaseURL
		}
		if sameHost(e.BaseURL, llm.BaseURL) {
			e.APIKey = cmp.Or(e.APIKey, llm.APIKey)
		}
		if !e.Explicit {
			section = "llm"
		}
	}
	e.Model = cmp.Or(own.Model, DefaultEmbedModels[e.Provider])
	if e.Provider == ProviderOffline {
		e.BaseURL, e.APIKey = "", ""
	}
	if err := needKey(section, e.Provider, e.BaseURL, e.APIKey); err != nil {
		return EmbedSettings{}, err
	}
	return e, nil
}

// needKey refuses a model without a key, where it needs one.
func needKey(section, provider, baseURL string, key Secret) error {
	if key != "" || Keyless(provider) || provider == ProviderOpenAI && baseURL != "" {
		return nil
	}
	prefix := envPrefix + strings.ToUpper(strings.ReplaceAll(section, ".", "_"))
	hint := ""
	if provider == ProviderOpenAI {
		hint = fmt.Sprintf(", %s_BASE_URL for an OpenAI-compatible server without a key,", prefix)
	}
	return fmt.Errorf("%s needs a key: %w: set %s_API_KEY (or %s_API_KEY_FILE)%s or another %s_PROVIDER, "+
		"or use --llm offline, a simple extractive baseline without network", provider, reverie.ErrConfiguration, prefix, prefix, hint, prefix)
}

// sameHost tells whether two addresses of one provider may share a key: the same
// scheme and host name, any port and path.
func sameHost(a, b string) bool {
	if a == b {
		return true
	}
	u, errA := url.Parse(a)
	v, errB := url.Parse(b)
	return errA == nil && errB == nil && u.Hostname() != "" &&
		u.Scheme == v.Scheme && strings.EqualFold(u.Hostname(), v.Hostname())
}
