package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/diff"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/store/history"
)

func newMemory(a *app) *cobra.Command {
	return group("reverie memory",
		newMemoryList(a), newMemorySearch(a), newMemoryShow(a), newMemoryAdd(a), newMemoryRewrite(a), newMemoryHistory(a), newMemoryWhy(a), newMemoryBlame(a), newMemoryChanges(a),
		newMemoryDiff(a), newMemoryStats(a),
		newMemoryEdit(a, reverie.ActionDelete, 0), newMemoryEdit(a, reverie.ActionRestore, 0),
		newMemoryEdit(a, reverie.ActionStrength, 1), newMemoryEdit(a, reverie.ActionWeight, reverie.MaxWeight), newMemoryEdit(a, reverie.ActionScope, 0),
		newMemoryClean(a), newMemoryExport(a), newMemoryImport(a))
}

// allStatuses selects memories of any status with --status.
const allStatuses reverie.Status = "all"

func newMemoryList(a *app) *cobra.Command {
	var q reverie.MemoryQuery
	var when *whenFlags
	cmd := a.command("reverie memory list", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) (err error) {
		if q.Status == allStatuses {
			q.Status = ""
		}
		at, err := when.of(ctx, a, q.GroupID)
		if err != nil {
			return err
		}
		q.At, q.Recorded = at.At, at.Recorded
		list, total, err := a.Store.ListMemories(ctx, q)
		if err != nil {
			return err
		}
		return a.Show(reverie.ListReply{Success: true, GroupID: q.GroupID, Total: total, Memories: list},
			func() error {
				if total == 0 {
					what := "memories"
					if q.Status == reverie.StatusActive {
						what = "active memories"
					}
					return a.nothing(ctx, q.GroupID, what,
						"`--status all` shows those that are no longer active; `reverie runs list` what its nights did")
				}
				return a.PrintMemories(list, total, q)
			})
	}))
	a.groupNeeded(cmd, &q.GroupID)
	choice(cmd, &q.Status, "status", reverie.StatusActive, "active, superseded, deprecated, archived, held or all",
		reverie.StatusActive,
		reverie.StatusSuperseded, reverie.StatusDeprecated, reverie.StatusArchived, reverie.StatusHeld, allStatuses)
	choice(cmd, &q.Kind, "kind", "", "group, session, dream or team (default all)", memoryKinds...)
	f := cmd.Flags()
	f.StringVar(&q.SessionID, "session", "", "list only memories of this session")
	f.StringVar(&q.Tag, "tag", "", "list only memories with this tag")
	f.BoolVar(&q.Core, "core", false, "list only core memories (weight 1.5 or more)")
	when = newWhenFlags(cmd)
	apart(cmd, "status", "at", "recorded-at")
	limitFlag(cmd, &q.Limit, 20, "most memories to show")
	offsetFlag(cmd, &q.Offset, "memories to skip first")
	return cmd
}

func newMemorySearch(a *app) *cobra.Command {
	var q recall.Query
	var kind reverie.Kind
	var when *whenFlags
	var cmd *cobra.Command
	cmd = a.command("reverie memory search", someWords, func(ctx context.Context, args []string) (err error) {
		if q.Text, err = a.groupAndWords(ctx, &q.GroupID, args); err != nil {
			return err
		}
		if kind != "" {
			q.Kinds = []reverie.Kind{kind}
		}
		at, err := when.of(ctx, a, q.GroupID)
		if err != nil {
			return err
		}
		q.At, q.Recorded, q.OrNearest = at.At, at.Recorded, !cmd.Flags().Changed("threshold")
		searcher, err := a.Searcher(ctx, q.GroupID)
		if err != nil {
			return err
		}
		found, err := searcher.Search(ctx, q)
		if err != nil {
			return err
		}
		if found.Total == 0 { // the group may not exist
			if _, err := a.Store.Group(ctx, q.GroupID); err != nil {
				return err
			}
		}
		if found.Total == 0 && !a.JSON {
			return a.nothing(ctx, q.GroupID, "memories to search", "`reverie memory list --status all` shows those that are no longer active")
		}
		return a.PrintFound(q, found)
	})
	groupFlag(cmd, &q.GroupID, wordsGroup)
	choice(cmd, &kind, "kind", "", "group, session, dream or team (default all)", memoryKinds...)
	when = newWhenFlags(cmd)
	limitFlag(cmd, &q.Limit, 5, "most memories to show")
	cmd.Flags().Float64Var(&q.Threshold, "threshold", reverie.RelatedScore, "lowest score, 0 to 1; strict if given")
	check(cmd, func() error {
		if q.Threshold < 0 || q.Threshold > 1 {
			return fmt.Errorf("--threshold %g: give a number from 0 to 1", q.Threshold)
		}
		return nil
	})
	return cmd
}

