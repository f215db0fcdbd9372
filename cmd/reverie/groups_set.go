package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/jobs"
)

func newGroupsSet(a *app) *cobra.Command {
	var to reverie.Group
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "set GROUP",
		Short: "Change a group's name, time zone, day boundary, language, impressions, sessions, dreams or team",
		Long: `Set changes what is given and leaves the rest.

A new time zone or day boundary holds from the next date on: the date that is
open now still ends as it would have, and the nights before it stay what they
were, so that no message falls into two nights or none. Where the group never
had a run, the new calendar holds for all its dates.

--impressions says whether people and things of this group are followed: on, off,
or default, as [impression] enabled says. What evolve takes in while they are off
is used only where it is asked for: ` + "`reverie impression --group GROUP`" + `.

--session-silence says after how long a silence messages that name no session begin
a new one: a duration, or default, as [session] silence says. It holds for messages
that come in from then on.

--dream-idle, --dream-sessions and --dream-interval say when the group dreams: when a
session has been silent for so long, or so many have ended since the last dream, and
at least so long after it. Each is a value or default, as [dream] says; the first two
may be off.

--team is the team whose memories searches and contexts of the group include: its
name, off, or default, as [team] name says.`,
		Example: `  reverie groups set g1 --time-zone Europe/Berlin
  reverie groups set g1 --impressions on
  reverie groups set g1 --dream-idle 12h --dream-sessions off
  reverie groups set g1 --day-boundary 04:00 --name "Game nights"`,
		Args: oneGroup,
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := groupChange(cmd, args[0], &to)
			if err != nil {
				return err
			}
			return a.setGroup(cmd, args[0], change, asJSON)
		},
	}
	groupFlags(cmd, &to)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// groupChange is what the flags ask for. All its errors are usage errors.
func groupChange(cmd *cobra.Command, id string, to *reverie.Group) (reverie.GroupChange, error) {
	var c reverie.GroupChange
	given := func(flag string, value *string) *string {
		if cmd.Flags().Changed(flag) {
			return value
		}
		return nil
	}
	c.Name, c.TimeZone = given("name", &to.Name), given("time-zone", &to.TimeZone)
	c.DayBoundary, c.Language = given("day-boundary", &to.DayBoundary), given("language", &to.Language)
	if c.Impressions = given("impressions", &to.Impressions); c.Impressions != nil {
		if err := readImpressions(to); err != nil {
			return c, usageError(err)
		}
	}
	if c.SessionSilence = given("session-silence", &to.SessionSilence); c.SessionSilence != nil {
		if err := readSilence(to); err != nil {
			return c, usageError(err)
		}
	}
	if err := readDreams(to); err != nil { // those that are not given are as configured
		return c, usageError(err)
	}
	c.DreamIdle, c.DreamSessions, c.DreamInterval = given("dream-idle", &to.DreamIdle),
		given("dream-sessions", &to.DreamSessions), given("dream-interval", &to.DreamInterval)
	if c.Team = given("team", &to.Team); c.Team != nil {
		if err := readTeam(to); err != nil {
			return c, usageError(err)
		}
	}
	if c == (reverie.GroupChange{}) {
		return c, usageError(fmt.Errorf("nothing to set: give --name, --time-zone, --day-boundary, --language, "+
			"--impressions, --session-silence, --dream-idle, --dream-sessions, --dream-interval or --team\nsee '%s --help'",
			cmd.CommandPath()))
	}
	for flag, value := range map[string]*string{"time-zone": c.TimeZone, "day-boundary": c.DayBoundary} {
		if value != nil && *value == "" {
			return c, usageError(fmt.Errorf("--%s must not be empty", flag))
		}
	}
	asked := reverie.Group{ID: id}
	c.Apply(&asked)
	if err := asked.Normalize(); err != nil {
		return c, usageError(err)
	}
	return c, nil
}

