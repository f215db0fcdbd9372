package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/jobs"
)

func newGroups(a *app) *cobra.Command {
	cmd := group("groups", "Look at groups, and change how they are treated",
		newGroupsList(a), newGroupsAdd(a), newGroupsSet(a), newGroupsPause(a), newGroupsResume(a))
	for _, sub := range cmd.Commands() {
		sub.SetFlagErrorFunc(groupFlagError)
	}
	return cmd
}

// groupFlagError explains what to do where a group's id was read as flags: there
// are platforms whose ids are negative numbers.
func groupFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "" && cmd.Args != nil &&
		strings.Contains(cmd.Use, "GROUP") {
		err = fmt.Errorf("%w\na group whose id begins with - goes last, after --: '%s -- -%s'", err, cmd.CommandPath(),
			unknown.GetSpecifiedShortnames())
	}
	return usageError(fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath()))
}

// oneGroup takes the id of a group as the only argument.
func oneGroup(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("the id of a group is needed")
	case len(args) > 1:
		return fmt.Errorf("one group at a time: %s; quote an id that has spaces", cli.Plural(len(args), "argument"))
	case strings.TrimSpace(args[0]) == "":
		return errors.New("the id of the group is empty")
	}
	return nil
}

// groupReply is one group as --json shows it.
type groupReply struct {
	Success bool          `json:"success"`
	Group   reverie.Group `json:"group"`
	// AppliesFrom is the first date of a changed calendar, "" where all are.
	AppliesFrom string            `json:"applies_from,omitempty"`
	Setbacks    []reverie.Setback `json:"setbacks,omitempty"` // those that were cleared
}

// groupEntry is a group as it stands.
func (a *app) groupEntry(ctx context.Context, id string) (reverie.GroupEntry, error) {
	list, err := a.Store.GroupList(ctx, reverie.GroupQuery{GroupID: id})
	if err != nil {
		return reverie.GroupEntry{}, unknownGroup(err)
	}
	return list[0], nil // a named group that is not there is an error
}

// unknownGroup says what to do about a group that does not exist.
func unknownGroup(err error) error {
	if errors.Is(err, reverie.ErrNotFound) {
		if strings.Contains(err.Error(), `"`+reverie.TeamGroupID("")) {
			return fmt.Errorf("%w; `reverie team create NAME` makes a team", err)
		}
		return fmt.Errorf("%w; `reverie groups list` shows which there are, `reverie groups add` makes one", err)
	}
	return err
}

// calendar is a group's, or that of UTC where its zone cannot be read: what is
// only looked at is worth seeing all the same.
func (a *app) calendar(g reverie.Group) jobs.Calendar {
	cal, err := jobs.CalendarOrUTC(g)
	if err != nil {
		a.Log.Warn("dates are shown in UTC", "group_id", g.ID, "error", err)
	}
	return cal
}

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

