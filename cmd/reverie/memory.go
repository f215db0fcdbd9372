package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/recall"
	"reverie/internal/reverie"
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
