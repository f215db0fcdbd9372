package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

func TestGeneration(t *testing.T) {
	temperature := 0.3
	base := ModelSettings{Timeout: 120 * time.Second, MaxOutputTokens: 8192, ServiceTier: "standard", Lines: "free", Prompts: "auto"}
	with := func(f func(*ModelSettings)) ModelSettings { m := base; f(&m); return m }
	tests := []struct {
		name  string
		toml  string
		env   []string
		flags map[string]string
		want  ModelSettings
		err   []string
	}{
		{name: "none", err: []string{"no model is configured: `reverie init`", "REVERIE_LLM_PROVIDER", "REVERIE_LLM_API_KEY"}},
		{name: "key alone", env: []string{"REVERIE_LLM_API_KEY=k"}, err: []string{"REVERIE_LLM_PROVIDER", "reverie init"}},
		{name: "no key", env: []string{"REVERIE_LLM_PROVIDER=gemini"}, err: []string{"gemini needs a key: `reverie init`", "REVERIE_LLM_API_KEY", "REVERIE_LLM_API_KEY_FILE"}},
		{name: "no key, openai", env: []string{"REVERIE_LLM_PROVIDER=openai"}, err: []string{"openai needs a key: `reverie init`", "REVERIE_LLM_API_KEY"}},
		{name: "no key, base_url of another protocol", env: []string{"REVERIE_LLM_PROVIDER=anthropic", "REVERIE_LLM_BASE_URL=http://h"}, err: []string{"REVERIE_LLM_API_KEY"}},
		{name: "gemini", env: []string{"REVERIE_LLM_PROVIDER=gemini", "REVERIE_LLM_API_KEY=k"},
			want: with(func(m *ModelSettings) { m.Provider, m.APIKey, m.Model = "gemini", "k", "gemini-2.5-flash" })},
		{name: "anthropic", env: []string{"REVERIE_LLM_PROVIDER=anthropic", "REVERIE_LLM_API_KEY=k"},
			want: with(func(m *ModelSettings) { m.Provider, m.APIKey, m.Model = "anthropic", "k", "claude-haiku-4-5" })},
		{name: "local server", env: []string{"REVERIE_LLM_PROVIDER=openai", "REVERIE_LLM_BASE_URL=http://localhost:11434/v1", "REVERIE_LLM_MODEL=qwen3"},
			want: with(func(m *ModelSettings) {
				m.Provider, m.BaseURL, m.Model = "openai", "http://localhost:11434/v1", "qwen3"
			})},
		{name: "base_url alone", env: []string{"REVERIE_LLM_BASE_URL=http://h/v1"},
			want: with(func(m *ModelSettings) { m.Provider, m.BaseURL, m.Model = "openai", "http://h/v1", "gpt-5-mini" })},
		{name: "offline", env: []string{"REVERIE_LLM_PROVIDER=offline", "REVERIE_LLM_API_KEY=k"},
			want: with(func(m *ModelSettings) { m.Provider, m.Model = "offline", "offline-extractive-v3" })},
		{name: "offline by flag over everything",
			toml:  "[llm]\nprovider = \"openai\"\nbase_url = \"http://h\"\n[llm.evolve]\nprovider = \"gemini\"\nmodel = \"m\"",
			env:   []string{"REVERIE_LLM_MODEL=gpt", "REVERIE_LLM_API_KEY_FILE=/gone", "REVERIE_LLM_EVOLVE_API_KEY=k"},
			flags: map[string]string{"llm.provider": "offline"},
			want:  with(func(m *ModelSettings) { m.Provider, m.Model = "offline", "offline-extractive-v3" })},
		{name: "another provider by flag has no grammar", toml: "[llm]\nbase_url = \"http://h/v1\"\nlines = \"grammar\"\ncontext_tokens = 4096",
			flags: map[string]string{"llm.provider": "offline"},
			want:  with(func(m *ModelSettings) { m.Provider, m.Model = "offline", "offline-extractive-v3" })},
		{name: "job: own model", toml: "[llm]\nprovider = \"gemini\"\napi_key = \"k\"\nmodel = \"big\"\ntemperature = 0.3\n[llm.evolve]\nmodel = \"small\"\ntimeout = \"5s\"\nmax_output_tokens = 100",
			want: ModelSettings{Provider: "gemini", APIKey: "k", Model: "small", Timeout: 5 * time.Second, MaxOutputTokens: 100, Temperature: &temperature, ServiceTier: "standard", Lines: "free", Prompts: "auto"}},
		{name: "job: flex", toml: "[llm]\nprovider = \"openai\"\napi_key = \"k\"\nflex_base_url = \"https://batch\"\n[llm.evolve]\nservice_tier = \"flex\"",
			want: with(func(m *ModelSettings) {
				m.Provider, m.APIKey, m.Model, m.ServiceTier, m.FlexBaseURL = "openai", "k", "gpt-5-mini", "flex", "https://batch"
			})},
		{name: "job: another server does not flex at that address", toml: "[llm]\nprovider = \"openai\"\napi_key = \"k\"\nservice_tier = \"flex\"\nflex_base_url = \"https://batch\"\n[llm.evolve]\nbase_url = \"http://h\"",
			want: with(func(m *ModelSettings) {
				m.Provider, m.BaseURL, m.Model, m.ServiceTier = "openai", "http://h", "gpt-5-mini", "flex"
			})},
		{name: "job: a provider without flex takes none over", toml: "[llm]\nprovider = \"openai\"\napi_key = \"k\"\nservice_tier = \"flex\"\n[llm.evolve]\nprovider = \"anthropic\"\napi_key = \"k\"",
			want: with(func(m *ModelSettings) { m.Provider, m.APIKey, m.Model = "anthropic", "k", "claude-haiku-4-5" })},
		{name: "flex where there is none", toml: "[llm]\nprovider = \"anthropic\"\napi_key = \"k\"\nservice_tier = \"flex\"",
			err: []string{"anthropic has no flex tier", "[llm] service_tier"}},
		{name: "job: own temperature", toml: "[llm]\nprovider = \"gemini\"\napi_key = \"k\"\ntemperature = 1\n[llm.evolve]\ntemperature = 0.3",
			want: with(func(m *ModelSettings) {
				m.Provider, m.APIKey, m.Model, m.Temperature = "gemini", "k", "gemini-2.5-flash", &temperature
			})},
		{name: "job: own provider, nothing of the other's", toml: "[llm]\nprovider = \"openai\"\nbase_url = \"http://h\"\napi_key = \"k\"\nmodel = \"m\"\n[llm.evolve]\nprovider = \"gemini\"\napi_key = \"g\"",
			want: with(func(m *ModelSettings) { m.Provider, m.APIKey, m.Model = "gemini", "g", "gemini-2.5-flash" })},
		{name: "job: own provider without key", toml: "[llm]\nprovider = \"openai\"\napi_key = \"k\"\n[llm.evolve]\nprovider = \"gemini\"",
			err: []string{"REVERIE_LLM_EVOLVE_API_KEY"}},
		{name: "job: another host gets no key", toml: "[llm]\nprovider = \"openai\"\napi_key = \"k\"\nmodel = \"m\"\n[llm.evolve]\nbase_url = \"http://elsewhere\"",
			want: with(func(m *ModelSettings) {
				m.Provider, m.BaseURL, m.Model = "openai", "http://elsewhere", "gpt-5-mini"
			})},
		{name: "job: another port does", toml: "[llm]\nprovider = \"openai\"\nbase_url = \"http://h:1/v1\"\napi_key = \"k\"\nmodel = \"m\"\n[llm.evolve]\nbase_url = \"http://H:2/v2\"",
			want: with(func(m *ModelSettings) {
				m.Provider, m.BaseURL, m.APIKey, m.Model = "openai", "http://H:2/v2", "k", "m"
			})},
		{name: "job: lines, context and prompts as [llm]", toml: "[llm]\nbase_url = \"http://h/v1\"\nmodel = \"m\"\nlines = \"grammar\"\ncontext_tokens = 4096\nprompts = \"small\"\n[llm.evolve]\ntimeout = \"2m\"",
			want: with(func(m *ModelSettings) {
				m.Provider, m.BaseURL, m.Model, m.Lines, m.ContextTokens, m.Prompts = "openai", "http://h/v1", "m", "grammar", 4096, "small"
			})},
		{name: "job: another model has another context", toml: "[llm]\nbase_url = \"http://h/v1\"\nmodel = \"m\"\nlines = \"grammar\"\ncontext_tokens = 4096\n[llm.evolve]\nmodel = \"n\"\nlines = \"schema\"",
			want: with(func(m *ModelSettings) {
				m.Provider, m.BaseURL, m.Model, m.Lines = "openai", "http://h/v1", "n", "schema"
			})},
		{name: "job: another provider has no grammar", toml: "[llm]\nbase_url = \"http://h/v1\"\nlines = \"grammar\"\n[llm.evolve]\nprovider = \"gemini\"\napi_key = \"g\"",
			want: with(func(m *ModelSettings) { m.Provider, m.APIKey, m.Model = "gemini", "g", "gemini-2.5-flash" })},
		{name: "job: another provider is told so", toml: "[llm.evolve]\nprovider = \"gemini\"\napi_key = \"g\"\nlines = \"schema\"",
			err: []string{`lines = "schema"`, "gemini", `set lines = "free"`}},
		{name: "job: no key in the clear", toml: "[llm]\nprovider = \"openai\"\nbase_url = \"https://h\"\napi_key = \"k\"\n[llm.evolve]\nbase_url = \"http://h\"",
			want: with(func(m *ModelSettings) { m.Provider, m.BaseURL, m.Model = "openai", "http://h", "gpt-5-mini" })},
		{name: "job: the only one", toml: "[llm.evolve]\nprovider = \"anthropic\"\napi_key = \"k\"",
			want: with(func(m *ModelSettings) { m.Provider, m.APIKey, m.Model = "anthropic", "k", "claude-haiku-4-5" })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, _ := mustLoad(t, tt.toml, tt.env, tt.flags)
			got, err := cfg.Generation("evolve")
			if wantError(t, err, tt.err) {
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// wantError checks err against the parts it must hold; true when there are any.
func wantError(t *testing.T, err error, parts []string) bool {
	t.Helper()
	if len(parts) == 0 {
		if err != nil {
			t.Fatal(err)
		}
		return false
	}
	if !errors.Is(err, reverie.ErrConfiguration) {
		t.Fatalf("error %v is no ErrConfiguration", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
	return true
}

// What a new fact is compared by, and people are observed by, follow [llm], or the
// only model there is.
func TestGenerationOfOtherUses(t *testing.T) {
	base := ModelSettings{Timeout: 120 * time.Second, MaxOutputTokens: 8192, ServiceTier: "standard", Lines: "free", Prompts: "auto"}
	with := func(f func(*ModelSettings)) ModelSettings { m := base; f(&m); return m }
	for _, tt := range []struct {
		name string
		toml string
		want ModelSettings
		err  []string
	}{
		{name: "as [llm], not as [llm.evolve]", toml: "[llm]\nprovider = \"gemini\"\napi_key = \"k\"\nmodel = \"big\"\n[llm.evolve]\nmodel = \"small\"",
			want: with(func(m *ModelSettings) { m.Provider, m.APIKey, m.Model = "gemini", "k", "big" })},
		{name: "own", toml: "[llm]\nprovider = \"gemini\"\napi_key = \"k\"\n[llm.compare]\nmodel = \"light\"\n[llm.observe]\nmodel = \"light\"",
			want: with(func(m *ModelSettings) { m.Provider, m.APIKey, m.Model = "gemini", "k", "light" })},
		{name: "only evolve has a model", toml: "[llm.evolve]\nprovider = \"anthropic\"\napi_key = \"k\"\nmodel = \"m\"",
			want: with(func(m *ModelSettings) { m.Provider, m.APIKey, m.Model = "anthropic", "k", "m" })},
		{name: "only evolve has an address", toml: "[llm]\napi_key = \"other\"\n[llm.evolve]\nbase_url = \"http://h/v1\"\nmodel = \"m\"\n[llm.compare]\nmodel = \"light\"\n[llm.observe]\nmodel = \"light\"",
			want: with(func(m *ModelSettings) { m.Provider, m.BaseURL, m.Model = "openai", "http://h/v1", "light" })},
		{name: "only evolve has a model, without its key", toml: "[llm.evolve]\nprovider = \"anthropic\"", err: []string{"REVERIE_LLM_EVOLVE_API_KEY"}},
		{name: "none", err: []string{"REVERIE_LLM_PROVIDER"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, _ := mustLoad(t, tt.toml, nil, nil)
			for _, use := range []string{UseCompare, UseObserve} {
				got, err := cfg.Generation(use)
				if wantError(t, err, tt.err) {
					continue
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s: %s", use, diff)
				}
			}
		})
	}
	cfg, _ := mustLoad(t, "[llm]\nprovider = \"gemini\"\napi_key = \"k\"\n[llm.compare]\nprovider = \"anthropic\"", nil, nil)
	if _, err := cfg.Generation(UseCompare); !wantError(t, err, []string{"REVERIE_LLM_COMPARE_API_KEY"}) {
		t.Error("a key of another provider was taken")
	}
}

// A use without a section of its own runs on [llm].
func TestGenerationOfOtherJobs(t *testing.T) {
	cfg, _ := mustLoad(t, "[llm]\nprovider = \"gemini\"\napi_key = \"k\"\nmodel = \"big\"\n[llm.evolve]\nmodel = \"small\"", nil, nil)
	for _, job := range []string{"", "dream"} {
		if m, err := cfg.Generation(job); err != nil || m.Model != "big" {
			t.Errorf("generation(%q) = %q, %v", job, m.Model, err)
		}
	}
}

func TestEmbedding(t *testing.T) {
	base := EmbedSettings{Dimensions: 1536, Timeout: time.Minute, Batch: 100}
	with := func(f func(*EmbedSettings)) EmbedSettings { e := base; f(&e); return e }
	offline := with(func(e *EmbedSettings) { e.Provider, e.Model = "offline", "offline-ngram-v1" })
	tests := []struct {
		name  string
		toml  string
		env   []string
		flags map[string]string
		want  EmbedSettings
		err   []string
	}{
		{name: "none", err: []string{"REVERIE_EMBED_PROVIDER", "--llm offline"}},
		{name: "anthropic has none", env: []string{"REVERIE_LLM_PROVIDER=anthropic", "REVERIE_LLM_API_KEY=k"}, err: []string{"anthropic has no embeddings", "REVERIE_EMBED_PROVIDER"}},
		{name: "inherited", env: []string{"REVERIE_LLM_PROVIDER=openai", "REVERIE_LLM_API_KEY=k", "REVERIE_LLM_BASE_URL=http://h", "REVERIE_LLM_MODEL=m"},
			want: with(func(e *EmbedSettings) {
				e.Provider, e.BaseURL, e.APIKey, e.Model = "openai", "http://h", "k", "text-embedding-3-small"
			})},
		{name: "inherited without key", env: []string{"REVERIE_LLM_PROVIDER=gemini"}, err: []string{"REVERIE_LLM_API_KEY"}},
		{name: "offline with [llm]", env: []string{"REVERIE_LLM_PROVIDER=offline"}, want: offline},
		{name: "own model", env: []string{"REVERIE_LLM_PROVIDER=gemini", "REVERIE_LLM_API_KEY=k", "REVERIE_EMBED_MODEL=e"},
			want: with(func(e *EmbedSettings) { e.Provider, e.APIKey, e.Model, e.Explicit = "gemini", "k", "e", true })},
		{name: "own provider", env: []string{"REVERIE_LLM_PROVIDER=anthropic", "REVERIE_LLM_API_KEY=k", "REVERIE_EMBED_PROVIDER=gemini", "REVERIE_EMBED_API_KEY=g"},
			want: with(func(e *EmbedSettings) {
				e.Provider, e.APIKey, e.Model, e.Explicit = "gemini", "g", "gemini-embedding-001", true
			})},
		{name: "own provider without key", env: []string{"REVERIE_LLM_PROVIDER=anthropic", "REVERIE_LLM_API_KEY=k", "REVERIE_EMBED_PROVIDER=gemini"}, err: []string{"REVERIE_EMBED_API_KEY"}},
		{name: "own address, no key for another host", env: []string{"REVERIE_LLM_PROVIDER=openai", "REVERIE_LLM_API_KEY=k", "REVERIE_EMBED_BASE_URL=http://localhost:11434/v1"},
			want: with(func(e *EmbedSettings) {
				e.Provider, e.BaseURL, e.Model, e.Explicit = "openai", "http://localhost:11434/v1", "text-embedding-3-small", true
			})},
		{name: "own address beside anthropic", env: []string{"REVERIE_LLM_PROVIDER=anthropic", "REVERIE_EMBED_BASE_URL=http://h"},
			want: with(func(e *EmbedSettings) {
				e.Provider, e.BaseURL, e.Model, e.Explicit = "openai", "http://h", "text-embedding-3-small", true
			})},
		{name: "width set, even to the default", env: []string{"REVERIE_LLM_PROVIDER=offline", "REVERIE_EMBED_DIMENSIONS=1536"},
			want: with(func(e *EmbedSettings) { e.Provider, e.Model, e.DimensionsSet = "offline", "offline-ngram-v1", true })},
		{name: "width 0 is unset", toml: "[llm]\nprovider = \"offline\"\n[embed]\ndimensions = 0", want: offline},
		{name: "calibration", toml: "[llm]\nprovider = \"offline\"\n[embed]\nfloor = 0.2\nceiling = 0.9",
			want: with(func(e *EmbedSettings) {
				e.Provider, e.Model, e.Floor, e.Ceiling = "offline", "offline-ngram-v1", 0.2, 0.9
			})},
		{name: "a table in a directory, beside another provider", toml: "[embed]\nprovider = \"local\"\nmodel = \"/models/e5\"",
			env:  []string{"REVERIE_LLM_PROVIDER=openai", "REVERIE_LLM_API_KEY=k", "REVERIE_LLM_BASE_URL=http://h"},
			want: with(func(e *EmbedSettings) { e.Provider, e.Model, e.Explicit = "local", "/models/e5", true })},
		{name: "a table that is not named", env: []string{"REVERIE_EMBED_PROVIDER=local"}, err: []string{"set REVERIE_EMBED_MODEL to the directory"}},
		{name: "--llm offline over everything",
			toml:  "[llm]\nprovider = \"gemini\"\n[embed]\nprovider = \"openai\"\nmodel = \"e\"\ndimensions = 512\nfloor = 0.1\nceiling = 0.2\nbatch = 7",
			env:   []string{"REVERIE_EMBED_BASE_URL=http://h", "REVERIE_EMBED_API_KEY_FILE=/gone"},
			flags: map[string]string{"llm.provider": "offline"},
			want: with(func(e *EmbedSettings) {
				e.Provider, e.Model, e.Batch, e.Explicit = "offline", "offline-ngram-v1", 7, true
			})},
		{name: "--llm offline with embeddings by flag",
			toml:  "[embed]\nprovider = \"openai\"\nmodel = \"e\"",
			env:   []string{"REVERIE_EMBED_API_KEY=k"},
			flags: map[string]string{"llm.provider": "offline", "embed.provider": "openai"},
			want: with(func(e *EmbedSettings) {
				e.Provider, e.APIKey, e.Model, e.Explicit = "openai", "k", "e", true
			})},
		{name: "another --llm leaves embeddings alone",
			toml:  "[embed]\nprovider = \"openai\"\nmodel = \"e\"\napi_key = \"k\"",
			flags: map[string]string{"llm.provider": "gemini"},
			want: with(func(e *EmbedSettings) {
				e.Provider, e.APIKey, e.Model, e.Explicit = "openai", "k", "e", true
			})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, _ := mustLoad(t, tt.toml, tt.env, tt.flags)
			got, err := cfg.Embedding()
			if wantError(t, err, tt.err) {
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What belongs to a provider goes when a stronger layer names another one.
func TestProviderTakesItsOwnAlong(t *testing.T) {
	const file = `
[llm]
provider = "gemini"
api_key = "gemini-key"
model = "gemini-2.5-pro"
timeout = "9s"
[llm.evolve]
model = "gemini-2.5-flash-lite"
`
	cfg, prov, warnings, err := load(t, file, []string{"REVERIE_LLM_PROVIDER=openai", "REVERIE_LLM_API_KEY=k"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := cfg.Generation("evolve")
	if err != nil {
		t.Fatal(err)
	}
	want := ModelSettings{Provider: "openai", APIKey: "k", Model: "gpt-5-mini", Timeout: 9 * time.Second, MaxOutputTokens: 8192, ServiceTier: "standard", Lines: "free", Prompts: "auto"}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	if got := prov.Origin("llm.model").String(); got != "default" {
		t.Errorf("llm.model comes from %s", got)
	}
	wantWarnings := []string{
		"REVERIE_LLM_PROVIDER chooses openai: left out, as set for another provider: llm.api_key (reverie.toml:4), llm.model (reverie.toml:5)",
		"REVERIE_LLM_PROVIDER chooses openai: left out, as set for another provider: llm.evolve.model (reverie.toml:8)",
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Error(diff)
	}

	t.Run("the same provider keeps them", func(t *testing.T) {
		cfg, _ := mustLoad(t, file, []string{"REVERIE_LLM_PROVIDER=gemini"}, nil)
		if m, err := cfg.Generation("evolve"); err != nil || m.APIKey != "gemini-key" || m.Model != "gemini-2.5-flash-lite" {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("a provider where none was named keeps them", func(t *testing.T) {
		cfg, _ := mustLoad(t, "[llm]\napi_key = \"k\"\nmodel = \"m\"", nil, map[string]string{"llm.provider": "anthropic"})
		if m, err := cfg.Generation(""); err != nil || m.APIKey != "k" || m.Model != "m" {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("embeddings that follow [llm]", func(t *testing.T) {
		cfg, _, warnings, err := load(t, "[llm]\nprovider = \"gemini\"\n[embed]\nmodel = \"g\"\nfloor = 0.1\nceiling = 0.2",
			[]string{"REVERIE_LLM_PROVIDER=openai", "REVERIE_LLM_API_KEY=k"}, nil)
		if err != nil || len(warnings) != 1 {
			t.Fatal(err, warnings)
		}
		if e, err := cfg.Embedding(); err != nil || e.Model != "text-embedding-3-small" || e.Ceiling != 0 {
			t.Errorf("%+v, %v", e, err)
		}
	})
	t.Run("a job's server without [llm], by flag", func(t *testing.T) {
		cfg, _ := mustLoad(t, "[llm.evolve]\nbase_url = \"http://h\"\nmodel = \"m\"", nil, map[string]string{"llm.provider": "offline"})
		if m, err := cfg.Generation("evolve"); err != nil || m.Model != "offline-extractive-v3" || m.BaseURL != "" {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("embeddings, with what describes the model", func(t *testing.T) {
		const file = "[embed]\nprovider = \"openai\"\nmodel = \"e\"\ndimensions = 512\nfloor = 0.1\nceiling = 0.2\nbatch = 7"
		cfg, _, warnings, err := load(t, file, []string{"REVERIE_EMBED_PROVIDER=offline"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"REVERIE_EMBED_PROVIDER chooses offline: left out, as set for another provider: embed.model (reverie.toml:3), " +
			"embed.dimensions (reverie.toml:4), embed.floor (reverie.toml:5), embed.ceiling (reverie.toml:6)"}
		if diff := cmp.Diff(want, warnings); diff != "" {
			t.Error(diff)
		}
		got := cfg.Embed
		if got.Model != "" || got.Dimensions != 1536 || got.Floor != 0 || got.Ceiling != 0 || got.Batch != 7 {
			t.Errorf("embed is %+v", got)
		}
	})
}
