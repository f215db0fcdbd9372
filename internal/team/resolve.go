package team

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
)

// Resolver is what a person decides on conflicts with.
type Resolver interface {
	TeamConflicts(ctx context.Context, team string) ([]reverie.TeamConflict, error)
	PutTeamMemory(ctx context.Context, w reverie.TeamWrite) (reverie.TeamMemory, error)
	LinkTeamMemory(ctx context.Context, team string, l reverie.TeamLink) error
}

// Decision is what a person decides on a conflict: one of the first two, or a statement.
type Decision struct {
	Ours, Theirs bool
	Statement    string // as it may be remembered
	Reason       string
	Quotes       bool // theirs are taken along
}

// Resolve settles an open conflict, named by its id or by that of the memory, and returns
// the memory as it is then. What is not theirs takes the place of theirs with the next
// push, if theirs is still what was decided on; else both stand against each other again.
// Neither side's version is lost: each stays in the history of where it was made, and
// here as the conflict that was settled.
func Resolve(ctx context.Context, store Resolver, team, id string, d Decision) (reverie.TeamMemory, error) {
	c, err := find(ctx, store, team, id)
	if err != nil {
		return reverie.TeamMemory{}, err
	}
	ours := c.Ours
	link := reverie.TeamLink{Remote: c.Remote, LineageID: ours.ID, LocalID: ours.VersionID, RemoteID: c.Theirs.VersionID,
		Digest: c.Theirs.Digest()}
	w := reverie.TeamWrite{Team: team, IfVersion: ours.VersionID, Link: &link}
	switch {
	case d.Ours:
		link.Resolution = "ours"
		return ours, store.LinkTeamMemory(ctx, team, link)
	case d.Theirs:
		link.Resolution, w.Quotes, w.Memory = "theirs", d.Quotes, c.Theirs
	default:
		link.Resolution = "another statement"
		w.Memory = reverie.TeamMemory{ID: ours.ID, Statement: d.Statement, Status: reverie.StatusActive, Tags: ours.Tags,
			Strength: max(ours.Strength, c.Theirs.Strength), ChangeReason: d.Reason}
	}
	return store.PutTeamMemory(ctx, w)
}

func find(ctx context.Context, store Resolver, team, id string) (found reverie.TeamConflict, err error) {
	list, err := store.TeamConflicts(ctx, team)
	n := 0
	for _, c := range list {
		if id == c.ID || id == c.LineageID || id == c.LocalID {
			found = c
			n++
		}
	}
	switch {
	case err == nil && n == 0:
		err = fmt.Errorf("no conflict of memory %s is open in team %q: `reverie team conflicts` lists them: %w", id, team,
			reverie.ErrNotFound)
	case err == nil && n > 1:
		err = fmt.Errorf("memory %s conflicts with %d deployments: name the conflict by its own id: %w", id, n,
			reverie.ErrInvalid)
	}
	return found, err
}
