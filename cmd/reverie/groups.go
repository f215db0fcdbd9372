package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
