package main

import (
	"github.com/spf13/cobra"

	"reverie/internal/cli"
)

func newMemoryStats(a *app) *cobra.Command {
	var groupID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats [--group G]",
		Short: "Count memories: how strong, how old, how useful",
		Long: `Count the memories of a group, or of all groups together: by kind and status, how
their strength and weight are spread, what changed on each of the last 30 days
(UTC), how often they were offered to a reader and used by its answer.

On a terminal series of counts are drawn, the highest full height and a dot for
none; elsewhere they are numbers. Strength and weight are counted by tenths of
their range, 0 to 1 and 0 to 2.`,
		Example: "  reverie memory stats --group g1\n  reverie memory stats --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			st, err := a.Store.MemoryStats(ctx, groupID)
			if err != nil {
				return unknownGroup(err)
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, cli.StatsReply{Success: true, MemoryStats: st})
			}
			return a.PrintStats(st)
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "count this group only")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
