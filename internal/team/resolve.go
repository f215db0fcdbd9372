package team

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// Decision is how a person resolves a conflict: one of the first two fields, or a statement.
type Decision struct {
	Ours, Theirs bool
	Statement    string // the statement to store
	Reason       string
	Quotes       bool // keep the remote's quotes
}

// Resolve settles an open conflict and returns the resulting memory. id is that of the conflict or of the memory. If
// the result is not the remote's version, the next push replaces that version. If the remote's version has changed by
// then, the memory is in conflict again. No version is lost: each stays in the history of its deployment, and the
// conflict itself is stored here.
func Resolve(ctx context.Context, store Store, team, id string, d Decision) (m reverie.TeamMemory, err error) {
	_, _, begins := reverie.IDPrefix(id)
	named := func(whole string) bool { return whole == id || begins && strings.HasPrefix(whole, strings.ToLower(id)) }
	list, err := store.TeamConflicts(ctx, team)
	list = slices.DeleteFunc(list, func(c reverie.TeamConflict) bool {
		return !named(c.ID) && !named(c.LineageID) && !named(c.LocalID)
	})
	switch {
	case err != nil:
		return m, err
	case len(list) == 0:
		return m, fmt.Errorf("no conflict of memory %s is open in team %q: `reverie team conflicts` lists them: %w", id, team,
			reverie.ErrNotFound)
	case len(list) > 1:
		several := &reverie.AmbiguousIDError{Kind: reverie.IDConflict, Given: id}
		for _, c := range list {
			several.Candidates = append(several.Candidates, c.ID+"  of memory "+c.LineageID+" with "+c.Remote)
		}
		return m, several
	}
	c := list[0]
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
