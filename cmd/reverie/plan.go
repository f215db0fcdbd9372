package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"reverie/evolve"
	"reverie/internal/cli"
	"reverie/internal/planfile"
	"reverie/internal/reverie"
)

// planFlags are what `reverie plan` was asked for.
type planFlags struct {
	evolveFlags
	run  string
	file string
}

func newPlan(a *app) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan --group G -o FILE",
		Short: "Ask the model and write its plan to a file, for apply",
		Long: `Plan asks the model as evolve does, checks the answer, shows what would be done and
writes it to a file, with hashes of the memories and messages that it rests on. Nothing
is changed; the calls that it makes are recorded. 'reverie apply FILE' does exactly
that, without a model.

A plan cannot be edited: it carries a seal of its group in this database.

` + exitHelp,
		Example: `  reverie plan --group g1 -o plan.json
  reverie apply plan.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return usageError(err)
			}
			return invalidIsUsage(a.plan(cmd.Context(), f))
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.group, "group", "", "the group to plan for")
	fl.StringVar(&f.run, "run", "", "removed: what a run holds cannot be edited")
	_ = fl.MarkHidden("run")
	fl.StringVarP(&f.file, "output", "o", "", "file to write (- is standard output)")
	fl.StringVar(&f.since, "since", "", "from this date or instant on")
	fl.StringVar(&f.until, "until", "", "before this date or instant")
	fl.IntVar(&f.days, "days", 0, "also show the model this many days of earlier messages, as context")
	fl.BoolVar(&f.json, "json", false, "print what was planned as JSON")
	return cmd
}

func (f planFlags) check() error {
	switch {
	case f.run != "":
		return errors.New("--run is gone: `reverie runs show RUN` shows what a run holds, `reverie runs approve RUN` applies it")
	case f.group == "":
		return errors.New("--group G is needed\nsee 'reverie plan --help'")
	case f.file == "":
		return errors.New("name the file to write with -o; `reverie evolve --dry-run` only shows what would be done")
	case f.file == "-" && f.json:
		return errors.New("--json prints what was planned, and -o - the plan: name a file")
	}
	_, _, err := f.window(reverie.Group{})
	return errors.Join(err, f.checkDays())
}

// plan asks the model, shows what it would do and writes that down.
func (a *app) plan(ctx context.Context, f planFlags) error {
	ctx, p, err := a.worker(ctx, reverie.JobEvolve)
	if err != nil {
		return err
	}
	g, err := a.Store.Group(ctx, f.group)
	if err != nil {
		return fmt.Errorf("%w; `reverie import FILE --group %s` makes it", err, f.group)
	}
	w, err := f.span(g, a.Now())
	if err != nil {
		return err
	}
	stop, err := a.watch(ctx, p.Evolve, g.ID, w)
	if err != nil {
		return err
	}
	began := time.Now()
	req := evolve.Request{GroupID: g.ID, Since: w.Since, Until: w.Until, Days: f.days, DryRun: true, PlanID: reverie.NewID()}
	end, err := a.Evolve(ctx, nil, p, g, req, func(evolve.Result) {})
	stop()
	res, _ := end.Run.Result.(evolve.Result)
	if err != nil { // half a plan is none
		return fmt.Errorf("%s was not written: %w", f.file, err)
	}
	show := func() { a.PrintResult(res, time.Since(began), "", cli.Counts(reverie.JobEvolve, res.Stats)) }
	return a.keepPlan(f, res.Plan, res.Reply(), show)
}

// keepPlan writes a plan to its file, and says what it is. Where the plan goes to
// standard output, that goes to standard error.
func (a *app) keepPlan(f planFlags, plan *planfile.File, reply reverie.EvolveReply, show func()) error {
	file := cli.Visible(f.file)
	said := fmt.Sprintf("%s: %s of %s; `reverie apply %s` applies it\n", file, cli.Plural(plan.Steps(), "step"), cli.Visible(plan.GroupID), file)
	if f.file == "-" {
		if err := plan.Write(a.Stdout); err != nil {
			return err
		}
		out := a.Stdout
		a.Stdout = a.Stderr
		show()
		a.Stdout = out
		return nil
	}
	if err := cli.WriteWhole(f.file, func(w io.Writer) error { return plan.Write(w) }); err != nil {
		return err
	}
	if f.json {
		sum, err := plan.Sum()
		if err != nil {
			return err
		}
		return cli.PrintJSON(a.Stdout, struct {
			reverie.EvolveReply
			File   string `json:"file"`
			PlanID string `json:"plan_id"`
			SHA256 string `json:"sha256"`
		}{reply, f.file, plan.PlanID, sum})
	}
	show()
	_, err := fmt.Fprint(a.Stdout, said)
	return err
}

// readPlan reads a plan from a file, or from standard input.
func (a *app) readPlan(ctx context.Context, name string) (*planfile.File, error) {
	in, _, err := a.Input(ctx, name)
	if err != nil {
		return nil, err
	}
	plan, err := planfile.Read(in)
	return plan, errors.Join(err, in.Close())
}
