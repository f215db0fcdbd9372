package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/diff"
	"reverie/internal/reverie"
)

func newMemoryBlame(a *app) *cobra.Command {
	var groupID, at string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "blame MEMORY",
		Short: "Show who wrote which words of a memory",
		Long: `Blame shows of a memory which version brought each of its words, and for each
version, newest first, what wrote it: the run with its model and prompt version,
and the messages behind it, also where the run was taken back since; or a person.
Any version's id will do. Times are in UTC.

A version that says what an earlier one said (restored, or put back) has its
words from there. ` + "`reverie memory why`" + ` says why the memory is remembered:
support, decisions, what befell it, and who used it.`,
		Example: `  reverie memory blame 0197a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b
  reverie memory blame 0197a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b --at 2026-01-15`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			then, err := a.momentOf(ctx, groupID, args[0], at)
			var why reverie.Why
			if err == nil {
				why, err = a.Store.WhyAt(ctx, groupID, args[0], then)
			}
			if errors.Is(err, reverie.ErrNotFound) && then.IsZero() {
				return fmt.Errorf("%w; `reverie memory list --group G --status all` has the ids", err)
			}
			if err != nil {
				return err
			}
			b := diff.Blame(why)
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.BlameReply{Success: true, GroupID: why.Memory.GroupID, Blame: b})
			}
			g, err := a.Store.Group(ctx, why.Memory.GroupID)
			if err != nil {
				return err
			}
			a.PrintBlame(b, why, a.calendar(g))
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "look in this group only")
	cmd.Flags().StringVar(&at, "at", "", "as it was then: a date (its beginning) or an instant")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
