package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"reverie/internal/reverie"
)

func newSessions(a *app) *cobra.Command {
	return group("sessions", "Look at sessions: what they hold, and what waits to be extracted", newSessionsList(a), newSessionsShow(a))
}

// sessionEntry is a session as --json shows it.
type sessionEntry struct {
	reverie.Session
	Due bool `json:"due"` // for extraction, or for a fold alone
}

// entry is a session and whether anything is due for it now.
func (a *app) entry(s reverie.Session) sessionEntry {
	rule, now := a.sessionRule(), a.now()
	return sessionEntry{s, rule.Extract(s, now) || rule.Fold(s, now)}
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
