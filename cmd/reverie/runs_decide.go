package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie"
	"reverie/evolve"
	"reverie/jobs"
)

func newRunsApprove(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "approve RUN",
		Short: "Apply what a run holds, except lines whose memory has moved since",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := a.findRun(ctx, args[0])
			if err != nil {
				return err
			}
			p := a.approver()
			began := time.Now()
			var res evolve.Result
			err = a.leases().With(ctx, d.Run.GroupID, func(ctx context.Context, held *jobs.Held) error {
				res, err = p.Approve(ctx, a.store, held, d.Run, d.Held)
				return err
			})
			if asJSON {
				if res.GroupID == "" {
					res.GroupID, res.RunID, res.Err = d.Run.GroupID, d.Run.ID, err
				}
				if perr := printJSON(a.stdout, res.Reply()); perr != nil && err == nil {
					err = perr
				}
				return err
			}
			if err == nil {
				a.printResult(res, time.Since(began), "", effects(d.Run.Job, res.Stats)) // it has read nothing
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
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
			var n int
			err = a.leases().With(ctx, d.Run.GroupID, func(ctx context.Context, held *jobs.Held) error {
				return held.Exclusive(func() error {
					n, err = a.store.RejectHeld(ctx, held.Lease(), d.Run.GroupID, d.Run.ID, requeue)
					return err
				})
			})
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.stdout, struct {
					Success  bool   `json:"success"`
					RunID    string `json:"run_id"`
					Requeued int    `json:"requeued"`
				}{true, d.Run.ID, n})
			}
			again := plural(n, "message") + " pending"
			if d.Run.Job == reverie.JobDream {
				again = plural(n, "memory") + " new to dreams"
			}
			_, err = fmt.Fprintf(a.stdout, "run %s rejected; %s again\n", d.Run.ID, again)
			return err
		},
	}
	cmd.Flags().BoolVar(&requeue, "requeue", false, "make the messages of chunks held whole pending again, or what a dream took in new")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
