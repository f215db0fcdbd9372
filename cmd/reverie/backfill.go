package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// backfillFlags are what `reverie backfill` was asked for.
type backfillFlags struct {
	application.Backfill
	shard        string
	yes          bool
	dryRun, json bool
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
	fl.StringVar(&f.From, "from", "", "first date, such as 2026-01-01 (required)")
	fl.StringVar(&f.To, "to", "", "last date, included (required)")
	fl.StringVar(&f.GroupID, "group", "", "only this group")
	fl.StringVar(&f.shard, "shard", "", "only this part of the groups: 0/4 is the first of four")
	fl.BoolVar(&f.Replay, "replay", false, "take back what was done from --from on, and evolve it anew")
	fl.BoolVar(&f.yes, "yes", false, "go ahead, whatever it costs")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what it would take, and stop")
	fl.BoolVar(&f.json, "json", false, "print JSON: the estimate, then one line a run, then the summary")
	required(cmd, "from")
	required(cmd, "to")
	return cmd
}

func (a *app) backfill(ctx context.Context, f backfillFlags) (err error) {
	if f.Shard, err = checkBackfill(f); err != nil {
		return usageError(err)
	}
	ctx, p, err := a.worker(ctx, reverie.JobEvolve)
	if err != nil {
		return err
	}
	if err := a.knownGroup(ctx, f.GroupID); err != nil {
		return err
	}
	est, err := a.Estimate(ctx, p.Evolve, f.Backfill)
	if err != nil {
		return err
	}
	if err := a.printEstimate(est, f); err != nil || f.dryRun {
		return err
	}
	nothing := est.Windows == 0 && est.Rewound == 0 && est.Unknown == 0
	switch {
	case nothing: // impressions may be left of a time before
	case f.Replay && !f.yes:
		return usageError(errors.New("--replay takes back what was remembered and asks the model again: say --yes to do it"))
	case !est.Priced && !f.yes:
		return usageError(fmt.Errorf("what %s costs is not known: say --yes to do it all the same, or add its price to [llm] prices", est.Model))
	case est.CostUSD > a.Config.Jobs.ConfirmUSD && !f.yes:
		return usageError(fmt.Errorf("this is thought to cost $%.2f, more than [jobs] confirm_usd ($%.2f): say --yes to do it",
			est.CostUSD, a.Config.Jobs.ConfirmUSD))
	}
	work, end := a.Drained(ctx, a.Config.Jobs.Grace.Duration)
	defer end()
	if nothing {
		batch := &application.FanOut{App: a.App, Shard: f.Shard, GroupID: f.GroupID, IgnoreRetry: true}
		return a.impressionsAfter(ctx, work, batch, ending{}, p.Impression, a.BackfillImpressions(f.Backfill), f.json)
	}
	return a.backfillRuns(ctx, work, p, f, est)
}

// checkBackfill reads what of the flags is not just text.
func checkBackfill(f backfillFlags) (jobs.Shard, error) {
	for _, d := range []struct{ flag, date string }{{"--from", f.From}, {"--to", f.To}} {
		if _, err := time.Parse(time.DateOnly, d.date); err != nil {
			return jobs.Shard{}, fmt.Errorf("%s %q is not a date such as 2026-01-15", d.flag, d.date)
		}
	}
	if f.From > f.To {
		return jobs.Shard{}, fmt.Errorf("--from %s is after --to %s", f.From, f.To)
	}
	utc, err := jobs.CalendarOf(reverie.Group{TimeZone: "UTC"})
	if err == nil {
		_, err = utc.Between(f.From, f.To) // before a group is asked for: there may be none
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
func (a *app) backfillRuns(ctx, work context.Context, p application.Pipelines, f backfillFlags, est application.Estimate) error {
	progress := a.NewProgress(est.Windows)
	defer progress.End()
	out := a.printer(reverie.JobEvolve, f.json)
	batch := a.BackfillRuns(p.Evolve, f.Backfill)
	batch.Show = func(e jobs.Report) {
		progress.Clear()
		out.Window(e)
		progress.Add()
	}
	batch.ShowGroup = func(r jobs.GroupResult) {
		progress.Clear()
		out.Group(r)
	}
	summary, err := batch.Run(work, ctx.Done())
	progress.End()
	if f.Replay && err != nil {
		fmt.Fprintln(a.Stderr, "reverie: to go on, give the same command without --replay: with it, what was evolved anew would be taken back again")
	}
	done := ending{summary, err, out.Summary(summary, err, "nothing is left to do")}
	return a.impressionsAfter(ctx, work, batch, done, p.Impression, a.BackfillImpressions(f.Backfill), f.json)
}

// knownGroup refuses a group that does not exist; "" stands for all.
func (a *app) knownGroup(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	_, err := a.Store.Group(ctx, id)
	return err
}

// printEstimate says what a backfill is thought to take.
func (a *app) printEstimate(e application.Estimate, f backfillFlags) error {
	if f.json {
		return cli.PrintJSONLine(a.Stdout, struct {
			Success  bool                 `json:"success"`
			Estimate application.Estimate `json:"estimate"`
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
		_, err := fmt.Fprintf(w, "nothing to do: no date from %s to %s that is over has pending messages\n", f.From, f.To)
		return err
	}
	if e.Rewound > 0 {
		fmt.Fprintf(w, "replay: what %s did is taken back, as new versions\n", cli.Plural(e.Rewound, "run"))
	}
	price := fmt.Sprintf("about $%.2f", e.CostUSD)
	switch {
	case e.CostUSD > 0 && e.CostUSD < 0.01:
		price = "less than $0.01"
	case e.Free:
		price = "at no cost"
	case !e.Priced:
		price = "at a price that [llm] prices does not know"
	}
	_, err := fmt.Fprintf(w, "%s in %s of %s; about %s by %s, %s tokens in, %s out, %s\n", cli.Plural(e.Messages, "message"), cli.Plural(e.Windows, "window"),
		cli.Plural(e.Groups, "group"), cli.Plural(e.Calls, "call"), e.Model, cli.Thousands(e.InputTokens), cli.Thousands(e.OutputTokens), price)
	return err
}
