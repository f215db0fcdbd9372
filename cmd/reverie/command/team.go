package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/team"
	"reverie/store/teams"
)

func newTeam(a *app) *cobra.Command {
	return group("reverie team", newTeamCreate(a), newTeamShare(a), newTeamEdit(a), newTeamPush(a), newTeamPull(a),
		newTeamSync(a, "status", &team.Options{Push: true, Pull: true, DryRun: true}), newTeamConflicts(a), newTeamResolve(a))
}

// teamFlag adds the flag that names a team.
func teamFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "team", "", "name of the team (default [team] name)")
}

func newTeamCreate(a *app) *cobra.Command {
	return newCommand("reverie team create", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		if err := reverie.CheckTeam(args[0]); err != nil {
			return err
		}
		if err := a.open(ctx); err != nil {
			return err
		}
		created, err := a.Store.AddTeam(ctx, args[0])
		if err != nil {
			return err
		}
		text := "%[1]s: there already"
		if created {
			text = "%[1]s: made; its memories stand under the group id team:%[1]s\n`reverie groups set GROUP --team %[1]s` " +
				"has a group recall them, [team] name all groups"
		}
		return a.Say(text+"\n", args[0])
	})
}

func newTeamShare(a *app) *cobra.Command {
	var name, reason string
	var overwrite bool
	cmd := a.command("reverie team share", cobra.MinimumNArgs(1), a.opened(func(ctx context.Context, args []string) error {
		reply := cli.TeamReply{Memories: []reverie.TeamMemory{}}
		for _, id := range args {
			if err := a.share(ctx, id, name, reason, overwrite, &reply); err != nil {
				return err
			}
		}
		reply.Success = len(reply.Refused) == 0
		return errors.Join(a.Show(reply, func() error { return a.Page("team_items", reply.Refused) }),
			partly(len(reply.Refused), "refused"))
	}))
	teamFlag(cmd, &name)
	cmd.Flags().Lookup("team").Usage = "name of the team (default that of the memory's group)"
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the change log; a push sends it along")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false,
		"replace what the team has written or deleted since")
	return cmd
}

// partly returns the error of a command that left some memories unchanged and has listed them.
func partly(n int, how string) error {
	if n == 0 {
		return nil
	}
	return &codeError{ExitPartial, fmt.Errorf("%s %s", cli.Plural(n, "memory"), how)}
}

// share shares one memory, and prints it unless the answer is JSON.
func (a *app) share(ctx context.Context, id, team, reason string, overwrite bool, reply *cli.TeamReply) error {
	share, err := a.ToShare(ctx, id, team, reason)
	reply.Team = share.Team
	var refused *reverie.TeamRefusedError
	if errors.As(err, &refused) {
		reply.Refused = append(reply.Refused, reverie.TeamItem{ID: refused.ID, MemoryID: id, Outcome: reverie.TeamRefused,
			Findings: refused.Findings})
		return nil
	}
	if err != nil {
		return err
	}
	share.Overwrite = overwrite
	m, isNew, err := teams.New(a.Store.DB()).ShareMemory(ctx, share)
	if err != nil {
		return err
	}
	if reply.Memories = append(reply.Memories, m); a.JSON {
		return nil
	}
	what := "shared"
	if !isNew {
		what = "unchanged since it was shared"
	}
	return a.Say("%s with team %s as %s (version %d)\n    %s\n", what, share.Team, m.VersionID, m.Version,
		cli.Visible(m.Statement))
}

func newTeamEdit(a *app) *cobra.Command {
	var name, statement, reason string
	cmd := a.command("reverie team edit", cobra.ExactArgs(1), a.opened(func(ctx context.Context, args []string) error {
		m, of, err := a.EditTeamMemory(ctx, name, args[0], statement, reason)
		if err != nil {
			return err
		}
		return a.PrintTeamMemory(of, m)
	}))
	teamFlag(cmd, &name)
	cmd.Flags().StringVar(&statement, "statement", "", "the new words (required)")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the change log; a push sends it along (required)")
	required(cmd, "statement", "reason")
	return cmd
}

// newTeamSync returns the command of a sync: status, push or pull.
func newTeamSync(a *app, verb string, o *team.Options) *cobra.Command {
	var name string
	cmd := a.command("reverie team "+verb, cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		s, err := a.TeamSyncer(ctx, name)
		if err != nil {
			return err
		}
		reply, err := s.Sync(ctx, *o)
		shown := a.Show(reply, func() error { return a.Page("team_sync", reply) })
		if err == nil && verb != "status" {
			err = cmp.Or(partly(reply.Count("", reverie.TeamHeldBack), "held back: this many deletions and rewrites at once "+
				"may be a mistake or an attack. Check them, then pull again with --accept-rewrites"),
				partly(reply.Count("", reverie.TeamRefused), "refused"))
		}
		return errors.Join(shown, err)
	}))
	teamFlag(cmd, &name)
	return cmd
}

func newTeamPush(a *app) *cobra.Command {
	o := team.Options{Push: true}
	cmd := newTeamSync(a, "push", &o)
	cmd.Flags().StringVar(&o.ID, "memory", "", "push only this memory of the team")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "show what would be sent, and send nothing")
	return cmd
}

func newTeamPull(a *app) *cobra.Command {
	o := team.Options{Pull: true}
	cmd := newTeamSync(a, "pull", &o)
	cmd.Flags().StringVar(&o.ID, "memory", "", "pull only this memory of the team")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "show what would be fetched, and write nothing")
	cmd.Flags().BoolVar(&o.AcceptRewrites, "accept-rewrites", false, "accept many deletions and rewrites at once")
	return cmd
}

func newTeamConflicts(a *app) *cobra.Command {
	var name string
	cmd := a.command("reverie team conflicts", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		name, err := a.TeamName(name)
		if err != nil {
			return err
		}
		list, err := teams.New(a.Store.DB()).TeamConflicts(ctx, name)
		if err != nil {
			return err
		}
		reply := cli.ConflictsReply{Success: true, Team: name, Conflicts: list}
		return a.Show(reply, func() error {
			here, err := teams.New(a.Store.DB()).Deployment(ctx)
			if err != nil {
				return err
			}
			return a.PrintConflicts(reply, here)
		})
	}))
	teamFlag(cmd, &name)
	return cmd
}

func newTeamResolve(a *app) *cobra.Command {
	var name, statement, reason string
	var d team.Decision
	cmd := a.command("reverie team resolve", cobra.ExactArgs(1), a.opened(func(ctx context.Context, args []string) error {
		name, err := a.TeamName(name)
		if err != nil {
			return err
		}
		if d.Quotes = a.Config.Team.Quotes; statement != "" {
			if d.Statement, d.Reason, err = a.TeamWords(statement, reason); err != nil {
				return err
			}
		}
		m, err := team.Resolve(ctx, teams.New(a.Store.DB()), name, args[0], d)
		if err != nil {
			return err
		}
		return a.PrintTeamMemory(name, m)
	}))
	teamFlag(cmd, &name)
	f := cmd.Flags()
	f.BoolVar(&d.Ours, "ours", false, "keep ours")
	f.BoolVar(&d.Theirs, "theirs", false, "take theirs, as a new version here")
	f.StringVar(&statement, "statement", "", "settle on these words")
	f.StringVar(&reason, "reason", "", "why, with --statement; a push sends it along")
	oneOf(cmd, "ours", "theirs", "statement")
	notEmpty(cmd, "statement")
	return cmd
}
