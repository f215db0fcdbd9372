package main

import (
	"cmp"
	"context"
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
