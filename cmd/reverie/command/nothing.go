package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

// wide are flags that do not filter a list.
var wide = []string{"all", "days", "from", "group", "json", "limit", "recorded", "threshold", "to"}

// nothing explains why a list of what is empty, and what to do next: the group has no data yet, flags filtered
// everything, or next applies.
func (a *app) nothing(ctx context.Context, cmd *cobra.Command, groupID, what, next string) error {
	list, err := a.Store.GroupList(ctx, reverie.GroupQuery{GroupID: groupID, Limit: 1})
	if err != nil {
		return err
	}
	where, early := "", len(list) == 0
	if groupID != "" {
		where = cli.Visible(groupID) + ": "
		early = list[0].LastRun == nil && list[0].Active == 0
	}
	narrow := narrowed(cmd)
	switch {
	case len(list) == 0:
		next = "there is no group yet; `reverie import FILE --group G` or `reverie groups add G` creates one"
	case early && list[0].Pending > 0:
		next = fmt.Sprintf("no night has read its %s; `reverie evolve --group %s` reads them",
			cli.Plural(list[0].Pending, "message"), cli.Quoted(groupID))
	case early:
		next = fmt.Sprintf("it has no messages to work on; `reverie import FILE --group %s` brings some", cli.Quoted(groupID))
	case narrow != "":
		return a.Say("%sno %s with %s; leave that out to see all\n", where, what, narrow)
	}
	return a.Say("%sno %s: %s\n", where, what, next)
}

// narrowed returns the flags that may have filtered a command's list.
func narrowed(cmd *cobra.Command) string {
	var given []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case slices.Contains(wide, f.Name) || cmd.InheritedFlags().Lookup(f.Name) != nil:
		case f.Value.Type() == "bool":
			given = append(given, "--"+f.Name)
		default:
			given = append(given, "--"+f.Name+" "+cli.Quoted(f.Value.String()))
		}
	})
	return strings.Join(given, " ")
}
