package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/safety"
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

func newTeamShare(a *app) *cobra.Command {
	var name, reason string
	var asJSON, overwrite bool
	cmd := &cobra.Command{
		Use:   "share MEMORY...",
		Short: "Make a group's memory one of the team's",
		Long: `Share copies an active memory of a group into its team, as a memory of kind team.
What it rests on stays behind: the messages are the group's, and the copy says only how
many there were ([team] quotes has the quotes come along). Shared again after it has
changed, it is a new version of the same team memory. What the team has changed or
deleted since is refused, unless --overwrite says so.

Each memory is scanned first. One that holds a secret, a link or an instruction is
refused with the rule and a masked excerpt; the others are shared all the same, and the
command ends with exit code 3.`,
		Example: `  reverie team share 0198c1d2-3b4c-7d5e-8f60-718293a4b5c6 --team crew`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			reply := cli.TeamReply{Success: true, Memories: []reverie.TeamMemory{}}
			for _, id := range args {
				if err := a.share(cmd.Context(), id, name, reason, overwrite, &reply, asJSON); err != nil {
					return err
				}
			}
			if reply.Success = len(reply.Refused) == 0; asJSON {
				if err := cli.PrintJSON(a.Stdout, reply); err != nil {
					return err
				}
			}
			return refusedError(reply.Refused)
		},
	}
	teamFlag(cmd, &name)
	cmd.Flags().Lookup("team").Usage = "name of the team (default that of the memory's group)"
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the change log, and goes along with a push")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, overwriteUsage)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

const overwriteUsage = "put it in the place of what the team has written, or deleted, since it was shared"

// refusedError ends a command of which a part was refused; what, has been said.
func refusedError(refused []reverie.TeamRefusal) error {
	if len(refused) == 0 {
		return nil
	}
	return &codeError{exitPartial, fmt.Errorf("%s refused", cli.Plural(len(refused), "memory"))}
}

// share shares one memory and says so.
func (a *app) share(ctx context.Context, id, team, reason string, overwrite bool, reply *cli.TeamReply,
	quiet bool) error {
	share, found, err := a.toShare(ctx, id, team, reason)
	if err != nil {
		return err
	}
	share.Overwrite = overwrite
	reply.Team = share.Team
	if len(found) > 0 {
		refused := []reverie.TeamRefusal{{ID: share.Memory.LineageID, MemoryID: share.Memory.ID, Findings: found}}
		if reply.Refused = append(reply.Refused, refused...); !quiet {
			a.PrintTeamRefusals(refused)
		}
		return nil
	}
	shared, isNew, err := a.Store.ShareMemory(ctx, share)
	if err != nil {
		return err
	}
	if reply.Memories = append(reply.Memories, shared); quiet {
		return nil
	}
	text := "shared with team %s as %s (version %d)\n    %s\n"
	if !isNew {
		text = "unchanged since it was shared with team %s as %s (version %d)\n    %s\n"
	}
	return a.Say(text, share.Team, shared.VersionID, shared.Version, cli.Visible(shared.Statement))
}

// toShare is a group's memory as it may be shared, or why it may not be.
func (a *app) toShare(ctx context.Context, id, team, reason string) (reverie.TeamShare, []reverie.ScanFinding, error) {
	none := reverie.TeamShare{}
	m, err := a.Store.Memory(ctx, "", id)
	if err != nil {
		return none, nil, err
	}
	if m, err = a.Store.LineageHead(ctx, m.GroupID, m.LineageID); err != nil {
		return none, nil, err
	}
	switch of, is := reverie.TeamOf(m.GroupID); {
	case is:
		return none, nil, fmt.Errorf("memory %s is the team %s's already: %w", m.ID, of, reverie.ErrInvalid)
	case m.ID != id:
		return none, nil, &reverie.NotHeadError{MemoryID: id, Head: reverie.Head{MemoryID: m.ID, Version: m.Version}}
	case m.Status != reverie.StatusActive:
		return none, nil, fmt.Errorf("memory %s is %s: only active ones are shared: %w", m.ID, m.Status, reverie.ErrConflict)
	}
	share := reverie.TeamShare{Memory: m, Reason: cmp.Or(reason, m.ChangeSummary), Quotes: a.Config.Team.Quotes}
	if share.Team, err = a.teamFor(ctx, m.GroupID, team); err != nil {
		return none, nil, err
	}
	found, err := safety.PrepareTeamShare(&share, application.PrivacyOf(a.Config))
	return share, found, err
}

