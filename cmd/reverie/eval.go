package main

import (
	"context"
	"errors"
	"fmt"
	application "reverie/internal/app"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/eval"
)

// evalFlags are what `reverie eval` was asked for.
type evalFlags struct {
	names                           []string
	json, recorded, record, checked bool
	k                               int
	minRight                        float64
}

// evalExitHelp are the exit codes of eval.
const evalExitHelp = `Exit codes:
  0    every scenario was played, and --min-right was reached
  1    some could not be played, or fewer points were earned than --min-right
  2    usage or configuration: trying again does not help; a scenario is wrong
  4    deferred: the model or the budget gave out
  130  interrupted`

func newEval(a *app) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval DIR",
		Short: "Play scenarios with a model, and count what it gets right",
		Long: `Play the scenarios of a folder, each in a group of its own in an empty schema that is
dropped at the end: nothing that is there is read or written. A scenario is a folder
with memories, messages of one or more nights, and what is expected of them (see
internal/eval/scenarios/README.md).

Counted are the expected facts, forbidden ones, duplicates, wrong deletes (those that
were held for a person, too), memories that nobody expected, the evidence that was
cited, and whether the scenario's questions find their answer: by search, in the context
for a bot, and by plain BM25 over the messages. The score is the points earned out of
those there are, less one for each memory that nobody expected, with its 95% interval.

The model is the configured one. --recorded plays the answers in the scenarios' own
answers.jsonl instead: no call is made, with vectors of the offline embedder. --record
writes them anew from what the model says. --check reads the scenarios, and asks nobody.

` + evalExitHelp,
		Example: `  reverie eval internal/eval/scenarios --recorded
  reverie eval internal/eval/scenarios --llm gemini --min-right 85
  reverie eval internal/eval/scenarios --scenario 'zh-*' --llm offline
  reverie eval internal/eval/scenarios --check`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return usageError(err)
			}
			return a.eval(cmd.Context(), args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.names, "scenario", nil, "only the scenarios of these names or patterns")
	fl.BoolVar(&f.recorded, "recorded", false, "play the recorded answers; no call is made")
	fl.BoolVar(&f.record, "record", false, "write the model's answers into the scenarios, over those that are there")
	fl.BoolVar(&f.checked, "check", false, "only read the scenarios and hold their recorded answers against them")
	fl.IntVar(&f.k, "k", 5, "how many results of a search count")
	fl.Float64Var(&f.minRight, "min-right", 0, "exit with 1 where fewer percent are right")
	fl.BoolVar(&f.json, "json", false, "print as JSON")
	return cmd
}

func (f evalFlags) check() error {
	switch {
	case f.recorded && f.record:
		return errors.New("--recorded plays what was recorded, --record records anew: give one of them")
	case f.checked && (f.recorded || f.record):
		return errors.New("--check plays nothing: leave out --recorded and --record")
	case f.k < 1 || f.k > 100:
		return fmt.Errorf("--k %d: it is 1 to 100", f.k)
	case f.minRight < 0 || f.minRight > 100:
		return fmt.Errorf("--min-right %v: it is 0 to 100", f.minRight)
	}
	return nil
}

func (a *app) eval(ctx context.Context, dir string, f evalFlags) error {
	list, err := eval.Load(dir, f.names)
	if f.checked {
		for _, s := range list {
			err = errors.Join(err, s.CheckAnswers())
		}
	}
	if f.recorded {
		for _, s := range list {
			if len(s.Answers) == 0 {
				err = errors.Join(err, fmt.Errorf("scenario %s has no answers.jsonl: record them with --record, or leave it out",
					s.Name))
			}
		}
	}
	switch {
	case err != nil && f.json:
		return usageError(errors.Join(err, a.PrintFaults(err)))
	case err != nil:
		return usageError(err)
	case f.checked:
		return a.PrintChecked(list, f.json)
	}
	if err := a.settings(); err != nil {
		return err
	}
	report, err := a.PlayScenarios(ctx, list,
		application.PlayOptions{Recorded: f.recorded, Record: f.record, K: f.k, Playing: a.tellPlaying})
	switch {
	case len(report.Scenarios) == 0:
	case f.json:
		err = errors.Join(err, cli.PrintJSON(a.Stdout, report))
	default:
		err = errors.Join(err, a.PrintReport(report))
	}
	switch {
	case err != nil:
		return err
	case !report.Success:
		return errors.New("some scenarios could not be played to the end")
	case report.Total.Percent.Percent < f.minRight:
		return fmt.Errorf("%.1f%% is right, and --min-right asks for %v%%", report.Total.Percent.Percent, f.minRight)
	}
	return nil
}

// tellPlaying says on a terminal what is being played; at the end it leaves the screen.
func (a *app) tellPlaying(i, n int, name string) {
	switch {
	case !cli.Terminal(a.Stderr):
	case i == n:
		fmt.Fprint(a.Stderr, "\r\x1b[K")
	default:
		fmt.Fprintf(a.Stderr, "\r\x1b[K%d of %d: %s", i+1, n, name)
	}
}
