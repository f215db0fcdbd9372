package command

import (
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
		newTeamStatus(a), newTeamConflicts(a), newTeamResolve(a))
}

// teamFlag is the flag by which a team is named.
func teamFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "team", "", "name of the team (default [team] name)")
}

// syncer wires what syncs a team with the configured remote.
func (a *app) syncer(ctx context.Context, name string) (*team.Syncer, error) {
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	name, err := a.TeamName(name)
	if err != nil {
		return nil, err
	}
	return a.TeamSyncer(ctx, name)
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

const overwriteUsage = "put it in the place of what the team has written, or deleted, since it was shared"

func newTeamShare(a *app) *cobra.Command {
	var name, reason string
	var overwrite bool
	cmd := a.command("reverie team share", cobra.MinimumNArgs(1), a.opened(func(ctx context.Context,
		args []string) error {
		reply := cli.TeamReply{Success: true, Memories: []reverie.TeamMemory{}}
		for _, id := range args {
			if err := a.share(ctx, id, name, reason, overwrite, &reply); err != nil {
				return err
			}
		}
		reply.Success = len(reply.Refused) == 0
		return errors.Join(a.Show(reply, func() error { return nil }), refusedError(reply.Refused)) // all has been said
	}))
	teamFlag(cmd, &name)
	cmd.Flags().Lookup("team").Usage = "name of the team (default that of the memory's group)"
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the change log, and goes along with a push")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, overwriteUsage)
	return cmd
}

// refusedError ends a command of which a part was refused; what, has been said.
func refusedError(refused []reverie.TeamRefusal) error {
	if len(refused) == 0 {
		return nil
	}
	return &codeError{ExitPartial, fmt.Errorf("%s refused", cli.Plural(len(refused), "memory"))}
}

// share shares one memory, and says so where the answer is not JSON.
func (a *app) share(ctx context.Context, id, team, reason string, overwrite bool, reply *cli.TeamReply) error {
	share, found, err := a.ToShare(ctx, id, team, reason)
	if err != nil {
		return err
	}
	share.Overwrite = overwrite
	reply.Team = share.Team
	if len(found) > 0 {
		refused := reverie.TeamRefusal{ID: share.Memory.LineageID, MemoryID: share.Memory.ID, Findings: found}
		if reply.Refused = append(reply.Refused, refused); !a.JSON {
			a.PrintTeamRefusals([]reverie.TeamRefusal{refused})
		}
		return nil
	}
	shared, isNew, err := teams.New(a.Store.DB()).ShareMemory(ctx, share)
	if err != nil {
		return err
	}
	if reply.Memories = append(reply.Memories, shared); a.JSON {
		return nil
	}
	text := "shared with team %s as %s (version %d)\n    %s\n"
	if !isNew {
		text = "unchanged since it was shared with team %s as %s (version %d)\n    %s\n"
	}
	return a.Say(text, share.Team, shared.VersionID, shared.Version, cli.Visible(shared.Statement))
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
	cmd.Flags().StringVar(&statement, "statement", "", "what it says from now on (required)")
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the change log, and goes along with a push (required)")
	required(cmd, "statement", "reason")
	return cmd
}

func newTeamPush(a *app) *cobra.Command {
	var name, id string
	var o team.PushOptions
	var overwrite bool
	cmd := a.command("reverie team push", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		s, err := a.syncer(ctx, name)
		if err != nil {
			return err
		}
		if id != "" {
			if o.ID, err = a.pushed(ctx, s.Team, id, o.DryRun, overwrite); err != nil || o.ID == "" {
				return err
			}
		}
		reply, err := s.Push(ctx, o)
		return errors.Join(a.Show(reply, func() error { return a.PrintPush(reply) }), syncError(err, reply.Refused, nil))
	})
	teamFlag(cmd, &name)
	f := cmd.Flags()
	f.StringVar(&id, "memory", "", "only this one; a group's is shared with the team first")
	f.BoolVar(&overwrite, "overwrite", false, "with --memory: "+overwriteUsage)
	f.BoolVar(&o.DryRun, "dry-run", false, "scan, say what would be sent, and send nothing")
	return cmd
}

