package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// The providers.
const (
	ProviderOpenAI    = "openai"
	ProviderGemini    = "gemini"
	ProviderAnthropic = "anthropic"
	ProviderOffline   = "offline"  // no network, no key
	ProviderRecorded  = "recorded" // answers from a file
	ProviderLocal     = "local"    // embeddings by a table in a directory
)

// What a provider's models are unless the operator names others.
var (
	DefaultModels = map[string]string{
		ProviderOpenAI:    "gpt-5-mini",
		ProviderGemini:    "gemini-2.5-flash",
		ProviderAnthropic: "claude-haiku-4-5",
		ProviderOffline:   "offline-extractive-v3",
		ProviderRecorded:  "answers",
	}
	DefaultEmbedModels = map[string]string{
		ProviderOpenAI:  "text-embedding-3-small",
		ProviderGemini:  "gemini-embedding-001",
		ProviderOffline: "offline-ngram-v1",
	}
)

// defaultDimensions is the width that is asked for when none is set.
const defaultDimensions = 1536

// Keyless tells the providers that ask nobody: they need no address and no key, and
// cost nothing.
func Keyless(provider string) bool {
	return provider == ProviderOffline || provider == ProviderRecorded || provider == ProviderLocal
}

// ModelSettings is a generating model, complete: nothing is left to inherit.
type ModelSettings struct {
	Provider        string // openai, gemini, anthropic, offline or recorded
	BaseURL         string // "" = the provider's own
	APIKey          Secret // "" where none is needed
	Model           string
	ServiceTier     string        // standard or flex
	FlexBaseURL     string        // that answers flex calls; "" = BaseURL
	Timeout         time.Duration // of one call
	Temperature     *float64      // nil = not sent
	MaxOutputTokens int
}

// EmbedSettings is an embedding model, complete.
type EmbedSettings struct {
	Provider      string // openai, gemini, offline or local
	BaseURL       string // "" = the provider's own
	APIKey        Secret
	Model         string
	Dimensions    int           // the width to ask for
	DimensionsSet bool          // the operator chose it: another width is an error
	Timeout       time.Duration // of one call
	Batch         int           // texts of one call
	Floor         float64       // calibration; with Ceiling 0 too: as it is measured
	Ceiling       float64
	Explicit      bool // [embed] names the endpoint or model; an inherited endpoint may lack embeddings
}

// ProviderInUse is the provider: a base_url alone means an OpenAI-compatible server.
func (m JobConfig) ProviderInUse() string {
	if m.Provider == "" && m.BaseURL != "" {
		return ProviderOpenAI
	}
	return m.Provider
}

// follow completes a model by that of [llm] where the provider is the same; the key and
// the model only where the host is, too, so that a key is never sent where it does not
// belong.
func (m *JobConfig) follow(llm JobConfig) {
	if m.Provider != llm.ProviderInUse() {
		return
	}
	m.BaseURL = cmp.Or(m.BaseURL, llm.BaseURL)
	if sameHost(m.BaseURL, llm.BaseURL) {
		m.APIKey = cmp.Or(m.APIKey, llm.APIKey)
		m.Model = cmp.Or(m.Model, llm.Model)
	}
}

// What models are asked for: each is the purpose of its calls in the ledger, and all
// but the last have a section below [llm].
const (
	UseEvolve  = "evolve"
	UseCompare = "compare" // a new fact with memories
	UseObserve = "observe" // people and things
	UseExtract = "extract" // sessions
	UseFold    = "summarize"
	UseDream   = "dream"
	UseAsk     = "ask" // a person's question; as [llm]
)

// of returns the overrides of a use, none for one without a section.
func (l *LLMConfig) of(use string) JobConfig {
	return map[string]JobConfig{UseEvolve: l.Evolve, UseCompare: l.Compare, UseObserve: l.Observe,
		UseExtract: l.Extract, UseFold: l.Summarize, UseDream: l.Dream}[use]
}

