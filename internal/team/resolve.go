package team

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
)

// Resolver is what a person decides on conflicts with.
type Resolver interface {
	TeamConflicts(ctx context.Context, team string) ([]reverie.TeamConflict, error)
	TeamMemory(ctx context.Context, groupID, lineageID string) (reverie.TeamMemory, error)
	TakeTeamMemory(ctx context.Context, take reverie.TeamTake) (reverie.TeamMemory, error)
	LinkTeamMemory(ctx context.Context, team string, l reverie.TeamLink, resolution string) error
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
	ours, err := store.TeamMemory(ctx, reverie.TeamGroupID(team), c.LineageID)
	if err != nil {
		return ours, err
	}
	take := reverie.TeamTake{Remote: c.Remote, RemoteID: c.Theirs.VersionID, Digest: c.Theirs.Digest(),
		Write: reverie.TeamWrite{Team: team, IfVersion: ours.VersionID}}
	switch {
	case d.Ours:
		return ours, store.LinkTeamMemory(ctx, team, reverie.TeamLink{Remote: c.Remote, LineageID: ours.ID, LocalID: ours.VersionID,
			RemoteID: take.RemoteID, Digest: take.Digest}, "ours")
	case d.Theirs:
		take.Resolution, take.Write.Quotes, take.Write.Memory = "theirs", d.Quotes, c.Theirs
	default:
		take.Resolution = "another statement"
		take.Write.Memory = reverie.TeamMemory{ID: ours.ID, Statement: d.Statement, Status: reverie.StatusActive, Tags: ours.Tags,
			Strength: max(ours.Strength, c.Theirs.Strength), ChangeReason: d.Reason}
	}
	return store.TakeTeamMemory(ctx, take)
}

func find(ctx context.Context, store Resolver, team, id string) (reverie.TeamConflict, error) {
	list, err := store.TeamConflicts(ctx, team)
	if err != nil {
		return reverie.TeamConflict{}, err
	}
	var found []reverie.TeamConflict
	for _, c := range list {
		if id == c.ID || id == c.LineageID || id == c.LocalID {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return reverie.TeamConflict{}, fmt.Errorf("no conflict of memory %s is open in team %q: `reverie team conflicts` lists them: %w", id, team, reverie.ErrNotFound)
	}
	return reverie.TeamConflict{}, fmt.Errorf("memory %s conflicts with %d deployments: name the conflict by its own id: %w", id, len(found), reverie.ErrInvalid)
}
