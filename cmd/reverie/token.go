package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

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