// Why there is no model for a job: the offline baseline cannot do it, or none is named.
// Each is a [reverie.ErrConfiguration].
var (
	ErrNeedsModel error = problemError("offline cannot do this; it needs a model")
	ErrNoModel    error = problemError("no model is configured")
)

// Generation returns the model for a use ("" for [llm] itself): what [llm.<use>]
// sets, the rest from [llm]. Where [llm] names no model and only [llm.evolve] does,
// that is the model of all uses. The error is a reverie.ErrConfiguration that names the
// settings to set: [ErrNoModel], no key where one is needed, or [ErrNeedsModel].
func (c *Config) Generation(use string) (ModelSettings, error) {
	llm, m, section := c.LLM.JobConfig, c.LLM.of(use), "llm"
	switch e := c.LLM.Evolve; {
	case m.ProviderInUse() != "":
		section = "llm." + use
	case use != "" && llm.ProviderInUse() == "" && e.ProviderInUse() != "":
		section = "llm." + UseEvolve
		llm.Provider, llm.BaseURL, llm.APIKey, llm.Model = e.Provider, e.BaseURL, e.APIKey, e.Model
	}
	m.Provider = cmp.Or(m.Provider, llm.ProviderInUse(), m.ProviderInUse())
	if m.Provider == "" {
		return ModelSettings{}, fmt.Errorf("%w: `reverie init` sets one up, or set REVERIE_LLM_PROVIDER and "+
			"REVERIE_LLM_API_KEY", ErrNoModel)
	}
	if m.Provider == ProviderOffline && slices.Contains([]string{UseObserve, UseExtract, UseFold, UseDream, UseAsk}, use) {
		return ModelSettings{}, fmt.Errorf("%s: %w: `reverie init` sets one up; or set REVERIE_LLM_PROVIDER and "+
			"REVERIE_LLM_API_KEY, and leave out --llm offline", use, ErrNeedsModel)
	}
	m.follow(llm)
	if err := m.complete(section, DefaultModels); err != nil {
		return ModelSettings{}, err
	}
	tier := cmp.Or(m.ServiceTier, llm.ServiceTier)
	switch {
	case tier != "flex", m.Provider == ProviderGemini, m.Provider == ProviderOpenAI:
	case c.LLM.of(use).ServiceTier == "flex" || use == "" || c.LLM.of(use).ProviderInUse() == "":
		return ModelSettings{}, problemError(fmt.Sprintf("%s has no flex tier: set [%s] service_tier to standard, or use "+
			"gemini or openai", m.Provider, section))
	default: // that of [llm] is for its own provider
		tier = "standard"
	}
	flexURL := ""
	if m.Provider == llm.ProviderInUse() && m.BaseURL == llm.BaseURL { // the address is that server's
		flexURL = c.LLM.FlexBaseURL
	}
	return ModelSettings{Provider: m.Provider, BaseURL: m.BaseURL, APIKey: m.APIKey, Model: m.Model,
		ServiceTier: tier, FlexBaseURL: flexURL,
		Timeout:         cmp.Or(m.Timeout, llm.Timeout).Duration,
		Temperature:     cmp.Or(m.Temperature, llm.Temperature),
		MaxOutputTokens: cmp.Or(m.MaxOutputTokens, llm.MaxOutputTokens)}, nil
}

