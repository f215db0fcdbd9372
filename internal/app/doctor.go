package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"reverie/internal/config"
	"reverie/internal/eval"
	"reverie/internal/llm"
	"reverie/internal/llm/openai"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
	"reverie/prompts"
	"reverie/store/citus"
)

// Finding is one line of the doctor's report.
type Finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"` // also where there is only something to be warned of
	Detail string `json:"detail"`
	Err    error  `json:"-"`
}

// Examine checks what a run needs beside a configuration that can be read, from what
// everything needs to what only some need.
func (a *App) Examine(ctx context.Context) []Finding {
	var out []Finding
	note := func(check, detail string, err error) bool {
		f := Finding{Check: check, OK: err == nil, Detail: detail, Err: err}
		if err != nil {
			f.Detail = reverie.ErrorText(err)
		}
		out = append(out, f)
		return err == nil
	}
	note("secrets", "known by our own rules and those of "+cmp.Or(strings.Join(safety.Detectors(), ", "), "nobody else")+"; personal data: "+a.Config.Privacy.PII, nil)
	openErr := a.Open(ctx)
	if a.Store == nil {
		note("database", "", openErr)
		return out
	}
	info, err := a.Store.Info(ctx)
	if !note("database", "PostgreSQL "+info.Server+a.privateNote(), err) {
		return out
	}
	if info.Vector == "" {
		note("pgvector", "", fmt.Errorf("the extension is missing in this database; `reverie migrate up` creates it where pgvector is installed: %w", reverie.ErrConfiguration))
	} else {
		note("pgvector", info.Vector, nil)
	}
	note("schema", fmt.Sprintf("version %d", info.SchemaVersion), openErr)
	err = nil
	if info.Skew.Abs() > time.Minute {
		err = fmt.Errorf("this clock and the database's differ by %s: correct them, because nights begin and end by the "+
			"clock", info.Skew.Round(time.Second))
	}
	note("clock", fmt.Sprintf("within %s of the database's", info.Skew.Abs().Round(time.Millisecond)), err)
	if openErr == nil {
		detail, err := a.readerNote(ctx)
		note("reader role", detail, err)
		a.examineShards(ctx, note)
		a.examineGroups(ctx, note)
		a.examineWebhooks(ctx, note)
		a.examineModels(ctx, note)
	}
	return out
}

// examineShards says which servers have the tables, where those are distributed.
func (a *App) examineShards(ctx context.Context, note func(check, detail string, err error) bool) {
	nodes, err := citus.Nodes(ctx, a.Store.DB())
	if err == nil && len(nodes) == 0 {
		return
	}
	at := strings.Join(text.Each(nodes, func(n citus.Node) string { return fmt.Sprintf("%d at %s", n.Shards, n.Name) }), ", ")
	if why := a.Store.DB().TryShards(ctx); why != nil {
		at = "warning: " + at + "; work on a group costs ten times as much where its server cannot be asked: " + reverie.ErrorText(why)
	}
	note("shards", at, err)
}

func (a *App) privateNote() string {
	if a.cluster == nil {
		return ""
	}
	l := a.cluster.Location()
	note := ", private, in " + l.Dir
	if l.Moved() {
		note += fmt.Sprintf(" (its server runs as %s, who cannot enter %s)", l.User, l.Asked)
	}
	return note
}

// CheckReady asks a process that stays for its /readyz, as the health check of a container
// does.
func CheckReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil || req.URL.Host == "" {
		return fmt.Errorf("--ready %q: %w: write a URL such as http://127.0.0.1:8470/readyz", url, reverie.ErrConfiguration)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("reverie is not ready: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("reverie is not ready: %s answers %s", url, resp.Status)
	}
	return nil
}

// examineGroups finds groups that wait for a person.
func (a *App) examineGroups(ctx context.Context, note func(check, detail string, err error) bool) {
	const named = 3
	parked, err := a.Store.GroupList(ctx, reverie.GroupQuery{State: reverie.GroupParked, Limit: named + 1})
	if err == nil && len(parked) > 0 {
		names := text.Each(parked[:min(named, len(parked))], func(g reverie.GroupEntry) string { return g.ID })
		if len(parked) > named {
			names = append(names, "and more")
		}
		err = fmt.Errorf("parked after repeated failure: %s; `reverie groups list --state parked` says why", strings.Join(names, ", "))
	}
	note("groups", "none is parked", err)
}

