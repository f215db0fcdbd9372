package main

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
)

func newMemory(a *app) *cobra.Command {
	return group("memory", "Look at memories, and change them by hand",
		newMemoryList(a), newMemorySearch(a), newMemoryHistory(a), newMemoryWhy(a), newMemoryBlame(a), newMemoryChanges(a),
		newMemoryDiff(a), newMemoryStats(a),
		newMemoryEdit(a, reverie.ActionDelete), newMemoryEdit(a, reverie.ActionRestore),
		newMemoryEdit(a, reverie.ActionStrength), newMemoryEdit(a, reverie.ActionWeight),
		newMemoryClean(a), newMemoryExport(a), newMemoryImport(a))
}

func newMemoryList(a *app) *cobra.Command {
	var q reverie.MemoryQuery
	var status, kind, at string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list --group G",
		Short: "List a group's memories",
		Long: `List shows a page of what a group remembers, oldest memory first.

With --at it shows what was active at that instant, as it was worded and tagged
then, and as strong. A date means its beginning, in the group's time zone; an
instant still to come is now. What was erased is gone from the past too.`,
		Example: `  reverie memory list --group g1
  reverie memory list --group g1 --at 2026-01-15
  reverie memory list --group g1 --at 2026-01-15T20:00:00+08:00`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			switch s := reverie.Status(status); s {
			case reverie.StatusActive, reverie.StatusDeprecated, reverie.StatusArchived, reverie.StatusHeld:
				q.Status = s
			case "all":
			default:
				return usageError(fmt.Errorf("--status %q: it is active, deprecated, archived, held or all", status))
			}
			if at != "" && cmd.Flags().Changed("status") {
				return usageError(errors.New("--at lists what was active then: leave --status out"))
			}
			var err error
			if q.Kind, err = memoryKind(kind); err != nil {
				return err
			}
			if q.Limit < 1 || q.Offset < 0 {
				return usageError(fmt.Errorf("--limit %d --offset %d: a limit of 1 or more and an offset of 0 or more are needed",
					q.Limit, q.Offset))
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			if q.At, err = a.moment(ctx, q.GroupID, "at", at); err != nil {
				return err
			}
			list, total, err := a.Store.ListMemories(ctx, q)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.ListReply{Success: true, GroupID: q.GroupID, Total: total, Memories: list})
			}
			return a.PrintMemories(list, total, q)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.GroupID, "group", "", "group id (required)")
	f.StringVar(&status, "status", "active", "active, deprecated, archived, held or all")
	f.StringVar(&kind, "kind", "", "group, session, dream or team (default all)")
	f.StringVar(&q.SessionID, "session", "", "only what is of this session")
	f.StringVar(&q.Tag, "tag", "", "only what bears this tag")
	f.BoolVar(&q.Core, "core", false, "only core memories: those of weight 1.5 or more")
	f.StringVar(&at, "at", "", "what was active then: a date (its beginning) or an instant")
	f.IntVar(&q.Limit, "limit", 20, "memories at most")
	f.IntVar(&q.Offset, "offset", 0, "memories to skip")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	required(cmd, "group")
	return cmd
}

// memoryKind reads --kind. Nothing means all kinds.
func memoryKind(s string) (reverie.Kind, error) {
	switch k := reverie.Kind(s); k {
	case "", reverie.KindGroup, reverie.KindSession, reverie.KindDream, reverie.KindTeam:
		return k, nil
	}
	return "", usageError(fmt.Errorf("--kind %q: it is group, session, dream or team", s))
}

