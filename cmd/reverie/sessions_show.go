package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

func newSessionsShow(a *app) *cobra.Command {
	var groupID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show a session: what it holds, what waits, its memories and its short-term memory",
		Long: `Show a session: its counts, how far it has come to its next extraction, the summary
and the facts that are remembered of it, and its short-term memory, which is the
rolling summary of older turns and the newer ones word for word.

Ids of sessions are unique only within a group: --group says which is meant where
several have one. Times are in UTC.`,
		Example: `  reverie sessions show s1 --group g1`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needsValue(cmd, "group"); err != nil {
				return usageError(err)
			}
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			d, err := a.sessionDetail(cmd.Context(), groupID, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, struct {
					Success bool `json:"success"`
					cli.SessionDetail
				}{true, d})
			}
			a.PrintSession(d, a.SessionRule())
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "the group of the session, where several have one of that id")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) sessionDetail(ctx context.Context, groupID, sessionID string) (cli.SessionDetail, error) {
	s, err := a.FindSession(ctx, groupID, sessionID)
	if err != nil {
		return cli.SessionDetail{}, err
	}
	state, err := a.Store.GatherFold(ctx, s.GroupID, s.ID)
	if err != nil {
		return cli.SessionDetail{}, err
	}
	d := cli.SessionDetail{Session: a.entry(state.Session), Rolling: state.Summary,
		Open: append([]reverie.Message{}, state.Messages...), Facts: []reverie.Memory{}}
	memories, _, err := a.Store.ListMemories(ctx,
		reverie.MemoryQuery{GroupID: s.GroupID, SessionID: s.ID, Kind: reverie.KindSession, Status: reverie.StatusActive})
	for _, m := range memories {
		if slices.Contains(m.Tags, reverie.TagSummary) {
			d.Summary = &m
		} else {
			d.Facts = append(d.Facts, m)
		}
	}
	return d, err
}
