package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/reverie"
	"reverie/internal/team"
)

// conflictReply is a conflict with both sides.
type conflictReply struct {
	reverie.TeamConflict
	Ours reverie.TeamMemory `json:"ours"`
}

// conflictsReply is what --json shows of conflicts.
type conflictsReply struct {
	Success   bool            `json:"success"`
	Team      string          `json:"team"`
	Conflicts []conflictReply `json:"conflicts"`
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
			reply := conflictsReply{Success: true, Team: name, Conflicts: []conflictReply{}}
			list, err := a.store.TeamConflicts(ctx, name)
			if err != nil {
				return err
			}
			for _, c := range list {
				ours, err := a.store.TeamMemory(ctx, reverie.TeamGroupID(name), c.LineageID)
				if err != nil {
					return err
				}
				reply.Conflicts = append(reply.Conflicts, conflictReply{c, ours})
			}
			if asJSON {
				return printJSON(a.stdout, reply)
			}
			return a.printConflicts(ctx, reply)
		},
	}
	teamFlag(cmd, &name)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) printConflicts(ctx context.Context, r conflictsReply) error {
	if len(r.Conflicts) == 0 {
		_, err := fmt.Fprintf(a.stdout, "team %s: no conflicts\n", r.Team)
		return err
	}
	here, err := a.store.Deployment(ctx)
	if err != nil {
		return err
	}
	s := a.style()
	for _, c := range r.Conflicts {
		fmt.Fprintf(a.stdout, "%s  with %s, since %s UTC\n", s.bold(c.LineageID), visible(c.Remote), stamp(c.CreatedAt))
		for _, side := range []struct {
			name string
			m    reverie.TeamMemory
		}{{"ours", c.Ours}, {"theirs", c.Theirs}} {
			by := side.m.Origin.Deployment
			if by == here {
				by = "this deployment"
			}
			text := visible(side.m.Statement)
			switch {
			case side.m.Statement == reverie.DeletedWords:
				text = s.red("deleted")
			case side.m.Status != reverie.StatusActive:
				text = s.red("deleted") + ", last: " + text
			}
			fmt.Fprintf(a.stdout, "  %-6s  %s\n          %s\n", side.name, text,
				s.dim(fmt.Sprintf("%s UTC by %s: %s", stamp(side.m.UpdatedAt), visible(by), visible(side.m.ChangeReason))))
		}
		if c.Ours.Statement != c.Theirs.Statement && c.Theirs.Statement != reverie.DeletedWords {
			fmt.Fprintf(a.stdout, "  %-6s  %s\n", "words", wordDiff(s, c.Ours.Statement, c.Theirs.Statement))
		}
	}
	_, err = fmt.Fprintf(a.stdout, "%s; decide by `reverie team resolve MEMORY --ours|--theirs|--statement S`\n", plural(len(r.Conflicts), "conflict"))
	return err
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
			if d.Quotes = a.cfg.Team.Quotes; statement != "" {
				if d.Statement, d.Reason, err = a.words(statement, reason); err != nil {
					return err
				}
			}
			m, err := team.Resolve(ctx, a.store, name, args[0], d)
			if err != nil {
				return err
			}
			return a.printTeamMemory(name, m, asJSON)
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