// pushed is the id of the team's memory that --memory means. A group's is shared first;
// "" where it was refused, or only would be shared.
func (a *app) pushed(ctx context.Context, name, id string, dry, overwrite bool) (string, error) {
	m, _, err := a.TeamMemory(ctx, name, id)
	if !errors.Is(err, reverie.ErrNotFound) {
		return m.ID, err
	}
	if dry {
		share, found, err := a.ToShare(ctx, id, name, "")
		if err != nil {
			return "", err
		}
		reply := reverie.TeamPushReply{Success: len(found) == 0, Team: name, Remote: a.Config.Team.Remote, DryRun: true,
			Pushed: []reverie.TeamItem{}}
		if reply.Success {
			reply.Pushed = append(reply.Pushed,
				reverie.TeamItem{MemoryID: share.Memory.ID, Action: reverie.ActionCreate, Statement: share.Memory.Statement})
		} else {
			reply.Refused = append(reply.Refused,
				reverie.TeamRefusal{ID: share.Memory.LineageID, MemoryID: share.Memory.ID, Findings: found})
		}
		return "", errors.Join(a.Show(reply, func() error { return a.PrintPush(reply) }), refusedError(reply.Refused))
	}
	var reply cli.TeamReply
	if err := a.share(ctx, id, name, "", overwrite, &reply); err != nil || len(reply.Refused) > 0 {
		return "", errors.Join(err, refusedError(reply.Refused))
	}
	return reply.Memories[0].ID, nil
}

// syncError is how a sync ends.
func syncError(err error, refused []reverie.TeamRefusal, heldBack []reverie.TeamItem) error {
	if err != nil {
		return err
	}
	if n := len(heldBack); n > 0 {
		return &codeError{ExitPartial, fmt.Errorf("%s held back: so many deletions and rewrites at once may be a mistake, "+
			"or an attack; look at them, then pull again with --accept-rewrites", cli.Plural(n, "memory"))}
	}
	return refusedError(refused)
}

func newTeamPull(a *app) *cobra.Command {
	var name string
	var o team.PullOptions
	cmd := a.command("reverie team pull", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		s, err := a.syncer(ctx, name)
		if err != nil {
			return err
		}
		if o.ID != "" {
			if m, _, err := a.TeamMemory(ctx, s.Team, o.ID); err == nil {
				o.ID = m.ID
			}
		}
		reply, err := s.Pull(ctx, o)
		return errors.Join(a.Show(reply, func() error { return a.PrintPull(reply) }),
			syncError(err, reply.Refused, reply.HeldBack))
	})
	teamFlag(cmd, &name)
	f := cmd.Flags()
	f.StringVar(&o.ID, "memory", "", "only this one")
	f.BoolVar(&o.DryRun, "dry-run", false, "say what would be taken, and write nothing")
	f.BoolVar(&o.AcceptRewrites, "accept-rewrites", false, "delete and rewrite as many memories as the other side says")
	return cmd
}

func newTeamStatus(a *app) *cobra.Command {
	var name string
	cmd := a.command("reverie team status", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		s, err := a.syncer(ctx, name)
		if err != nil {
			return err
		}
		reply, err := s.Status(ctx)
		return errors.Join(a.Show(reply, func() error { return a.PrintTeamStatus(reply) }), err)
	})
	teamFlag(cmd, &name)
	return cmd
}

func newTeamConflicts(a *app) *cobra.Command {
	var name string
	cmd := a.command("reverie team conflicts", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		name, err := a.TeamName(name)
		if err != nil {
			return err
		}
		reply := cli.ConflictsReply{Success: true, Team: name, Conflicts: []cli.ConflictReply{}}
		list, err := teams.New(a.Store.DB()).TeamConflicts(ctx, name)
		if err != nil {
			return err
		}
		for _, c := range list {
			ours, err := teams.New(a.Store.DB()).TeamMemory(ctx, reverie.TeamGroupID(name), c.LineageID)
			if err != nil {
				return err
			}
			reply.Conflicts = append(reply.Conflicts, cli.ConflictReply{TeamConflict: c, Ours: ours})
		}
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
	f.BoolVar(&d.Ours, "ours", false, "ours stays")
	f.BoolVar(&d.Theirs, "theirs", false, "theirs becomes a new version here")
	f.StringVar(&statement, "statement", "", "what it says from now on")
	f.StringVar(&reason, "reason", "", "why, with --statement; kept in the change log, and goes along with a push")
	check(cmd, func() error {
		choices := 0
		for _, flag := range []string{"ours", "theirs", "statement"} {
			if f.Changed(flag) {
				choices++
			}
		}
		if choices != 1 || !d.Ours && !d.Theirs && statement == "" {
			return errors.New("decide: one of --ours, --theirs and --statement S")
		}
		return nil
	})
	return cmd
}
