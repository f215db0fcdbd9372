package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"reverie/internal/archive"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
)

// PrintMemories shows a page of memories, of total in all.
func (con *Console) PrintMemories(list []reverie.Memory, total int, q reverie.MemoryQuery) error {
	if err := con.Page("memories", list); err != nil {
		return err
	}
	return con.more(q.Offset, len(list), total)
}

// typeOf returns the type of a group's memory, or the kind of another one.
func typeOf(m reverie.Memory) string {
	if m.Kind == reverie.KindGroup {
		return string(m.Type)
	}
	return kindOf(m)
}

// kindOf returns the kind of a memory and, for one of a dream, its type.
func kindOf(m reverie.Memory) string {
	switch sort := reverie.DreamTypeOf(m); {
	case m.Kind != reverie.KindDream:
		return string(m.Kind)
	case slices.Contains(m.Tags, reverie.TagSummary):
		return "dream narrative"
	case sort == reverie.DreamTodo && slices.Contains(m.Tags, reverie.TagDone):
		return "dream todo, done"
	default:
		return strings.TrimSpace("dream " + string(sort))
	}
}

// PrintFound shows the result of a search, or why it is empty.
func (con *Console) PrintFound(q recall.Query, f recall.Found) error {
	reply := f.Reply(q)
	return con.Show(reply, func() error {
		con.Warn(f.Warnings...)
		if len(f.Hits) == 0 {
			return con.Say("%s: %s\n", Visible(q.GroupID), reply.Message)
		}
		if err := con.Page("hits", f.Hits); err != nil || reply.Message == "" {
			return err
		}
		return con.Say("%s: %s\n", Visible(q.GroupID), reply.Message)
	})
}

// PrintMemory shows a memory, its quotes and its versions.
func (con *Console) PrintMemory(m reverie.ShowReply, why reverie.Why, cal jobs.Calendar) error {
	return con.Page("memory", struct {
		reverie.ShowReply
		Versions []shownVersion
	}{m, con.shownVersions(why, cal)})
}

// PrintCleaned lists the memories that were deleted, or would be.
func (con *Console) PrintCleaned(groupID string, list []reverie.Memory, dryRun bool) error {
	return con.Show(struct {
		Success  bool             `json:"success"`
		GroupID  string           `json:"group_id"`
		DryRun   bool             `json:"dry_run,omitempty"`
		Deleted  int              `json:"deleted"`
		Memories []reverie.Memory `json:"memories"` // before the deletion
	}{true, groupID, dryRun, len(list), append([]reverie.Memory{}, list...)}, func() error {
		did := Plural(len(list), "memory") + " deleted; `reverie memory restore` brings one back"
		switch {
		case len(list) == 0:
			did = "nothing to clean"
		case dryRun:
			did = Plural(len(list), "memory") + " would be deleted"
		}
		return con.Say("%s: %s\n", Visible(groupID), did)
	})
}

// PrintHistory shows the versions of a memory, oldest first, with the difference from the previous one.
func (con *Console) PrintHistory(versions []reverie.Memory) error {
	type shownMemory struct {
		reverie.Memory
		Text string
	}
	var page []shownMemory
	for i, m := range versions {
		text := Visible(m.Statement)
		if i > 0 && versions[i-1].Statement != m.Statement {
			text = WordDiff(con.Style(), versions[i-1].Statement, m.Statement)
		}
		page = append(page, shownMemory{m, text})
	}
	return con.Page("history", page)
}

// recordNames are the names of record types in counts, in order.
var recordNames = []struct {
	kind reverie.RecordType
	name string
}{
	{reverie.RecordGroup, "group"}, {reverie.RecordMemory, "memory version"}, {reverie.RecordEvidence, "quote"},
	{reverie.RecordChange, "change"}, {reverie.RecordDecision, "decision"}, {reverie.RecordRun, "run"}, {reverie.RecordHeld, "held plan"},
}

// RecordCounts lists the numbers of records that people know of.
func RecordCounts(counts map[reverie.RecordType]int) string {
	var parts []string
	for i, n := range recordNames {
		if c := counts[n.kind]; c > 0 || i < 2 {
			parts = append(parts, Plural(c, n.name))
		}
	}
	return strings.Join(parts, ", ")
}

// PrintImport shows the result of an import of memories.
func (con *Console) PrintImport(name string, res archive.Result, dryRun bool) error {
	if con.JSON {
		return con.WriteJSON(importReply{Success: true, DryRun: dryRun, SHA256: res.SHA256,
			Records: res.Counts, Refused: res.Refused, Warnings: res.Kept})
	}
	fresh, known := map[reverie.RecordType]int{}, 0
	news := 0
	for kind, c := range res.Counts {
		fresh[kind] = c.New
		news += c.New
		known += c.Known
	}
	did := "imported"
	if dryRun {
		did = "would import"
	}
	text := fmt.Sprintf("%s %s", did, RecordCounts(fresh))
	switch {
	case news == 0:
		text = "nothing to do: all of it is there already"
	case known > 0:
		text += fmt.Sprintf("; %s there already", Plural(known, "record"))
	}
	return con.Say("%s: %s\n", Visible(name), text)
}

// importReply is the result of an import as JSON.
type importReply struct {
	Success  bool                                       `json:"success"`
	DryRun   bool                                       `json:"dry_run,omitempty"`
	SHA256   string                                     `json:"sha256"`
	Records  map[reverie.RecordType]reverie.RecordCount `json:"records"`
	Refused  int                                        `json:"refused_today"`
	Warnings []string                                   `json:"warnings,omitempty"`
}

// tagDiff shows the change of tags, "" if there is none.
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

// stepped describes an action on a lineage.
func stepped(action reverie.Action) string {
	return cmp.Or(map[reverie.Action]string{reverie.ActionCreate: "created", reverie.ActionUpdate: "rewritten",
		reverie.ActionRestore: "restored", reverie.ActionDelete: "deleted", reverie.ActionArchive: "archived",
		reverie.ActionHold: "held, to be judged again", reverie.ActionUndo: "put back"}[action], "taken over")
}

// StatsReply is the JSON of the statistics of memories.
type StatsReply struct {
	Success bool `json:"success"`
	reverie.MemoryStats
}

// PrintStats shows statistics of memories.
func (con *Console) PrintStats(st reverie.MemoryStats) error {
	name := Visible(st.GroupID)
	if st.GroupID == "" {
		name = Plural(st.Groups, "group")
	}
	return con.Page("stats", struct {
		reverie.MemoryStats
		Name, Actions string
	}{st, name, actionsOf(st.Days)})
}

// actionsOf counts the changes of some days, by action.
func actionsOf(days []reverie.DayStats) string {
	sum := map[reverie.Action]int{}
	for _, d := range days {
		for action, n := range d.Actions {
			sum[action] += n
		}
	}
	if len(sum) == 0 {
		return "none"
	}
	var parts []string
	for _, action := range slices.SortedFunc(maps.Keys(sum), func(x, y reverie.Action) int {
		return cmp.Or(cmp.Compare(sum[y], sum[x]), cmp.Compare(x, y))
	}) {
		parts = append(parts, fmt.Sprintf("%s %d", action, sum[action]))
	}
	return strings.Join(parts, ", ")
}

// vectorText says which active memories have vectors.
func vectorText(v reverie.VectorStats) string {
	models := text.Each(slices.Sorted(maps.Keys(v.Models)), Visible)
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
