package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

func newEntityHistory(a *app) *cobra.Command {
	var groupID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "history ENTITY",
		Short:   "Show how an entity came to be what it is, newest last",
		Long:    "Show the changes of an entity, and all versions of what was said of it, newest last.",
		Example: "  reverie entity history --group g1 Lin",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			e, err := a.entity(ctx, groupID, args[0])
			if err != nil {
				return err
			}
			changes, claims, err := a.Store.EntityHistory(ctx, e.GroupID, e.ID)
			if err != nil {
				return err
			}
			r := reverie.NewEntityHistoryReply(e, changes, claims)
			if asJSON {
				return cli.PrintJSON(a.Stdout, r)
			}
			cli.EntityHistory(a.Stdout, a.Style(), r)
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "look in this group only; ENTITY may be a name then")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newEntityWaiting(a *app) *cobra.Command {
	var groupID string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "waiting --group G",
		Short: "Show observations that wait to be sure whom they are about",
		Long: `Show what was said of somebody who is not known well enough yet, or of a name
that several bear. It is kept, is joined by later observations, and becomes part
of an entity once they suffice; what nothing joins expires.`,
		Example: "  reverie entity waiting --group g1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if limit < 1 {
				return usageError(fmt.Errorf("--limit %d: a limit of 1 or more is needed", limit))
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			waiting, err := a.Store.WaitingObservations(ctx, groupID, limit)
			if err != nil {
				return unknownGroup(err)
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.NewWaitingReply(groupID, waiting))
			}
			if len(waiting) == 0 {
				_, err := fmt.Fprintf(a.Stdout, "%s: nothing waits\n", cli.Visible(groupID))
				return err
			}
			cli.WaitingPage(a.Stdout, a.Style(), waiting)
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "group id (required)")
	cmd.Flags().IntVar(&limit, "limit", 100, "observations at most, the oldest first")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	required(cmd, "group")
	return cmd
}
