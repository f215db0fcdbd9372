package app

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// TestDivide: a context that is not known changes nothing; one that is known is never exceeded,
// and a part of it stays free.
func TestDivide(t *testing.T) {
	for _, c := range []struct{ context, input, output, in, out int }{
		{0, 12000, 8192, 12000, 8192},
		{1 << 20, 12000, 8192, 12000, 8192},
		{24000, 12000, 8192, 12000, 8192},
		{16384, 12000, 8192, 10752, 3584},
		{8192, 12000, 8192, 5376, 1792},
		{4096, 12000, 8192, 2688, 896},
		{4096, 12000, 256, 3328, 256},
		{4096, 2000, 8192, 2000, 1584},
	} {
		in, out := divide(c.context, c.input, c.output)
		if in != c.in || out != c.out || c.context > 0 && in+out > c.context-c.context/8 {
			t.Errorf("%+v: %d and %d", c, in, out)
		}
	}
}

// TestRoom fits questions to what a server says, or to what is set.
func TestRoom(t *testing.T) {
	t.Parallel()
	set, err := prompts.Open("")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		option   llmtest.Option
		settings config.ModelSettings
		prompt   string // that is rendered
		input    int
		shown    int
		err      string
	}{
		"llama.cpp, a small context": {llmtest.AsLlamaCpp("m", 4096), config.ModelSettings{}, "memory_evolve.small.zh", 2688, 0, ""},
		"Ollama's default":           {llmtest.AsOllama("m", 131072, ""), config.ModelSettings{}, "memory_evolve.small.zh", 2688, 0, ""},
		"vLLM, a long one":           {llmtest.AsVLLM("m", 131072), config.ModelSettings{}, "memory_evolve.zh", 12000, 50, ""},
		"8k: full prompts fit":       {llmtest.AsLlamaCpp("m", 8192), config.ModelSettings{}, "memory_evolve.zh", 5376, 12, ""},
		"8k, small ones wanted":      {llmtest.AsLlamaCpp("m", 8192), config.ModelSettings{Prompts: "small"}, "memory_evolve.small.zh", 5376, 0, ""},
		"full ones wanted":           {llmtest.AsLlamaCpp("m", 4096), config.ModelSettings{Prompts: "full"}, "memory_evolve.zh", 2688, 3, ""},
		"set, whatever it says":      {llmtest.AsLlamaCpp("m", 4096), config.ModelSettings{ContextTokens: 131072}, "memory_evolve.zh", 12000, 50, ""},
		"it does not say":            {llmtest.WithDims(8), config.ModelSettings{}, "memory_evolve.zh", 12000, 50, ""},
		"too short": {llmtest.AsLlamaCpp("m", 2048), config.ModelSettings{Prompts: "full"}, "", 0, 0,
			"m reads 2048 tokens, and of them the prompt memory_evolve takes"},
		"no grammars": {llmtest.AsOllama("m", 4096, ""), config.ModelSettings{Lines: llm.LinesGrammar}, "", 0, 0, `set [llm] lines = "schema"`},
	} {
		srv := llmtest.New(t, c.option)
		a := &App{Config: &config.Config{}, Clock: time.Now, Log: slog.New(slog.DiscardHandler)}
		s := c.settings
		s.Provider, s.BaseURL, s.Model, s.MaxOutputTokens = config.ProviderOpenAI, srv.URL("openai"), "m", 8192
		r, err := a.room(t.Context(), s, prompts.MemoryEvolve, set, 12000)
		if c.err != "" {
			if !errors.Is(err, reverie.ErrConfiguration) || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || r.input != c.input || r.shown != c.shown {
			t.Errorf("%s: %d tokens and %d memories (%v), want %d and %d", name, r.input, r.shown, err, c.input, c.shown)
			continue
		}
		if got, err := r.set.Render(prompts.Chinese, prompts.EvolveSystem{}, prompts.EvolveUser{}); err != nil || got.Name != c.prompt {
			t.Errorf("%s: %s is asked (%v), want %s", name, got.Name, err, c.prompt)
		}
		if few := r.messages == fewMessages; few != strings.Contains(c.prompt, ".small.") {
			t.Errorf("%s: %d messages are asked about by %s", name, r.messages, c.prompt)
		}
	}
}

// TestServedIsAskedAgain: what a server has said counts for a while; one that did not answer is
// asked the next time.
func TestServedIsAskedAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 15, 3, 0, 0, 0, time.UTC)
	a := &App{Config: &config.Config{}, Clock: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	short, long := llmtest.New(t, llmtest.AsLlamaCpp("m", 4096)), llmtest.New(t, llmtest.AsLlamaCpp("m", 8192))
	s := config.ModelSettings{Provider: config.ProviderOpenAI, BaseURL: short.URL("openai"), Model: "m"}
	if _, tokens := a.served(t.Context(), s); tokens != 4096 {
		t.Errorf("%d tokens", tokens)
	}
	a.servers[long.URL("openai")+" m"] = serving{"llama.cpp", 4096, now}
	s.BaseURL = long.URL("openai")
	if _, tokens := a.served(t.Context(), s); tokens != 4096 {
		t.Errorf("at once: %d tokens", tokens)
	}
	now = now.Add(servedFor)
	if _, tokens := a.served(t.Context(), s); tokens != 8192 {
		t.Errorf("later: %d tokens", tokens)
	}
	silent := llmtest.New(t)
	s.BaseURL = silent.URL("openai")
	if _, tokens := a.served(t.Context(), s); tokens != 0 || len(a.servers) != 2 {
		t.Errorf("%d tokens, %d servers are remembered", tokens, len(a.servers))
	}
}
