package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
)

func newTokenList(a *app) *cobra.Command {
	var groupID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tokens, the oldest first",
		Long: `List all tokens, those that are no longer good, too; or, with --group, those that let
one into that group: its own and those of all groups. Times are in UTC; when a token
was last used is known to the minute. The tokens themselves are kept nowhere.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("group") && groupID == "" {
				return usageError(fmt.Errorf("--group: the id of the group is empty"))
			}
			return a.listTokens(cmd.Context(), groupID, asJSON)
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "only those that let one into this group")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) listTokens(ctx context.Context, groupID string, asJSON bool) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	if groupID != "" { // no tokens, or no such group?
		if _, err := a.Store.Group(ctx, groupID); err != nil {
			return unknownGroup(err)
		}
	}
	list, err := a.Store.Tokens(ctx, groupID)
	if err != nil {
		return err
	}
	entries := []tokenEntry{}
	for _, t := range list {
		entries = append(entries, a.tokenEntry(t))
	}
	if asJSON {
		return cli.PrintJSON(a.Stdout, struct {
			Success bool         `json:"success"`
			Tokens  []tokenEntry `json:"tokens"`
		}{true, entries})
	}
	if len(entries) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no tokens; `reverie token create` makes one")
		return err
	}
	s := a.Style()
	var t cli.Table
	t.Row("TOKEN", "GROUP", "NAME", "SCOPE", "CREATED", "EXPIRES", "LAST USED", "STATE")
	for _, e := range entries {
		state := e.State
		if state != "good" {
			state = s.Dim(state)
		}
		t.Row(e.ID, tokenGroup(e.Token), cli.Visible(e.Name), e.Scope, cli.Stamp(e.CreatedAt), orNever(e.ExpiresAt),
			orNever(e.LastUsedAt), state)
	}
	return t.Write(a.Stdout, s)
}

func orNever(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return cli.Stamp(*at)
}
