package cli

import (
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

func (con *Console) PrintMemoryDiff(d reverie.MemoryDiff) {
	s, c := con.Style(), d.Counts
	passing := ""
	if c.Passing > 0 {
		passing = fmt.Sprintf(", %d came and went", c.Passing)
		if d.Passing == nil {
			passing += " (--all)"
		}
	}
	fmt.Fprintf(con.Stdout, "%s, %s to %s UTC: %d added, %d changed, %d gone, %d as before%s\n",
		s.Bold(Visible(d.GroupID)), Stamp(d.From), Stamp(d.To), c.Added, c.Changed, c.Gone, c.Unchanged, passing)
	for _, part := range []struct {
		title string
		list  []reverie.DiffEntry
		show  func(reverie.DiffEntry) string
	}{
		{"added", d.Added, func(e reverie.DiffEntry) string { return s.Green("+ " + Visible(e.After.Statement)) }},
		{"changed", d.Changed, func(e reverie.DiffEntry) string {
			return "~ " + WordDiff(s, e.Before.Statement, e.After.Statement) + tagDiff(s, e.Before.Tags, e.After.Tags)
		}},
		{"gone", d.Gone, func(e reverie.DiffEntry) string { return s.Red("- " + Visible(e.Before.Statement)) }},
		{"came and went, or changed and changed back", d.Passing,
			func(e reverie.DiffEntry) string { return "  " + Visible(e.Before.Statement) }},
	} {
		if len(part.list) == 0 {
			continue
		}
		fmt.Fprintf(con.Stdout, "\n%s\n", s.Bold(part.title))
		for _, e := range part.list {
			kind := "" // told where it tells something
			if e.Kind != reverie.KindGroup {
				kind = s.Dim("  " + string(e.Kind))
			}
			fmt.Fprintf(con.Stdout, "  %s%s\n", part.show(e), kind)
			con.printDiffSteps(e)
		}
	}
}

// tagDiff is how tags became others, "" where they did not.
func tagDiff(s Style, before, after []string) string {
	var parts []string
	for _, t := range before {
		if !slices.Contains(after, t) {
			parts = append(parts, s.Red("[-"+Visible(t)+"-]"))
		}
	}
	for _, t := range after {
		if !slices.Contains(before, t) {
			parts = append(parts, s.Green("{+"+Visible(t)+"+}"))
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
var stepped = map[reverie.Action]string{reverie.ActionCreate: "created", reverie.ActionUpdate: "rewritten",
	reverie.ActionRestore: "restored", reverie.ActionDelete: "deleted", reverie.ActionArchive: "archived",
	reverie.ActionHold: "held, to be judged again", reverie.ActionUndo: "put back"}

// printDiffSteps shows what became of a memory in between, and leads to it.
func (con *Console) printDiffSteps(e reverie.DiffEntry) {
	s, id := con.Style(), ""
	if e.Back {
		fmt.Fprintf(con.Stdout, "      %s\n", "remembered before, and back again")
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
			id = "  " + s.Dim(step.MemoryID)
		}
		fmt.Fprintf(con.Stdout, "      %s  v%d %s%s%s\n", Stamp(step.At), step.Version, what, who, id)
		if step.Reason != "" {
			fmt.Fprintf(con.Stdout, "        %s\n", s.Dim("why: "+Visible(step.Reason)))
		}
	}
}
