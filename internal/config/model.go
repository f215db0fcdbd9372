package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	models "reverie/internal/llm"
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
	ProviderLocal     = "local"    // embeddings from a table in a directory
)

// The default models of a provider.
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

// defaultDimensions is the width that is requested if none is configured.
const defaultDimensions = 1536

// Keyless reports whether a provider calls no server: it needs no address and no key, and costs nothing.
func Keyless(provider string) bool {
	return provider == ProviderOffline || provider == ProviderRecorded || provider == ProviderLocal
}

// ModelSettings are the complete settings of a generating model, without inheritance.
type ModelSettings struct {
	Provider        string // openai, gemini, anthropic, offline or recorded
	BaseURL         string // "" = the provider's default
	APIKey          Secret // "" if none is needed
	Model           string
	ServiceTier     string        // standard or flex
	FlexBaseURL     string        // address for flex calls; "" = BaseURL
	Timeout         time.Duration // of one call
	Temperature     *float64      // nil = not sent
	MaxOutputTokens int
	ContextTokens   int          // of question and answer; 0 = ask the server
	Lines           models.Lines // how answers are restricted to the form of their lines
	Prompts         string       // auto, full or small
}

// EmbedSettings are the complete settings of an embedding model.
type EmbedSettings struct {
	Provider      string // openai, gemini, offline or local
	BaseURL       string // "" = the provider's default
	APIKey        Secret
	Model         string
	Dimensions    int           // the requested width
	DimensionsSet bool          // Dimensions is configured: another width is an error
	Timeout       time.Duration // of one call
	Batch         int           // texts of one call
	Floor         float64       // calibration; with Ceiling also 0: as measured
	Ceiling       float64
	Explicit      bool // [embed] names the endpoint or model; an inherited endpoint may have no embeddings
}

// ProviderInUse returns the provider: a base_url alone means an OpenAI-compatible server.
func (m JobConfig) ProviderInUse() string {
	if m.Provider == "" && m.BaseURL != "" {
		return ProviderOpenAI
	}
	return m.Provider
}

// follow fills empty fields from [llm] if the provider is the same. It copies the key and the model only if the
// host is the same too, so that no key is sent to another host.
func (m *JobConfig) follow(llm JobConfig) {
	if m.Provider != llm.ProviderInUse() {
		return
	}
	m.BaseURL, m.Lines = cmp.Or(m.BaseURL, llm.BaseURL), cmp.Or(m.Lines, llm.Lines)
	if sameHost(m.BaseURL, llm.BaseURL) {
		m.APIKey = cmp.Or(m.APIKey, llm.APIKey)
		m.Model = cmp.Or(m.Model, llm.Model)
		if m.Model == llm.Model && m.BaseURL == llm.BaseURL {
			m.ContextTokens = cmp.Or(m.ContextTokens, llm.ContextTokens)
		}
	}
}

// The uses of models. Each is the purpose of its calls in the ledger; all but the last have a section below [llm].
const (
	UseEvolve  = "evolve"
	UseCompare = "compare" // compares a new fact with memories
	UseObserve = "observe" // observes people and things
	UseExtract = "extract" // sessions
	UseFold    = "summarize"
	UseDream   = "dream"
	UseAsk     = "ask" // answers a person's question; configured by [llm]
)

// of returns the overrides of a use, none if it has no section.
func (l *LLMConfig) of(use string) JobConfig {
	return map[string]JobConfig{UseEvolve: l.Evolve, UseCompare: l.Compare, UseObserve: l.Observe,
		UseExtract: l.Extract, UseFold: l.Summarize, UseDream: l.Dream}[use]
}

// Why a job has no model: the offline baseline cannot do the job, or no model is named. Each is a
// [reverie.ErrConfiguration].
var (
	ErrNeedsModel error = problemError("offline cannot do this; it needs a model")
	ErrNoModel    error = problemError("no model is configured")
)

