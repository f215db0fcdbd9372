package main

import (
	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

func newSessions(a *app) *cobra.Command {
	return group("sessions", "Look at sessions: what they hold, and what waits to be extracted", newSessionsList(a),
		newSessionsShow(a))
}

// entry is a session and whether anything is due for it now.
func (a *app) entry(s reverie.Session) cli.SessionEntry {
	rule, now := a.SessionRule(), a.Now()
	return cli.SessionEntry{Session: s, Due: rule.Extract(s, now) || rule.Fold(s, now)}
}
