package main

import (
	"fmt"
	"strconv"
	"strings"

	"reverie/internal/reverie"
)

// sessionEntry is a session as --json shows it.
type sessionEntry struct {
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
	}{{s.New.Turns, rule.Turns, "turns"}, {s.New.Tokens, rule.Tokens, "tokens"}, {s.New.ToolCalls, rule.ToolCalls, "tool calls"}} {
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

// printSessions shows a table of sessions; the group is left out where it was asked
// for.
func (con *console) printSessions(list []sessionEntry, group string) error {
	s := con.style()
	var t table
	t.row("SESSION", "GROUP", "BEGAN", "LAST", "MESSAGES", "TURNS", "TOKENS", "TOOLS", "EXTRACTED", "WAITS", "DUE")
	for _, e := range list {
		of, tools, extracted, waits, due := "", "", "", "", ""
		if group == "" {
			of = visible(reverie.Excerpt(e.GroupID, 24))
		}
		if e.Total.ToolCalls > 0 {
			tools = strconv.Itoa(e.Total.ToolCalls)
		}
		if e.Extractions > 0 {
			extracted = plural(e.Extractions, "time")
		}
		if e.New.Turns > 0 {
			waits = fmt.Sprintf("%s, %s tokens", plural(e.New.Turns, "turn"), commas(e.New.Tokens))
		} else if e.New.Messages > 0 { // and no answer among them
			waits = fmt.Sprintf("%s, %s tokens", plural(e.New.Messages, "message"), commas(e.New.Tokens))
		}
		switch {
		case e.ParkedAt != nil:
			due = s.amber("parked")
		case e.Due:
			due = s.amber("due")
		case e.RetryAt != nil && e.New.Messages > 0:
			due = "retry " + stamp(*e.RetryAt)
		}
		t.row(visible(e.ID), of, stamp(e.FirstAt), stamp(e.LastAt), strconv.Itoa(e.Total.Messages), strconv.Itoa(e.Total.Turns), commas(e.Total.Tokens),
			tools, extracted, waits, due)
	}
	t.trim("GROUP", "TOOLS", "EXTRACTED", "WAITS", "DUE")
	return t.write(con.stdout, s)
}

// sessionDetail is everything that is known of a session.
type sessionDetail struct {
	Session sessionEntry            `json:"session"`
	Rolling *reverie.SessionSummary `json:"rolling_summary"` // null: no turn is folded yet
	Open    []reverie.Message       `json:"verbatim"`        // what it does not cover
	Summary *reverie.Memory         `json:"summary"`         // the summary memory; null before the first extraction
	Facts   []reverie.Memory        `json:"facts"`           // active memories that the session taught
}

func (con *console) printSession(d sessionDetail, rule reverie.SessionRule) {
	s, w, e := con.style(), con.stdout, d.Session
	fmt.Fprintf(w, "%s  of %s", s.bold(visible(e.ID)), visible(e.GroupID))
	if e.Cut {
		fmt.Fprint(w, "  cut by silence")
	}
	fmt.Fprintf(w, "\n  time       %s to %s UTC\n", stamp(e.FirstAt), stamp(e.LastAt))
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
		fmt.Fprintf(w, "  extracted  %s, up to %s UTC\n", plural(e.Extractions, "time"), stamp(*e.ExtractedUntil))
	}
	if m := d.Summary; m != nil {
		fmt.Fprintf(w, "summary  %s\n  %s\n", s.dim(fmt.Sprintf("%s v%d", m.ID, m.Version)), visible(m.Statement))
	}
	if len(d.Facts) > 0 {
		fmt.Fprintf(w, "facts\n")
		for _, m := range d.Facts {
			fmt.Fprintf(w, "  %s  %s\n", visible(m.Statement), s.dim(strings.Join(append([]string{m.ID}, m.Tags...), " ")))
		}
	}
	if f := d.Rolling; f != nil {
		fmt.Fprintf(w, "rolling summary  %s\n  %s\n", s.dim("covers "+covers(*f)), visible(f.Summary))
	}
	con.printDialogue(d.Open)
}

// printFailures says what repeated failure has led to, and what to do about it.
func (con *console) printFailures(e reverie.Session) {
	if e.Failures > 0 {
		state := "failed"
		if e.ParkedAt != nil {
			state = "parked"
		}
		fmt.Fprintf(con.stdout, "  %-9s  after %s in a row: %s\n", con.style().amber(state), plural(e.Failures, "failure"), visible(reverie.Excerpt(e.Failure, 200)))
		switch {
		case e.ParkedAt != nil:
			fmt.Fprintf(con.stdout, "             since %s UTC: mend the cause, then `reverie extract --session`, or `reverie groups resume %s`\n", stamp(*e.ParkedAt), operand(e.GroupID))
		case e.RetryAt != nil:
			fmt.Fprintf(con.stdout, "             --due tries again after %s UTC, --all at once\n", stamp(*e.RetryAt))
		}
	}
	if e.FoldRetryAt != nil {
		fmt.Fprintf(con.stdout, "  fold       failed %s in a row, tried again after %s UTC\n", plural(e.FoldFailures, "time"), stamp(*e.FoldRetryAt))
	}
}

// dueText says whether a session is due, and if not, what it lacks.
func (con *console) dueText(e sessionEntry, rule reverie.SessionRule) string {
	so := toDue(e.Session, rule)
	switch {
	case e.Unfinished && rule.Extract(e.Session, con.now()):
		return con.style().amber("now") + ": its last extraction was cut short"
	case rule.Extract(e.Session, con.now()):
		return strings.TrimSuffix(con.style().amber("now")+": "+so, ": ")
	case e.Due:
		open := e.Unfolded()
		return fmt.Sprintf("%s, for a fold: %s and %s tokens stand word for word", con.style().amber("now"), plural(open.Turns, "turn"), commas(open.Tokens))
	case so == "":
		return "never: no limit of [session] is on"
	}
	return so
}

// tally counts what a session holds.
func tally(t reverie.Tally) string {
	text := fmt.Sprintf("%s, %s, %s tokens", plural(t.Messages, "message"), plural(t.Turns, "turn"), commas(t.Tokens))
	if t.ToolCalls > 0 {
		text += ", " + plural(t.ToolCalls, "tool call")
	}
	return text
}

// printDialogue shows the newest messages that stand word for word, and how many
// there are before them.
func (con *console) printDialogue(list []reverie.Message) {
	const shown, longest = 30, 200
	if len(list) == 0 {
		return
	}
	s, w := con.style(), con.stdout
	fmt.Fprintf(w, "word for word\n")
	if hidden := len(list) - shown; hidden > 0 {
		fmt.Fprintf(w, "  %s\n", s.dim(fmt.Sprintf("%s before these; --json has them", plural(hidden, "message"))))
		list = list[hidden:]
	}
	for _, m := range list {
		who := visible(m.Author)
		if m.Role != reverie.RoleUser {
			who = strings.TrimSpace(who + " (" + string(m.Role) + ")")
		}
		text := visible(reverie.Excerpt(m.Text, longest))
		if m.Text == "" { // a bare name would look as if nothing were known
			text = s.dim("(text pruned, or none)")
		}
		fmt.Fprintf(w, "  %s  %s: %s\n", s.dim(stamp(m.SentAt)), s.bold(who), text)
	}
}
