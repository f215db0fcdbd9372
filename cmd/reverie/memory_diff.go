package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
			if err := q.Until(a.now()); err != nil {
				return usageError(err)
			}
			between, err := a.store.Between(ctx, q)
			if err != nil {
				return err
			}
			d := diff.Memories(between)
			if !all {
				d.Passing = nil
			}
			if asJSON {
				return printJSON(a.stdout, reverie.DiffReply{Success: true, MemoryDiff: d})
			}
			a.printMemoryDiff(d)
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

func (a *app) printMemoryDiff(d reverie.MemoryDiff) {
	s, c := a.style(), d.Counts
	passing := ""
	if c.Passing > 0 {
		passing = fmt.Sprintf(", %d came and went", c.Passing)
		if d.Passing == nil {
			passing += " (--all)"
		}
	}
	fmt.Fprintf(a.stdout, "%s, %s to %s UTC: %d added, %d changed, %d gone, %d as before%s\n", s.bold(visible(d.GroupID)), stamp(d.From), stamp(d.To),
		c.Added, c.Changed, c.Gone, c.Unchanged, passing)
	for _, part := range []struct {
		title string
		list  []reverie.DiffEntry
		show  func(reverie.DiffEntry) string
	}{
		{"added", d.Added, func(e reverie.DiffEntry) string { return s.green("+ " + visible(e.After.Statement)) }},
		{"changed", d.Changed, func(e reverie.DiffEntry) string {
			return "~ " + wordDiff(s, e.Before.Statement, e.After.Statement) + tagDiff(s, e.Before.Tags, e.After.Tags)
		}},
		{"gone", d.Gone, func(e reverie.DiffEntry) string { return s.red("- " + visible(e.Before.Statement)) }},
		{"came and went, or changed and changed back", d.Passing, func(e reverie.DiffEntry) string { return "  " + visible(e.Before.Statement) }},
	} {
		if len(part.list) == 0 {
			continue
		}
		fmt.Fprintf(a.stdout, "\n%s\n", s.bold(part.title))
		for _, e := range part.list {
			kind := "" // told where it tells something
			if e.Kind != reverie.KindGroup {
				kind = s.dim("  " + string(e.Kind))
			}
			fmt.Fprintf(a.stdout, "  %s%s\n", part.show(e), kind)
			a.printDiffSteps(e)
		}
	}
}

// tagDiff is how tags became others, "" where they did not.
func tagDiff(s style, before, after []string) string {
	var parts []string
	for _, t := range before {
		if !slices.Contains(after, t) {
			parts = append(parts, s.red("[-"+visible(t)+"-]"))
		}
	}
	for _, t := range after {
		if !slices.Contains(before, t) {
			parts = append(parts, s.green("{+"+visible(t)+"+}"))
		}
	}
	switch {
	case len(parts) > 0:
		return "  tags " + strings.Join(parts, " ")
	case !slices.Equal(before, after):
		return "  tags in another order"
	}
	return ""
}

// What a step of a lineage was, in words.
var stepped = map[reverie.Action]string{reverie.ActionCreate: "created", reverie.ActionUpdate: "rewritten", reverie.ActionRestore: "restored",
	reverie.ActionDelete: "deleted", reverie.ActionArchive: "archived", reverie.ActionHold: "held, to be judged again", reverie.ActionUndo: "put back"}

// printDiffSteps shows what became of a memory in between, and leads to it.
func (a *app) printDiffSteps(e reverie.DiffEntry) {
	s, id := a.style(), ""
	if e.Back {
		fmt.Fprintf(a.stdout, "      %s\n", "remembered before, and back again")
	}
	for i, step := range e.Steps {
		who := ""
		switch {
		case step.RunID != "":
			who = fmt.Sprintf(" by %s, run %s", step.Job, step.RunID)
		case step.UndoneRunID != "":
			who = fmt.Sprintf(", where %s run %s was taken back", step.Job, step.UndoneRunID)
		case step.Action != reverie.ActionHold && step.Action != reverie.ActionUndo && step.Action != "":
			who = " by a person"
		}
		what := stepped[step.Action]
		if what == "" {
			what = "taken over"
		}
		if i == len(e.Steps)-1 {
			id = "  " + s.dim(step.MemoryID)
		}
		fmt.Fprintf(a.stdout, "      %s  v%d %s%s%s\n", stamp(step.At), step.Version, what, who, id)
		if step.Reason != "" {
			fmt.Fprintf(a.stdout, "        %s\n", s.dim("why: "+visible(step.Reason)))
		}
	}
}
