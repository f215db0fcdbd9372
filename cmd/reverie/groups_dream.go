package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/reverie"
)

// dreamSettings are what a group may say about its dreams, and the flags for it.
var dreamSettings = []struct {
	flag, help, write string
	of                func(*reverie.Group) *string
}{
	{"dream-idle", "after how long a silence of a session the group dreams: a duration such as 12h, off, or default, as " +
		"[dream] idle says",
		"write a duration from 1m to 8760h, such as 12h, off, or default",
		func(g *reverie.Group) *string { return &g.DreamIdle }},
	{"dream-sessions", "after how many sessions the group dreams: a number such as 5, off, or default, as [dream] " +
		"sessions says",
		fmt.Sprintf("write a number from 1 to %d, such as 5, off, or default", reverie.MaxDreamSessions),
		func(g *reverie.Group) *string { return &g.DreamSessions }},
	{"dream-interval", "how far apart dreams of the group are at least: a duration such as 2h, or default, as [dream] " +
		"interval says",
		"write a duration from 1m to 8760h, such as 2h, or default",
		func(g *reverie.Group) *string { return &g.DreamInterval }},
}

// dreamFlags are the flags for when a group dreams.
func dreamFlags(cmd *cobra.Command, g *reverie.Group) {
	for _, s := range dreamSettings {
		cmd.Flags().StringVar(s.of(g), s.flag, asConfigured, s.help)
	}
}

// readDreams turns the flags for when a group dreams into what is stored.
func readDreams(g *reverie.Group) error {
	for _, s := range dreamSettings {
		value := s.of(g)
		if *value == asConfigured {
			*value = ""
			continue
		}
		var only reverie.Group
		*s.of(&only) = *value
		if _, err := only.DreamRule(reverie.DreamRule{}); err != nil || *value == "" {
			return fmt.Errorf("--%s %q: %s", s.flag, *value, s.write)
		}
	}
	return nil
}

// dreamsText says when a group dreams, in the order of dreamSettings.
func (a *app) dreamsText(g reverie.Group) []string {
	d := a.Config.Dream
	text := func(value, configured, as, never string) string {
		note := ""
		if value == "" {
			value, note = configured, ", as configured"
		}
		if value == "off" || value == "" || value == "0" {
			return never + note
		}
		return fmt.Sprintf(as, value) + note
	}
	return []string{
		text(g.DreamIdle, d.Idle.String(), "dreams when a session has been silent for %s",
			"does not dream for silence alone"),
		text(g.DreamSessions, fmt.Sprint(d.Sessions), "dreams when %s sessions have ended",
			"does not dream for a number of sessions"),
		text(g.DreamInterval, d.Interval.String(), "dreams are at least %s apart", "dreams may follow each other at once"),
	}
}