// Embedding returns the embedding model: what [embed] sets, the rest from [llm]
// where the provider is the same; the key only where the host is, too. The
// error is a reverie.ErrConfiguration that names the settings to set: no
// provider, one without embeddings, or no key where one is needed.
func (c *Config) Embedding() (EmbedSettings, error) {
	llm, own := c.LLM.JobConfig, c.Embed
	m := JobConfig{BaseURL: own.BaseURL, APIKey: own.APIKey, Model: own.Model,
		Provider: cmp.Or(own.Provider, llm.ProviderInUse())}
	if own.Provider == "" && own.BaseURL != "" && m.Provider != ProviderGemini {
		m.Provider = ProviderOpenAI // an address alone is an OpenAI-compatible server
	}
	switch m.Provider {
	case "":
		return EmbedSettings{}, problemError("no embedding model is configured: set REVERIE_EMBED_PROVIDER (openai, gemini, " +
			"offline or local) and REVERIE_EMBED_API_KEY, or REVERIE_LLM_PROVIDER and REVERIE_LLM_API_KEY for both, " +
			"or use --llm offline")
	case ProviderRecorded: // it has answers and no vectors
		m.Provider = ProviderOffline
	case ProviderAnthropic:
		return EmbedSettings{}, problemError("anthropic has no embeddings: set REVERIE_EMBED_PROVIDER to openai or " +
			"gemini together with REVERIE_EMBED_API_KEY, or to offline, which needs no key")
	}
	explicit, section := m.Model != "" || own.Provider != "" || own.BaseURL != "" || own.APIKey != "", "embed"
	if !explicit {
		section = "llm"
	}
	llm.Model = "" // which generates
	m.follow(llm)
	if err := m.complete(section, DefaultEmbedModels); err != nil {
		return EmbedSettings{}, err
	}
	return EmbedSettings{Provider: m.Provider, BaseURL: m.BaseURL, APIKey: m.APIKey, Model: m.Model,
		Dimensions:    cmp.Or(own.Dimensions, defaultDimensions),
		DimensionsSet: own.Dimensions != 0 && c.origins.Origin("embed.dimensions").Layer != LayerDefault,
		Timeout:       own.Timeout.Duration,
		Batch:         own.Batch, Floor: own.Floor, Ceiling: own.Ceiling, Explicit: explicit}, nil
}

// complete fills in the provider's own model, and refuses one without a key where it
// needs one. Offline has neither key nor address.
func (m *JobConfig) complete(section string, models map[string]string) error {
	m.Model = cmp.Or(m.Model, models[m.Provider])
	switch {
	case m.Provider == ProviderLocal && m.Model == "":
		return problemError("local needs a model: set REVERIE_EMBED_MODEL to the directory that holds its " +
			"model.safetensors and tokenizer.json")
	case Keyless(m.Provider):
		m.BaseURL, m.APIKey = "", ""
		return nil
	case m.APIKey != "", m.Provider == ProviderOpenAI && m.BaseURL != "":
		return nil
	}
	key := envPrefix + strings.ToUpper(strings.ReplaceAll(section, ".", "_")) + "_API_KEY"
	return problemError(fmt.Sprintf("%s needs a key: `reverie init` asks for it, or set %s or %s_FILE", m.Provider, key, key))
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

// Never is how a variable, which counts as unset when it is empty, says that a job
// is not started.
const Never = "never"

// specOf reads when a job is started; the zero spec is never.
func specOf(text string) (jobs.Spec, error) {
	if text == "" || text == Never {
		return jobs.Spec{}, nil
	}
	return jobs.ParseSpec(text)
}

// LimitsUSD tells whether somebody has said what may be spent in USD.
func (c *Config) LimitsUSD() bool {
	b := c.Budget
	return b.USDPerRun != 0 || b.USDPerDay != 0 && c.origins.Origin("budget.usd_per_day").Layer != LayerDefault
}

// JobSchedule is when one job of [schedule] starts; the zero spec is never.
type JobSchedule struct {
	Job  reverie.Job
	Spec jobs.Spec
}

// Schedules reads [schedule], in its order. The error is a reverie.ErrConfiguration.
func (c *Config) Schedules() ([]JobSchedule, error) {
	var list []JobSchedule
	for _, j := range []struct{ job, text string }{
		{"evolve", c.Schedule.Evolve}, {"extract", c.Schedule.Extract},
		{"dream", c.Schedule.Dream}, {"maintain", c.Schedule.Maintain},
	} {
		spec, err := specOf(j.text)
		if err != nil {
			return nil, fmt.Errorf("[schedule] %s: %w: %w", j.job, reverie.ErrConfiguration, err)
		}
		list = append(list, JobSchedule{reverie.Job(j.job), spec})
	}
	return list, nil
}
