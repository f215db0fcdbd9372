package app

import (
	"strings"
	"testing"

	"reverie/internal/eval"
)

// TestVerdict says whether a model is fit.
func TestVerdict(t *testing.T) {
	good := func() eval.Report {
		r := eval.Report{Model: "openai/tiny", Scenarios: []eval.Result{{Name: "a"}}}
		r.Total.Right, r.Total.Points, r.Total.Nights, r.Total.Seconds = 9, 12, 5, 20
		r.Total.Facts, r.Total.Spend.OutputTokens = eval.Facts{Expected: 6, Right: 4}, 300
		r.Total.Percent.Percent = 75
		return r
	}
	said, fit := verdict(good(), map[string]int{"quote": 3, "form": 1, "prose": 3})
	if want := "openai/tiny is fit: 9 of 12 points, 4 of 6 facts, 5 nights; lines refused: prose 3, quote 3, form 1; " +
		"20 seconds, 15.0 tokens a second"; !fit || said != want {
		t.Errorf("%s, want\n%s", said, want)
	}
	for name, c := range map[string]struct {
		change func(*eval.Report)
		want   string
	}{
		"few points":      {func(r *eval.Report) { r.Total.Percent.Percent = 40 }, "9 of 12 points"},
		"it does nothing": {func(r *eval.Report) { r.Total.Facts.Right = 0 }, "0 of 6 facts"},
		"a night is lost": {func(r *eval.Report) { r.Total.Unusable = 1 }, "1 nights came to nothing, 0 scenarios broke off; lines refused: none"},
		"one broke off":   {func(r *eval.Report) { r.Scenarios[0].Error = "x" }, "0 nights came to nothing, 1 scenarios broke off"},
	} {
		bad := good()
		c.change(&bad)
		if said, fit := verdict(bad, nil); fit || !strings.Contains(said, c.want) || !strings.Contains(said, "is not fit") {
			t.Errorf("%s: %s", name, said)
		}
	}
}
