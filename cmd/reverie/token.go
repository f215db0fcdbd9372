package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/api"
	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

func newToken(a *app) *cobra.Command {
	return group("token", "Let programs and people use the API and the page",
		newTokenCreate(a), newTokenList(a), newTokenRevoke(a))
}

// tokenEntry is a token as --json shows it.
type tokenEntry struct {
	reverie.Token
	State string `json:"state"`
}

// tokenEntry is a token as it stands now.
func (a *app) tokenEntry(t reverie.Token) tokenEntry {
	state := "good"
	switch {
	case t.RevokedAt != nil:
		state = "revoked"
	case !t.Good(a.Now()):
		state = "expired"
	}
	return tokenEntry{t, state}
}

// tokenGroup says which groups a token is for.
func tokenGroup(t reverie.Token) string {
	if t.GroupID == "" {
		return "(all)"
	}
	return cli.Visible(text.Excerpt(t.GroupID, 32))
}

// expiry reads when a token shall end: an age from now on, the last date in UTC, an
// instant, or never, which is nil.
func expiry(text string, now time.Time) (*time.Time, error) {
	var at time.Time
	if text == "never" {
		return nil, nil
	}
	if age, ok := parseAge(text); ok {
		at = now.Add(age)
	} else if date, err := time.Parse(time.DateOnly, text); err == nil {
		at = date.AddDate(0, 0, 1)
	} else if at, err = time.Parse(time.RFC3339, text); err != nil {
		return nil, fmt.Errorf("--expires %q: write for how long (90d, 12h; at most %dd), a last date (2026-12-31, all of "+
			"it in UTC), an instant (2026-12-31T20:00:00+08:00), or never", text, maxDays)
	}
	if !at.After(now) || at.Year() > 9999 {
		return nil, fmt.Errorf("--expires %q: that is not ahead", text)
	}
	at = at.UTC()
	return &at, nil
}

func newTokenRevoke(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "revoke TOKEN-ID",
		Short: "End a token for good, at once",
		Long: `Revoke ends a token for good: the next request with it is refused, and so is every
login to the page that was made with it. One that is revoked already stays so. The
id is what 'reverie token list' shows, the part between rvr_ and the next _.`,
		Example: `  reverie token revoke 4fGk2mQx81Zt`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			t, err := a.Store.RevokeToken(cmd.Context(), args[0])
			if errors.Is(err, reverie.ErrNotFound) {
				return fmt.Errorf("%w; `reverie token list` shows which there are", err)
			}
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, struct {
					Success bool `json:"success"`
					tokenEntry
				}{true, a.tokenEntry(t)})
			}
			_, err = fmt.Fprintf(a.Stdout, "%s: revoked\n", t.ID)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

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
