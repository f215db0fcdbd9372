package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/api"
	"reverie/internal/cli"
	"reverie/internal/reverie"
)

func newTokenCreate(a *app) *cobra.Command {
	var n api.NewToken
	var scope, expires string
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "create (--group GROUP | --all-groups)",
		Short: "Make a token and print it, this once",
		Long: `Create makes a token for one group or for all of them, and prints it. Of its secret
only a hash is kept: what is lost is made anew. What is said besides goes to stderr, so
that TOKEN=$(reverie token create --group g1) holds the token alone.

Scopes, each covering those before it:
  read   look at everything, search, have contexts made
  write  bring messages in, report answers, edit memories, evolve, propose
  admin  approve and reject what is held, take runs back

Once a token was made, every request needs one. Where none was ever made, the API is
open to this machine, and to no other.`,
		Example: `  reverie token create --group g1 --name "the bot" --expires 90d
  reverie token create --all-groups --scope admin --name "Operators' page"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case all == cmd.Flags().Changed("group"):
				return usageError(errors.New("for which groups? --group GROUP for one, --all-groups for all of them"))
			case !all && n.GroupID == "":
				return usageError(errors.New("--group: the id of the group is empty"))
			}
			var err error
			if n.Scope, err = reverie.ReadScope(scope); err != nil {
				return usageError(fmt.Errorf("--%w", err))
			}
			if n.ExpiresAt, err = expiry(expires, a.Now()); err != nil {
				return usageError(err)
			}
			return a.createToken(cmd.Context(), n, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&n.GroupID, "group", "", "for this group")
	f.BoolVar(&all, "all-groups", false, "for all groups, those that come later, too")
	f.StringVar(&scope, "scope", string(reverie.ScopeRead), "read, write or admin")
	f.StringVar(&n.Name, "name", "", "what people shall call it")
	f.StringVar(&expires, "expires", "never", "for how long (90d), the last date (2026-12-31, in UTC), an instant, or "+
		"never")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) createToken(ctx context.Context, n api.NewToken, asJSON bool) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	had, err := a.Store.HasTokens(ctx)
	if err != nil {
		return err
	}
	whole, t, err := (&api.Service{Store: a.Store, Now: a.Now, Log: a.Log}).CreateToken(ctx, n)
	if err != nil {
		return unknownGroup(err)
	}
	if asJSON {
		return cli.PrintJSON(a.Stdout, struct {
			Success bool   `json:"success"`
			Whole   string `json:"token"`
			tokenEntry
		}{true, whole, a.tokenEntry(t)})
	}
	if _, err := fmt.Fprintln(a.Stdout, whole); err != nil {
		return err
	}
	groups, until := "all groups", "never expires (--expires 90d would)"
	if t.GroupID != "" {
		groups = "group " + cli.Visible(t.GroupID)
	}
	if t.ExpiresAt != nil {
		until = "expires " + cli.Stamp(*t.ExpiresAt) + " UTC"
	}
	fmt.Fprintf(a.Stderr, "token %s: %s, scope %s, %s; it is not shown again\n", t.ID, groups, t.Scope, until)
	if !had {
		fmt.Fprintln(a.Stderr, "it is the first: from now on every request needs a token, and a server listens as [http] "+
			"listen says when it is started again")
	}
	return nil
}
