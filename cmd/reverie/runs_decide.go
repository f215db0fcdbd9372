package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/api"
	application "reverie/internal/app"
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
'reverie runs show RUN' shows it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" {
				return usageError(errors.New("--plan is gone, what a run holds cannot be edited any more: approve it without --plan, " +
					"or `reverie runs reject RUN --requeue` and correct memories by `reverie memory`"))
			}
			ctx := cmd.Context()
			d, err := a.findRun(ctx, args[0])
			if err != nil {
				return err
			}
			began := time.Now()
			res, err := application.ApproveRun(ctx, a.Store, a.Leases(), a.Approver(), d)
			if asJSON {
				if perr := cli.PrintJSON(a.Stdout, application.ApproveReply(d.Run, res, err)); perr != nil && err == nil {
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
	cmd.Flags().StringVar(&file, "plan", "", "removed: what a run holds cannot be edited")
	_ = cmd.Flags().MarkHidden("plan")
	return cmd
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
