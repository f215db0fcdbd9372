package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/archive"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/jobs"
)

func (con *Console) PrintMemories(list []reverie.Memory, total int, q reverie.MemoryQuery) error {
	if total == 0 {
		what := "memories"
		if q.Core || q.SessionID != "" || q.Tag != "" || q.Kind != "" {
			what = "such memories"
		}
		then := ""
		if !q.At.IsZero() {
			then = " at " + Stamp(q.At) + " UTC"
		}
		_, err := fmt.Fprintf(con.Stdout, "%s: no %s%s\n", Visible(q.GroupID), what, then)
		return err
	}
	// The kind is told where it tells something.
	kinds := slices.ContainsFunc(list, func(m reverie.Memory) bool { return m.Kind != reverie.KindGroup })
	var t Table
	head := []string{"MEMORY", "VERSION", "STATUS", "STRENGTH", "WEIGHT", "SUPPORTED", "STATEMENT"}
	if kinds {
		head = slices.Insert(head, 2, "KIND")
	}
	t.Cells(head)
	for _, m := range list {
		cells := []string{m.ID, fmt.Sprint("v", m.Version), string(m.Status), fmt.Sprintf("%.2f", m.Strength),
			fmt.Sprintf("%.2f", m.Weight), m.LastSupportedAt.UTC().Format(time.DateOnly), Visible(m.Statement)}
		if kinds {
			cells = slices.Insert(cells, 2, kindOf(m))
		}
		t.Cells(cells)
	}
	if err := t.Write(con.Stdout, con.Style()); err != nil {
		return err
	}
	for _, m := range list {
		if m.JudgeAgain != "" {
			if _, err := fmt.Fprintf(con.Stdout, "%s: %s; it is judged again in the next run\n", m.ID,
				Visible(m.JudgeAgain)); err != nil {
				return err
			}
		}
	}
	return con.more(q.Offset, len(list), total)
}

// kindOf says what kind of memory it is, and of what a dream has left, what about.
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

func (con *Console) PrintHits(q recall.Query, hits []reverie.Hit, asJSON bool) error {
	if asJSON {
		reply := reverie.SearchReply{Success: true, Query: q.Text, Results: []reverie.SearchResult{}}
		for _, h := range hits {
			reply.Results = append(reply.Results, reverie.SearchResult{MemoryID: h.ID, Statement: h.Statement, Score: h.Score,
				Version: h.Version, Kind: h.Kind, UpdatedAt: h.UpdatedAt})
		}
		return PrintJSON(con.Stdout, reply)
	}
	hits = slices.DeleteFunc(hits, func(h reverie.Hit) bool { return h.Score == 0 }) // unrelated, says the calibration
	if len(hits) == 0 {
		_, err := fmt.Fprintf(con.Stdout, "%s: nothing found; lower --threshold or ask in other words\n", Visible(q.GroupID))
		return err
	}
	var t Table
	t.Row("SCORE", "MEMORY", "KIND", "STATEMENT")
	for _, h := range hits {
		kind := "" // told where it tells something
		if h.Kind != reverie.KindGroup {
			kind = kindOf(h.Memory)
		}
		t.Row(h.Score, h.ID, kind, Visible(h.Statement))
	}
	t.Trim("KIND")
	return t.Write(con.Stdout, con.Style())
}

// PrintBlame shows whose each word is, and then who wrote each version.
func (con *Console) PrintBlame(b reverie.Blame, why reverie.Why, cal jobs.Calendar) {
	s, w := con.Style(), con.Stdout
	fmt.Fprintln(w, s.Bold(Visible(b.Memory.Statement)))
	for _, piece := range b.Words {
		if words := strings.TrimSpace(piece.Text); words != "" {
			fmt.Fprintf(w, "  %s  %s\n", s.Bold(fmt.Sprintf("%-4s", fmt.Sprint("v", piece.Version))), Visible(words))
		}
	}
	for i, v := range slices.Backward(why.Versions) {
		mark := ""
		if b.Versions[i].Remaining == 0 {
			mark = s.Dim("  none of its words are left")
		}
		con.printVersion(why, i, mark)
		con.printWriter(v, cal)
		con.printSaid(v.Withdrawn)
	}
}

func (con *Console) PrintCleaned(groupID string, list []reverie.Memory, dryRun, asJSON bool) error {
	if asJSON {
		if list == nil {
			list = []reverie.Memory{}
		}
		return PrintJSON(con.Stdout, struct {
			Success  bool             `json:"success"`
			GroupID  string           `json:"group_id"`
			DryRun   bool             `json:"dry_run,omitempty"`
			Deleted  int              `json:"deleted"`
			Memories []reverie.Memory `json:"memories"` // as they were
		}{true, groupID, dryRun, len(list), list})
	}
	switch {
	case len(list) == 0:
		return con.Say("%s: nothing to clean\n", Visible(groupID))
	case dryRun:
		return con.Say("%s: %s would be deleted\n", Visible(groupID), Plural(len(list), "memory"))
	}
	return con.Say("%s: %s deleted; `reverie memory restore` brings one back\n", Visible(groupID),
		Plural(len(list), "memory"))
}

// recordNames are what counts of records are called, in the order in which they
// are said.
var recordNames = []struct {
	kind reverie.RecordType
	name string
}{
	{reverie.RecordGroup, "group"}, {reverie.RecordMemory, "memory version"}, {reverie.RecordEvidence, "quote"},
	{
		reverie.RecordChange,
		"change",
	}, {reverie.RecordDecision, "decision"}, {reverie.RecordRun, "run"}, {reverie.RecordHeld, "held plan"},
}

// RecordCounts says how many records there are of what people know of.
func RecordCounts(counts map[reverie.RecordType]int) string {
	var parts []string
	for i, n := range recordNames {
		if c := counts[n.kind]; c > 0 || i < 2 {
			parts = append(parts, Plural(c, n.name))
		}
	}
	return strings.Join(parts, ", ")
}

func (con *Console) PrintImport(name string, res archive.Result, dryRun, asJSON bool) error {
	if asJSON {
		return PrintJSON(con.Stdout, importReply{Success: true, DryRun: dryRun, SHA256: res.SHA256,
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
	_, err := fmt.Fprintf(con.Stdout, "%s: %s\n", Visible(name), text)
	return err
}

// importReply says what an import did.
type importReply struct {
	Success  bool                                       `json:"success"`
	DryRun   bool                                       `json:"dry_run,omitempty"`
	SHA256   string                                     `json:"sha256"`
	Records  map[reverie.RecordType]reverie.RecordCount `json:"records"`
	Refused  int                                        `json:"refused_today"`
	Warnings []string                                   `json:"warnings,omitempty"`
}
