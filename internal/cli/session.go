package cli

import (
	"fmt"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// SessionEntry is a session as --json shows it.
type SessionEntry struct {
	reverie.Session
	Due bool `json:"due"` // for extraction, or for a fold alone
}

// toDue says how far a session has come to its next extraction: 3 of 5 turns. What
// is no limit is left out.
func toDue(s reverie.Session, rule reverie.SessionRule) string {
	var parts []string
	for _, l := range []struct {
		n, limit int
		what     string
	}{{s.New.Turns, rule.Turns, "turns"}, {s.New.Tokens, rule.Tokens, "tokens"},
		{s.New.ToolCalls, rule.ToolCalls, "tool calls"}} {
		if l.limit > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s %s", text.Grouped(l.n), text.Grouped(l.limit), l.what))
		}
	}
	return strings.Join(parts, ", ")
}

// PrintSessions shows a page of so many sessions; the group is left out where it was asked
// for.
func (con *Console) PrintSessions(list []SessionEntry, f reverie.SessionFilter, total int) error {
	err := con.Page("sessions", struct {
		Sessions []SessionEntry
		Filter   reverie.SessionFilter
	}{list, f})
	if shown := f.Offset + len(list); err == nil && shown < total {
		err = con.Say("%d of %s; go on with --offset %d\n", len(list), Plural(total, "session"), shown)
	}
	return err
}

// SessionDetail is everything that is known of a session.
type SessionDetail struct {
	Session SessionEntry            `json:"session"`
	Rolling *reverie.SessionSummary `json:"rolling_summary"` // null: no turn is folded yet
	Open    []reverie.Message       `json:"verbatim"`        // what it does not cover
	Summary *reverie.Memory         `json:"summary"`         // the summary memory; null before the first extraction
	Facts   []reverie.Memory        `json:"facts"`           // active memories that the session taught
}

// PrintSession shows a session as a page.
func (con *Console) PrintSession(d SessionDetail, rule reverie.SessionRule) error {
	const newest = 30
	page := struct {
		SessionDetail
		Due    string
		Hidden int
	}{d, con.dueText(d.Session, rule), max(len(d.Open)-newest, 0)}
	page.Open = d.Open[page.Hidden:]
	return con.Page("session", page)
}

// author names who wrote a message, and as what.
func author(m reverie.Message) string {
	if m.Role == reverie.RoleUser {
		return Visible(m.Author)
	}
	return strings.TrimSpace(Visible(m.Author) + " (" + string(m.Role) + ")")
}

// dueText says whether a session is due, and if not, what it lacks.
func (con *Console) dueText(e SessionEntry, rule reverie.SessionRule) string {
	so := toDue(e.Session, rule)
	switch {
	case e.Unfinished && rule.Extract(e.Session, con.Now()):
		return con.Style().Amber("now") + ": its last extraction was cut short"
	case rule.Extract(e.Session, con.Now()):
		return strings.TrimSuffix(con.Style().Amber("now")+": "+so, ": ")
	case e.Due:
		open := e.Unfolded()
		return fmt.Sprintf("%s, for a fold: %s and %s tokens stand word for word", con.Style().Amber("now"),
			Plural(open.Turns, "turn"), text.Grouped(open.Tokens))
	case !e.WithBot():
		return "never of itself, since no bot takes part: --session and --all take it"
	case so == "":
		return "never: no limit of [session] is on"
	}
	return so
}

// tally counts what a session holds.
func tally(t reverie.Tally) string {
	return listed(", ", Plural(t.Messages, "message"), Plural(t.Turns, "turn"), text.Grouped(t.Tokens)+" tokens",
		things(t.ToolCalls, "tool call", ""))
}