// teamFor is the team that a group's memory goes to.
func (a *app) teamFor(ctx context.Context, groupID, given string) (string, error) {
	if given != "" {
		return a.teamName(given)
	}
	own, err := a.Store.GroupTeam(ctx, groupID)
	if err != nil {
		return "", err
	}
	if own == reverie.GroupOff {
		return "", usageError(fmt.Errorf("group %s belongs to no team: give --team NAME", cli.Visible(groupID)))
	}
	return a.teamName(own)
}

func newTeamEdit(a *app) *cobra.Command {
	var name, statement, reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "edit MEMORY --statement S --reason R",
		Short: "Give a team's memory new words, as a new version",
		Long: `Edit writes a new version of a team's memory. 'reverie memory delete' and 'reverie
memory restore' end it and bring it back. All of these reach the other deployments with
the next push.`,
		Example: `  reverie team edit 0198c1d2-3b4c-7d5e-8f60-718293a4b5c6 --statement "Releases leave on Thursdays" --reason "moved"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			text, why, err := a.words(statement, reason)
			if err != nil {
				return err
			}
			m, of, err := a.teamMemory(ctx, name, args[0])
			if err != nil {
				return err
			}
			if m.Status != reverie.StatusActive {
				return fmt.Errorf("memory %s is deleted; `reverie memory restore %s` brings it back: %w", m.ID, m.VersionID,
					reverie.ErrConflict)
			}
			if m.Statement == text {
				return fmt.Errorf("memory %s says that already: %w", m.ID, reverie.ErrConflict)
			}
			m, _, err = a.Store.PutTeamMemory(ctx,
				reverie.TeamWrite{Team: of, IfVersion: m.VersionID, Memory: reverie.TeamMemory{ID: m.ID,
					Statement: text, Status: reverie.StatusActive, Tags: m.Tags, Strength: m.Strength, ChangeReason: why}})
			if err != nil {
				return err
			}
			return a.PrintTeamMemory(of, m, asJSON)
		},
	}
	teamFlag(cmd, &name)
	f := cmd.Flags()
	f.StringVar(&statement, "statement", "", "what it says from now on (required)")
	f.StringVar(&reason, "reason", "", "why; kept in the change log, and goes along with a push (required)")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	required(cmd, "statement")
	required(cmd, "reason")
	return cmd
}

// words are a person's statement and reason as they may be remembered.
func (a *app) words(statement, reason string) (text, why string, err error) {
	if text, err = application.PrivacyOf(a.Config).Statement(statement); err != nil {
		return "", "", err
	}
	return text, safety.CleanReason(application.PrivacyOf(a.Config).Mask(reason)), nil
}

// teamMemory is the memory of a team that an id names: that of its head, or its own.
func (a *app) teamMemory(ctx context.Context, team, id string) (m reverie.TeamMemory, of string, err error) {
	if team != "" {
		if team, err = a.teamName(team); err != nil {
			return m, "", err
		}
	}
	m, of, err = a.Store.TeamMemoryOf(ctx, team, id)
	switch {
	case errors.Is(err, reverie.ErrNotFound):
		return m, "", fmt.Errorf("%w; `reverie memory list --group team:NAME` shows a team's", err)
	case err == nil && id != m.ID && id != m.VersionID:
		return m, "", &reverie.NotHeadError{MemoryID: id, Head: reverie.Head{MemoryID: m.VersionID, Version: m.Version}}
	}
	return m, of, err
}

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
