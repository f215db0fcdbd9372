package app

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
	"reverie/internal/team"
)

// TeamSyncer wires what syncs a team with the configured remote.
func (a *App) TeamSyncer(ctx context.Context, name string) (*team.Syncer, error) {
	t := a.Config.Team
	if t.Remote == "" {
		return nil, fmt.Errorf("no other Reverie is configured: set [team] remote to its address, "+
			"such as https://reverie.example.com, and [team] token to a token of it: %w", reverie.ErrConfiguration)
	}
	remote, err := team.Dial(t.Remote, t.Token.Reveal(), t.Timeout.Duration, t.AllowHTTP)
	if err != nil {
		return nil, err
	}
	here, err := a.Store.Deployment(ctx)
	if err != nil {
		return nil, err
	}
	return &team.Syncer{Store: a.Store, Remote: remote, Team: name, URL: remote.URL(), Privacy: PrivacyOf(a.Config), Quotes: t.Quotes,
		Here: here, Name: t.Deployment, Now: a.Clock, Log: a.Log}, nil
}
