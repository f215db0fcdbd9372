package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

func newSessions(a *app) *cobra.Command {
	return group("sessions", "Look at sessions: what they hold, and what waits to be extracted", newSessionsList(a),
		newSessionsShow(a))
}

// entry is a session and whether anything is due for it now.
func (a *app) entry(s reverie.Session) cli.SessionEntry {
	rule, now := a.SessionRule(), a.Now()
	return cli.SessionEntry{Session: s, Due: rule.Extract(s, now) || rule.Fold(s, now)}
}

func newSessionsList(a *app) *cobra.Command {
	var f reverie.SessionFilter
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions, the one with the latest message first",
		Long: `List sessions of all groups or of one, the one with the latest message first.

A session is what its platform names, or, where messages name none, a stretch of them
without a silence of [session] silence: those have ids that begin with cut-. A turn is
what users say, up to the next word of an assistant. WAITS is what no extraction has
read yet: turns (messages, where none is answered) and tokens. DUE says that there is
enough of it for ` + "`reverie extract --due`" + `, or that a session that could not be extracted is
tried again from then on, or is parked: ` + "`sessions show`" + ` says why. Times are in UTC.
Columns that would hold nothing are left out.`,
		Example: `  reverie sessions list --group g1
  reverie sessions list --waiting --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Limit < 1 || f.Limit > maxListed {
				return usageError(fmt.Errorf("--limit %d: it is 1 to %d", f.Limit, maxListed))
			}
			if f.Offset < 0 {
				return usageError(fmt.Errorf("--offset %d: it is 0 or more", f.Offset))
			}
			if err := needsValue(cmd, "group"); err != nil {
				return usageError(err)
			}
			return a.listSessions(cmd.Context(), f, asJSON)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.GroupID, "group", "", "only this group's")
	fl.BoolVar(&f.Waiting, "waiting", false, "only those with messages that are not extracted")
	fl.IntVar(&f.Limit, "limit", 20, "sessions at most")
	fl.IntVar(&f.Offset, "offset", 0, "pass over the first so many")
	fl.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) listSessions(ctx context.Context, f reverie.SessionFilter, asJSON bool) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	list, total, err := a.Store.ListSessions(ctx, f)
	if err != nil {
		return unknownGroup(err)
	}
	entries := []cli.SessionEntry{}
	for _, s := range list {
		entries = append(entries, a.entry(s))
	}
	if asJSON {
		return cli.PrintJSON(a.Stdout, struct {
			Success  bool               `json:"success"`
			Total    int                `json:"total"`
			Sessions []cli.SessionEntry `json:"sessions"`
		}{true, total, entries})
	}
	if len(entries) == 0 {
		text := "no sessions; an import makes them"
		if f.Waiting {
			text = "no session has anything that waits to be extracted"
		}
		_, err := fmt.Fprintln(a.Stdout, text)
		return err
	}
	if err := a.PrintSessions(entries, f.GroupID); err != nil {
		return err
	}
	if shown := f.Offset + len(entries); shown < total {
		_, err = fmt.Fprintf(a.Stdout, "%d of %s; go on with --offset %d\n", len(entries), cli.Plural(total, "session"),
			shown)
	}
	return err
}

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
