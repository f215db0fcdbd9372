package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/team"
)

// teamExitHelp says how a sync ends.
const teamExitHelp = `Exit codes:
  0    done; conflicts, if any, wait for a person
  1    error
  2    usage or configuration, such as a token that the other side refuses
  3    some memories were refused or held back, the others are done
  4    deferred: the other side cannot be reached; the same again goes on
  130  interrupted`

func newTeamPush(a *app) *cobra.Command {
	var name, id string
	var dry, asJSON, overwrite bool
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Send what has changed here to the other Reverie",
		Long: `Push sends each memory of the team that has changed here since the last sync to the
Reverie at [team] remote. It never overwrites what others have written there: what both
sides have changed becomes a conflict (reverie team conflicts).

Each memory is scanned first, with its reason, its tags and all else that goes along. One
that holds a secret is refused with the rule and a masked excerpt, and none of it is
sent; the others go on. A push that was cut off is simply run again.

--memory takes a memory of the team, or of a group: that one is shared with the team
first, and refused where the team has changed or deleted it since it was shared, unless
--overwrite says so. --dry-run only scans it.

` + teamExitHelp,
		Example: `  reverie team push --dry-run
  reverie team push
  reverie team push --memory 0198c1d2-3b4c-7d5e-8f60-718293a4b5c6`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			s, err := a.syncer(ctx, name)
			if err != nil {
				return err
			}
			o := team.PushOptions{DryRun: dry}
			if id != "" {
				if o.ID, err = a.pushed(ctx, s.Team, id, dry, overwrite, asJSON); err != nil || o.ID == "" {
					return err
				}
			}
			reply, err := s.Push(ctx, o)
			return errors.Join(a.ShowPush(reply, asJSON), syncError(err, reply.Refused, nil))
		},
	}
	teamFlag(cmd, &name)
	f := cmd.Flags()
	f.StringVar(&id, "memory", "", "only this one; a group's is shared with the team first")
	f.BoolVar(&overwrite, "overwrite", false, "with --memory: "+overwriteUsage)
	f.BoolVar(&dry, "dry-run", false, "scan, say what would be sent, and send nothing")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// pushed is the id of the team's memory that --memory means. A group's is shared first;
// "" where it was refused, or only would be shared.
func (a *app) pushed(ctx context.Context, name, id string, dry, overwrite, quiet bool) (string, error) {
	m, _, err := a.teamMemory(ctx, name, id)
	if !errors.Is(err, reverie.ErrNotFound) {
		return m.ID, err
	}
	if dry {
		share, found, err := a.toShare(ctx, id, name, "")
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
		return "", errors.Join(a.ShowPush(reply, quiet), refusedError(reply.Refused))
	}
	var reply cli.TeamReply
	if err := a.share(ctx, id, name, "", overwrite, &reply, quiet); err != nil || len(reply.Refused) > 0 {
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
		return &codeError{exitPartial, fmt.Errorf("%s held back: so many deletions and rewrites at once may be a mistake, "+
			"or an attack; look at them, then pull again with --accept-rewrites", cli.Plural(n, "memory"))}
	}
	return refusedError(refused)
}

func newTeamPull(a *app) *cobra.Command {
	var name, id string
	var o team.PullOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pull",
		Short: "Take what has changed at the other Reverie",
		Long: `Pull takes each memory of the team that has changed at [team] remote since the last
sync, as a new version. What both sides have changed becomes a conflict (reverie team
conflicts): ours stays what it is until a person decides.

What comes in is checked as if it were new: secrets, links, markup, instructions and
what is malformed are refused, told by rule, and not stored. Where a pull would delete
or rewrite more than 2 memories and more than 20% of those here, none of these is
touched unless --accept-rewrites says so.

` + teamExitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			s, err := a.syncer(ctx, name)
			if err != nil {
				return err
			}
			if o.ID = id; id != "" {
				if m, _, err := a.teamMemory(ctx, s.Team, id); err == nil {
					o.ID = m.ID
				}
			}
			reply, err := s.Pull(ctx, o)
			if asJSON {
				return errors.Join(cli.PrintJSON(a.Stdout, reply), syncError(err, reply.Refused, reply.HeldBack))
			}
			a.PrintPull(reply)
			return syncError(err, reply.Refused, reply.HeldBack)
		},
	}
	teamFlag(cmd, &name)
	f := cmd.Flags()
	f.StringVar(&id, "memory", "", "only this one")
	f.BoolVar(&o.DryRun, "dry-run", false, "say what would be taken, and write nothing")
	f.BoolVar(&o.AcceptRewrites, "accept-rewrites", false, "delete and rewrite as many memories as the other side says")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newTeamStatus(a *app) *cobra.Command {
	var name string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say what a push and a pull would do",
		Long: `Status compares the team's memories here with those at [team] remote and says what a
push and a pull would do, what conflicts and what would be refused. It writes nothing.
Where the other side cannot be reached it tells what is known here, and ends with exit
code 4.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.syncer(cmd.Context(), name)
			if err != nil {
				return err
			}
			reply, err := s.Status(cmd.Context())
			if asJSON {
				return errors.Join(cli.PrintJSON(a.Stdout, reply), err)
			}
			a.PrintTeamStatus(reply)
			return err
		},
	}
	teamFlag(cmd, &name)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
