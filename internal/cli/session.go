package cli

import (
	"fmt"
	"strconv"
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
			parts = append(parts, fmt.Sprintf("%s of %s %s", commas(l.n), commas(l.limit), l.what))
		}
	}
	return strings.Join(parts, ", ")
}

// commas writes a count with them: 12,000.
func commas(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// PrintSessions shows a table of sessions; the group is left out where it was asked
// for.
func (con *Console) PrintSessions(list []SessionEntry, group string) error {
	s := con.Style()
	var t Table
	t.Row("SESSION", "GROUP", "BEGAN", "LAST", "MESSAGES", "TURNS", "TOKENS", "TOOLS", "EXTRACTED", "WAITS", "DUE")
	for _, e := range list {
		of, tools, extracted, waits, due := "", "", "", "", ""
		if group == "" {
			of = Visible(text.Excerpt(e.GroupID, 24))
		}
		if e.Total.ToolCalls > 0 {
			tools = strconv.Itoa(e.Total.ToolCalls)
		}
		if e.Extractions > 0 {
			extracted = Plural(e.Extractions, "time")
		}
		if e.New.Turns > 0 {
			waits = fmt.Sprintf("%s, %s tokens", Plural(e.New.Turns, "turn"), commas(e.New.Tokens))
		} else if e.New.Messages > 0 { // and no answer among them
			waits = fmt.Sprintf("%s, %s tokens", Plural(e.New.Messages, "message"), commas(e.New.Tokens))
		}
		switch {
		case e.ParkedAt != nil:
			due = s.Amber("parked")
		case e.Due:
			due = s.Amber("due")
		case e.RetryAt != nil && e.New.Messages > 0:
			due = "retry " + Stamp(*e.RetryAt)
		}
		t.Row(Visible(e.ID), of, Stamp(e.FirstAt), Stamp(e.LastAt), e.Total.Messages, e.Total.Turns, commas(e.Total.Tokens),
			tools, extracted, waits, due)
	}
	t.Trim("GROUP", "TOOLS", "EXTRACTED", "WAITS", "DUE")
	return t.Write(con.Stdout, s)
}

// SessionDetail is everything that is known of a session.
type SessionDetail struct {
	Session SessionEntry            `json:"session"`
	Rolling *reverie.SessionSummary `json:"rolling_summary"` // null: no turn is folded yet
	Open    []reverie.Message       `json:"verbatim"`        // what it does not cover
	Summary *reverie.Memory         `json:"summary"`         // the summary memory; null before the first extraction
	Facts   []reverie.Memory        `json:"facts"`           // active memories that the session taught
}

func (con *Console) PrintSession(d SessionDetail, rule reverie.SessionRule) {
	s, w, e := con.Style(), con.Stdout, d.Session
	fmt.Fprintf(w, "%s  of %s", s.Bold(Visible(e.ID)), Visible(e.GroupID))
	if e.Cut {
		fmt.Fprint(w, "  cut by silence")
	}
	fmt.Fprintf(w, "\n  time       %s to %s UTC\n", Stamp(e.FirstAt), Stamp(e.LastAt))
	fmt.Fprintf(w, "  holds      %s\n", tally(e.Total))
	switch {
	case e.New.Messages == 0:
		fmt.Fprintf(w, "  waits      nothing\n")
	default:
		fmt.Fprintf(w, "  waits      %s\n", tally(e.New))
	}
	if e.Asking {
		fmt.Fprintf(w, "             and the newest question has no answer yet\n")
	}
	fmt.Fprintf(w, "  due        %s\n", con.dueText(e, rule))
	con.printFailures(e.Session)
	if e.ExtractedUntil != nil {
		fmt.Fprintf(w, "  extracted  %s, up to %s UTC\n", Plural(e.Extractions, "time"), Stamp(*e.ExtractedUntil))
	}
	if m := d.Summary; m != nil {
		fmt.Fprintf(w, "summary  %s\n  %s\n", s.Dim(fmt.Sprintf("%s v%d", m.ID, m.Version)), Visible(m.Statement))
	}
	if len(d.Facts) > 0 {
		fmt.Fprintf(w, "facts\n")
		for _, m := range d.Facts {
			fmt.Fprintf(w, "  %s  %s\n", Visible(m.Statement), s.Dim(strings.Join(append([]string{m.ID}, m.Tags...), " ")))
		}
	}
	if f := d.Rolling; f != nil {
		fmt.Fprintf(w, "rolling summary  %s\n  %s\n", s.Dim("covers "+covers(*f)), Visible(f.Summary))
	}
	con.printDialogue(d.Open)
}

// printFailures says what repeated failure has led to, and what to do about it.
func (con *Console) printFailures(e reverie.Session) {
	if e.Failures > 0 {
		state := "failed"
		if e.ParkedAt != nil {
			state = "parked"
		}
		fmt.Fprintf(con.Stdout, "  %-9s  after %s in a row: %s\n", con.Style().Amber(state), Plural(e.Failures, "failure"),
			Visible(text.Excerpt(e.Failure, 200)))
		switch {
		case e.ParkedAt != nil:
			fmt.Fprintf(con.Stdout, "             since %s UTC: mend the cause, then `reverie extract --session`, or `reverie "+
				"groups resume %s`\n", Stamp(*e.ParkedAt), Operand(e.GroupID))
		case e.RetryAt != nil:
			fmt.Fprintf(con.Stdout, "             --due tries again after %s UTC, --all at once\n", Stamp(*e.RetryAt))
		}
	}
	if e.FoldRetryAt != nil {
		fmt.Fprintf(con.Stdout, "  fold       failed %s in a row, tried again after %s UTC\n", Plural(e.FoldFailures, "time"),
			Stamp(*e.FoldRetryAt))
	}
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
			Plural(open.Turns, "turn"), commas(open.Tokens))
	case so == "":
		return "never: no limit of [session] is on"
	}
	return so
}

// tally counts what a session holds.
func tally(t reverie.Tally) string {
	text := fmt.Sprintf("%s, %s, %s tokens", Plural(t.Messages, "message"), Plural(t.Turns, "turn"), commas(t.Tokens))
	if t.ToolCalls > 0 {
		text += ", " + Plural(t.ToolCalls, "tool call")
	}
	return text
}

// printDialogue shows the newest messages that stand word for word, and how many
// there are before them.
func (con *Console) printDialogue(list []reverie.Message) {
	const shown, longest = 30, 200
	if len(list) == 0 {
		return
	}
	s, w := con.Style(), con.Stdout
	fmt.Fprintf(w, "word for word\n")
	if hidden := len(list) - shown; hidden > 0 {
		fmt.Fprintf(w, "  %s\n", s.Dim(fmt.Sprintf("%s before these; --json has them", Plural(hidden, "message"))))
		list = list[hidden:]
	}
	for _, m := range list {
		who := Visible(m.Author)
		if m.Role != reverie.RoleUser {
			who = strings.TrimSpace(who + " (" + string(m.Role) + ")")
		}
		text := Visible(text.Excerpt(m.Text, longest))
		if m.Text == "" { // a bare name would look as if nothing were known
			text = s.Dim("(text pruned, or none)")
		}
		fmt.Fprintf(w, "  %s  %s: %s\n", s.Dim(Stamp(m.SentAt)), s.Bold(who), text)
	}
}
