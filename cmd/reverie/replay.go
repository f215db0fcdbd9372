package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	application "reverie/internal/app"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/replay"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/prompts"
)

// replayFlags are what `reverie replay` was asked for.
type replayFlags struct {
	group, from, to, model, prompt         string
	recorded, keep, all, yes, dryRun, json bool
}

func newReplay(a *app) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay --group G --from DATE [--to DATE] [--recorded | --model M] [--prompt FILE]",
		Short: "Ask past questions again, by another model or prompt or as recorded, and compare the plans",
		Long: `Replay takes the runs of evolve of a group from --from to --to, both included, puts
the questions of each again, with the memories and messages of that time, and compares
the plan that comes of the answer with what the run did. It reports for each night and
in sum which actions agree and which differ, and the tokens and cost of both. Nothing
is written but the rows of the calls.

--model M    asks another model: a name, or provider/name
--prompt P   asks in other words: a file (a prompt memory_evolve, as in [prompts]
             dir; memory_evolve.zh.md is for Chinese only, any other name for both
             languages), a directory of such files, or a label of Langfuse
--recorded   asks nobody: the stored answers are read and checked again. What comes
             of them otherwise comes from our own code and settings of now: the exit
             code is 1 where there is anything. Nights of which answers or texts
             were removed are listed, and not replayed

The exit code is 1, too, where there are nights and none can be replayed. Runs that
were taken back are not replayed. A question that cannot be put in the words of then,
since its prompt or what it showed has changed, is counted as changed.

Calls are made and paid; the limits of [budget] hold. It first says what the nights
took when they were live: above [jobs] confirm_usd it needs --yes, and --dry-run
stops there.

` + exitHelp,
		Example: `  reverie replay --group g1 --from 2026-01-01 --to 2026-01-31 --recorded
  reverie replay --group g1 --from 2026-01-25 --model gpt-5
  reverie replay --group g1 --from 2026-01-25 --prompt memory_evolve.en.md --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return usageError(err)
			}
			return a.replay(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.group, "group", "", "group id (required)")
	fl.StringVar(&f.from, "from", "", "first date, such as 2026-01-01 (required)")
	fl.StringVar(&f.to, "to", "", "last date, included (default today)")
	fl.StringVar(&f.model, "model", "", "ask this model: a name, or provider/name")
	fl.StringVar(&f.prompt, "prompt", "", "ask by this prompt: a file, a directory, or a label of Langfuse")
	fl.BoolVar(&f.recorded, "recorded", false, "ask nobody: use the answers that were stored")
	fl.BoolVar(&f.keep, "keep", false, "removed: a replay makes no schema")
	fl.BoolVar(&f.all, "all", false, "print all differences, not only the first of each night")
	fl.BoolVar(&f.yes, "yes", false, "go ahead, whatever it costs")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what it would take, and stop")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	_ = fl.MarkHidden("keep")
	required(cmd, "group")
	required(cmd, "from")
	return cmd
}

func (f replayFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"group", "model", "prompt"} {
		if err := needsValue(cmd, name); err != nil {
			return err
		}
	}
	switch {
	case f.keep:
		return errors.New("--keep is gone: a replay makes no schema any more; --json --all has all that it found")
	case f.recorded && (f.model != "" || f.prompt != ""):
		return errors.New("--recorded asks nobody: leave out --model and --prompt, or --recorded")
	}
	return nil
}

// replayReply is what `reverie replay --json` prints.
type replayReply struct {
	Success bool   `json:"success"` // it came to its end; with --recorded, and nothing differs
	From    string `json:"from"`
	To      string `json:"to"`
	replay.Report
	Error string `json:"error,omitempty"`
}

func (a *app) replay(ctx context.Context, f replayFlags) error {
	if err := a.settings(); err != nil {
		return err
	}
	if !f.recorded {
		if err := a.OtherModel(f.model); err != nil {
			return err
		}
		if err := application.CheckModels(a.Config, reverie.JobEvolve); err != nil {
			return err
		}
	}
	stored, err := prompts.Open(a.Config.Prompts.Dir)
	if err != nil {
		return err
	}
	stored = a.RemotePrompts(ctx, stored)
	asked, err := a.ReplayPrompts(ctx, stored, f.prompt)
	if err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	runs, calendar, err := a.pastRuns(ctx, &f)
	if err != nil {
		return err
	}
	if stop, err := a.confirmReplay(runs, f); err != nil || stop {
		return err
	}
	engine := &replay.Engine{Store: a.Store, Recorded: f.recorded, Stored: a.EvolveBase(stored, 0), Pipeline: a.EvolveBase(asked, 0)}
	if !f.recorded {
		model, settings, err := a.Model(config.UseEvolve)
		if err != nil {
			return err
		}
		engine.Pipeline.Limits.MaxOutputTokens = settings.MaxOutputTokens
		engine.Pipeline.Model, engine.Cost = model, model.Cost
	}
	list := make([]reverie.Run, len(runs))
	for i, r := range runs {
		list[i] = r.Run
	}
	reply := replayReply{From: f.from, To: f.to}
	reply.Report, err = engine.Run(a.WithBudget(ctx), f.group, list)
	for i := range reply.Nights {
		reply.Nights[i].Date = calendar.Containing(reply.Nights[i].WindowSince).Date
	}
	return a.reportReplay(reply, f, err)
}

// pastRuns reads the runs of the range, and fills in its last date.
func (a *app) pastRuns(ctx context.Context, f *replayFlags) ([]reverie.RunEntry, jobs.Calendar, error) {
	g, err := a.Store.Group(ctx, f.group)
	if err != nil {
		return nil, jobs.Calendar{}, unknownGroup(err)
	}
	calendar, err := jobs.CalendarOf(g)
	if err != nil {
		return nil, calendar, err
	}
	if f.to == "" {
		f.to = max(calendar.Containing(a.Now()).Date, f.from)
	}
	if _, err := checkBackfill(backfillFlags{Backfill: application.Backfill{From: f.from, To: f.to}}); err != nil {
		return nil, calendar, usageError(err)
	}
	windows, err := calendar.Between(f.from, f.to)
	if err != nil || len(windows) == 0 {
		return nil, calendar, err
	}
	runs, err := a.Store.EvolveRuns(ctx, f.group, windows[0].Since, windows[len(windows)-1].Until)
	return runs, calendar, err
}

// confirmReplay says what the nights took, and refuses what costs more than may be spent
// unasked. It reports whether that is all.
func (a *app) confirmReplay(runs []reverie.RunEntry, f replayFlags) (stop bool, err error) {
	e := application.Estimate{Groups: 1, Model: "nobody", Priced: true, Free: true}
	for _, r := range runs {
		if r.Run.UndoneAt != nil || r.Run.Stats.Chunks == 0 {
			continue
		}
		st := r.Run.Stats
		e.Windows, e.Messages = e.Windows+1, e.Messages+st.Cited+st.Considered+st.Filtered
		if !f.recorded {
			e.Calls += r.Spend.Calls
			e.InputTokens, e.OutputTokens = e.InputTokens+r.Spend.InputTokens, e.OutputTokens+r.Spend.OutputTokens
		}
	}
	if !f.recorded {
		model, settings, err := a.Model(config.UseEvolve)
		if err != nil {
			return false, err
		}
		e.Model, e.Free = model.Name(), config.Keyless(settings.Provider)
		e.Priced = model.Priced() || e.Free
		e.CostUSD = model.Cost(llm.Usage{InputTokens: e.InputTokens, OutputTokens: e.OutputTokens})
	}
	switch {
	case f.dryRun:
		return true, a.printEstimate(e, backfillFlags{Backfill: application.Backfill{From: f.from, To: f.to}, json: f.json})
	case f.yes, e.Windows == 0:
	case !e.Priced:
		return false, usageError(fmt.Errorf(
			"what %s costs is not known: say --yes to do it all the same, or add its price to [llm] prices", e.Model))
	case e.CostUSD > a.Config.Jobs.ConfirmUSD:
		return false, usageError(fmt.Errorf("this is thought to cost $%.2f, more than [jobs] confirm_usd ($%.2f): say --yes to do it",
			math.Ceil(e.CostUSD*100)/100, a.Config.Jobs.ConfirmUSD))
	}
	return false, nil
}

// reportReplay prints what a replay found, as far as it came.
func (a *app) reportReplay(r replayReply, f replayFlags, err error) error {
	nothing := err == nil && len(r.Nights) == 0 && len(r.Skipped) > 0
	switch {
	case err != nil:
	case nothing:
		err = &codeError{exitError, fmt.Errorf("nothing was replayed: of %s none can be", cli.Plural(len(r.Skipped), "run"))}
	case r.Recorded && !r.Same():
		err = &codeError{exitError, errors.New("the recorded nights came to something else")}
	}
	r.Success = err == nil
	switch {
	case f.json:
		if err != nil {
			r.Error = err.Error()
		}
		return errors.Join(err, cli.PrintJSON(a.Stdout, r))
	case err != nil && len(r.Nights) == 0 && !nothing:
		return err
	}
	return errors.Join(err, a.PrintReplay(r.From, r.To, r.Report, f.all))
}
