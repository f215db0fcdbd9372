package command

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

func newSessions(a *app) *cobra.Command {
	return group("reverie sessions", newSessionsList(a), newSessionsShow(a), newSessionsClear(a))
}

// entry returns a session and whether a job is due for it.
func (a *app) entry(s reverie.Session) cli.SessionEntry {
	rule, now := a.SessionRule(), a.Now()
	return cli.SessionEntry{Session: s, Due: rule.Extract(s, now) || rule.Fold(s, now)}
}

func newSessionsList(a *app) *cobra.Command {
	var f reverie.SessionFilter
	cmd := a.command("reverie sessions list", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		list, total, err := a.Store.ListSessions(ctx, f)
		if err != nil {
			return err
		}
		entries := text.Each(list, a.entry)
		return a.Show(map[string]any{"success": true, "total": total, "sessions": entries}, func() error {
			if len(list) == 0 {
				return a.nothing(ctx, f.GroupID, "sessions", "messages make them: `reverie import FILE --group G`")
			}
			return a.PrintSessions(entries, f, total)
		})
	}))
	a.groupNarrows(cmd, &f.GroupID, "list only sessions of this group")
	cmd.Flags().BoolVar(&f.Waiting, "waiting", false, "list only sessions with messages that are not extracted")
	limitFlag(cmd, &f.Limit, 20, "most sessions to list")
	offsetFlag(cmd, &f.Offset, "sessions to skip first")
	return cmd
}

func newSessionsShow(a *app) *cobra.Command {
	var groupID string
	cmd := a.command("reverie sessions show", cobra.ExactArgs(1), a.opened(func(ctx context.Context, args []string) error {
		d, err := a.sessionDetail(ctx, groupID, args[0])
		if err != nil {
			return err
		}
		return a.Show(struct {
			Success bool `json:"success"`
			cli.SessionDetail
		}{true, d}, func() error { return a.PrintSession(d, a.SessionRule()) })
	}))
	groupFlag(cmd, &groupID, "the session's group, if several have one of this id")
	return cmd
}

func newSessionsClear(a *app) *cobra.Command {
	var groupID string
	cmd := a.command("reverie sessions clear", cobra.ExactArgs(1), a.opened(func(ctx context.Context, args []string) error {
		s, err := a.FindSession(ctx, groupID, args[0])
		if err != nil {
			return err
		}
		n, err := a.Store.ClearSession(ctx, s.GroupID, s.ID)
		if err != nil {
			return err
		}
		return a.Show(reverie.ClearReply{Success: true, GroupID: s.GroupID, SessionID: s.ID, Cleared: n}, func() error {
			return a.Say("%s  %s: cleared of %s; its messages and memories stay\n", cli.Visible(s.GroupID), cli.Visible(s.ID),
				cli.Plural(n, "message"))
		})
	}))
	groupFlag(cmd, &groupID, "the session's group, if several have one of this id")
	return cmd
}

func (a *app) sessionDetail(ctx context.Context, groupID, sessionID string) (none cli.SessionDetail, err error) {
	s, err := a.FindSession(ctx, groupID, sessionID)
	if err != nil {
		return none, err
	}
	state, err := a.Store.GatherFold(ctx, s.GroupID, s.ID)
	if err != nil {
		return none, err
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
