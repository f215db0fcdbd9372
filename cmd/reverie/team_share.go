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
)

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
