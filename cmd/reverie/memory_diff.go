package main

import (
	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/diff"
	"reverie/internal/reverie"
)

func newMemoryDiff(a *app) *cobra.Command {
	var groupID, from, to, kind string
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "diff --group G --from T [--to T]",
		Short: "Show how what a group remembers differs between two instants",
		Long: `Diff compares what was active at one instant with what was active at another:
what was added, what says something else (word by word, [-gone-]{+new+}) or bears
other tags, and what is gone, each with what became of it in between, why, and by
which run or person.

A date means its beginning, in the group's time zone, so that --from 2026-01-15
--to 2026-01-16 is what changed on the 15th; the night of a date runs after its
end. A version that begins at an instant is active at it, one that ends at it is
not. Without --to, now. What changed and changed back is no difference, nor is
what came and went in between: --all lists those too. Times are in UTC.`,
		Example: `  reverie memory diff --group g1 --from 2026-01-15
  reverie memory diff --group g1 --from 2026-01-15 --to 2026-01-22 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			q := reverie.BetweenQuery{GroupID: groupID}
			var err error
			if q.Kind, err = memoryKind(kind); err != nil {
				return err
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			if q.From, err = a.moment(ctx, groupID, "from", from); err != nil {
				return err
			}
			if q.To, err = a.moment(ctx, groupID, "to", to); err != nil {
				return err
			}
			if err := q.Until(a.Now()); err != nil {
				return usageError(err)
			}
			between, err := a.Store.Between(ctx, q)
			if err != nil {
				return err
			}
			d := diff.Memories(between)
			if !all {
				d.Passing = nil
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.DiffReply{Success: true, MemoryDiff: d})
			}
			a.PrintMemoryDiff(d)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&groupID, "group", "", "group id (required)")
	f.StringVar(&from, "from", "", "the first instant, or a date (required)")
	f.StringVar(&to, "to", "", "the second one (default now)")
	f.StringVar(&kind, "kind", "", "group, session, dream or team (default all)")
	f.BoolVar(&all, "all", false, "list what came and went in between, too")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	required(cmd, "group")
	required(cmd, "from")
	return cmd
}