func newMemoryHistory(a *app) *cobra.Command {
	var groupID string
	var when *whenFlags
	cmd := a.onMemory("history", &groupID, func(ctx context.Context, id string) error {
		then, err := when.ofMemory(ctx, a, groupID, id)
		if err != nil {
			return err
		}
		versions, err := history.New(a.Store.DB()).HistoryAt(ctx, groupID, id, then)
		if err != nil {
			return err
		}
		return a.Show(reverie.NewHistoryReply(id, versions), func() error { return a.PrintHistory(versions) })
	})
	when = newWhenFlags(cmd)
	return cmd
}

func newMemoryChanges(a *app) *cobra.Command {
	var groupID string
	var days, limit int
	cmd := a.command("reverie memory changes", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		if _, err := a.Store.Group(ctx, groupID); err != nil {
			return err
		}
		until := time.Now().UTC()
		since := until.AddDate(0, 0, -days)
		changes, err := a.Store.Changes(ctx, groupID, since, time.Time{}, limit)
		if err != nil {
			return err
		}
		return a.Show(reverie.ChangesReply{Success: true, GroupID: groupID, Changes: append([]reverie.Change{}, changes...),
			Period: since.Format(time.DateOnly) + " to " + until.Format(time.DateOnly)}, func() error {
			if len(changes) == 0 {
				return a.nothing(ctx, groupID, "changes in "+cli.Plural(days, "day"), "`--days 400` looks further back")
			}
			return a.Page("changes", changes)
		})
	}))
	a.groupNeeded(cmd, &groupID)
	number(cmd, &days, "days", 7, 1, maxDays, "how many days to look back")
	limitFlag(cmd, &limit, 200, "most changes to list")
	return cmd
}

func newMemoryStats(a *app) *cobra.Command {
	var groupID string
	cmd := a.command("reverie memory stats", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		st, err := a.Store.MemoryStats(ctx, groupID)
		if err != nil {
			return err
		}
		return a.Show(cli.StatsReply{Success: true, MemoryStats: st}, func() error {
			if st.Lineages == 0 {
				return a.nothing(ctx, groupID, "memories", "`reverie runs list` shows what the nights did")
			}
			return a.PrintStats(st)
		})
	}))
	a.groupNarrows(cmd, &groupID, "count only this group")
	return cmd
}

func newMemoryWhy(a *app) *cobra.Command {
	var groupID string
	return a.onMemory("why", &groupID, func(ctx context.Context, id string) error {
		why, err := history.New(a.Store.DB()).Why(ctx, groupID, id)
		if err != nil {
			return err
		}
		return a.showOf(ctx, why, reverie.WhyReply{Success: true, GroupID: why.Memory.GroupID, Why: why},
			func(g reverie.Group) error { return a.PrintWhy(why, id, a.calendar(g)) })
	})
}

func newMemoryBlame(a *app) *cobra.Command {
	var groupID string
	var when *whenFlags
	cmd := a.onMemory("blame", &groupID, func(ctx context.Context, id string) error {
		then, err := when.ofMemory(ctx, a, groupID, id)
		if err != nil {
			return err
		}
		why, err := history.New(a.Store.DB()).WhyAt(ctx, groupID, id, then)
		if err != nil {
			return err
		}
		b := diff.Blame(why)
		return a.showOf(ctx, why, reverie.BlameReply{Success: true, GroupID: why.Memory.GroupID, Blame: b},
			func(g reverie.Group) error { return a.PrintBlame(b, why, a.calendar(g)) })
	})
	when = newWhenFlags(cmd)
	return cmd
}

// showOf shows a reply about a memory; people see dates of its group.
func (a *app) showOf(ctx context.Context, why reverie.Why, reply any, print func(reverie.Group) error) error {
	return a.Show(reply, func() error {
		g, err := a.Store.Group(ctx, why.Memory.GroupID)
		if err != nil {
			return err
		}
		return print(g)
	})
}

func newMemoryDiff(a *app) *cobra.Command {
	var q reverie.BetweenQuery
	var from, to string
	var all bool
	cmd := a.command("reverie memory diff", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) (err error) {
		if q.From, err = a.moment(ctx, q.GroupID, "from", from); err != nil {
			return err
		}
		if q.To, err = a.moment(ctx, q.GroupID, "to", to); err != nil {
			return err
		}
		if err := q.Until(a.Now()); err != nil {
			return usageError(err)
		}
		between, err := history.New(a.Store.DB()).Between(ctx, q)
		if err != nil {
			return err
		}
		d := diff.Memories(between)
		if !all {
			d.Passing = nil
		}
		return a.Show(reverie.DiffReply{Success: true, MemoryDiff: d}, func() error {
			if d.Counts == (reverie.DiffCounts{}) {
				return a.nothing(ctx, q.GroupID, "memories then or now", "`reverie memory list --status all` shows those of other times")
			}
			return a.Page("memory_diff", d)
		})
	}))
	a.groupNeeded(cmd, &q.GroupID)
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "the first date or instant (required)")
	required(cmd, "from")
	f.StringVar(&to, "to", "", "the second date or instant (default now)")
	choice(cmd, &q.Kind, "kind", "", "group, session, dream or team (default all)", memoryKinds...)
	f.BoolVar(&q.Recorded, "recorded", false, "go by when things were written, not when they were said")
	f.BoolVar(&all, "all", false, "also list what came and went in between")
	return cmd
}