// smallQuestion is what a model is asked to see whether it answers, and in the form of lines
// that is set.
var smallQuestion = llm.Request{System: "Answer with one line of JSON.", MaxTokens: 256, Prompt: prompts.MemoryEvolve,
	User: `{"window_until":"2026-01-01T00:00:00Z","existing_memories":[],"new_discussions":[]}`}

// examineModels asks each model one small question.
func (a *App) examineModels(ctx context.Context, note func(check, detail string, err error) bool) {
	uses := []struct{ use, check string }{{config.UseEvolve, "model"}, {config.UseObserve, "model for impressions"}, {config.UseExtract, "model for sessions"}, {config.UseFold, "model for summaries"}, {config.UseDream, "model for dreams"}}
	if a.Config.Decide.Enabled {
		uses = slices.Insert(uses, 1, struct{ use, check string }{config.UseCompare, "model for comparing"})
	}
	asked, told := map[config.ModelSettings]bool{}, map[string]bool{} // what is set alike is asked once, and one fault is told once
	for _, u := range uses {
		model, settings, err := a.Model(u.use)
		if errors.Is(err, config.ErrNeedsModel) {
			note(u.check, "none: offline cannot do this, and the job is passed over", nil)
			continue
		}
		settings.Temperature, settings.Timeout, settings.MaxOutputTokens = nil, 0, 0
		if err == nil && asked[settings] {
			continue
		}
		asked[settings] = true
		if err == nil {
			_, err = model.Generate(ctx, llm.Meta{Purpose: "doctor", Tier: llm.TierStandard}, smallQuestion)
			note(u.check, model.Name()+" answers"+a.contextNote(ctx, settings), err)
			if err == nil && settings.ServiceTier == string(llm.TierFlex) {
				said, err := flexAnswers(ctx, model)
				note("flex for "+u.use, said, err)
			}
			continue
		}
		if !told[err.Error()] {
			told[err.Error()] = true
			note(u.check, "", err)
		}
	}
	embed, err := a.Embedder()
	without := ""
	if cfg := a.embedsOffline(); cfg != nil {
		embed, err = a.embedderOf(cfg)
		without = "; searches use it, by spelling and not by meaning, while neither [embed] nor [llm] names a model"
	}
	if err != nil {
		if !told[err.Error()] {
			note("embeddings", "", err)
		}
		return
	}
	_, err = embed.Embed(ctx, llm.Meta{Purpose: "doctor"}, []string{"Is anybody there? " + time.Now().UTC().Format(time.RFC3339Nano)})
	if note("embeddings", embed.Name()+" answers, vectors are "+embed.Key()+without, err) {
		detail, err := calibrationNote(ctx, embed)
		note("calibration", detail, err)
	}
}

// flexWait is how long a person waits for a flex answer, to see whether there is such a thing.
const flexWait = 20 * time.Second

// flexAnswers asks a model in the flex tier. That there is no capacity now is no fault.
func flexAnswers(ctx context.Context, model *llm.Model) (said string, err error) {
	short, cancel := context.WithTimeout(ctx, flexWait)
	defer cancel()
	_, err = model.Generate(short, llm.Meta{Purpose: "doctor", Tier: llm.TierFlex}, smallQuestion)
	if short.Err() != nil && ctx.Err() == nil {
		return "accepted, and not answered within 20 seconds: that is as it may be", nil
	}
	return "answers", err
}

// calibrationNote is the doctor's word on what cosines of a model mean. One that has not
// been used yet is measured for it.
func calibrationNote(ctx context.Context, e *Embedder) (string, error) {
	points := func(c reverie.Calibration) string {
		return fmt.Sprintf("%s: floor %.3f, related %.3f, ceiling %.3f", e.Key(), c.Floor, c.Related, c.Ceiling)
	}
	by, measures := e.Calibrator.(*llm.Calibrator)
	if !measures {
		c, err := e.Calibrator.Calibrate(ctx, "")
		return points(c.Whole()) + ", not measured: set by [embed] floor and ceiling, or the built-in model's own", err
	}
	m, err := by.Measured(ctx, "")
	how := fmt.Sprintf(", measured on %s with pairs %d, of which %.0f%% are told apart", m.MeasuredAt.UTC().Format(time.DateOnly), m.Pairs, 100*m.Accuracy)
	if err == nil && !llm.TellsApart(m) {
		return "warning: " + points(m.Calibration) + how + ": scores are plain cosines; choose another model, or set [embed] floor and ceiling", nil
	}
	return points(m.Calibration) + how, err
}

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
