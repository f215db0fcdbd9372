package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/eval"
)

// evalFlags are the flags of `reverie eval`.
type evalFlags struct {
	application.PlayOptions
	names    []string
	answers  string
	checked  bool
	minRight float64

	dataset application.DatasetOptions
}

func newEval(a *app) *cobra.Command {
	f := evalFlags{PlayOptions: application.PlayOptions{Playing: a.tellPlaying}}
	cmd := a.command("reverie eval", cobra.ExactArgs(1),
		func(ctx context.Context, args []string) error { return a.eval(ctx, args[0], f) })
	fl := cmd.Flags()
	fl.StringSliceVar(&f.names, "scenario", nil, "play only scenarios of these names or patterns")
	fl.BoolVar(&f.Recorded, "recorded", false, "play the recorded answers, and make no call")
	fl.BoolVar(&f.Record, "record", false, "overwrite the scenarios' answers with those of the model")
	fl.BoolVar(&f.checked, "check", false, "only read the scenarios, and print their faults")
	fl.StringVar(&f.answers, "answers", "", "write each question and its raw answer to this `file`, as JSON Lines")
	number(cmd, &f.K, "k", 5, 1, 100, "how many results of a search to look at")
	fl.StringVar(&f.dataset.Name, "dataset", "", "play a public benchmark: locomo, longmemeval, qmsum or groupmembench")
	fl.StringSliceVar(&f.dataset.Only, "only", nil, "with --dataset: only conversations of these ids or patterns")
	number(cmd, &f.dataset.Limit, "limit", 0, 0, 1<<20, "with --dataset: only so many conversations; 0 = all")
	fl.StringVar(&f.dataset.Out, "out", "", "with --dataset: the `file` that every question is written to (default DATASET.jsonl)")
	fl.Float64Var(&f.minRight, "min-right", 0, "exit with 1 if the score is below this percentage")
	apart(cmd, "dataset", "recorded", "record", "check", "scenario", "min-right")
	apart(cmd, "recorded", "record")
	apart(cmd, "check", "recorded", "record", "answers")
	check(cmd, func() error {
		switch {
		case f.dataset.Name == "" && (len(f.dataset.Only) > 0 || f.dataset.Limit > 0 || f.dataset.Out != ""):
			return errors.New("--only, --limit and --out go with --dataset: name the benchmark")
		case f.minRight < 0 || f.minRight > 100:
			return fmt.Errorf("--min-right %v: give a percentage from 0 to 100", f.minRight)
		}
		return nil
	})
	return cmd
}

func (a *app) eval(ctx context.Context, dir string, f evalFlags) error {
	if f.dataset.Name != "" {
		return a.evalDataset(ctx, dir, f)
	}
	list, err := eval.Load(dir, f.names)
	for _, s := range list {
		if f.Recorded && len(s.Answers) == 0 {
			err = errors.Join(err, fmt.Errorf("scenario %s has no answers.jsonl: make it with --record, or leave the "+
				"scenario out",
				s.Name))
		}
	}
	switch {
	case err != nil:
		return usageError(err)
	case f.checked:
		return a.PrintChecked(list)
	}
	if err := a.settings(); err != nil {
		return err
	}
	if f.answers != "" {
		file, err := os.Create(f.answers)
		if err != nil {
			return usageError(fmt.Errorf("--answers: %w", err))
		}
		defer file.Close()
		f.PlayOptions.Answers = file
	}
	report, err := a.PlayScenarios(ctx, list, f.PlayOptions)
	if len(report.Scenarios) > 0 {
		err = errors.Join(err, a.Show(report, func() error { return a.PrintReport(report) }))
	}
	switch {
	case err != nil:
		return err
	case !report.Success:
		return errors.New("some scenarios could not be played to the end; the report above names them")
	case report.Total.Percent.Percent < f.minRight:
		return fmt.Errorf("the score is %.1f%%, and --min-right asks for %v%%", report.Total.Percent.Percent, f.minRight)
	}
	return nil
}

func (a *app) evalDataset(ctx context.Context, dir string, f evalFlags) error {
	if err := a.settings(); err != nil {
		return err
	}
	report, err := a.PlayDataset(ctx, dir, f.dataset, f.PlayOptions)
	if report.Total.Questions > 0 || err == nil {
		err = errors.Join(err, a.Show(report, func() error { return a.Page("dataset", report) }))
	}
	if err == nil && !report.Success {
		return errors.New("some conversations could not be played to the end; the report above names them")
	}
	return err
}

// tellPlaying shows on a terminal which scenario is running; at the end it clears the line.
func (a *app) tellPlaying(i, n int, name string) {
	switch {
	case !cli.Terminal(a.Stderr):
	case i == n:
		fmt.Fprint(a.Stderr, "\r\x1b[K")
	default:
		fmt.Fprintf(a.Stderr, "\r\x1b[K%d of %d: %s", i+1, n, name)
	}
}
