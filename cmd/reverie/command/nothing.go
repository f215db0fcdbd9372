package command

import (
	"context"
	"fmt"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

// nothing explains why a list of what is empty, and what to do next: the group has no data yet, or next
// applies.
func (a *app) nothing(ctx context.Context, groupID, what, next string) error {
	list, err := a.Store.GroupList(ctx, reverie.GroupQuery{GroupID: groupID, Limit: 1})
	if err != nil {
		return err
	}
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
	}
	return a.Say("%sno %s: %s\n", where, what, next)
}
