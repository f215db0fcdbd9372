package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
)

func newGroupsPause(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pause GROUP",
		Short: "Leave a group out of scheduled work; its messages stay pending",
		Long: `Pause leaves a group out of all work on several groups: evolve and impression with
--due or --all, backfill and the daemon. Messages still come in and wait. What names
the group, such as evolve --group, still works on it.`,
		Example: "  reverie groups pause g1",
		Args:    oneGroup,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			g, err := a.Store.PauseGroup(cmd.Context(), args[0])
			if err != nil {
				return unknownGroup(err)
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, groupReply{Success: true, Group: g})
			}
			_, err = fmt.Fprintf(a.Stdout, "%s: paused; `reverie groups resume %s` ends it\n", cli.Visible(g.ID),
				cli.Operand(g.ID))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newGroupsResume(a *app) *cobra.Command {
	var asJSON, parked bool
	cmd := &cobra.Command{
		Use:   "resume GROUP | --parked",
		Short: "Take a paused, parked or failing group up again",
		Long: `Resume ends a pause, and takes a group up again that was parked after repeated
failure, or is left alone for a while after one: the failures are forgotten, those of
its sessions too. The next scheduled run makes up what was missed. Mend what made it
fail first.

--parked takes up all groups that are parked or have a parked session, say after a
model that failed for everybody has come back. Paused ones stay paused.`,
		Example: "  reverie groups resume g1\n  reverie groups resume --parked",
		Args: func(cmd *cobra.Command, args []string) error {
			if parked {
				return cobra.NoArgs(cmd, args)
			}
			return oneGroup(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			if parked {
				return a.resumeParked(ctx, asJSON)
			}
			before, err := a.groupEntry(ctx, args[0])
			if err != nil {
				return err
			}
			g, gone, err := a.Store.ResumeGroup(ctx, args[0])
			if err != nil {
				return unknownGroup(err)
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, groupReply{Success: true, Group: g, Setbacks: gone})
			}
			return a.PrintResumed(before, gone)
		},
	}
	cmd.Flags().BoolVar(&parked, "parked", false, "all groups that are parked")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// resumeParked takes up every parked group.
func (a *app) resumeParked(ctx context.Context, asJSON bool) error {
	n, err := a.Store.ResumeParked(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(a.Stdout, struct {
			Success bool `json:"success"`
			Resumed int  `json:"resumed"`
		}{true, n})
	}
	_, err = fmt.Fprintf(a.Stdout, "%s resumed\n", cli.Plural(n, "parked group"))
	return err
}
