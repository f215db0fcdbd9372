package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/replay"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store"
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
		Short: "Run past nights again in a shadow, and compare: another model, another prompt, or as recorded",
		Long: `Replay runs the nights of a group from --from to --to, both included, again in a
shadow: a schema of its own in the same database, which begins as the group was
before the first of them. It reports for each night and in sum which actions agree
and which differ, what is remembered by one alone, and the tokens and cost of both.
Not one row of the group itself is written, and nobody is kept from writing it.

--model M    asks another model for it: a name, or provider/name
--prompt P   asks in other words: a file (a prompt memory_evolve, as in [prompts]
             dir; memory_evolve.zh.md is for Chinese only, any other name for both
             languages), a directory of such files, or a label of Langfuse
--recorded   asks nothing: the stored answers are used. No call is made, and what
             the shadow does otherwise comes from our own code, settings and
             prompts of now: the exit code is 1 where there is anything. Nights of
             which answers or texts were removed are listed, and not run again

The exit code is 1, too, where there are nights and none can be run again.

Only evolve is run again. What dreams, extractions, persons and maintenance did
between the nights is carried over as it was, what cannot be is listed. Runs that
were taken back are not run again.

Calls are made and paid; the limits of [budget] hold. It first says what the nights
took when they were live: above [jobs] confirm_usd it needs --yes, and --dry-run
stops there. The calls are rows of the shadow, which is removed at the end; --keep
leaves it and says its name.

` + exitHelp,
		Example: `  reverie replay --group g1 --from 2026-01-01 --to 2026-01-31 --recorded
  reverie replay --group g1 --from 2026-01-25 --model gpt-5
  reverie replay --group g1 --from 2026-01-25 --prompt memory_evolve.en.md --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"group", "model", "prompt"} {
				if err := needsValue(cmd, name); err != nil {
					return usageError(err)
				}
			}
			if f.recorded && (f.model != "" || f.prompt != "") {
				return usageError(errors.New("--recorded asks nobody: leave out --model and --prompt, or --recorded"))
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
	fl.BoolVar(&f.keep, "keep", false, "leave the shadow's schema, and say its name")
	fl.BoolVar(&f.all, "all", false, "print all differences, not only the first of each night")
	fl.BoolVar(&f.yes, "yes", false, "go ahead, whatever it costs")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what it would take, and stop")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	required(cmd, "group")
	required(cmd, "from")
	return cmd
}

// replayReply is what `reverie replay --json` prints.
type replayReply struct {
	Success bool   `json:"success"` // it came to its end; with --recorded, and nothing differs
	From    string `json:"from"`
	To      string `json:"to"`
	replay.Report
	Schema string `json:"schema,omitempty"` // of the shadow, where it was kept
	Error  string `json:"error,omitempty"`
}

func (a *app) replay(ctx context.Context, f replayFlags) error {
	if err := a.settings(); err != nil {
		return err
	}
	if !f.recorded {
		if err := a.otherModel(f.model); err != nil {
			return err
		}
		if err := checkModels(a.cfg, reverie.JobEvolve); err != nil {
			return err
		}
	}
	set, err := a.replayPrompts(ctx, f.prompt)
	if err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	nights, skipped, calendar, err := a.nightsOf(ctx, &f)
	if err != nil {
		return err
	}
	if len(nights) > 0 && !f.recorded || f.dryRun {
		if stop, err := a.confirmReplay(nights, f); err != nil || stop {
			return err
		}
	}
	reply := replayReply{From: f.from, To: f.to, Report: replay.Report{GroupID: f.group, Recorded: f.recorded, Nights: []replay.Night{}}}
	if len(nights) > 0 {
		err = a.inShadow(ctx, f, &reply, func(x *store.Scratch) (err error) {
			engine, budget, err := a.replayer(ctx, x, set, f)
			if err != nil {
				return err
			}
			reply.Report, err = engine.Run(llm.WithBudget(ctx, budget), f.group, nights)
			return err
		})
	}
	reply.Skipped = slices.Concat([]replay.Skipped{}, skipped, reply.Skipped) // never null
	for i := range reply.Nights {
		reply.Nights[i].Date = calendar.Containing(reply.Nights[i].WindowSince).Date
	}
	return a.reportReplay(reply, f, err)
}

// nightsOf reads the runs of the range, and tells those that are not run again. It fills
// in the last date.
func (a *app) nightsOf(ctx context.Context, f *replayFlags) ([]reverie.PastNight, []replay.Skipped, jobs.Calendar, error) {
	g, err := a.store.Group(ctx, f.group)
	if err != nil {
		return nil, nil, jobs.Calendar{}, unknownGroup(err)
	}
	calendar, err := jobs.CalendarOf(g)
	if err != nil {
		return nil, nil, calendar, err
	}
	if f.to == "" {
		f.to = max(calendar.Containing(a.Now()).Date, f.from)
	}
	if _, err := checkBackfill(backfillFlags{from: f.from, to: f.to}); err != nil {
		return nil, nil, calendar, usageError(err)
	}
	windows, err := calendar.Between(f.from, f.to)
	if err != nil || len(windows) == 0 {
		return nil, nil, calendar, err
	}
	past, undone, err := a.store.Nights(ctx, f.group, windows[0].Since, windows[len(windows)-1].Until)
	if err != nil {
		return nil, nil, calendar, err
	}
	nights, skipped := []reverie.PastNight{}, []replay.Skipped{}
	for _, n := range undone {
		skipped = append(skipped, replay.Skipped{RunID: n.Run.ID, WindowSince: n.Run.WindowSince, Reason: "it was taken back"})
	}
	for _, n := range past {
		if why := replay.Unfit(n, f.recorded); why != "" {
			skipped = append(skipped, replay.Skipped{RunID: n.Run.ID, WindowSince: n.Run.WindowSince, Reason: why})
			continue
		}
		nights = append(nights, n)
	}
	return nights, skipped, calendar, nil
}

// inShadow makes a shadow for fn, and removes it whatever happens, unless it is to be
// kept.
func (a *app) inShadow(ctx context.Context, f replayFlags, reply *replayReply, fn func(*store.Scratch) error) error {
	x, err := a.store.Scratch(ctx)
	if err != nil {
		return err
	}
	err = fn(x)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if f.keep {
		reply.Schema = x.Schema
		return errors.Join(err, x.Keep(end), x.Close())
	}
	if derr := x.Drop(end); derr != nil {
		err = errors.Join(err, fmt.Errorf("the shadow is left behind; `drop schema %s cascade` removes it: %w", x.Schema, derr))
	}
	return err
}

// confirmReplay says what the nights took, and refuses what costs more than may be spent
// unasked. It reports whether that is all.
func (a *app) confirmReplay(nights []reverie.PastNight, f replayFlags) (stop bool, err error) {
	e := estimate{Groups: 1, Windows: len(nights)}
	for _, n := range nights {
		for _, c := range n.Chunks {
			e.Messages += len(c.MessageIDs)
		}
		e.Calls, e.InputTokens, e.OutputTokens = e.Calls+n.Spend.Calls, e.InputTokens+n.Spend.InputTokens, e.OutputTokens+n.Spend.OutputTokens
	}
	if f.recorded {
		e = estimate{Groups: 1, Windows: e.Windows, Messages: e.Messages, Model: "nobody", Priced: true, free: true}
	} else {
		model, settings, err := a.model(config.UseEvolve)
		if err != nil {
			return false, err
		}
		e.Model, e.free = model.Name(), config.Keyless(settings.Provider)
		e.Priced = model.Priced() || e.free
		e.CostUSD = model.Cost(llm.Usage{InputTokens: e.InputTokens, OutputTokens: e.OutputTokens})
	}
	if f.dryRun {
		return true, a.printEstimate(e, backfillFlags{from: f.from, to: f.to, json: f.json})
	}
	switch {
	case f.yes:
	case !e.Priced:
		return false, usageError(fmt.Errorf("what %s costs is not known: say --yes to do it all the same, or add its price to [llm] prices", e.Model))
	case e.CostUSD > a.cfg.Jobs.ConfirmUSD:
		return false, usageError(fmt.Errorf("this is thought to cost $%.2f, more than [jobs] confirm_usd ($%.2f): say --yes to do it",
			math.Ceil(e.CostUSD*100)/100, a.cfg.Jobs.ConfirmUSD))
	}
	return false, nil
}
