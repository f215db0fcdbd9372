package app

import (
	"strings"
	"testing"

	"reverie/internal/config"
	"reverie/internal/eval"
	"reverie/internal/llm"
	"reverie/internal/llm/openai"
)

// TestVerdict says whether a model is fit, and what to try where it is not.
func TestVerdict(t *testing.T) {
	good := func() trial {
		r := eval.Report{Model: "openai/tiny", Scenarios: []eval.Result{{Name: "a"}}}
		r.Total.Right, r.Total.Points, r.Total.Nights, r.Total.Seconds = 9, 12, 5, 20
		r.Total.Facts, r.Total.Spend.OutputTokens = eval.Facts{Expected: 6, Right: 4}, 300
		r.Total.Percent.Percent = 75
		return trial{report: r, refused: map[string]int{"quote": 3, "form": 1, "prose": 3},
			settings: config.ModelSettings{Provider: config.ProviderOpenAI, Lines: llm.LinesFree, Prompts: "auto"}}
	}
	said, fit := good().verdict()
	if want := "openai/tiny is fit: 9 of 12 points, 4 of 6 facts, 5 nights; lines refused: prose 3, quote 3, form 1; " +
		"20 seconds, 15.0 tokens a second"; !fit || said != want {
		t.Errorf("%s, want\n%s", said, want)
	}
	for name, c := range map[string]struct {
		change func(*trial)
		want   string
	}{
		"few points":      {func(t *trial) { t.report.Total.Percent.Percent = 40 }, `try [llm] lines = "schema"; else [llm] prompts = "small"; else a larger model`},
		"it does nothing": {func(t *trial) { t.report.Total.Facts.Right = 0 }, "0 of 6 facts"},
		"a night is lost": {func(t *trial) { t.report.Total.Unusable = 1 }, "1 nights came to nothing, 0 scenarios broke off"},
		"one broke off":   {func(t *trial) { t.report.Scenarios[0].Error = "x" }, "0 nights came to nothing, 1 scenarios broke off"},
		"llama.cpp":       {func(t *trial) { t.report.Total.Unusable, t.server = 1, openai.ServerLlamaCpp }, `try [llm] lines = "grammar"; else`},
		"all is set": {func(t *trial) {
			t.report.Total.Unusable, t.settings.Lines, t.settings.Prompts = 1, llm.LinesGrammar, "small"
		}, "; try a larger model"},
		"of another kind":    {func(t *trial) { t.report.Total.Unusable, t.settings.Provider = 1, config.ProviderGemini }, "; try a larger model"},
		"no line is refused": {func(t *trial) { t.report.Total.Unusable, t.refused = 1, nil }, "lines refused: none"},
	} {
		bad := good()
		c.change(&bad)
		if said, fit := bad.verdict(); fit || !strings.Contains(said, c.want) || !strings.Contains(said, "is not fit") {
			t.Errorf("%s: %s", name, said)
		}
	}
}
