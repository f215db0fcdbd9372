package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"reverie/dream"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// DreamReply is a result in the shape of the API.
func DreamReply(r dream.Result) reverie.DreamReply {
	reply := reverie.DreamReply{Success: r.Err == nil, Job: reverie.JobDream, GroupID: r.GroupID,
		RunID: r.RunID, SessionID: r.SessionID, DryRun: r.DryRun, Status: r.Status, Reason: r.Reason,
		Narrative: r.Narrative, Changes: []reverie.ChangeReply{}, Refusals: r.Refusals,
		Warnings: slices.Concat(r.Held, r.Warnings), Stats: r.Stats.Evolve()}
	if r.Err != nil {
		reply.Error = r.Err.Error()
	}
	if r.None != "" {
		reply.Status, reply.Message = "", r.None
		return reply
	}
	if !r.At.IsZero() {
		reply.DreamTime = &r.At
	}
	reply.Sources = r.Stats.DreamCounts()
	for _, c := range r.Changes {
		reply.Changes = append(reply.Changes, c.Reply())
	}
	return reply
}

// PrintDream shows a dream to a person: why it was, the narrative, and the items, on
// what grounds.
func (con *Console) PrintDream(r dream.Result, took time.Duration) error {
	defer con.Warn(r.Warnings...)
	if r.None != "" {
		return con.Say("%s: no dream: %s\n", Visible(r.GroupID), Visible(r.None))
	}
	of := con.Style().Bold(Visible(r.GroupID))
	if r.SessionID != "" {
		of += "  up to " + Visible(r.SessionID)
	}
	page := outcome{Because: r.Reason, Line: Counts(reverie.JobDream, r.Stats), Narrative: r.Narrative}
	for _, c := range r.Changes {
		page.Changes = append(page.Changes, shownChange{c, slices.Contains(r.Closed, c.MemoryID)})
	}
	return con.printOutcome(of+"  dream", r.Result, took, page)
}

// dreamPage sets what a group's dreams have left as a page to read, in so many
// columns and in the group's own time.
type dreamPage struct {
	w       io.Writer
	s       Style
	columns int
	cal     jobs.Calendar
	zone    *time.Location
}

func (con *Console) DreamPage(g reverie.Group, cal jobs.Calendar) dreamPage {
	zone, err := g.Location()
	if err != nil {
		zone = time.UTC // as the calendar is then
	}
	return dreamPage{w: con.Stdout, s: con.Style(), columns: textWidth(con.Stdout), cal: cal, zone: zone}
}

// sourcesShown is how many sources an item is shown with; --json has them all.
const sourcesShown = 3

// dreamSections are the parts of the page below the narrative.
var dreamSections = []struct {
	title  string
	mark   string
	shows  func(reverie.DreamItem) bool
	closed bool
}{
	{title: "Preferences", mark: "•",
		shows: func(i reverie.DreamItem) bool { return i.Type == reverie.DreamPreference }},
	{title: "Themes", mark: "•", shows: func(i reverie.DreamItem) bool { return i.Type == reverie.DreamTheme }},
	{
		title: "Open threads",
		mark:  "•",
		shows: func(i reverie.DreamItem) bool { return i.Type == reverie.DreamTodo && !i.Done },
	},
	{title: "Closed lately", mark: "✓", shows: func(i reverie.DreamItem) bool { return i.Done }, closed: true},
	{
		title: "Besides",
		mark:  "•",
		shows: func(i reverie.DreamItem) bool { return i.Type == "" },
	}, // came in without the tag of a type
}

func (p dreamPage) Print(d reverie.Dream) error {
	p.head(d)
	if n := d.Narrative; n != nil {
		fmt.Fprintln(p.w)
		p.text("  ", n.Statement, nil)
		p.text("  ", p.narrativeNote(*n, d.Run), p.s.Dim)
	}
	for _, section := range dreamSections {
		first := true
		for _, item := range d.Items {
			if !section.shows(item) {
				continue
			}
			if first {
				fmt.Fprintf(p.w, "\n%s\n", p.s.Bold(section.title))
			}
			first = false
			p.text("  "+section.mark+" ", item.Statement, nil)
			if section.closed {
				p.text("    ", "closed "+p.date(item.UpdatedAt), p.s.Dim)
				continue
			}
			p.text("    ", fmt.Sprintf("strength %.2f, %s", item.Strength, Plural(item.Evidence, "message")), p.s.Dim)
			p.sources(item.Sources)
		}
	}
	return nil
}