func newMemorySearch(a *app) *cobra.Command {
	var q recall.Query
	var kind, at string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "search --group G QUERY",
		Short: "Find memories by meaning",
		Long: `Search compares the query with every active memory of the group, by the
embedding model that is configured; without one, by the offline embedder where
the group's vectors are its. The score is a calibrated similarity from 0
(unrelated) to 1 (the same fact), which means the same for every model. A few
words against a whole statement score lower than a statement against its like.

With --at it searches what was active at that instant. Versions that the model
has not seen yet are embedded first, and keep their vectors.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			q.Text = args[0]
			if q.Limit < 1 || q.Threshold < 0 || q.Threshold > 1 {
				return usageError(fmt.Errorf("--limit %d --threshold %g: a limit of 1 or more and a threshold from 0 to 1 are "+
					"needed", q.Limit, q.Threshold))
			}
			k, err := memoryKind(kind)
			if err != nil {
				return err
			}
			if k != "" {
				q.Kinds = []reverie.Kind{k}
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			if q.At, err = a.moment(ctx, q.GroupID, "at", at); err != nil {
				return err
			}
			searcher, err := a.Searcher(ctx, q.GroupID)
			if err != nil {
				return err
			}
			hits, err := searcher.Search(ctx, q)
			if err != nil {
				return err
			}
			return a.PrintHits(q, hits, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.GroupID, "group", "", "group id (required)")
	f.StringVar(&kind, "kind", "", "group, session, dream or team (default all)")
	f.StringVar(&at, "at", "", "search what was active then: a date (its beginning) or an instant")
	f.IntVar(&q.Limit, "limit", 5, "memories at most")
	f.Float64Var(&q.Threshold, "threshold", 0, "least score, 0 to 1")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	required(cmd, "group")
	return cmd
}

func newMemoryHistory(a *app) *cobra.Command {
	var groupID, at string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "history MEMORY",
		Short: "Show all versions of a memory",
		Long: `History shows all versions of a memory, oldest first. Any version's id will do.

With --at it shows the versions that there were at that instant, each with the
status that it had then. A date means its beginning, in the group's time zone.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			versions, err := a.history(cmd.Context(), groupID, args[0], at)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.NewHistoryReply(args[0], versions))
			}
			s, before := a.Style(), ""
			for _, m := range versions {
				text := cli.Visible(m.Statement)
				if before != "" && before != m.Statement {
					text = cli.WordDiff(s, before, m.Statement)
				}
				before = m.Statement
				fmt.Fprintf(a.Stdout, "%s  %s  %s  %s\n    %s\n", s.Bold(fmt.Sprint("v", m.Version)), cli.Stamp(m.UpdatedAt), m.ID,
					m.Status, text)
				if m.ChangeSummary != "" {
					fmt.Fprintf(a.Stdout, "    %s\n", s.Dim("why: "+cli.Visible(m.ChangeSummary)))
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "look in this group only")
	cmd.Flags().StringVar(&at, "at", "", "as it was then: a date (its beginning) or an instant")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newMemoryChanges(a *app) *cobra.Command {
	var groupID string
	var days, limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "changes --group G",
		Short: "List what changed lately, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if days < 1 || days > maxDays || limit < 1 {
				return usageError(fmt.Errorf("--days %d --limit %d: days are 1 to %d, the limit is 1 or more", days, limit,
					maxDays))
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			if _, err := a.Store.Group(ctx, groupID); err != nil {
				return err
			}
			until := time.Now().UTC()
			since := until.AddDate(0, 0, -days)
			changes, err := a.Store.Changes(ctx, groupID, since, time.Time{}, limit)
			if err != nil {
				return err
			}
			if asJSON {
				if changes == nil {
					changes = []reverie.Change{}
				}
				return cli.PrintJSON(a.Stdout, reverie.ChangesReply{Success: true, GroupID: groupID, Changes: changes,
					Period: since.Format(time.DateOnly) + " to " + until.Format(time.DateOnly)})
			}
			if len(changes) == 0 {
				fmt.Fprintf(a.Stdout, "%s: no changes in %s\n", cli.Visible(groupID), cli.Plural(days, "day"))
			}
			for _, c := range changes {
				what := string(c.Action)
				if c.UndoneRunID != nil {
					what += " of run " + *c.UndoneRunID
				}
				fmt.Fprintf(a.Stdout, "%s  %s\n", cli.Stamp(c.CreatedAt), what)
				a.PrintChange(a.Style(), c)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&groupID, "group", "", "group id (required)")
	f.IntVar(&days, "days", 7, "how far back")
	f.IntVar(&limit, "limit", 200, "changes at most")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	required(cmd, "group")
	return cmd
}

// moment reads a flag that names a date or an instant of a group; "" is the zero time. A
// group that does not exist is an error all the same.
func (a *app) moment(ctx context.Context, groupID, flag, text string) (time.Time, error) {
	g, err := a.Store.Group(ctx, groupID)
	if err != nil {
		return time.Time{}, unknownGroup(err)
	}
	at, err := instant(g, text)
	if err != nil {
		return at, usageError(fmt.Errorf("--%s: %w", flag, err))
	}
	return at, nil
}

// momentOf is moment for the group that a memory is of.
func (a *app) momentOf(ctx context.Context, groupID, memoryID, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	m, err := a.Store.Memory(ctx, groupID, memoryID)
	if err != nil {
		return time.Time{}, err
	}
	return a.moment(ctx, m.GroupID, "at", text)
}

// history are the versions of a memory, or those that there were then.
func (a *app) history(ctx context.Context, groupID, memoryID, then string) ([]reverie.Memory, error) {
	at, err := a.momentOf(ctx, groupID, memoryID, then)
	switch {
	case err != nil:
		return nil, err
	case at.IsZero():
		return a.Store.History(ctx, groupID, memoryID)
	}
	return a.Store.HistoryAt(ctx, groupID, memoryID, at)
}

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

// edits are the changes by hand: what the command is called and takes.
var edits = map[reverie.Action]struct {
	use, short, long string
	max              float64 // of the value; 0: it takes none
}{
	reverie.ActionDelete: {use: "delete MEMORY", short: "Deprecate a memory; its history stays"},
	reverie.ActionRestore: {use: "restore MEMORY", short: "Bring a deleted or archived memory back, as a new version", long: `Bring a memory back that was deleted or archived, as a new version that is supported
as of now. Its strength is 0.5 and its weight 1 then, if they were less.`},
	reverie.ActionStrength: {use: "strength MEMORY VALUE", short: "Set how well supported a memory is, 0 to 1", long: `Set how well supported a memory is, from 0 to 1. From now on it decays as any does;
below [maintain] archive_threshold (0.3), 'reverie maintain' archives the memory.`, max: 1},
	reverie.ActionWeight: {use: "weight MEMORY VALUE", short: "Set how useful a memory is, 0 to 2; from 1.5 it is core", long: `Set how useful a memory is, from 0 to 2. From 1.5 on it is core: it neither decays
nor is archived. Below [maintain] archive_threshold (0.3), 'reverie maintain'
archives it, whatever its strength.`, max: reverie.MaxWeight},
}

// newMemoryEdit is one change by hand. It acts on the head of a lineage.
func newMemoryEdit(a *app, action reverie.Action) *cobra.Command {
	e := reverie.Edit{Action: action}
	def := edits[action]
	var asJSON bool
	args := cobra.ExactArgs(1)
	if def.max > 0 {
		args = cobra.ExactArgs(2)
	}
	cmd := &cobra.Command{
		Use: def.use, Short: def.short, Long: def.long, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			e.MemoryID, e.Reason = args[0], safety.CleanReason(e.Reason)
			if def.max > 0 {
				v, err := strconv.ParseFloat(args[1], 64)
				if err != nil || !(v >= 0 && v <= def.max) {
					return usageError(fmt.Errorf("%s %q: a number from 0 to %g is needed", action, args[1], def.max))
				}
				e.Value = v
			}
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			m, err := a.Store.Edit(cmd.Context(), e)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.MemoryReply{Success: true, Memory: m})
			}
			_, err = fmt.Fprintf(a.Stdout, "%s  v%d  %s  strength %.2f  weight %.2f\n    %s\n", m.ID, m.Version, m.Status,
				m.Strength, m.Weight, cli.Visible(m.Statement))
			return err
		},
	}
	cmd.Flags().StringVar(&e.GroupID, "group", "", "look in this group only")
	cmd.Flags().StringVar(&e.Reason, "reason", "", "why; kept in the change log")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

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
