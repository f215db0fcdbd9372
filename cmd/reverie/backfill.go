package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"reverie/evolve"
	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// backfillFlags are what `reverie backfill` was asked for.
type backfillFlags struct {
	from, to, group, shard string
	replay, yes            bool
	dryRun, json           bool
}

func newBackfill(a *app) *cobra.Command {
	var f backfillFlags
	cmd := &cobra.Command{
		Use:   "backfill --from DATE --to DATE [--group G]",
		Short: "Evolve past dates in order, one run a date",
		Long: `Backfill evolves the dates from --from to --to, both included, of one group or of
all of them: each date of a group is a run of its own, the oldest first. Dates are
those of the group's own time zone; one that is not over yet is left out, and so
is one without pending messages. Stopped half-way, the same command goes on; once
all is done, it does nothing.

It first says what it will take (groups, windows, calls, tokens, money). Above
[jobs] confirm_usd it needs --yes. --dry-run stops there: nothing is asked or
written. Where impressions are on they follow, for the same dates, with calls of
their own that are not in the estimate.

--replay evolves anew what was evolved already. For each group everything that
its runs did from --from on is taken back, as new versions: memories are what they
were before that date, those that were archived since are back, and the messages
since then are pending again. Weights stay what they are. Nothing is deleted, a
person's own edits stand, and ` + "`reverie memory history`" + ` shows it all. The dates up
to --to are then evolved; what came after them stays pending for the next run.
--replay always needs --yes, and the model is asked and paid again. Stopped
half-way, go on without --replay.

` + exitHelp,
		Example: `  reverie backfill --from 2026-01-01 --to 2026-01-31 --dry-run
  reverie backfill --from 2026-01-01 --to 2026-01-31 --group g1 --yes
  reverie backfill --from 2026-01-10 --to 2026-01-31 --group g1 --replay --yes
  reverie backfill --from 2026-01-01 --to 2026-01-31 --shard 0/4   # of 4 workers, the first`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needsValue(cmd, "shard"); err != nil {
				return usageError(err)
			}
			return a.backfill(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.from, "from", "", "first date, such as 2026-01-01 (required)")
	fl.StringVar(&f.to, "to", "", "last date, included (required)")
	fl.StringVar(&f.group, "group", "", "only this group")
	fl.StringVar(&f.shard, "shard", "", "only this part of the groups: 0/4 is the first of four")
	fl.BoolVar(&f.replay, "replay", false, "take back what was done from --from on, and evolve it anew")
	fl.BoolVar(&f.yes, "yes", false, "go ahead, whatever it costs")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what it would take, and stop")
	fl.BoolVar(&f.json, "json", false, "print JSON: the estimate, then one line a run, then the summary")
	required(cmd, "from")
	required(cmd, "to")
	return cmd
}

func (a *app) backfill(ctx context.Context, f backfillFlags) error {
	shard, err := checkBackfill(f)
	if err != nil {
		return usageError(err)
	}
	all, err := a.worker(ctx, reverie.JobEvolve)
	if err != nil {
		return err
	}
	p := all.evolve
	if err := a.knownGroup(ctx, f.group); err != nil {
		return err
	}
	est, err := a.estimate(ctx, p, f, shard)
	if err != nil {
		return err
	}
	if err := a.printEstimate(est, f); err != nil || f.dryRun {
		return err
	}
	nothing := est.Windows == 0 && est.Rewound == 0 && est.Unknown == 0
	switch {
	case nothing: // impressions may be left of a time before
	case f.replay && !f.yes:
		return usageError(errors.New("--replay takes back what was remembered and asks the model again: say --yes to do it"))
	case !est.Priced && !f.yes:
		return usageError(fmt.Errorf("what %s costs is not known: say --yes to do it all the same, or add its price to [llm] prices", est.Model))
	case est.CostUSD > a.cfg.Jobs.ConfirmUSD && !f.yes:
		return usageError(fmt.Errorf("this is thought to cost $%.2f, more than [jobs] confirm_usd ($%.2f): say --yes to do it", est.CostUSD, a.cfg.Jobs.ConfirmUSD))
	}
	work, end := a.drained(ctx, a.cfg.Jobs.Grace.Duration)
	defer end()
	work = llm.WithBudget(work, a.budget(a.dayBudget()))
	if nothing {
		batch := &fanOut{app: a, shard: shard, group: f.group, ignoreRetry: true}
		next, err := batch.impressions(work, all.impression, f.queued(a), ctx.Done(), &show{app: a, asJSON: f.json}, jobs.Summary{}, nil)
		return fanOutError(ctx, next, err)
	}
	return a.backfillRuns(ctx, work, all, f, shard, est)
}

// checkBackfill reads what of the flags is not just text.
func checkBackfill(f backfillFlags) (jobs.Shard, error) {
	for _, d := range []struct{ flag, date string }{{"--from", f.from}, {"--to", f.to}} {
		if _, err := time.Parse(time.DateOnly, d.date); err != nil {
			return jobs.Shard{}, fmt.Errorf("%s %q is not a date such as 2026-01-15", d.flag, d.date)
		}
	}
	if f.from > f.to {
		return jobs.Shard{}, fmt.Errorf("--from %s is after --to %s", f.from, f.to)
	}
	utc, err := jobs.CalendarOf(reverie.Group{TimeZone: "UTC"})
	if err == nil {
		_, err = utc.Between(f.from, f.to) // before a group is asked for: there may be none
	}
	if err != nil {
		return jobs.Shard{}, err
	}
	return parseShard(f.shard)
}

// needsValue refuses a flag that was given nothing: a variable that is not set
// must not mean all groups.
func needsValue(cmd *cobra.Command, flag string) error {
	if f := cmd.Flags().Lookup(flag); f.Changed && f.Value.String() == "" {
		return fmt.Errorf("--%s is empty: leave it out, or give it a value", flag)
	}
	return nil
}

func parseShard(s string) (jobs.Shard, error) {
	if s == "" {
		return jobs.Shard{}, nil
	}
	shard, err := jobs.ParseShard(s)
	if err != nil {
		return shard, fmt.Errorf("--shard: %w", err)
	}
	return shard, nil
}

// backfillRuns does the work, under the eyes of whoever waits for it.
func (a *app) backfillRuns(ctx, work context.Context, p pipelines, f backfillFlags, shard jobs.Shard, est estimate) error {
	progress := a.NewProgress(est.Windows)
	defer progress.End()
	out := show{a, reverie.JobEvolve, f.json}
	batch := &fanOut{app: a, job: evolveJob(p.evolve, evolve.Request{}), plan: jobs.Dates(a.store, f.from, f.to, a.Now), shard: shard, group: f.group, ignoreRetry: true,
		show: func(e jobs.Report) {
			progress.Clear()
			out.window(e)
			progress.Add()
		},
		showGroup: func(r jobs.GroupResult) {
			progress.Clear()
			out.group(r)
		}}
	if f.replay {
		again := &rewinding{app: a, flags: f}
		batch.plan, batch.groups, batch.prepare = again.plan, replayStore{a.store}, again.prepare
	}
	summary, err := batch.run(work, ctx.Done())
	progress.End()
	if f.replay && err != nil {
		fmt.Fprintln(a.Stderr, "reverie: to go on, give the same command without --replay: with it, what was evolved anew would be taken back again")
	}
	said := out.summary(summary, err, "nothing is left to do")
	next, nextErr := batch.impressions(work, p.impression, f.queued(a), ctx.Done(), &out, summary, err)
	return errors.Join(said, gravest(fanOutError(ctx, summary, err), fanOutError(ctx, next, nextErr)))
}

// queued plans the dates of which messages wait for impressions.
func (f backfillFlags) queued(a *app) jobs.Plan { return jobs.Dates(a.queue(), f.from, f.to, a.Now) }

// estimate is what a backfill is thought to take.
type estimate struct {
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

	free bool // nobody is paid for it
}

// usualOutput is what an answer is thought to have while the ledger knows of
// none by this model.
const usualOutput = 600

func (a *app) estimate(ctx context.Context, p *evolve.Pipeline, f backfillFlags, shard jobs.Shard) (estimate, error) {
	model, settings, err := a.model(config.UseEvolve)
	if err != nil {
		return estimate{}, err
	}
	e := estimate{Model: model.Name(), Priced: model.Priced(), free: config.Keyless(settings.Provider)}
	e.Priced = e.Priced || e.free
	expect := map[string]evolve.Expectation{}
	err = a.eachGroup(ctx, a.groupsOf(f.replay), reverie.DueQuery{Job: reverie.JobEvolve, GroupID: f.group}, shard, func(g reverie.DueGroup) error {
		if _, err := jobs.CalendarOf(g.Group); err != nil && f.group == "" { // it fails alone, and no other group with it
			e.Unknown++
			fmt.Fprintf(a.Stderr, "reverie: left out of the estimate: %s\n", cli.VisibleLines(err))
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
		if err := e.leavesOpen(g, f, a.Now()); err != nil {
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
	output, calls, err := a.store.MeanOutput(ctx, config.UseEvolve, settings.Model)
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
func (e *estimate) leavesOpen(g reverie.DueGroup, f backfillFlags, now time.Time) error {
	c, err := jobs.CalendarOf(g.Group)
	if err != nil {
		return err
	}
	open := max(c.Containing(now).Date, f.from)
	if open <= f.to && (e.OpenFrom == "" || open < e.OpenFrom) {
		e.OpenFrom = open
	}
	return nil
}

// loads are the windows of a group that a backfill would evolve, with what is in
// them, and how many runs it would take back for that.
func (a *app) loads(ctx context.Context, g reverie.DueGroup, f backfillFlags) ([]reverie.WindowLoad, int, error) {
	if f.replay {
		back, windows, err := a.wouldRewind(ctx, g, f)
		if err != nil {
			return nil, 0, err
		}
		if back.Runs > 0 {
			loads, err := a.store.WindowLoads(ctx, g.ID, windows)
			return loads, back.Runs, err
		}
	}
	agenda, err := jobs.Dates(a.store, f.from, f.to, a.Now)(ctx, g)
	if err != nil || len(agenda.Windows) == 0 {
		return nil, 0, err
	}
	loads, err := a.store.PendingWindows(ctx, g.ID, agenda.Windows)
	return loads, 0, err
}

// dueStore lists groups, page by page.
type dueStore interface {
	DueGroups(ctx context.Context, q reverie.DueQuery) ([]reverie.DueGroup, error)
}

// eachGroup calls fn for every group of a shard that a job has something to do
// for, or only for the one that is named.
func (a *app) eachGroup(ctx context.Context, s dueStore, q reverie.DueQuery, shard jobs.Shard, fn func(reverie.DueGroup) error) error {
	for q.Limit = 500; ; { // a page
		groups, err := s.DueGroups(ctx, q)
		if err != nil {
			return err
		}
		for _, g := range groups {
			q.After = g.ID
			if !shard.Has(g.ID) {
				continue
			}
			if err := fn(g); err != nil {
				return err
			}
		}
		if len(groups) == 0 || q.GroupID != "" {
			return nil
		}
	}
}

// knownGroup refuses a group that does not exist; "" stands for all.
func (a *app) knownGroup(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	_, err := a.store.Group(ctx, id)
	return err
}

// printEstimate says what a backfill is thought to take.
func (a *app) printEstimate(e estimate, f backfillFlags) error {
	if f.json {
		return cli.PrintJSONLine(a.Stdout, struct {
			Success  bool     `json:"success"`
			Estimate estimate `json:"estimate"`
		}{true, e})
	}
	w := a.Stdout
	if e.OpenFrom != "" {
		fmt.Fprintf(w, "left out: dates that are not over yet, from %s on in the earliest of time zones\n", e.OpenFrom)
	}
	if e.Parked > 0 {
		fmt.Fprintf(w, "left alone: %s parked after failures; `reverie groups list --state parked` shows why\n", cli.Plural(e.Parked, "group"))
	}
	if e.Windows == 0 && e.Rewound == 0 {
		_, err := fmt.Fprintf(w, "nothing to do: no date from %s to %s that is over has pending messages\n", f.from, f.to)
		return err
	}
	if e.Rewound > 0 {
		fmt.Fprintf(w, "replay: what %s did is taken back, as new versions\n", cli.Plural(e.Rewound, "run"))
	}
	price := fmt.Sprintf("about $%.2f", e.CostUSD)
	switch {
	case e.CostUSD > 0 && e.CostUSD < 0.01:
		price = "less than $0.01"
	case e.free:
		price = "at no cost"
	case !e.Priced:
		price = "at a price that [llm] prices does not know"
	}
	_, err := fmt.Fprintf(w, "%s in %s of %s; about %s by %s, %s tokens in, %s out, %s\n", cli.Plural(e.Messages, "message"), cli.Plural(e.Windows, "window"),
		cli.Plural(e.Groups, "group"), cli.Plural(e.Calls, "call"), e.Model, cli.Thousands(e.InputTokens), cli.Thousands(e.OutputTokens), price)
	return err
}
