package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

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