func newGroupsList(a *app) *cobra.Command {
	var q reverie.GroupQuery
	var state string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List groups by id, with how they stand",
		Long: `List groups by id, with what waits and what went wrong.

A parked group failed so often in a row ([jobs] park_after) that it waits for
'reverie groups resume'; a paused one waits because somebody asked for it. OLDEST
is the date, in the group's own calendar, of the oldest pending message. Times of
runs are in UTC. IMPRESSIONS is on or off where the group differs from [impression]
enabled, SILENCE what ends its sessions where that differs from [session] silence,
DREAMS when it dreams where that differs from [dream], TEAM its team where that
differs from [team] name. Columns that would hold nothing are left out. The memories
of a team stand under team:NAME.`,
		Example: `  reverie groups list
  reverie groups list --state parked
  reverie groups list --limit 500 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch q.State = reverie.GroupState(state); q.State {
			case "", reverie.GroupActive, reverie.GroupPaused, reverie.GroupParked:
			default:
				return usageError(fmt.Errorf("--state %q: it is active, paused or parked", state))
			}
			if q.Limit < 1 || q.Limit > maxListed {
				return usageError(fmt.Errorf("--limit %d: it is 1 to %d", q.Limit, maxListed))
			}
			if cmd.Flags().Changed("group") && q.GroupID == "" {
				return usageError(fmt.Errorf("--group: the id of the group is empty"))
			}
			return a.listGroups(cmd.Context(), q, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&state, "state", "", "only these: active, paused or parked")
	f.StringVar(&q.GroupID, "group", "", "only this one")
	f.StringVar(&q.After, "after", "", "only ids after this one")
	f.IntVar(&q.Limit, "limit", 100, "groups at most")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) listGroups(ctx context.Context, q reverie.GroupQuery, asJSON bool) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	limit := q.Limit
	q.Limit++ // to see whether there are more
	groups, err := a.Store.GroupList(ctx, q)
	if err != nil {
		return unknownGroup(err)
	}
	next := ""
	if len(groups) > limit {
		groups = groups[:limit]
		next = groups[limit-1].ID
	}
	if asJSON {
		reply := reverie.GroupsReply{Success: true, Groups: []reverie.GroupReply{}, Next: next}
		for _, g := range groups {
			reply.Groups = append(reply.Groups, reverie.GroupReply{GroupEntry: g, State: g.State()})
		}
		return cli.PrintJSON(a.Stdout, reply)
	}
	if len(groups) == 0 {
		return a.NoGroups(q)
	}
	if err := a.PrintGroups(groups); err != nil {
		return err
	}
	if next != "" {
		_, err = fmt.Fprintf(a.Stdout, "the first %d; go on with --after %s\n", limit, cli.Quoted(next))
	}
	return err
}

func newGroupsPause(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pause GROUP",
		Short: "Leave a group out of scheduled work; its messages stay pending",
		Long: `Pause leaves a group out of all work on several groups: evolve and impression with
--due or --all, backfill and the daemon. Messages still come in and wait. What names
the group, such as evolve --group, still works on it.`,
		Example: "  reverie groups pause g1",
		Args:    oneGroup,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			g, err := a.Store.PauseGroup(cmd.Context(), args[0])
			if err != nil {
				return unknownGroup(err)
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, groupReply{Success: true, Group: g})
			}
			_, err = fmt.Fprintf(a.Stdout, "%s: paused; `reverie groups resume %s` ends it\n", cli.Visible(g.ID),
				cli.Operand(g.ID))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newGroupsResume(a *app) *cobra.Command {
	var asJSON, parked bool
	cmd := &cobra.Command{
		Use:   "resume GROUP | --parked",
		Short: "Take a paused, parked or failing group up again",
		Long: `Resume ends a pause, and takes a group up again that was parked after repeated
failure, or is left alone for a while after one: the failures are forgotten, those of
its sessions too. The next scheduled run makes up what was missed. Mend what made it
fail first.

--parked takes up all groups that are parked or have a parked session, say after a
model that failed for everybody has come back. Paused ones stay paused.`,
		Example: "  reverie groups resume g1\n  reverie groups resume --parked",
		Args: func(cmd *cobra.Command, args []string) error {
			if parked {
				return cobra.NoArgs(cmd, args)
			}
			return oneGroup(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			if parked {
				return a.resumeParked(ctx, asJSON)
			}
			before, err := a.groupEntry(ctx, args[0])
			if err != nil {
				return err
			}
			g, gone, err := a.Store.ResumeGroup(ctx, args[0])
			if err != nil {
				return unknownGroup(err)
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, groupReply{Success: true, Group: g, Setbacks: gone})
			}
			return a.PrintResumed(before, gone)
		},
	}
	cmd.Flags().BoolVar(&parked, "parked", false, "all groups that are parked")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// resumeParked takes up every parked group.
func (a *app) resumeParked(ctx context.Context, asJSON bool) error {
	n, err := a.Store.ResumeParked(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(a.Stdout, struct {
			Success bool `json:"success"`
			Resumed int  `json:"resumed"`
		}{true, n})
	}
	_, err = fmt.Fprintf(a.Stdout, "%s resumed\n", cli.Plural(n, "parked group"))
	return err
}

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
