package app

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/replay"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/prompts"
	"reverie/store"
	"reverie/store/history"
)

// CheckDates refuses an invalid range of dates. Its errors are [reverie.ErrInvalid].
func CheckDates(from, to string) error {
	for _, d := range []struct{ flag, date string }{{"--from", from}, {"--to", to}} {
		if _, err := time.Parse(time.DateOnly, d.date); err != nil {
			return badRequest(fmt.Errorf("%s %q is not a date such as 2026-01-15", d.flag, d.date))
		}
	}
	if from > to {
		return badRequest(fmt.Errorf("--from %s is after --to %s", from, to))
	}
	utc, err := jobs.CalendarOf(reverie.Group{TimeZone: "UTC"})
	if err == nil {
		_, err = utc.Between(from, to) // also refuses more dates than a calendar returns at once
	}
	if err != nil {
		return badRequest(err)
	}
	return nil
}

// Replay selects the evolve runs of a range of dates, both inclusive. Another model or prompt answers their questions
// again, or the stored answers are used.
type Replay struct {
	GroupID, From, To string // To: "" is today
	Model, Prompt     string
	Recorded          bool
}

// PastNights are the runs of a replay.
type PastNights struct {
	Replay
	Estimate Estimate // their original spend

	runs     []reverie.Run
	calendar jobs.Calendar
	engine   *replay.Engine
}

// PastNights finds the runs of a replay, and prepares to ask their questions again.
func (a *App) PastNights(ctx context.Context, f Replay) (*PastNights, error) {
	if !f.Recorded {
		if err := a.OtherModel(f.Model); err != nil {
			return nil, err
		}
		if err := CheckModels(a.Config, reverie.JobEvolve); err != nil {
			return nil, err
		}
	}
	stored, err := prompts.Open(a.Config.Prompts.Dir)
	if err != nil {
		return nil, err
	}
	stored = a.RemotePrompts(ctx, stored)
	asked, err := a.ReplayPrompts(ctx, stored, f.Prompt)
	if err != nil {
		return nil, err
	}
	if err := a.Open(ctx); err != nil {
		return nil, err
	}
	past := &PastNights{Replay: f, Estimate: Estimate{Groups: 1, Model: "nobody", Priced: true, Free: true}}
	if err := past.find(ctx, a); err != nil {
		return nil, err
	}
	runs := struct {
		*store.Store
		*history.History
	}{a.Store, history.New(a.Store.DB())}
	past.engine = &replay.Engine{Store: runs, Recorded: f.Recorded, Stored: a.EvolveBase(stored, 0),
		Pipeline: a.EvolveBase(asked, 0)}
	if f.Recorded {
		return past, nil
	}
	model, settings, err := a.Model(config.UseEvolve)
	if err != nil {
		return nil, err
	}
	fits, err := a.room(ctx, settings, prompts.MemoryEvolve, asked, a.Config.Evolve.MaxInputTokens)
	if err != nil {
		return nil, err
	}
	p := past.engine.Pipeline
	p.Prompts, p.Limits.MaxInputTokens, p.Limits.MaxOutputTokens, p.Limits.MaxShown = fits.set, fits.input, fits.output, fits.shown
	past.engine.Pipeline.Model, past.engine.Cost = model, model.Cost
	e := &past.Estimate
	e.Model, e.Free = model.Name(), config.Keyless(settings.Provider)
	e.Priced = model.Priced() || e.Free
	e.CostUSD = model.Cost(llm.Usage{InputTokens: e.InputTokens, OutputTokens: e.OutputTokens})
	return past, nil
}

// find reads the runs, and sums up their spend.
func (p *PastNights) find(ctx context.Context, a *App) error {
	g, err := a.Store.Group(ctx, p.GroupID)
	if err != nil {
		return err
	}
	if p.calendar, err = jobs.CalendarOf(g); err != nil {
		return err
	}
	if p.To == "" {
		p.To = max(p.calendar.Containing(a.Clock()).Date, p.From)
	}
	if err := CheckDates(p.From, p.To); err != nil {
		return err
	}
	windows, err := p.calendar.Between(p.From, p.To)
	if err != nil || len(windows) == 0 {
		return err
	}
	runs, err := history.New(a.Store.DB()).EvolveRuns(ctx, p.GroupID, windows[0].Since, windows[len(windows)-1].Until)
	for _, r := range runs {
		p.runs = append(p.runs, r.Run)
		st := r.Stats
		if r.UndoneAt != nil || st.Chunks == 0 {
			continue
		}
		e := &p.Estimate
		e.Windows, e.Messages = e.Windows+1, e.Messages+st.Cited+st.Considered+st.Filtered
		if !p.Recorded {
			e.Calls += r.Spend.Calls
			e.InputTokens, e.OutputTokens = e.InputTokens+r.Spend.InputTokens, e.OutputTokens+r.Spend.OutputTokens
		}
	}
	return err
}

// Ask asks the questions of the runs again, and compares. With an error it also returns the report of earlier runs.
func (p *PastNights) Ask(ctx context.Context) (replay.Report, error) {
	report, err := p.engine.Run(ctx, p.GroupID, p.runs)
	for i := range report.Nights {
		report.Nights[i].Date = p.calendar.Containing(report.Nights[i].WindowSince).Date
	}
	return report, err
}
