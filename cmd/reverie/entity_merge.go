package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/safety"
)

func newEntityMerge(a *app) *cobra.Command {
	var groupID, reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "merge A B",
		Short: "Say that B is the same as A",
		Long: `Say that B is the same as A. Nothing moves: whoever reads A sees the names and
claims of both, and what is said of B from now on is said of A. 'entity unmerge B'
parts them again, and all is as it was.`,
		Example: `  reverie entity merge 0194f2c0-5b1e-7c3a-9a55-1f0f8d3b6c11 0194f2c0-61d0-7a4e-8a43-0c9b6f7e2d55
  reverie entity merge --group g1 Lin Linnea --reason "her second account"`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			into, err := a.entity(ctx, groupID, args[0])
			if err != nil {
				return err
			}
			merged, err := a.entity(ctx, groupID, args[1])
			if err != nil {
				return err
			}
			if into.GroupID != merged.GroupID {
				return usageError(fmt.Errorf("entity %s is of group %q, and %s of group %q: only those of one group can be merged",
					into.ID, into.GroupID, merged.ID, merged.GroupID))
			}
			into, merged, err = a.Store.MergeEntities(ctx, into.GroupID, into.ID, merged.ID, safety.CleanReason(reason))
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.MergeReply{Success: true, Merged: merged.Reply(), Into: into.Reply()})
			}
			fmt.Fprintf(a.Stdout, "%s is part of %s now; `reverie entity unmerge %s` undoes it\n", nameAndID(merged),
				nameAndID(into), merged.ID)
			cli.EntityPage(a.Stdout, a.Style(), into.Reply())
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "look in this group only; A and B may be names then")
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the change log")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newEntityUnmerge(a *app) *cobra.Command {
	var groupID, reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "unmerge B",
		Short:   "Undo a merge: B stands for itself again",
		Long:    "Undo a merge: B, by its id, stands for itself again, with the names and claims that it had.",
		Example: "  reverie entity unmerge 0194f2c0-61d0-7a4e-8a43-0c9b6f7e2d55",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if !reverie.IsID(args[0]) {
				return usageError(fmt.Errorf("entity %q is no id; `reverie entity show` of what it was merged into has it",
					args[0]))
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			from, parted, err := a.Store.UnmergeEntity(ctx, groupID, args[0], safety.CleanReason(reason))
			if err != nil {
				return unknownEntity(err)
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.MergeReply{Success: true, Merged: parted.Reply(), Into: from.Reply()})
			}
			fmt.Fprintf(a.Stdout, "%s stands for itself again; it was part of %s\n", nameAndID(parted), nameAndID(from))
			cli.EntityPage(a.Stdout, a.Style(), parted.Reply())
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "look in this group only")
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the change log")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// nameAndID names an entity in a sentence.
func nameAndID(e reverie.Entity) string { return fmt.Sprintf("%s (%s)", cli.Visible(e.Subject), e.ID) }
