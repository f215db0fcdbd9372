package app

import (
	"context"
	"math"
	"time"

	"reverie/evolve"
	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// Backfill is a range of dates, both included, that are to be evolved.
type Backfill struct {
	From, To string
	GroupID  string // only this one
	Shard    jobs.Shard
	Replay   bool // what was done from From on is taken back, and evolved anew
}

// BackfillRuns evolves the dates.
func (a *App) BackfillRuns(p *evolve.Pipeline, f Backfill) *FanOut {
	batch := a.EvolveDue(p, 0, jobs.Dates(a.Store, f.From, f.To, a.Clock))
	batch.Shard, batch.GroupID, batch.IgnoreRetry = f.Shard, f.GroupID, true
	if f.Replay {
		again := &rewinding{App: a, dates: f}
		batch.Plan, batch.Groups, batch.Prepare = again.plan, replayStore{a.Store}, again.prepare
	}
	return batch
}

// BackfillImpressions plans the dates of which messages wait for impressions.
func (a *App) BackfillImpressions(f Backfill) jobs.Plan {
	return jobs.Dates(a.Queue(), f.From, f.To, a.Clock)
}

// Estimate is what a backfill is thought to take.
type Estimate struct {
	Groups       int     `json:"groups"`
	Windows      int     `json:"windows"`
	Messages     int     `json:"messages"`
	Calls        int     `json:"calls"`
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`
	Model        string  `json:"model"`
	Priced       bool    `json:"priced"`              // false: the model's price is not known, and counted as 0
	Rewound      int     `json:"rewound,omitempty"`   // runs that --replay takes back
	Parked       int     `json:"parked,omitempty"`    // groups that are left alone until somebody resumes them
	Unknown      int     `json:"unknown,omitempty"`   // groups of which it cannot be told, since their calendar cannot be read
	OpenFrom     string  `json:"open_from,omitempty"` // the first date of those asked for that is not over, somewhere

	Free bool // nobody is paid for it
}

// usualOutput is what an answer is thought to have while the ledger knows of
// none by this model.
const usualOutput = 600

// Estimate says what a backfill is thought to take.
func (a *App) Estimate(ctx context.Context, p *evolve.Pipeline, f Backfill) (Estimate, error) {
	model, settings, err := a.Model(config.UseEvolve)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Model: model.Name(), Priced: model.Priced(), Free: config.Keyless(settings.Provider)}
	e.Priced = e.Priced || e.Free
	expect := map[string]evolve.Expectation{}
	err = EachGroup(ctx, a.groupsOf(f.Replay), reverie.DueQuery{Job: reverie.JobEvolve, GroupID: f.GroupID}, f.Shard, func(g reverie.DueGroup) error {
		if _, err := jobs.CalendarOf(g.Group); err != nil && f.GroupID == "" { // it fails alone, and no other group with it
			e.Unknown++
			a.Notify("reverie: left out of the estimate: " + err.Error())
			return nil
		}
		loads, rewound, err := a.loads(ctx, g, f)
		if err != nil {
			return err
		}
		if g.Setback != nil && g.Setback.ParkedAt != nil {
			if len(loads) > 0 {
				e.Parked++
			}
			return nil
		}
		if err := e.leavesOpen(g, f, a.Clock()); err != nil {
			return err
		}
		if len(loads) > 0 {
			e.Groups++
		}
		e.Rewound += rewound
		if _, ok := expect[g.Language]; !ok {
			if expect[g.Language], err = p.Expect(g.Language); err != nil {
				return err
			}
		}
		for _, l := range loads {
			calls, input := expect[g.Language].Window(l)
			e.Windows, e.Messages = e.Windows+1, e.Messages+l.Messages
			e.Calls, e.InputTokens = e.Calls+calls, e.InputTokens+input
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	output, calls, err := a.Store.MeanOutput(ctx, config.UseEvolve, settings.Model)
	if err != nil {
		return e, err
	}
	if calls == 0 {
		output = usualOutput
	}
	e.OutputTokens = int(math.Round(output * float64(e.Calls)))
	e.CostUSD = model.Cost(llm.Usage{InputTokens: e.InputTokens, OutputTokens: e.OutputTokens})
	return e, nil
}

// leavesOpen notes a date of a group that was asked for and is not over.
func (e *Estimate) leavesOpen(g reverie.DueGroup, f Backfill, now time.Time) error {
	c, err := jobs.CalendarOf(g.Group)
	if err != nil {
		return err
	}
	open := max(c.Containing(now).Date, f.From)
	if open <= f.To && (e.OpenFrom == "" || open < e.OpenFrom) {
		e.OpenFrom = open
	}
	return nil
}

// loads are the windows of a group that a backfill would evolve, with what is in
// them, and how many runs it would take back for that.
func (a *App) loads(ctx context.Context, g reverie.DueGroup, f Backfill) ([]reverie.WindowLoad, int, error) {
	if f.Replay {
		back, windows, err := a.wouldRewind(ctx, g, f)
		if err != nil {
			return nil, 0, err
		}
		if back.Runs > 0 {
			loads, err := a.Store.WindowLoads(ctx, g.ID, windows)
			return loads, back.Runs, err
		}
	}
	agenda, err := jobs.Dates(a.Store, f.From, f.To, a.Clock)(ctx, g)
	if err != nil || len(agenda.Windows) == 0 {
		return nil, 0, err
	}
	loads, err := a.Store.PendingWindows(ctx, g.ID, agenda.Windows)
	return loads, 0, err
}
