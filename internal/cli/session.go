package cli

import (
	"fmt"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// SessionEntry is the JSON of a session.
type SessionEntry struct {
	reverie.Session
	Due bool `json:"due"` // for extraction, or only for a fold
}

// toDue says how close a session is to its next extraction: 3 of 5 turns. Limits that are off are omitted.
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

// PrintSessions shows a page of sessions, of total in all, without the group's column if one group was selected.
func (con *Console) PrintSessions(list []SessionEntry, f reverie.SessionFilter, total int) error {
	err := con.Page("sessions", struct {
		Sessions []SessionEntry
		Filter   reverie.SessionFilter
	}{list, f})
	if err != nil {
		return err
	}
	return con.more(f.Offset, len(list), total)
}

// SessionDetail is everything known about a session.
type SessionDetail struct {
	Session SessionEntry            `json:"session"`
	Rolling *reverie.SessionSummary `json:"rolling_summary"` // null: no turn is folded yet
	Open    []reverie.Message       `json:"verbatim"`        // messages that it does not cover
	Summary *reverie.Memory         `json:"summary"`         // the summary memory; null before the first extraction
	Facts   []reverie.Memory        `json:"facts"`           // active memories extracted from the session
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

// author returns the author of a message, with the role.
func author(m reverie.Message) string {
	if m.Role == reverie.RoleUser {
		return Visible(m.Author)
	}
	return strings.TrimSpace(Visible(m.Author) + " (" + string(m.Role) + ")")
}

// dueText says whether a session is due, and if not, what is missing.
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

// tally formats the counts of a session.
func tally(t reverie.Tally) string {
	return listed(", ", Plural(t.Messages, "message"), Plural(t.Turns, "turn"), text.Grouped(t.Tokens)+" tokens",
		things(t.ToolCalls, "tool call", ""))
}
