package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/safety"
)

func newMemoryClean(a *app) *cobra.Command {
	var q reverie.CleanQuery
	var kind, reason string
	var unused time.Duration
	var yes, dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "clean --group G --below 0.3 | --kind K | --session S | --tag T | --unused-for 720h",
		Short: "Delete what is weak, unused, of a session or of a kind",
		Long: `Delete the active memories of a group that all given filters select. They are
shown first, unless --yes is given; on a terminal you are asked, elsewhere --yes is
needed. Core memories (weight 1.5 or more) stay, unless --core takes them too.

Deleting deprecates: the history stays, each deletion is in the change log with the
reason, and 'memory restore' brings a memory back.`,
		Example: `  reverie memory clean --group g1 --below 0.3 --dry-run
  reverie memory clean --group g1 --unused-for 720h --kind session --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			var err error
			if q.Kind, err = memoryKind(kind); err != nil {
				return err
			}
			if unused < 0 || !(q.Below >= 0 && q.Below <= reverie.MaxWeight) {
				return usageError(fmt.Errorf("--below %g --unused-for %s: below is 0 to %g, a duration more than 0", q.Below,
					unused, reverie.MaxWeight))
			}
			if unused > 0 {
				q.UnusedSince = a.Now().Add(-unused)
			}
			if q.Empty() {
				return usageError(errors.New("at least one of --below, --kind, --session, --tag and --unused-for is needed"))
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			list, err := a.Store.CleanList(ctx, q)
			if err != nil {
				return unknownGroup(err)
			}
			ask := len(list) > 0 && !dryRun && !yes
			if !asJSON && len(list) > 0 && (ask || dryRun) {
				if err := a.PrintMemories(list, len(list), reverie.MemoryQuery{GroupID: q.GroupID}); err != nil {
					return err
				}
			}
			if ask && (asJSON || !a.CanAsk()) {
				return usageError(fmt.Errorf("%s would be deleted: say --yes to do it", cli.Plural(len(list), "memory")))
			}
			if ask {
				if yes, err = a.Confirm(ctx, fmt.Sprintf("delete %s of %s?", cli.Plural(len(list), "memory"),
					cli.Visible(q.GroupID))); err != nil || !yes {
					return errors.Join(err, a.Say("nothing is deleted\n"))
				}
			}
			if !dryRun {
				if list, err = a.clean(ctx, q, list, safety.CleanReason(reason)); err != nil {
					return err
				}
			}
			return a.PrintCleaned(q.GroupID, list, dryRun, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.GroupID, "group", "", "group id (required)")
	f.Float64Var(&q.Below, "below", 0, "whose strength or weight is below this")
	f.StringVar(&kind, "kind", "", "group, session, dream or team")
	f.StringVar(&q.SessionID, "session", "", "of this session")
	f.StringVar(&q.Tag, "tag", "", "with this tag")
	f.DurationVar(&unused, "unused-for", 0, "neither supported nor used by an answer for so long, such as 720h")
	f.BoolVar(&q.Core, "core", false, "core memories too")
	f.StringVar(&reason, "reason", "cleaned", "why; kept in the change log")
	f.BoolVar(&yes, "yes", false, "delete without asking")
	f.BoolVar(&dryRun, "dry-run", false, "show what would be deleted")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	required(cmd, "group")
	return cmd
}

// cleanBatch is how many memories are deleted in one transaction.
const cleanBatch = 500

// clean deletes the listed memories, and returns those that it has: what moved in
// between stays.
func (a *app) clean(ctx context.Context, q reverie.CleanQuery, list []reverie.Memory, reason string) ([]reverie.Memory,
	error) {
	var gone []reverie.Memory
	for len(list) > 0 {
		n := min(len(list), cleanBatch)
		ids := make([]string, n)
		for i, m := range list[:n] {
			ids[i] = m.ID
		}
		list = list[n:]
		done, err := a.Store.Clean(ctx, q, ids, reason)
		if err != nil {
			return gone, fmt.Errorf("%s deleted before this; the same command goes on: %w", cli.Plural(len(gone), "memory"), err)
		}
		gone = append(gone, done...)
	}
	return gone, nil
}
