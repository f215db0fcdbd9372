package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/reverie"
	"reverie/jobs"
)

func newGroups(a *app) *cobra.Command {
	return group("reverie groups", newGroupsList(a), newGroupsAdd(a), newGroupsSet(a), newGroupsPause(a), newGroupsResume(a))
}

// oneGroup accepts a group id as the only argument.
func oneGroup(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("the id of a group is needed")
	case len(args) > 1:
		return fmt.Errorf("one group is needed, not %s: quote an id that has spaces", cli.Plural(len(args), "argument"))
	case strings.TrimSpace(args[0]) == "":
		return errors.New("the id of the group is empty")
	}
	return nil
}

// groupReply is one group as --json shows it.
type groupReply struct {
	Success bool          `json:"success"`
	Group   reverie.Group `json:"group"`
	// AppliesFrom is the first date of a changed calendar, "" if nothing changed.
	AppliesFrom string            `json:"applies_from,omitempty"`
	Setbacks    []reverie.Setback `json:"setbacks,omitempty"` // failure states that were cleared
}

// groupEntry reads a group with its state.
func (a *app) groupEntry(ctx context.Context, id string) (reverie.GroupEntry, error) {
	list, err := a.Store.GroupList(ctx, reverie.GroupQuery{GroupID: id})
	if err != nil {
		return reverie.GroupEntry{}, err
	}
	return list[0], nil // a missing named group is an error
}

// calendar returns a group's calendar, or UTC's if the zone is invalid: output stays readable.
func (a *app) calendar(g reverie.Group) jobs.Calendar {
	cal, err := jobs.CalendarOrUTC(g)
	if err != nil {
		a.Log.Warn("dates are shown in UTC", "group_id", g.ID, "error", err)
	}
	return cal
}

func newGroupsList(a *app) *cobra.Command {
	var q reverie.GroupQuery
	cmd := a.command("reverie groups list", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		asked := q
		asked.Limit++ // one more, to see whether there are more
		groups, err := a.Store.GroupList(ctx, asked)
		if err != nil {
			return err
		}
		next := ""
		if len(groups) > q.Limit {
			groups = groups[:q.Limit]
			next = groups[q.Limit-1].ID
		}
		reply := reverie.GroupsReply{Success: true, Groups: []reverie.GroupReply{}, Next: next}
		for _, g := range groups {
			reply.Groups = append(reply.Groups, reverie.GroupReply{GroupEntry: g, State: g.State()})
		}
		return a.Show(reply, func() error {
			if len(groups) == 0 {
				return a.nothing(ctx, "", "groups", "")
			}
			if err := a.PrintGroups(groups); err != nil || next == "" {
				return err
			}
			return a.Say("the first %d; go on with --after %s\n", q.Limit, cli.Quoted(next))
		})
	}))
	choice(cmd, &q.State, "state", "", "list only groups that are active, paused or parked",
		reverie.GroupActive, reverie.GroupPaused,
		reverie.GroupParked)
	groupFlag(cmd, &q.GroupID, "list only this group")
	cmd.Flags().StringVar(&q.After, "after", "", "list only ids after this one")
	limitFlag(cmd, &q.Limit, 100, "most groups to list")
	return cmd
}

// asConfigured is the flag value that makes a group follow the configuration.
const asConfigured = "default"

// groupSetting is a group setting with a flag; field is its name in [reverie.Group] and in [reverie.GroupChange].
// Settings with configured may follow the configuration instead: "default" on the command line, "" in the database.
type groupSetting struct {
	flag, field, usage string
	words              []string // for shell completion
	calendar           bool     // the setting divides time into dates
	configured         func(*config.Config) string
}

// of returns the field of a group.
func (s groupSetting) of(g *reverie.Group) *string {
	return reflect.ValueOf(g).Elem().FieldByName(s.field).Addr().Interface().(*string)
}

