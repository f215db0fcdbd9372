package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// planFlags are the flags of `reverie plan`.
type planFlags struct {
	evolveFlags
	file string
}

func newPlan(a *app) *cobra.Command {
	var f planFlags
	cmd := a.command("reverie plan", cobra.NoArgs, func(ctx context.Context, _ []string) error { return a.plan(ctx, &f) })
	fl := cmd.Flags()
	a.groupNeeded(cmd, &f.group)
	fl.StringVarP(&f.file, "output", "o", "", "`file` to write, - for standard output (required)")
	f.windowFlags(cmd)
	daysFlag(cmd, &f.days)
	cmd.Flags().Lookup("json").Usage = "print JSON: what was planned"
	check(cmd, func() error {
		switch {
		case f.file == "":
			return errors.New("the file for the plan is missing: name it with -o; `reverie evolve --dry-run` only shows a plan")
		case f.file == "-" && a.JSON:
			return errors.New("--json and -o - both print to standard output: name a file")
		}
		return nil
	})
	return cmd
}

// plan asks the model, shows the plan and writes it.
func (a *app) plan(ctx context.Context, f *planFlags) error {
	ctx, p, err := a.worker(ctx, reverie.JobEvolve)
	if err != nil {
		return err
	}
	g, w, err := f.groupAndWindow(ctx, a)
	if err != nil {
		return err
	}
	stop, err := a.watch(ctx, p.Evolve, g.ID, w)
	if err != nil {
		return err
	}
	began := time.Now()
	req := evolve.Request{GroupID: g.ID, Since: w.Since, Until: w.Until, Days: f.days, DryRun: true,
		PlanID: reverie.NewID()}
	end, err := a.Evolve(ctx, nil, p, g, req, func(evolve.Result) {})
	stop()
	res, _ := end.Run.Result.(evolve.Result)
	if err != nil { // an incomplete plan is not written
		return fmt.Errorf("%s was not written: %w", f.file, err)
	}
	return a.keepPlan(f.file, res, time.Since(began))
}

// keepPlan writes a plan to its file, and describes it. If the plan goes to standard output, the description goes
// to standard error.
func (a *app) keepPlan(name string, res evolve.Result, took time.Duration) error {
	plan, told := res.Plan, a.Console
	if name == "-" {
		told.Stdout = a.Stderr
		if err := plan.Write(a.Stdout); err != nil {
			return err
		}
	} else if err := cli.WriteWhole(name, plan.Write); err != nil {
		return err
	}
	sum, err := plan.Sum()
	if err != nil {
		return err
	}
	return a.Show(struct {
		reverie.EvolveReply
		File   string `json:"file"`
		PlanID string `json:"plan_id"`
		SHA256 string `json:"sha256"`
	}{res.Reply(), name, plan.Run.ID, sum}, func() error {
		err := told.PrintResult(res, took, "", cli.Counts(reverie.JobEvolve, res.Stats))
		if err != nil || name == "-" {
			return err
		}
		return a.Say("%[1]s: %s of %s; `reverie apply %[1]s` applies it\n", cli.Visible(name), cli.Plural(plan.Steps(), "step"),
			cli.Visible(plan.Run.GroupID))
	})
}

func newApply(a *app) *cobra.Command {
	return a.command("reverie apply", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		in, err := a.Input(ctx, args[0])
		if err != nil {
			return err
		}
		plan, err := planfile.Read(in)
		if err = errors.Join(err, in.Close()); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		if err := a.open(ctx); err != nil {
			return err
		}
		began := time.Now()
		res, err := a.applyPlan(ctx, plan)
		if err != nil && !a.JSON {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		res.Err = err
		return cmp.Or(err, a.Show(res.Reply(), func() error { return a.printApplied(plan, res, time.Since(began)) }))
	})
}

// applyPlan applies a plan under its group's lease.
func (a *app) applyPlan(ctx context.Context, plan *planfile.File) (res evolve.Result, err error) {
	g, err := a.Store.Group(ctx, plan.Run.GroupID)
	if err != nil {
		return res, fmt.Errorf("the plan is for a group that this database does not have: %w", err)
	}
	j := application.EvolveJobBy(func(ctx context.Context, hold pipeline.LeaseHolder, _ string,
		_ reverie.Window) (evolve.Result, error) {
		return a.Approver().ApplyPlan(ctx, a.Store, hold, plan)
	})
	// A fault of a plan does not count against its group.
	j.Failed = func(context.Context, string, reverie.Window, error) error { return nil }
	done := a.RunOne(ctx, j, jobs.Request{Group: g, Window: reverie.Window{Since: plan.Run.WindowSince, Until: plan.Run.WindowUntil}})
	res, _ = done.Last().Result.(evolve.Result)
	return res, done.Err
}

// printApplied prints the effects of applying a plan.
func (a *app) printApplied(plan *planfile.File, res evolve.Result, took time.Duration) error {
	switch {
	case res.NoNew && res.RunID == "":
		return a.Say("%s: the plan is empty, there were no new messages: nothing to apply\n", cli.Visible(res.GroupID))
	case res.NoNew:
		return a.Say("%s: the plan was applied before, as run %s at %s UTC (%s): nothing was changed now\n",
			cli.Visible(res.GroupID), res.RunID, cli.Stamp(res.At), res.Status)
	}
	err := a.PrintResult(res, took, "", cli.Counts(reverie.JobEvolve, res.Stats))
	fmt.Fprintf(a.Stdout, "  plan of %s UTC by %s, prompt version %s (%.12s)\n",
		cli.Stamp(plan.CreatedAt), cli.Visible(plan.Run.Model), cli.Visible(plan.Run.PromptVersion),
		cli.Visible(plan.Run.PromptSHA256))
	a.Warn(res.Warnings...)
	return err
}
