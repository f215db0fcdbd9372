package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie"
	"reverie/evolve"
	"reverie/jobs"
	"reverie/store"
)

func newRuns(a *app) *cobra.Command {
	return group("runs", "Look at runs, and decide on what they hold", newRunsList(a), newRunsShow(a), newRunsApprove(a), newRunsReject(a))
}

func newRunsList(a *app) *cobra.Command {
	var q reverie.RunQuery
	var status string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch s := reverie.RunStatus(status); s {
			case "", reverie.RunRunning, reverie.RunSucceeded, reverie.RunHeld, reverie.RunDeferred, reverie.RunFailed, reverie.RunRejected:
				q.Status = s
			default:
				return usageError(fmt.Errorf("--status %q: it is running, succeeded, held, deferred, failed or rejected", status))
			}
			if q.Limit < 1 {
				return usageError(fmt.Errorf("--limit %d: it is 1 or more", q.Limit))
			}
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			runs, err := a.store.Runs(cmd.Context(), q)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.stdout, struct {
					Success bool               `json:"success"`
					Runs    []reverie.RunEntry `json:"runs"`
				}{true, append([]reverie.RunEntry{}, runs...)})
			}
			if len(runs) == 0 {
				_, err := fmt.Fprintln(a.stdout, "no runs")
				return err
			}
			var t table
			t.row("RUN", "GROUP", "STARTED", "TOOK", "STATUS", "TRY", "KEPT", "UPD", "NEW", "DEL", "REF", "HELD", "MESSAGES", "ERROR")
			for _, r := range runs {
				st := r.Stats
				t.row(r.ID, visible(r.GroupID), stamp(r.StartedAt), took(r.Run), string(r.Status), fmt.Sprint(r.Attempt), fmt.Sprint(st.Kept), fmt.Sprint(st.Updated),
					fmt.Sprint(st.Created), fmt.Sprint(st.Deleted), fmt.Sprint(st.Refused), fmt.Sprint(st.Held),
					fmt.Sprint(st.Cited+st.Considered+st.Filtered), visible(reverie.Excerpt(r.Error, 60)))
			}
			return t.write(a.stdout, a.style())
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.GroupID, "group", "", "only this group's")
	f.StringVar(&status, "status", "", "only these: running, succeeded, held, deferred, failed or rejected")
	f.IntVar(&q.Limit, "limit", 20, "runs at most")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// took is how long a run was under way.
func took(r reverie.Run) string {
	if r.FinishedAt == nil {
		return "-"
	}
	return r.FinishedAt.Sub(r.StartedAt).Round(10 * time.Millisecond).String()
}

func newRunsShow(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run: its chunks, changes, refused lines, held plans and calls",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			d, err := a.store.Run(cmd.Context(), "", args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.stdout, runReply(d))
			}
			return a.printRun(d)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// runReply is a run as --json shows it.
func runReply(d store.RunDetail) any {
	changes := []reverie.ChangeReply{}
	for _, c := range d.Changes {
		changes = append(changes, c.Reply())
	}
	type heldReply struct {
		ChunkNo int                `json:"chunk_no"`
		Whole   bool               `json:"whole"`
		Reason  string             `json:"reason"`
		Status  reverie.HeldStatus `json:"status"`
		Steps   []reverie.Step     `json:"steps"`
	}
	held := []heldReply{}
	for _, h := range d.Held {
		held = append(held, heldReply{h.ChunkNo, h.Whole, h.Reason, h.Status, h.Steps})
	}
	return struct {
		Success bool                  `json:"success"`
		Run     reverie.Run           `json:"run"`
		Chunks  []reverie.Chunk       `json:"chunks"`
		Changes []reverie.ChangeReply `json:"changes"`
		Held    []heldReply           `json:"held"`
		Calls   []reverie.Call        `json:"calls"`
	}{true, d.Run, d.Chunks, changes, held, d.Calls}
}

func (a *app) printRun(d store.RunDetail) error {
	r, w, s := d.Run, a.stdout, a.style()
	fmt.Fprintf(w, "%s  %s of %s  %s\n", s.bold(r.ID), r.Job, visible(r.GroupID), r.Status)
	fmt.Fprintf(w, "  window    %s to %s, attempt %d\n", stamp(r.WindowSince), stamp(r.WindowUntil), r.Attempt)
	fmt.Fprintf(w, "  model     %s, prompt version %s (%.12s)\n", r.Model, r.PromptVersion, r.PromptSHA256)
	fmt.Fprintf(w, "  time      %s, took %s\n", stamp(r.StartedAt), took(r))
	fmt.Fprintf(w, "  result    %s\n", counts(r.Stats))
	if r.Error != "" {
		fmt.Fprintf(w, "  %s     %s\n", s.red("error"), visible(r.Error))
	}
	for _, c := range d.Changes {
		a.printChange(s, c)
	}
	for _, c := range d.Chunks {
		fmt.Fprintf(w, "chunk %d  %s  %s\n", c.No, c.Status, plural(len(c.MessageIDs), "message"))
		for _, f := range c.Refusals {
			a.printRefusal(s, f)
		}
	}
	for _, h := range d.Held {
		fmt.Fprintf(w, "held in chunk %d  %s  %s\n", h.ChunkNo, h.Status, visible(h.Reason))
		for _, st := range h.Steps {
			if st.Action != reverie.ActionKeep {
				a.printChange(s, reverie.Change{Action: st.Action, OldStatement: st.OldStatement, NewStatement: st.Statement,
					Summary: st.Reason, Version: st.Head.Version + 1, Evidence: st.Evidence})
			}
		}
	}
	var t table
	t.row("CALL", "MODEL", "IN", "OUT", "USD", "OUTCOME")
	for _, c := range d.Calls {
		t.row(c.Purpose, c.Provider+"/"+c.Model, fmt.Sprint(c.InputTokens), fmt.Sprint(c.OutputTokens), fmt.Sprintf("%.5f", c.CostUSD), c.Outcome)
	}
	return t.write(w, s)
}

func newRunsApprove(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "approve RUN",
		Short: "Apply what a run holds, except lines whose memory has moved since",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			d, err := a.store.Run(ctx, "", args[0])
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
				a.printResult(res, time.Since(began))
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
were held whole become pending again; those of chunks that were applied save for
some lines stay consumed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			d, err := a.store.Run(ctx, "", args[0])
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
			_, err = fmt.Fprintf(a.stdout, "run %s rejected; %s pending again\n", d.Run.ID, plural(n, "message"))
			return err
		},
	}
	cmd.Flags().BoolVar(&requeue, "requeue", false, "make the messages of chunks held whole pending again")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
