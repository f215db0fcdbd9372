package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/api"
	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

func newToken(a *app) *cobra.Command {
	return group("reverie token", newTokenCreate(a), newTokenList(a), newTokenRevoke(a))
}

// tokenEntry returns a token with its current state.
func (a *app) tokenEntry(t reverie.Token) cli.TokenEntry {
	state := "good"
	switch {
	case t.RevokedAt != nil:
		state = "revoked"
	case !t.Good(a.Now()):
		state = "expired"
	}
	return cli.TokenEntry{Token: t, State: state}
}

// expiry parses when a token expires: an age from now, its last date in UTC, an instant, or never, which is nil.
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
		return nil, fmt.Errorf("--expires %q: write how long (90d, 12h; at most %dd), the last date (2026-12-31, all of "+
			"it in UTC), an instant (2026-12-31T20:00:00+08:00), or never", text, maxDays)
	}
	if !at.After(now) || at.Year() > 9999 {
		return nil, fmt.Errorf("--expires %q is in the past: give a later time", text)
	}
	at = at.UTC()
	return &at, nil
}

func newTokenCreate(a *app) *cobra.Command {
	var n api.NewToken
	var scope, expires string
	cmd := a.command("reverie token create", cobra.NoArgs,
		a.opened(func(ctx context.Context, _ []string) error { return a.createToken(ctx, n) }))
	groupFlag(cmd, &n.GroupID, "let the token into this group")
	f := cmd.Flags()
	f.Bool("all-groups", false, "let the token into all groups, later ones too")
	f.StringVar(&scope, "scope", string(reverie.ScopeRead), "what the token may do: read, write or admin")
	f.StringVar(&n.Name, "name", "", "a name for people to read")
	f.StringVar(&expires, "expires", "never", "how long the token works (90d), its last date (2026-12-31, in UTC), an "+
		"instant, or never")
	oneOf(cmd, "group", "all-groups")
	check(cmd, func() (err error) {
		if n.Scope, err = reverie.ReadScope(scope); err != nil {
			return fmt.Errorf("--%w", err)
		}
		n.ExpiresAt, err = expiry(expires, a.Now())
		return err
	})
	return cmd
}

func (a *app) createToken(ctx context.Context, n api.NewToken) error {
	had, err := a.Store.HasTokens(ctx)
	if err != nil {
		return err
	}
	whole, t, err := (&api.Service{Store: a.Store, Now: a.Now, Log: a.Log}).CreateToken(ctx, n)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.WriteJSON(struct {
			Success bool   `json:"success"`
			Whole   string `json:"token"`
			cli.TokenEntry
		}{true, whole, a.tokenEntry(t)})
	}
	if err := a.Say("%s\n", whole); err != nil {
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
	cmd := a.command("reverie token list", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		if groupID != "" { // no tokens, or no such group?
			if _, err := a.Store.Group(ctx, groupID); err != nil {
				return err
			}
		}
		list, err := a.Store.Tokens(ctx, groupID)
		if err != nil {
			return err
		}
		entries := text.Each(list, a.tokenEntry)
		return a.Show(map[string]any{"success": true, "tokens": entries}, func() error { return a.PrintTokens(entries) })
	}))
	groupFlag(cmd, &groupID, "list only tokens that open this group")
	return cmd
}

func newTokenRevoke(a *app) *cobra.Command {
	return a.command("reverie token revoke", cobra.ExactArgs(1), a.opened(func(ctx context.Context, args []string) error {
		t, err := a.Store.RevokeToken(ctx, args[0])
		if err != nil {
			return err
		}
		return a.Show(struct {
			Success bool `json:"success"`
			cli.TokenEntry
		}{true, a.tokenEntry(t)}, func() error { return a.Say("%s: revoked\n", t.ID) })
	}))
}