// Generation returns the model of a use ("" for [llm] itself): the fields of [llm.<use>], and [llm] for the others.
// If [llm] names no model and only [llm.evolve] does, that model is for all uses. The error is a
// reverie.ErrConfiguration that names the settings to set: [ErrNoModel], a missing key, or [ErrNeedsModel].
func (c *Config) Generation(use string) (ModelSettings, error) {
	llm, m, section := c.LLM.JobConfig, c.LLM.of(use), "llm"
	switch e := c.LLM.Evolve; {
	case m.ProviderInUse() != "":
		section = "llm." + use
	case use != "" && llm.ProviderInUse() == "" && e.ProviderInUse() != "":
		section = "llm." + UseEvolve
		llm.Provider, llm.BaseURL, llm.APIKey, llm.Model = e.Provider, e.BaseURL, e.APIKey, e.Model
		llm.ContextTokens, llm.Lines = e.ContextTokens, cmp.Or(e.Lines, llm.Lines)
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
	if m.Provider != ProviderOpenAI && m.Lines != "" && m.Lines != string(models.LinesFree) {
		return ModelSettings{}, problemError(fmt.Sprintf("[%s] lines = %q is for the provider openai: %s knows nothing "+
			"like it; set lines = \"free\"", section, m.Lines, m.Provider))
	}
	tier := cmp.Or(m.ServiceTier, llm.ServiceTier)
	switch {
	case tier != "flex", m.Provider == ProviderGemini, m.Provider == ProviderOpenAI:
	case c.LLM.of(use).ServiceTier == "flex" || use == "" || c.LLM.of(use).ProviderInUse() == "":
		return ModelSettings{}, problemError(fmt.Sprintf("%s has no flex tier: set [%s] service_tier to standard, or use "+
			"gemini or openai", m.Provider, section))
	default: // the setting of [llm] is for its own provider
		tier = "standard"
	}
	flexURL := ""
	if m.Provider == llm.ProviderInUse() && m.BaseURL == llm.BaseURL { // the address is that of the same server
		flexURL = c.LLM.FlexBaseURL
	}
	return ModelSettings{Provider: m.Provider, BaseURL: m.BaseURL, APIKey: m.APIKey, Model: m.Model,
		ServiceTier: tier, FlexBaseURL: flexURL,
		Timeout:         cmp.Or(m.Timeout, llm.Timeout).Duration,
		Temperature:     cmp.Or(m.Temperature, llm.Temperature),
		MaxOutputTokens: cmp.Or(m.MaxOutputTokens, llm.MaxOutputTokens), ContextTokens: m.ContextTokens,
		Lines: cmp.Or(models.Lines(m.Lines), models.LinesFree), Prompts: cmp.Or(m.Prompts, llm.Prompts)}, nil
}

// Embedding returns the embedding model: the fields of [embed], and [llm] for the others if the provider is the
// same; the key only if the host is the same too. The error is a reverie.ErrConfiguration that names the settings
// to set: no provider, one without embeddings, or a missing key.
func (c *Config) Embedding() (EmbedSettings, error) {
	llm, own := c.LLM.JobConfig, c.Embed
	m := JobConfig{BaseURL: own.BaseURL, APIKey: own.APIKey, Model: own.Model,
		Provider: cmp.Or(own.Provider, llm.ProviderInUse())}
	if own.Provider == "" && own.BaseURL != "" && m.Provider != ProviderGemini {
		m.Provider = ProviderOpenAI // an address alone means an OpenAI-compatible server
	}
	switch m.Provider {
	case "":
		return EmbedSettings{}, problemError("no embedding model is configured: set REVERIE_EMBED_PROVIDER (openai, gemini, " +
			"offline or local) and REVERIE_EMBED_API_KEY, or REVERIE_LLM_PROVIDER and REVERIE_LLM_API_KEY for both, " +
			"or use --llm offline")
	case ProviderRecorded: // recordings contain answers, but no vectors
		m.Provider = ProviderOffline
	case ProviderAnthropic:
		return EmbedSettings{}, problemError("anthropic has no embeddings: set REVERIE_EMBED_PROVIDER to openai or " +
			"gemini together with REVERIE_EMBED_API_KEY, or to offline, which needs no key")
	}
	explicit, section := m.Model != "" || own.Provider != "" || own.BaseURL != "" || own.APIKey != "", "embed"
	if !explicit {
		section = "llm"
	}
	llm.Model = "" // it is a generating model
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

// complete fills in the provider's default model, and fails if a required key is missing. Offline has neither key
// nor address.
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

// sameHost reports whether two addresses of one provider may share a key: same scheme and host name, any port and
// path.
func sameHost(a, b string) bool {
	if a == b {
		return true
	}
	u, errA := url.Parse(a)
	v, errB := url.Parse(b)
	return errA == nil && errB == nil && u.Hostname() != "" &&
		u.Scheme == v.Scheme && strings.EqualFold(u.Hostname(), v.Hostname())
}

// Never disables a job in an environment variable, where an empty value counts as unset.
const Never = "never"

// specOf parses when a job starts; the zero spec is never.
func specOf(text string) (jobs.Spec, error) {
	if text == "" || text == Never {
		return jobs.Spec{}, nil
	}
	return jobs.ParseSpec(text)
}

// LimitsUSD reports whether a limit in USD is configured.
func (c *Config) LimitsUSD() bool {
	b := c.Budget
	return b.USDPerRun != 0 || b.USDPerDay != 0 && c.origins.Origin("budget.usd_per_day").Layer != LayerDefault
}

// JobSchedule is when one job of [schedule] starts; the zero spec is never.
type JobSchedule struct {
	Job  reverie.Job
	Spec jobs.Spec
}

// Schedules parses [schedule], in its order. The error is a reverie.ErrConfiguration.
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
