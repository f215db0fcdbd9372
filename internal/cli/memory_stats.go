package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// StatsReply is how memories stand.
type StatsReply struct {
	Success bool `json:"success"`
	reverie.MemoryStats
}

func (con *Console) PrintStats(st reverie.MemoryStats) error {
	s, w := con.Style(), con.Stdout
	name := Visible(st.GroupID)
	if st.GroupID == "" {
		name = Plural(st.Groups, "group")
	}
	if st.Lineages == 0 {
		_, err := fmt.Fprintf(w, "%s: no memories yet\n", name)
		return err
	}
	fmt.Fprintln(w, s.Bold(name+": "+Plural(st.Active, "active memory")))
	line := func(label, format string, args ...any) { con.item(8, label, format, args...) }
	line("standing", "%d core, %d established, %d tentative", st.Core, st.Established, st.Tentative)
	line("strength", "%s", con.spread(st.Strength, "1"))
	line("weight", "%s", con.spread(st.Weight, "2"))
	if st.Oldest != nil {
		line("age", "the oldest from %s, the newest from %s", Stamp(*st.Oldest), Stamp(*st.Newest))
	}
	line("history", "%s of %s", Plural(st.Versions, "version"), Plural(st.Lineages, "memory"))
	changes, actions := dailyChanges(st.Days)
	line("changes", "%s%s", con.series(changes), actions)
	line("vectors", "%s", vectorText(st.Vectors))
	line("uses", "offered %s, %d used by the answer, %d ignored; %d active never offered", times(st.Usage.Offered),
		st.Usage.Referenced, st.Usage.Ignored, st.Usage.Never)
	if st.Sessions > 0 {
		line("sessions", "%s, %d summed up", Plural(st.Sessions, "session"), st.Summaries)
	}
	fmt.Fprintln(w)
	var t Table
	t.Row("KIND", "ACTIVE", "ARCHIVED", "HELD", "DELETED", "VERSIONS")
	for _, k := range st.Kinds {
		t.Row(k.Kind, k.Active, k.Archived, k.Held, k.Deleted, k.Versions)
	}
	if err := t.Write(w, s); err != nil || len(st.Used) == 0 {
		return err
	}
	fmt.Fprintln(w)
	t = Table{}
	t.Row("USED", "OFFERED", "MEMORY", "STATEMENT")
	for _, u := range st.Used {
		t.Row(u.Referenced, u.Offered, u.MemoryID, Visible(u.Statement))
	}
	return t.Write(w, s)
}

// dailyChanges are the counts of each day, and what they were in all.
func dailyChanges(days []reverie.DayStats) (counts []int, actions string) {
	sum := map[reverie.Action]int{}
	for _, d := range days {
		counts = append(counts, d.Changes)
		for action, n := range d.Actions {
			sum[action] += n
		}
	}
	if len(sum) == 0 {
		return counts, "  none in " + Plural(len(days), "day")
	}
	var parts []string
	for _, action := range slices.SortedFunc(maps.Keys(sum), func(x, y reverie.Action) int {
		return cmp.Or(cmp.Compare(sum[y], sum[x]), cmp.Compare(x, y))
	}) {
		parts = append(parts, fmt.Sprintf("%s %d", action, sum[action]))
	}
	return counts, "  " + strings.Join(parts, ", ") + " in " + Plural(len(days), "day")
}

// vectorText says which active memories can be searched.
func vectorText(v reverie.VectorStats) string {
	var models []string
	for _, m := range slices.Sorted(maps.Keys(v.Models)) {
		models = append(models, Visible(m))
	}
	text := fmt.Sprintf("%d present", v.Present)
	if len(models) > 0 {
		text += " (" + strings.Join(models, ", ") + ")"
	}
	if v.Missing > 0 {
		text += fmt.Sprintf(", %d missing: the next search makes them", v.Missing)
	}
	return text
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