// change makes a change set the field to the value that to has when it is applied.
func (s groupSetting) change(c *reverie.GroupChange, to *string) {
	reflect.ValueOf(c).Elem().FieldByName(s.field).Set(reflect.ValueOf(to))
}

var groupSettings = []groupSetting{
	{flag: "name", field: "Name", usage: "a name for people to read"},
	{flag: "time-zone", field: "TimeZone", calendar: true, usage: "IANA time zone, such as Asia/Shanghai"},
	{flag: "day-boundary", field: "DayBoundary", calendar: true,
		usage: "local time HH:MM at which a date begins, such as 04:00"},
	{flag: "language", field: "Language", words: []string{"zh", "en"},
		usage: `language of the memories: zh, en, or "" for that of the messages`},
	{flag: "impressions", field: "Impressions", words: []string{"on", "off", asConfigured},
		usage:      "follow people and things: on, off, or default ([impression] enabled)",
		configured: func(c *config.Config) string { return map[bool]string{true: "on", false: "off"}[c.Impression.Enabled] }},
	{flag: "session-silence", field: "SessionSilence",
		usage:      "silence that ends a session: such as 45m, or default ([session] silence)",
		configured: func(c *config.Config) string { return c.Session.Silence.String() }},
	{flag: "dream-idle", field: "DreamIdle",
		usage:      "dream once a session was silent for: such as 12h, off, or default ([dream] idle)",
		configured: func(c *config.Config) string { return c.Dream.Idle.String() }},
	{flag: "dream-sessions", field: "DreamSessions",
		usage:      "dream after so many sessions: such as 5, off, or default ([dream] sessions)",
		configured: func(c *config.Config) string { return fmt.Sprint(c.Dream.Sessions) }},
	{flag: "dream-interval", field: "DreamInterval",
		usage:      "shortest time between dreams: such as 2h, or default ([dream] interval)",
		configured: func(c *config.Config) string { return c.Dream.Interval.String() }},
	{flag: "team", field: "Team",
		usage:      "team whose memories the group recalls: a name, off, or default ([team] name)",
		configured: func(c *config.Config) string { return c.Team.Name }},
	{flag: "private", field: "Private", words: []string{"on", "off", asConfigured},
		usage:      "no other group reads of this one: on, off, or default (on while two people at most are known in it)",
		configured: func(*config.Config) string { return "on while two people at most are known in it" }},
}

// groupFlags adds the flags of groupSettings; their values are stored in g.
func groupFlags(cmd *cobra.Command, g *reverie.Group) {
	for _, s := range groupSettings {
		byDefault := ""
		if s.configured != nil {
			byDefault = asConfigured
		}
		cmd.Flags().StringVar(s.of(g), s.flag, byDefault, s.usage)
		completeWords(cmd, s.flag, s.words)
		if s.calendar || s.configured != nil {
			notEmpty(cmd, s.flag)
		}
	}
	check(cmd, func() error {
		for _, s := range groupSettings {
			if value := s.of(g); s.configured != nil && *value == asConfigured {
				*value = ""
			}
		}
		return nil
	})
}

func newGroupsAdd(a *app) *cobra.Command {
	var g reverie.Group
	cmd := a.command("reverie groups add", oneGroup, nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
		if err := g.Normalize(); err != nil {
			return usageError(err)
		}
		if err := a.open(cmd.Context()); err != nil {
			return err
		}
		if err := a.Store.AddGroup(cmd.Context(), g); err != nil {
			return err
		}
		return a.Show(groupReply{Success: true, Group: g},
			func() error { return a.Say("%s: added, dates in %s\n", cli.Visible(g.ID), cli.Zone(g)) })
	}
	groupFlags(cmd, &g)
	return cmd
}

