package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"reverie/internal/config"
	"reverie/internal/eval"
	"reverie/internal/llm"
	"reverie/internal/llm/openai"
)

// contextNote says how long the model's context is, if that is known.
func (a *App) contextNote(ctx context.Context, s config.ModelSettings) string {
	server, tokens := a.served(ctx, s)
	if tokens == 0 {
		return ""
	}
	return fmt.Sprintf(", and reads %d tokens%s", tokens, map[bool]string{true: " (" + server + ")"}[server != ""])
}

// fitPercent is the minimum score of a fit model, and the minimum share of facts that it finds: doing nothing earns
// some points.
const fitPercent = 50

// TryModel plays the built-in scenarios with the model of evolve and says whether it is fit.
func (a *App) TryModel(ctx context.Context, playing func(i, n int, name string)) Finding {
	const check = "trial of the model"
	failed := func(err error) Finding { return Finding{Check: check, Detail: err.Error(), Err: err} }
	list, err := eval.BuiltIn()
	if err != nil {
		return failed(err)
	}
	refused := map[string]int{}
	report, err := a.PlayScenarios(ctx, list, PlayOptions{K: 5, Playing: playing, Refused: func(reason string) { refused[reason]++ }})
	if err != nil {
		return failed(err)
	}
	settings, err := a.Config.Generation(config.UseEvolve)
	if err != nil {
		return failed(err)
	}
	t := trial{report: report, refused: refused, settings: settings}
	t.server, _ = a.served(ctx, settings)
	detail, fit := t.verdict()
	if !fit {
		return failed(errors.New(detail))
	}
	return Finding{Check: check, OK: true, Detail: detail}
}

// trial is the result of the built-in scenarios.
type trial struct {
	report   eval.Report
	refused  map[string]int // refused lines, by reason
	settings config.ModelSettings
	server   string
}

// verdict describes the result in plain words, with advice for a model that is not fit.
func (t trial) verdict() (detail string, fit bool) {
	total := t.report.Total
	broken := 0
	for _, s := range t.report.Scenarios {
		if s.Error != "" {
			broken++
		}
	}
	fit = broken == 0 && total.Unusable == 0 && total.Percent.Percent >= fitPercent &&
		100*total.Facts.Right >= fitPercent*total.Facts.Expected
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	say("%s is %s: %d of %d points, %d of %d facts, %d nights", t.report.Model,
		map[bool]string{true: "fit", false: "not fit to keep memories"}[fit], total.Right, total.Points,
		total.Facts.Right, total.Facts.Expected, total.Nights)
	if broken+total.Unusable > 0 {
		say("%d nights came to nothing, %d scenarios broke off", total.Unusable, broken)
	}
	reasons := slices.SortedFunc(maps.Keys(t.refused), func(x, y string) int {
		return cmp.Or(t.refused[y]-t.refused[x], strings.Compare(x, y))
	})
	for i, r := range reasons {
		reasons[i] = fmt.Sprintf("%s %d", r, t.refused[r])
	}
	say("lines refused: %s", cmp.Or(strings.Join(reasons, ", "), "none"))
	say("%.0f seconds, %.1f tokens a second", total.Seconds, float64(total.Spend.OutputTokens)/max(total.Seconds, 0.001))
	if !fit {
		say("try %s", strings.Join(t.advice(), "; else "))
	}
	return strings.Join(said, "; "), fit
}

// advice returns what may help a model that is not fit, cheapest first.
func (t trial) advice() (list []string) {
	s := t.settings
	switch {
	case s.Provider != config.ProviderOpenAI || s.Lines != llm.LinesFree:
	case t.server == openai.ServerLlamaCpp || t.server == openai.ServerVLLM:
		list = append(list, `[llm] lines = "grammar"`)
	default:
		list = append(list, `[llm] lines = "schema"`)
	}
	if s.Provider == config.ProviderOpenAI && s.Prompts != "small" {
		list = append(list, `[llm] prompts = "small"`)
	}
	return append(list, "a larger model")
}
