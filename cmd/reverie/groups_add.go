package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

func newGroupsAdd(a *app) *cobra.Command {
	var g reverie.Group
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add GROUP",
		Short: "Make a group, before its first import",
		Long: `Add makes a group. An import makes its group by itself; add is for setting the
name, the time zone and the like first. What is left out comes from [group].`,
		Example: `  reverie groups add g1 --name "Game nights" --time-zone Asia/Shanghai --day-boundary 04:00
  reverie groups add -- -1001234567890`,
		Args: oneGroup,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.settings(); err != nil {
				return err
			}
			g.ID = args[0]
			for flag, field := range map[string]struct{ value, fallback *string }{
				"time-zone":    {&g.TimeZone, &a.Config.Group.TimeZone},
				"day-boundary": {&g.DayBoundary, &a.Config.Group.DayBoundary},
				"language":     {&g.Language, &a.Config.Group.Language},
			} {
				if !cmd.Flags().Changed(flag) {
					*field.value = *field.fallback
				}
			}
			if err := errors.Join(readImpressions(&g), readSilence(&g), readDreams(&g), readTeam(&g)); err != nil {
				return usageError(err)
			}
			if err := g.Normalize(); err != nil {
				return usageError(err)
			}
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			if err := a.Store.AddGroup(cmd.Context(), g); err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, groupReply{Success: true, Group: g})
			}
			_, err := fmt.Fprintf(a.Stdout, "%s: added, dates in %s\n", cli.Visible(g.ID), cli.Zone(g))
			return err
		},
	}
	groupFlags(cmd, &g)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// groupFlags are what a group can be given.
func groupFlags(cmd *cobra.Command, g *reverie.Group) {
	f := cmd.Flags()
	f.StringVar(&g.Name, "name", "", "name, for people")
	f.StringVar(&g.TimeZone, "time-zone", "", "IANA time zone, such as Asia/Shanghai")
	f.StringVar(&g.DayBoundary, "day-boundary", "", "local time HH:MM at which a date begins; 04:00 counts the small "+
		"hours to the day before")
	f.StringVar(&g.Language, "language", "", `language of the memories: zh, en, or "" to go by the messages`)
	f.StringVar(&g.Impressions, "impressions", asConfigured, "whether people and things are followed: on, off, or "+
		"default, as [impression] enabled says")
	f.StringVar(&g.SessionSilence, "session-silence", asConfigured, "after how long a silence messages without a "+
		"session begin a new one: a duration such as 45m, or default, as [session] silence says")
	dreamFlags(cmd, g)
	f.StringVar(&g.Team, "team", asConfigured, "team whose memories the group recalls beside its own: its name, off, or "+
		"default, as [team] name says")
}

// asConfigured is how a person says that a group follows the configuration.
const asConfigured = "default"

// readImpressions turns the flag of a group's impressions into what is stored.
func readImpressions(g *reverie.Group) error {
	switch g.Impressions {
	case "on", "off":
		return nil
	case asConfigured:
		g.Impressions = ""
		return nil
	}
	return fmt.Errorf("--impressions %q: it is on, off or default", g.Impressions)
}

// readSilence turns the flag of the silence that ends a group's sessions into what
// is stored.
func readSilence(g *reverie.Group) error {
	if g.SessionSilence == asConfigured {
		g.SessionSilence = ""
		return nil
	}
	if _, err := g.Silence(0); err != nil || g.SessionSilence == "" {
		return fmt.Errorf("--session-silence %q: write a duration from 1m to 720h, such as 45m, or default", g.SessionSilence)
	}
	return nil
}

// readTeam turns the flag of a group's team into what is stored.
func readTeam(g *reverie.Group) error {
	switch g.Team {
	case reverie.GroupOff:
		return nil
	case asConfigured:
		g.Team = ""
		return nil
	}
	if err := reverie.CheckTeam(g.Team); err != nil {
		return fmt.Errorf("--team: %w; or write off or default", err)
	}
	return nil
}