func (a *app) setGroup(cmd *cobra.Command, id string, change reverie.GroupChange, asJSON bool) error {
	ctx := cmd.Context()
	if err := a.open(ctx); err != nil {
		return err
	}
	before, err := a.Store.Group(ctx, id)
	if err != nil {
		return unknownGroup(err)
	}
	var open reverie.Window
	if before.HasCalendar() { // else this is to mend it
		cal, err := jobs.CalendarOf(before)
		if err != nil {
			return err
		}
		open = cal.Containing(a.Now())
	}
	g, err := a.Store.ChangeGroup(ctx, id, change, open.Until)
	if err != nil {
		return unknownGroup(err)
	}
	reply := groupReply{Success: true, Group: g}
	if before.HasCalendar() && !g.SameCalendar(before) {
		if reply.AppliesFrom, err = appliesFrom(g, open.Until); err != nil {
			return err
		}
	}
	if asJSON {
		return cli.PrintJSON(a.Stdout, reply)
	}
	return a.printSet(before, reply, open)
}

// appliesFrom is the first date of a group's calendar that begins at until, ""
// where no other calendar was before it.
func appliesFrom(g reverie.Group, until time.Time) (string, error) {
	if len(g.Past) == 0 || g.Past[len(g.Past)-1].ValidUntil.Before(until) {
		return "", nil
	}
	cal, err := jobs.CalendarOf(g)
	if err != nil {
		return "", err
	}
	return cal.Containing(until).Date, nil
}

// printSet says what a group is now, and what of it holds from when on.
func (a *app) printSet(before reverie.Group, r groupReply, open reverie.Window) error {
	var changed []error
	line := func(format string, args ...any) {
		_, err := fmt.Fprintf(a.Stdout, "%s: "+format+"\n", append([]any{cli.Visible(before.ID)}, args...)...)
		changed = append(changed, err)
	}
	g := r.Group
	if g.Name != before.Name {
		line("name %q", g.Name)
	}
	if g.Language != before.Language {
		line("language %s", languageName(g.Language))
	}
	if g.Impressions != before.Impressions {
		line("impressions %s", a.impressionsText(g))
	}
	if g.SessionSilence != before.SessionSilence {
		line("sessions end after a silence of %s", a.silenceText(g))
	}
	for i, s := range dreamSettings {
		if *s.of(&g) != *s.of(&before) {
			line("%s", a.dreamsText(g)[i])
		}
	}
	if g.Team != before.Team {
		line("%s", a.teamText(g))
	}
	switch {
	case g.SameCalendar(before):
	case !before.HasCalendar():
		line("dates in %s, instead of those in %s, which could not be told", cli.Zone(g), cli.Zone(before))
	case r.AppliesFrom == "":
		line("dates in %s, for all its dates: it had no run yet", cli.Zone(g))
	default:
		line("dates in %s, applies from %s on; %s still ends at %s UTC", cli.Zone(g), r.AppliesFrom, open.Date,
			cli.Stamp(open.Until))
	}
	if len(changed) == 0 {
		line("nothing changed: it is so already")
	}
	return errors.Join(changed...)
}

// impressionsText says whether people and things of a group are followed.
func (a *app) impressionsText(g reverie.Group) string {
	switch {
	case g.Impressions != "":
		return g.Impressions
	case a.Config.Impression.Enabled:
		return "on, as configured"
	}
	return "off, as configured"
}

// silenceText is the silence that ends the sessions of a group.
func (a *app) silenceText(g reverie.Group) string {
	if g.SessionSilence != "" {
		return g.SessionSilence
	}
	return a.Config.Session.Silence.String() + ", as configured"
}

// teamText says to which team a group belongs.
func (a *app) teamText(g reverie.Group) string {
	team, as := g.Team, ""
	if team == "" {
		team, as = a.Config.Team.Name, ", as configured"
	}
	if team == "" || team == reverie.GroupOff {
		return "belongs to no team" + as
	}
	return "belongs to the team " + team + as
}

func languageName(language string) string {
	if language == "" {
		return "that of the messages"
	}
	return language
}
