package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

func newMemoryWhy(a *app) *cobra.Command {
	var groupID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "why MEMORY",
		Short: "Show why a memory says what it says",
		Long: `Show what stands behind each version of a memory, newest first: the run that
wrote it, with its model and prompt, the messages that it rests on, how it was
decided that the fact was new, more of what is known, or known already, and what
befell the version later: support, deletion, what took its place. Where readers
were offered the memory, how often, and how often their answers used it. Of what a
dream has left, the sessions, facts and memories that it was made of stand first, and
what they say by now; of what waits to be judged again, why, and of any memory what
was made of it. Any version's id will do. All times are in UTC.

A decision lists the memories that the fact was held against, best first, with
their similarity (0 to 1), what they are to the fact, and the reason. Messages of
runs that were taken back are left out: they support nothing any more, and the
decisions of such runs say so.`,
		Example: `  reverie memory why 0197a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b
  reverie memory list --group g1        # has the ids`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			why, err := a.Store.Why(ctx, groupID, args[0])
			if errors.Is(err, reverie.ErrNotFound) {
				return fmt.Errorf("%w; `reverie memory list --group G --status all` has the ids", err)
			}
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.WhyReply{Success: true, GroupID: why.Memory.GroupID, Why: why})
			}
			g, err := a.Store.Group(ctx, why.Memory.GroupID)
			if err != nil {
				return err
			}
			a.PrintWhy(why, args[0], a.calendar(g))
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "look in this group only")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
