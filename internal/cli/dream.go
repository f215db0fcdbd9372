package cli

import (
	"slices"
	"strings"
	"time"

	"reverie/dream"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// DreamReply converts a result for the API.
func DreamReply(r dream.Result) reverie.DreamReply {
	reply := reverie.DreamReply{RunSummary: r.Summary(""), Job: reverie.JobDream, SessionID: r.SessionID,
		Reason: r.Reason, Narrative: r.Narrative, Stats: r.Stats.Evolve(), Changes: []reverie.ChangeReply{}}
	reply.Messages = nil // a dream reads none
	if r.None != "" {
		reply.Status, reply.Message = "", r.None
		return reply
	}
	reply.DreamTime, reply.Sources, reply.Changes = r.Ended(), r.Stats.DreamCounts(), reverie.ChangeReplies(r.Changes)
	return reply
}

// PrintDream shows a dream: why it was due, the narrative, and the items with their sources.
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

// dreamPage is the result of a group's dreams, in the group's time zone.
type dreamPage struct {
	reverie.Dream
	cal  jobs.Calendar
	Zone *time.Location
}

// PrintDreams shows the result of a group's dreams.
func (con *Console) PrintDreams(d reverie.Dream, cal jobs.Calendar) error {
	zone, err := d.Group.Location()
	if err != nil {
		zone = time.UTC // the calendar is UTC's then, too
	}
	return con.Page("dream", dreamPage{d, cal, zone})
}

// dreamSection is a part of the page below the narrative.
type dreamSection struct {
	Title, Mark string
	Closed      bool
	Items       []reverie.DreamItem
}

// Sections returns the parts of the page below the narrative.
func (p dreamPage) Sections() []dreamSection {
	sections := []dreamSection{{Title: "Preferences", Mark: "•"}, {Title: "Themes", Mark: "•"}, {Title: "Open threads", Mark: "•"},
		{Title: "Closed lately", Mark: "✓", Closed: true}, {Title: "Besides", Mark: "•"}}
	of := map[reverie.DreamType]int{reverie.DreamPreference: 0, reverie.DreamTheme: 1, reverie.DreamTodo: 2,
		"": 4} // imported without the tag of a type
	for _, item := range p.Items {
		i, known := of[item.Type]
		if item.Done {
			sections[3].Items = append(sections[3].Items, item)
		}
		if known && !(item.Done && item.Type == reverie.DreamTodo) {
			sections[i].Items = append(sections[i].Items, item)
		}
	}
	return sections
}

// Title returns the name of the group.
func (p dreamPage) Title() string {
	if name := strings.TrimSpace(p.Group.Name); name != "" && name != p.Group.ID {
		return name + " (" + p.Group.ID + ")"
	}
	return p.Group.ID
}

// Stamp returns when a dream ended, or began if it has not ended, in the group's time zone.
func (p dreamPage) Stamp(r reverie.Run) string {
	at := r.StartedAt
	if r.FinishedAt != nil {
		at = *r.FinishedAt
	}
	return at.In(p.Zone).Format("2006-01-02 15:04")
}

// Date returns the date of an instant in the group's calendar.
func (p dreamPage) Date(t time.Time) string { return p.cal.Containing(t).Date }

// reach says how much a dream used, and up to which session. If a person has rejected the dream, all of it may be
// new again.
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

// NarrativeNote says what the narrative rests on, and which dream wrote it, if not the last one.
func (p dreamPage) NarrativeNote() string {
	n, last := p.Narrative, p.Run
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
	text := listed(", ", things(sessions, "session", ""), things(facts, "fact", ""), things(others, "memory", ""))
	if text != "" {
		text = "from " + text
	}
	if last != nil && n.RunID != nil && *n.RunID != last.ID {
		text = strings.TrimPrefix(text+"; dreamt "+p.Date(n.UpdatedAt)+", and left as it was by the last dream", "; ")
	}
	return text
}

// sourceKind returns the kind of a source in words.
func sourceKind(src reverie.SourceMemory) string {
	switch {
	case src.Summary:
		return "session"
	case src.Kind == reverie.KindSession:
		return "fact"
	}
	return "memory"
}
