package main

import (
	"fmt"
	"strconv"
	"strings"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// zone is how a group's time is divided into dates.
func zone(g reverie.Group) string {
	name := g.TimeZone
	if name == "" {
		name = "UTC"
	}
	if g.DayBoundary != "" && g.DayBoundary != "00:00" {
		name += " from " + g.DayBoundary
	}
	return name
}

// quoted is an id as a shell wants it behind a flag.
func quoted(id string) string { return reverie.ShellWord(visible(id)) }

// operand is a group's id as a shell wants it at the end of a command.
func operand(id string) string { return reverie.ShellOperand(visible(id)) }

// dreamsListed are the settings of a group that differ from the configuration, as
// a list of groups has them.
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

func (con *console) noGroups(q reverie.GroupQuery) error {
	text := "no groups; `reverie import FILE --group G` or `reverie groups add G` makes one"
	switch {
	case q.State != "" && q.GroupID != "":
		text = fmt.Sprintf("%s is not %s", visible(q.GroupID), q.State)
	case q.State != "":
		text = fmt.Sprintf("no %s groups", q.State)
	case q.After != "":
		text = "no more groups"
	}
	_, err := fmt.Fprintln(con.stdout, text)
	return err
}

func (con *console) printGroups(groups []reverie.GroupEntry) error {
	s := con.style()
	var t table
	t.row("GROUP", "NAME", "ZONE", "LANG", "IMPRESSIONS", "SILENCE", "DREAMS", "TEAM", "STATE", "PENDING", "OLDEST", "MEMORIES", "LAST RUN")
	for _, g := range groups {
		state := string(g.State())
		switch g.State() {
		case reverie.GroupParked:
			if state = s.red(state); g.Paused {
				state += ", paused"
			}
		case reverie.GroupPaused:
			state = s.amber(state)
		}
		oldest, err := oldestDate(g)
		t.row(visible(g.ID), visible(reverie.Excerpt(g.Name, 24)), zone(g.Group), g.Language, g.Impressions, g.SessionSilence, dreamsListed(g.Group), g.Team, state,
			strconv.Itoa(g.Pending), oldest, strconv.Itoa(g.Active), lastRun(s, g.LastRun))
		if err != nil {
			t.note("  " + visible(err.Error()))
		}
		for _, b := range g.Setbacks {
			t.note("  "+setbackText(b), "  "+remedy(b, g.ID))
		}
	}
	t.trim("NAME", "LANG", "IMPRESSIONS", "SILENCE", "DREAMS", "TEAM", "OLDEST")
	return t.write(con.stdout, s)
}

// oldestDate is the date of the oldest pending message in the group's calendar.
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

func lastRun(s style, r *reverie.Run) string {
	if r == nil {
		return "-"
	}
	return stamp(r.StartedAt) + " " + paintStatus(s, r.Status)
}

// printResumed says what a group was resumed from.
func (con *console) printResumed(before reverie.GroupEntry, gone []reverie.Setback) error {
	was := "resumed"
	if !before.Paused && len(gone) == 0 {
		was = "was neither paused nor parked"
	} else if before.Paused {
		was = "resumed from its pause"
	}
	fmt.Fprintf(con.stdout, "%s: %s; %s pending\n", visible(before.ID), was, plural(before.Pending, "message"))
	for _, s := range gone {
		if _, err := fmt.Fprintf(con.stdout, "  forgotten: %s\n", setbackText(s)); err != nil {
			return err
		}
	}
	return nil
}

// setbackText is what repeated failure has led to, and why.
func setbackText(s reverie.Setback) string {
	state := "failed"
	if s.ParkedAt != nil {
		state = "parked since " + stamp(*s.ParkedAt) + " UTC, after it failed"
	}
	times := "once"
	if s.Failures > 1 {
		times = fmt.Sprintf("%d times in a row", s.Failures)
	}
	of := string(s.Job)
	if s.SessionID != "" {
		of += " of session " + visible(s.SessionID)
	}
	return fmt.Sprintf("%s %s %s: %s", of, state, times, visible(reverie.Excerpt(s.Error, 200)))
}

// remedy is what to do about a setback.
func remedy(s reverie.Setback, groupID string) string {
	if s.ParkedAt != nil {
		return fmt.Sprintf("mend the cause, then `reverie groups resume %s`", operand(groupID))
	}
	return fmt.Sprintf("next try after %s UTC; `reverie groups resume %s` waits no longer", stamp(s.RetryAt), operand(groupID))
}
