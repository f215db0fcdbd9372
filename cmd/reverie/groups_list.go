package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

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