// head says whose dreams these are, what the last one looked back on, and what waits
// for a person.
func (p dreamPage) head(d reverie.Dream) {
	p.text("", groupTitle(d.Group), p.s.Bold)
	if r := d.Run; r != nil {
		p.text("", "dreamt "+p.stamp(dreamtAt(*r))+" ("+p.zone.String()+"), looking back on "+reach(*r), p.s.Dim)
		if r.Status == reverie.RunRejected {
			p.text("", "a person has rejected what it would have written", p.s.Amber)
		}
	}
	for _, r := range d.Waiting {
		p.text("", "the dream of "+p.stamp(dreamtAt(r))+" waits for a person: look at it, then use runs approve or runs "+
			"reject", p.s.Amber)
		fmt.Fprintf(p.w, "  reverie runs show %s\n", r.ID)
	}
	if d.NothingLeft() {
		p.text("", d.BecameOf(), nil)
		if d.Gone {
			fmt.Fprintf(p.w, "  reverie memory list --group %s --kind dream --status archived\n", Quoted(d.Group.ID))
		}
	}
}

// groupTitle is what a group is called.
func groupTitle(g reverie.Group) string {
	if name := strings.TrimSpace(g.Name); name != "" && name != g.ID {
		return name + " (" + g.ID + ")"
	}
	return g.ID
}

// dreamtAt is when a dream ended, or began while it has not.
func dreamtAt(r reverie.Run) time.Time {
	if r.FinishedAt != nil {
		return *r.FinishedAt
	}
	return r.StartedAt
}

// reach says what a dream took in, and up to which session. All of it may be new
// again, since a person has rejected the dream.
func reach(r reverie.Run) string {
	if r.Stats.Sessions+r.Stats.Material == 0 {
		return "what is new again"
	}
	if r.Stats.Sessions == 0 {
		return Plural(r.Stats.Material, "memory") + " of the group"
	}
	text := Plural(r.Stats.Sessions, "session")
	if r.SessionID != "" {
		text += ", up to " + r.SessionID
	}
	return text
}

// narrativeNote says what the narrative rests on, and of which dream it is, where
// that is not the last one.
func (p dreamPage) narrativeNote(n reverie.DreamItem, last *reverie.Run) string {
	var sessions, facts, others int
	for _, src := range n.Sources {
		switch {
		case src.Summary:
			sessions++
		case src.Kind == reverie.KindSession:
			facts++
		default:
			others++
		}
	}
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{sessions, "session"}, {facts, "fact"}, {others, "memory"}} {
		if c.n > 0 {
			parts = append(parts, Plural(c.n, c.what))
		}
	}
	var text string
	if len(parts) > 0 {
		text = "from " + strings.Join(parts, ", ")
	}
	if last != nil && n.RunID != nil && *n.RunID != last.ID {
		text = strings.TrimPrefix(text+"; dreamt "+p.date(n.UpdatedAt)+", and left as it was by the last dream", "; ")
	}
	return text
}

// sources shows the first memories that an item rests on, and how many more there
// are.
func (p dreamPage) sources(list []reverie.SourceMemory) {
	for i, src := range list {
		if i == sourcesShown {
			p.text("      ", fmt.Sprintf("and %d more", len(list)-i), p.s.Dim)
			return
		}
		p.text("      ", p.source(src, p.columns-6), p.s.Dim)
	}
}

// source is a memory that another one rests on, in a line of so many columns where
// they suffice: its date, what it is, and the beginning of what it says.
func (p dreamPage) source(src reverie.SourceMemory, columns int) string {
	head, mark := p.date(src.At)+", "+sourceKind(src)+": “", "”"
	if !src.Active {
		mark += " (no longer stands)"
	}
	const least = 24 // of what it says
	return head + clip(Visible(src.Statement), max(columns-Width(head+mark), least)) + mark
}

// sourceKind says what sort of memory a source is.
func sourceKind(src reverie.SourceMemory) string {
	switch {
	case src.Summary:
		return "session"
	case src.Kind == reverie.KindSession:
		return "fact"
	}
	return "memory"
}

func (p dreamPage) stamp(t time.Time) string { return t.In(p.zone).Format("2006-01-02 15:04") }

// date is the date of the group's calendar that an instant falls on.
func (p dreamPage) date(t time.Time) string { return p.cal.Containing(t).Date }

// text sets a paragraph: its first line after lead, the others below the first.
func (p dreamPage) text(lead, text string, paint func(string) string) {
	for _, line := range wrap(Visible(text), p.columns-Width(lead)) {
		if paint != nil {
			line = paint(line)
		}
		fmt.Fprintln(p.w, lead+line)
		lead = strings.Repeat(" ", Width(lead))
	}
}
