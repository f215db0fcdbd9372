package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

// unfiltered are flags that leave nothing out of a list, or whose command says itself how to see more.
var unfiltered = []string{"all", "days", "from", "group", "json", "limit", "recorded", "threshold", "to"}

// nothing explains why a list of what is empty, and what to do next: the group has no data yet, flags leave all of it
// out, or next applies.
func (a *app) nothing(ctx context.Context, groupID, what, next string) error {
	list, err := a.Store.GroupList(ctx, reverie.GroupQuery{GroupID: groupID, Limit: 1})
	if err != nil {
		return err
	}
	filtered := false
	a.running.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		filtered = filtered || f.Changed && !slices.Contains(unfiltered, f.Name)
	})
	where, early := "", len(list) == 0
	if groupID != "" {
		where = cli.Visible(groupID) + ": "
		early = list[0].LastRun == nil && list[0].Active == 0
	}
	switch {
	case len(list) == 0:
		next = "there is no group yet; `reverie import FILE --group G` or `reverie groups add G` creates one"
	case early && list[0].Pending > 0:
		next = fmt.Sprintf("no night has read its %s; `reverie evolve --group %s` reads them",
			cli.Plural(list[0].Pending, "message"), cli.Quoted(groupID))
	case early:
		next = fmt.Sprintf("it has no messages to work on; `reverie import FILE --group %s` brings some", cli.Quoted(groupID))
	case filtered:
		return a.Say("%sno %s fit the flags; leave them out to see all\n", where, what)
	}
	return a.Say("%sno %s: %s\n", where, what, next)
}
