package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/reverie"
	"reverie/internal/team"
)

func newTeam(a *app) *cobra.Command {
	cmd := group("team", "Share memories with other groups and other deployments",
		newTeamCreate(a), newTeamShare(a), newTeamEdit(a), newTeamPush(a), newTeamPull(a), newTeamStatus(a),
		newTeamConflicts(a), newTeamResolve(a))
	cmd.Long = `A team has memories that several groups, or several Reveries, have in common. Groups
belong to it by [team] name, or each for itself by 'reverie groups set GROUP --team
NAME', and recall its memories beside their own.

A team stands under the group id team:NAME, so that whatever looks at memories looks at
a team's, too:
  reverie memory list --group team:NAME
  reverie memory history MEMORY

With another Reverie it is shared by push and pull. What both sides have changed waits
for a person (conflicts, resolve); nothing is ever overwritten.`
	cmd.Example = `  reverie team share 0198c1d2-...  --team crew    a group's memory, for the whole team
  reverie team status                            what a push and a pull would do
  reverie team push
  reverie team pull`
	return cmd
}

// teamFlag is the flag by which a team is named.
func teamFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "team", "", "name of the team (default [team] name)")
}

// teamName is the team that is meant: the one named, or the configured one.
func (a *app) teamName(given string) (string, error) {
	name := cmp.Or(given, a.Config.Team.Name)
	if name == "" {
		return "", usageError(errors.New("which team? give --team NAME, or set [team] name"))
	}
	if err := reverie.CheckTeam(name); err != nil {
		return "", usageError(err)
	}
	return name, nil
}

// syncer wires what syncs a team with the configured remote.
func (a *app) syncer(ctx context.Context, name string) (*team.Syncer, error) {
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	name, err := a.teamName(name)
	if err != nil {
		return nil, err
	}
	return a.TeamSyncer(ctx, name)
}

func newTeamCreate(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "create NAME",
		Short: "Make a team; sharing with one does so, too",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := reverie.CheckTeam(args[0]); err != nil {
				return usageError(err)
			}
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			created, err := a.Store.AddTeam(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			text := "%[1]s: there already"
			if created {
				text = "%[1]s: made; its memories stand under the group id team:%[1]s\n`reverie groups set GROUP --team %[1]s` " +
					"has a group recall them, [team] name all groups"
			}
			_, err = fmt.Fprintf(a.Stdout, text+"\n", args[0])
			return err
		},
	}
}