func newGroupsSet(a *app) *cobra.Command {
	var to reverie.Group
	var change reverie.GroupChange
	cmd := a.command("reverie groups set", oneGroup, func(ctx context.Context, args []string) error {
		asked := reverie.Group{ID: args[0]}
		change.Apply(&asked)
		if err := asked.Normalize(); err != nil {
			return usageError(err)
		}
		if err := a.open(ctx); err != nil {
			return err
		}
		done, err := a.ChangeGroup(ctx, args[0], change)
		if err != nil {
			return err
		}
		return a.Show(groupReply{Success: true, Group: done.Group, AppliesFrom: done.AppliesFrom},
			func() error { return a.printSet(done.Before, done.Group, done.AppliesFrom, done.Open) })
	})
	groupFlags(cmd, &to)
	check(cmd, func() error {
		var flags []string
		for _, s := range groupSettings {
			if flags = append(flags, "--"+s.flag); cmd.Flags().Changed(s.flag) {
				s.change(&change, s.of(&to))
			}
		}
		if change == (reverie.GroupChange{}) {
			return fmt.Errorf("there is nothing to set: give %s\nsee '%s --help'", either(flags), cmd.CommandPath())
		}
		return nil
	})
	return cmd
}

// printSet prints a group's settings, and from when changed ones apply.
func (a *app) printSet(before, g reverie.Group, appliesFrom string, open reverie.Window) error {
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, s := range groupSettings {
		value, note := *s.of(&g), ""
		if s.calendar || value == *s.of(&before) {
			continue
		}
		if s.configured != nil && value == "" {
			value, note = s.configured(a.Config), ", as configured"
		}
		line("%s %s%s", s.flag, cmp.Or(cli.Visible(value), "none"), note)
	}
	switch {
	case g.SameCalendar(before):
	case !before.HasCalendar():
		line("dates in %s, instead of those in %s, which could not be told", cli.Zone(g), cli.Zone(before))
	case appliesFrom == "":
		line("dates in %s, for all its dates: it had no run yet", cli.Zone(g))
	default:
		line("dates in %s, applies from %s on; %s still ends at %s UTC", cli.Zone(g), appliesFrom, open.Date,
			cli.Stamp(open.Until))
	}
	if len(lines) == 0 {
		line("nothing changed: it is so already")
	}
	for _, l := range lines {
		if err := a.Say("%s: %s\n", cli.Visible(before.ID), l); err != nil {
			return err
		}
	}
	return nil
}

func newGroupsPause(a *app) *cobra.Command {
	return a.command("reverie groups pause", oneGroup, a.opened(func(ctx context.Context, args []string) error {
		g, err := a.Store.PauseGroup(ctx, args[0])
		if err != nil {
			return err
		}
		return a.Show(groupReply{Success: true, Group: g}, func() error {
			return a.Say("%s: paused; `reverie groups resume %s` ends it\n", cli.Visible(g.ID), cli.Operand(g.ID))
		})
	}))
}

func newGroupsResume(a *app) *cobra.Command {
	var parked bool
	args := func(cmd *cobra.Command, args []string) error {
		if parked {
			return cobra.NoArgs(cmd, args)
		}
		return oneGroup(cmd, args)
	}
	cmd := a.command("reverie groups resume", args, a.opened(func(ctx context.Context, args []string) error {
		if parked {
			return a.resumeParked(ctx)
		}
		before, err := a.groupEntry(ctx, args[0])
		if err != nil {
			return err
		}
		g, cleared, err := a.Store.ResumeGroup(ctx, args[0])
		if err != nil {
			return err
		}
		return a.Show(groupReply{Success: true, Group: g, Setbacks: cleared},
			func() error { return a.PrintResumed(before, cleared) })
	}))
	cmd.Flags().BoolVar(&parked, "parked", false, "resume all parked groups and sessions")
	return cmd
}

// resumeParked resumes every parked group.
func (a *app) resumeParked(ctx context.Context) error {
	n, err := a.Store.ResumeParked(ctx)
	if err != nil {
		return err
	}
	return a.Show(map[string]any{"success": true, "resumed": n},
		func() error { return a.Say("%s resumed\n", cli.Plural(n, "parked group")) })
}
