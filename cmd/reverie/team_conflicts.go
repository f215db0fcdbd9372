package main

import (
	"errors"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/team"
)

func newTeamConflicts(a *app) *cobra.Command {
	var name string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "conflicts",
		Short: "Show what both sides have changed, side by side",
		Long: `Conflicts shows each memory that was changed here and at another Reverie since both
last said the same: who changed it when, why, and how the words differ: [-ours-] and
{+theirs+}. Ours stays what it is until a person decides, by 'reverie team resolve'.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			name, err := a.teamName(name)
			if err != nil {
				return err
			}
			reply := cli.ConflictsReply{Success: true, Team: name, Conflicts: []cli.ConflictReply{}}
			list, err := a.Store.TeamConflicts(ctx, name)
			if err != nil {
				return err
			}
			for _, c := range list {
				ours, err := a.Store.TeamMemory(ctx, reverie.TeamGroupID(name), c.LineageID)
				if err != nil {
					return err
				}
				reply.Conflicts = append(reply.Conflicts, cli.ConflictReply{TeamConflict: c, Ours: ours})
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reply)
			}
			here, err := a.Store.Deployment(ctx)
			if err != nil {
				return err
			}
			return a.PrintConflicts(reply, here)
		},
	}
	teamFlag(cmd, &name)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newTeamResolve(a *app) *cobra.Command {
	var name, statement, reason string
	var d team.Decision
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "resolve MEMORY --ours|--theirs|--statement S",
		Short: "Decide on a conflict",
		Long: `Resolve settles what both sides have changed:
  --ours         ours stays, and takes the place of theirs with the next push
  --theirs       theirs becomes a new version here
  --statement S  a new version that neither had, which goes out with the next push

Nothing is lost: each version stays in the history of the side that wrote it. Where the
other side has moved on again by the next push, there is a conflict again.`,
		Example: `  reverie team conflicts
  reverie team resolve 0198c1d2-3b4c-7d5e-8f60-718293a4b5c6 --theirs`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			choices := 0
			for _, flag := range []string{"ours", "theirs", "statement"} {
				if cmd.Flags().Changed(flag) {
					choices++
				}
			}
			if choices != 1 || !d.Ours && !d.Theirs && statement == "" {
				return usageError(errors.New("decide: one of --ours, --theirs and --statement S"))
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			name, err := a.teamName(name)
			if err != nil {
				return err
			}
			if d.Quotes = a.Config.Team.Quotes; statement != "" {
				if d.Statement, d.Reason, err = a.words(statement, reason); err != nil {
					return err
				}
			}
			m, err := team.Resolve(ctx, a.Store, name, args[0], d)
			if err != nil {
				return err
			}
			return a.PrintTeamMemory(name, m, asJSON)
		},
	}
	teamFlag(cmd, &name)
	f := cmd.Flags()
	f.BoolVar(&d.Ours, "ours", false, "ours stays")
	f.BoolVar(&d.Theirs, "theirs", false, "theirs becomes a new version here")
	f.StringVar(&statement, "statement", "", "what it says from now on")
	f.StringVar(&reason, "reason", "", "why, with --statement; kept in the change log, and goes along with a push")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