// newMemoryEdit returns the command of one edit of a lineage's head. most is the maximum of its value; 0: it has
// none.
func newMemoryEdit(a *app, action reverie.Action, most float64) *cobra.Command {
	e := reverie.Edit{Action: action}
	args := cobra.ExactArgs(1)
	if most > 0 || action == reverie.ActionScope {
		args = cobra.ExactArgs(2)
	}
	cmd := a.command("reverie memory "+string(action), args, func(ctx context.Context, args []string) error {
		e.MemoryID, e.Reason = args[0], safety.CleanReason(e.Reason)
		if most > 0 {
			v, err := strconv.ParseFloat(args[1], 64)
			if err != nil || !(v >= 0 && v <= most) {
				return usageError(fmt.Errorf("%s %q: give a number from 0 to %g", action, args[1], most))
			}
			e.Value = v
		}
		if action == reverie.ActionScope {
			e.Reach = reverie.Reach(args[1])
		}
		if err := a.open(ctx); err != nil {
			return err
		}
		var err error
		if e.MemoryID, err = a.Store.WholeID(ctx, reverie.IDMemory, e.GroupID, e.MemoryID); err != nil {
			return err
		}
		m, err := a.Store.Edit(ctx, e)
		if err != nil {
			return err
		}
		return a.showEdited(m)
	})
	groupFlag(cmd, &e.GroupID, "search only this group")
	cmd.Flags().StringVar(&e.Reason, "reason", "", "why, for the change log")
	return cmd
}

func newMemoryClean(a *app) *cobra.Command {
	var q reverie.CleanQuery
	var reason string
	var unused time.Duration
	var yes, dryRun bool
	cmd := a.command("reverie memory clean", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		list, err := a.Store.CleanList(ctx, q)
		if err != nil {
			return err
		}
		ask := len(list) > 0 && !dryRun && !yes
		if !a.JSON && len(list) > 0 && (ask || dryRun) {
			if err := a.PrintMemories(list, len(list), reverie.MemoryQuery{GroupID: q.GroupID}); err != nil {
				return err
			}
		}
		what := cli.Plural(len(list), "memory")
		if ask {
			refused := fmt.Errorf("%s would be deleted: add --yes to do it", what)
			yes, err := a.confirm(ctx, fmt.Sprintf("delete %s of %s?", what, cli.Visible(q.GroupID)), "nothing is deleted",
				refused)
			if err != nil || !yes {
				return err
			}
		}
		if !dryRun {
			if list, err = a.CleanMemories(ctx, q, list, safety.CleanReason(reason)); err != nil {
				return err
			}
		}
		return a.PrintCleaned(q.GroupID, list, dryRun)
	}))
	a.groupNeeded(cmd, &q.GroupID)
	choice(cmd, &q.Kind, "kind", "", "delete memories of this kind: group, session, dream or team", memoryKinds...)
	f := cmd.Flags()
	f.Float64Var(&q.Below, "below", 0, "delete memories whose strength or weight is below this")
	f.StringVar(&q.SessionID, "session", "", "delete memories of this session")
	f.StringVar(&q.Tag, "tag", "", "delete memories with this tag")
	f.DurationVar(&unused, "unused-for", 0, "delete memories neither supported nor used for so long, such as 720h")
	f.BoolVar(&q.Core, "core", false, "delete core memories too")
	f.StringVar(&reason, "reason", "cleaned", "why, for the change log")
	f.BoolVar(&yes, "yes", false, "delete without asking")
	f.BoolVar(&dryRun, "dry-run", false, "show what would be deleted")
	check(cmd, func() error {
		if unused < 0 || !(q.Below >= 0 && q.Below <= reverie.MaxWeight) {
			return fmt.Errorf("--below %g --unused-for %s: --below takes 0 to %g, --unused-for a duration above 0",
				q.Below, unused,
				reverie.MaxWeight)
		}
		if unused > 0 {
			q.UnusedSince = a.Now().Add(-unused)
		}
		if q.Empty() {
			return errors.New("give at least one of --below, --kind, --session, --tag and --unused-for")
		}
		return nil
	})
	return cmd
}
