package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/evolve"
	"reverie/internal/api"
	"reverie/internal/cli"
	"reverie/internal/reverie"
)

func newRunsApprove(a *app) *cobra.Command {
	var asJSON bool
	var file string
	cmd := &cobra.Command{
		Use:   "approve RUN",
		Short: "Apply what a run holds, except lines whose memory has moved since",
		Long: `Approve applies what a run holds, except lines whose memory has moved since.

With --plan it applies what a person has made of it: 'reverie plan --run RUN -o FILE'
writes what is held; lines of type step may be taken out of the file, and of those
that stay statement, tags, change_reason and evidence changed. A file that says
anything else is refused whole.`,
		Example: `  reverie plan --run RUN -o held.jsonl
  reverie runs approve RUN --plan held.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := a.findRun(ctx, args[0])
			if err != nil {
				return err
			}
			began := time.Now()
			res, err := a.approve(ctx, d, file)
			if asJSON {
				if perr := cli.PrintJSON(a.Stdout, api.ApproveReply(d.Run, res, err)); perr != nil && err == nil {
					err = perr
				}
				return err
			}
			if err == nil {
				a.PrintResult(res, time.Since(began), "", cli.Effects(d.Run.Job, res.Stats)) // it has read nothing
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.Flags().StringVar(&file, "plan", "", "apply this, edited by a person, instead of what the run holds (- is "+
		"standard input)")
	return cmd
}

// approve applies what a run holds, or what the file says of it.
func (a *app) approve(ctx context.Context, d reverie.RunDetail, file string) (evolve.Result, error) {
	if file == "" {
		return api.ApproveRun(ctx, a.Store, a.Leases(), a.Approver(), d)
	}
	plan, err := a.readPlan(ctx, file)
	if err != nil {
		return evolve.Result{}, err
	}
	return api.ApproveEdited(ctx, a.Store, a.Leases(), a.Approver(), d, plan)
}

func newRunsReject(a *app) *cobra.Command {
	var requeue, asJSON bool
	cmd := &cobra.Command{
		Use:   "reject RUN",
		Short: "Refuse what a run holds",
		Long: `Reject refuses all that a run holds. With --requeue the messages of chunks that
were held whole, or of an extraction with all of their facts, become pending again;
those of chunks that were applied save for some lines stay consumed. What a dream
took in is new again if all of its items were held.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := a.findRun(ctx, args[0])
			if err != nil {
				return err
			}
			reply, err := api.RejectRun(ctx, a.Store, a.Leases(), d.Run, requeue)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reply)
			}
			again := cli.Plural(reply.Requeued, "message") + " pending"
			if d.Run.Job == reverie.JobDream {
				again = cli.Plural(reply.Requeued, "memory") + " new to dreams"
			}
			_, err = fmt.Fprintf(a.Stdout, "run %s rejected; %s again\n", d.Run.ID, again)
			return err
		},
	}
	cmd.Flags().BoolVar(&requeue, "requeue", false, "make the messages of chunks held whole pending again, or what a "+
		"dream took in new")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
