package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reverie"
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
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "" && cmd.Args != nil && strings.Contains(cmd.Use, "GROUP") {
		err = fmt.Errorf("%w\na group whose id begins with - goes last, after --: '%s -- -%s'", err, cmd.CommandPath(), unknown.GetSpecifiedShortnames())
	}
	return usageError(fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath()))
}

// oneGroup takes the id of a group as the only argument.
func oneGroup(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("the id of a group is needed")
	case len(args) > 1:
		return fmt.Errorf("one group at a time: %s; quote an id that has spaces", plural(len(args), "argument"))
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
				"time-zone":    {&g.TimeZone, &a.cfg.Group.TimeZone},
				"day-boundary": {&g.DayBoundary, &a.cfg.Group.DayBoundary},
				"language":     {&g.Language, &a.cfg.Group.Language},
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
			if err := a.store.AddGroup(cmd.Context(), g); err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.stdout, groupReply{Success: true, Group: g})
			}
			_, err := fmt.Fprintf(a.stdout, "%s: added, dates in %s\n", visible(g.ID), zone(g))
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
	f.StringVar(&g.DayBoundary, "day-boundary", "", "local time HH:MM at which a date begins; 04:00 counts the small hours to the day before")
	f.StringVar(&g.Language, "language", "", `language of the memories: zh, en, or "" to go by the messages`)
}

func newGroupsPause(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pause GROUP",
		Short: "Leave a group out of scheduled work; its messages stay pending",
		Long: `Pause leaves a group out of all work on several groups: evolve --due, evolve
--all, backfill and the daemon. Messages still come in and wait. What names the
group, such as evolve --group, still works on it.`,
		Example: "  reverie groups pause g1",
		Args:    oneGroup,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			g, err := a.store.PauseGroup(cmd.Context(), args[0])
			if err != nil {
				return unknownGroup(err)
			}
			if asJSON {
				return printJSON(a.stdout, groupReply{Success: true, Group: g})
			}
			_, err = fmt.Fprintf(a.stdout, "%s: paused; `reverie groups resume %s` ends it\n", visible(g.ID), operand(g.ID))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newGroupsResume(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "resume GROUP",
		Short: "Take a paused, parked or failing group up again",
		Long: `Resume ends a pause, and takes a group up again that was parked after repeated
failure, or is left alone for a while after one: the failures are forgotten. The
next scheduled run makes up what was missed. Mend what made it fail first.`,
		Example: "  reverie groups resume g1",
		Args:    oneGroup,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			before, err := a.groupEntry(ctx, args[0])
			if err != nil {
				return err
			}
			g, gone, err := a.store.ResumeGroup(ctx, args[0])
			if err != nil {
				return unknownGroup(err)
			}
			if asJSON {
				return printJSON(a.stdout, groupReply{Success: true, Group: g, Setbacks: gone})
			}
			return a.printResumed(before, gone)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// printResumed says what a group was resumed from.
func (a *app) printResumed(before reverie.GroupEntry, gone []reverie.Setback) error {
	was := "resumed"
	if !before.Paused && len(gone) == 0 {
		was = "was neither paused nor parked"
	} else if before.Paused {
		was = "resumed from its pause"
	}
	fmt.Fprintf(a.stdout, "%s: %s; %s pending\n", visible(before.ID), was, plural(before.Pending, "message"))
	for _, s := range gone {
		if _, err := fmt.Fprintf(a.stdout, "  forgotten: %s\n", setbackText(s)); err != nil {
			return err
		}
	}
	return nil
}

// setbackText is what repeated failure has led to, and why.
func setbackText(s reverie.Setback) string {
	state := "failed"
	if s.ParkedAt != nil {
		state = "parked since " + stamp(*s.ParkedAt) + " UTC, after it failed"
	}
	times := "once"
	if s.Failures > 1 {
		times = fmt.Sprintf("%d times in a row", s.Failures)
	}
	return fmt.Sprintf("%s %s %s: %s", s.Job, state, times, visible(reverie.Excerpt(s.Error, 200)))
}

// remedy is what to do about a setback.
func remedy(s reverie.Setback, groupID string) string {
	if s.ParkedAt != nil {
		return fmt.Sprintf("mend the cause, then `reverie groups resume %s`", operand(groupID))
	}
	return fmt.Sprintf("next try after %s UTC; `reverie groups resume %s` waits no longer", stamp(s.RetryAt), operand(groupID))
}

// groupEntry is a group as it stands.
func (a *app) groupEntry(ctx context.Context, id string) (reverie.GroupEntry, error) {
	list, err := a.store.GroupList(ctx, reverie.GroupQuery{GroupID: id})
	if err != nil || len(list) == 0 {
		return reverie.GroupEntry{}, unknownGroup(err)
	}
	return list[0], nil
}

// unknownGroup says what to do about a group that does not exist.
func unknownGroup(err error) error {
	if errors.Is(err, reverie.ErrNotFound) {
		return fmt.Errorf("%w; `reverie groups list` shows which there are, `reverie groups add` makes one", err)
	}
	return err
}

// calendar is a group's, or that of UTC where its zone cannot be read: what is
// only looked at is worth seeing all the same.
func (a *app) calendar(g reverie.Group) jobs.Calendar {
	cal, err := jobs.CalendarOf(g)
	if err != nil {
		a.log.Warn("dates are shown in UTC", "group_id", g.ID, "error", err)
		cal, _ = jobs.CalendarOf(reverie.Group{})
	}
	return cal
}

// zone is how a group's time is divided into dates.
func zone(g reverie.Group) string {
	name := g.TimeZone
	if name == "" {
		name = "UTC"
	}
	if g.DayBoundary != "" && g.DayBoundary != "00:00" {
		name += " from " + g.DayBoundary
	}
	return name
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.:@%+/=,-]+$`)

// quoted is an id as a shell wants it behind a flag.
func quoted(id string) string {
	if word := visible(id); !plainWord.MatchString(word) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return id
}

// operand is a group's id as a shell wants it at the end of a command.
func operand(id string) string {
	if strings.HasPrefix(id, "-") {
		return "-- " + quoted(id)
	}
	return quoted(id)
}
