package cli

import (
	"fmt"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
)

// Zone describes how a group's time is divided into dates.
func Zone(g reverie.Group) string {
	name := g.TimeZone
	if name == "" {
		name = "UTC"
	}
	if g.DayBoundary != "" && g.DayBoundary != "00:00" {
		name += " from " + g.DayBoundary
	}
	return name
}

// Quoted quotes an id for a shell after a flag.
func Quoted(id string) string { return text.ShellWord(Visible(id)) }

// Operand quotes a group's id for a shell at the end of a command.
func Operand(id string) string { return text.ShellOperand(Visible(id)) }

// dreamsListed returns a group's dream settings that differ from the configuration, for a list of groups.
func dreamsListed(g reverie.Group) string {
	var parts []string
	for _, s := range []struct{ what, value string }{
		{"idle", g.DreamIdle}, {"sessions", g.DreamSessions}, {"interval", g.DreamInterval},
	} {
		if s.value != "" {
			parts = append(parts, s.what+" "+s.value)
		}
	}
	return strings.Join(parts, ", ")
}

// PrintGroups shows a table of groups with their problems.
func (con *Console) PrintGroups(groups []reverie.GroupEntry) error {
	type shownGroup struct {
		reverie.GroupEntry
		Oldest     string
		Unreadable error // its calendar cannot be read
	}
	var page []shownGroup
	for _, g := range groups {
		oldest, err := oldestDate(g)
		page = append(page, shownGroup{g, oldest, err})
	}
	return con.Page("groups", page)
}

// oldestDate returns the date of the oldest pending message in the group's calendar.
func oldestDate(g reverie.GroupEntry) (string, error) {
	if g.OldestPending == nil {
		return "", nil
	}
	cal, err := jobs.CalendarOf(g.Group)
	if err != nil {
		return "?", err
	}
	return cal.Containing(*g.OldestPending).Date, nil
}

// PrintResumed says which failure states resuming a group has cleared.
func (con *Console) PrintResumed(before reverie.GroupEntry, gone []reverie.Setback) error {
	was := "resumed"
	if !before.Paused && len(gone) == 0 {
		was = "was neither paused nor parked"
	} else if before.Paused {
		was = "resumed from its pause"
	}
	fmt.Fprintf(con.Stdout, "%s: %s; %s pending\n", Visible(before.ID), was, Plural(before.Pending, "message"))
	for _, s := range gone {
		if _, err := fmt.Fprintf(con.Stdout, "  cleared: %s\n", SetbackText(s)); err != nil {
			return err
		}
	}
	return nil
}

// SetbackText describes a failure state, with its reason.
func SetbackText(s reverie.Setback) string {
	state := "failed"
	if s.ParkedAt != nil {
		state = "parked since " + Stamp(*s.ParkedAt) + " UTC, after it failed"
	}
	times := "once"
	if s.Failures > 1 {
		times = fmt.Sprintf("%d times in a row", s.Failures)
	}
	of := string(s.Job)
	if s.SessionID != "" {
		of += " of session " + Visible(s.SessionID)
	}
	return fmt.Sprintf("%s %s %s: %s", of, state, times, Visible(text.Excerpt(s.Error, 200)))
}

// Remedy says what to do about a failure state.
func Remedy(s reverie.Setback, groupID string) string {
	if s.ParkedAt != nil {
		return fmt.Sprintf("fix the cause, then run `reverie groups resume %s`", Operand(groupID))
	}
	return fmt.Sprintf("next try after %s UTC; `reverie groups resume %s` allows it at once", Stamp(s.RetryAt),
		Operand(groupID))
}
