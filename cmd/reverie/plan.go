package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"reverie/evolve"
	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/pipeline"
	"reverie/internal/planfile"
	"reverie/internal/reverie"
	"reverie/jobs"
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

func newApply(a *app) *cobra.Command {
	var approve, asJSON bool
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Apply a plan from a file, exactly as it is, without a model",
		Long: `Apply does what a plan says that 'reverie plan --group' wrote, all of it in one
transaction, without asking a model. It becomes a run like any other.

Where a memory or a message that the plan rests on is not as it was, where there is a
new memory, or where the file is not as it was written, all of it is refused, and
nothing is changed. Messages that have arrived since stay pending. A plan that was
applied already changes nothing, and the command says so.

Lines that a run would have held wait for a person as they always do: see
'reverie runs approve'. With --approve they are applied with the others.

` + exitHelp,
		Example: `  reverie apply plan.json
  reverie apply --approve plan.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			plan, err := a.readPlan(ctx, args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			began := time.Now()
			res, err := a.applyPlan(ctx, plan, approve)
			if err != nil && !asJSON {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if asJSON {
				res.Err = err
				return cmp.Or(err, cli.PrintJSON(a.Stdout, res.Reply()))
			}
			a.printApplied(plan, res, time.Since(began))
			return nil
		},
	}
	cmd.Flags().BoolVar(&approve, "approve", false, "apply what a run would have held, too: a person has read it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// applyPlan applies a plan under its group's lease.
func (a *app) applyPlan(ctx context.Context, plan *planfile.File, approve bool) (res evolve.Result, err error) {
	g, err := a.Store.Group(ctx, plan.GroupID)
	if err != nil {
		return res, fmt.Errorf("the plan is for a group that is not here: %w", err)
	}
	j := application.EvolveJobBy(func(ctx context.Context, hold pipeline.LeaseHolder, _ string, _ reverie.Window) (evolve.Result, error) {
		return a.Approver().ApplyPlan(ctx, a.Store, hold, plan, approve)
	})
	j.Failed = func(context.Context, string, reverie.Window, error) error { return nil } // a plan's fault is not the group's
	done := a.RunOne(ctx, j, jobs.Request{Group: g, Window: reverie.Window{Since: plan.Since, Until: plan.Until}})
	res, _ = done.Last().Result.(evolve.Result)
	return res, done.Err
}

// printApplied says what applying a plan has done.
func (a *app) printApplied(plan *planfile.File, res evolve.Result, took time.Duration) {
	w := a.Stdout
	switch {
	case res.NoNew && res.RunID == "":
		fmt.Fprintf(w, "%s: the plan is empty, there were no new messages: nothing to apply\n", cli.Visible(res.GroupID))
		return
	case res.NoNew:
		fmt.Fprintf(w, "%s: the plan was applied before, as run %s at %s UTC (%s): nothing was changed now\n",
			cli.Visible(res.GroupID), res.RunID, cli.Stamp(res.At), res.Status)
		return
	}
	a.PrintResult(res, took, "", cli.Counts(reverie.JobEvolve, res.Stats))
	fmt.Fprintf(w, "  plan of %s UTC by %s, prompt version %s (%.12s)\n",
		cli.Stamp(plan.CreatedAt), cli.Visible(plan.Model), cli.Visible(plan.PromptVersion), cli.Visible(plan.PromptSHA256))
	if res.Stats.Approved > 0 {
		fmt.Fprintf(w, "  %s\n", cli.LetPass(res.Stats.Approved))
	}
	a.PrintWarnings(res.Warnings)
}
