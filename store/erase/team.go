package erase

import (
	"context"
	"reflect"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
)

// forgetTeams ends the memories of teams that were made of memories that are gone, or
// are held: they say nothing any more, in any version. The others that are of this group
// lose the author's names. Both have a new version then, by which other deployments take
// it over, and on top of what was there before nobody can write.
func (e *eraser) forgetTeams(ctx context.Context) error {
	rows, err := ask[struct {
		Team, ID string
		Ends     bool
	}](ctx, e.t, "team_memories", e.values)
	if err != nil {
		return err
	}
	defer func() { e.values["group"], e.shared = e.values["home"], nil }()
	for len(rows) > 0 {
		team, end := rows[0].Team, map[string]bool{}
		for e.shared = nil; len(rows) > 0 && rows[0].Team == team; rows = rows[1:] {
			e.shared, end[rows[0].ID] = append(e.shared, rows[0].ID), rows[0].Ends
		}
		e.values["group"], e.values["shared"] = team, e.shared
		if err := e.forgetTeam(ctx, end); err != nil {
			return err
		}
		if err := e.search(ctx); err != nil {
			return err
		}
	}
	e.leave("team memories elsewhere", e.counts.Team,
		"they have ended here; elsewhere they end with `reverie team pull` there, or `reverie team push` here. "+
			"Their older versions there are erased there")
	return nil
}

// forgetTeam is for one team what forgetTeams is for all: it ends those of its memories
// that are among end.
func (e *eraser) forgetTeam(ctx context.Context, end map[string]bool) error {
	if _, err := store.LockGroup(ctx, e.t, e.group()); err != nil { // nobody writes to it meanwhile
		return err
	}
	_, before, err := e.teamHeads(ctx)
	if err != nil {
		return err
	}
	var ids pq.StringArray
	for _, m := range before {
		ended := m.Statement == text.Erased && m.Origin.MemoryID == m.VersionID // by an erasure here
		if end[m.ID] = end[m.ID] && !ended; end[m.ID] {
			ids = append(ids, m.ID)
		}
	}
	e.counts.Team += len(ids)
	e.values["ending"] = ids
	if err := e.do(ctx, "team"); err != nil {
		return err
	}
	if err := e.redact(ctx); err != nil {
		return err
	}
	heads, after, err := e.teamHeads(ctx)
	if err != nil {
		return err
	}
	for i, m := range after {
		switch w := (reverie.TeamWrite{Memory: m}); {
		case end[m.ID]:
			w.Memory.Status, w.Memory.ChangeReason = reverie.StatusDeprecated, "erased"
			err = e.appendTeam(ctx, heads[i], w)
		case !reflect.DeepEqual(before[i], m):
			w.Memory.Status, w.Quotes = heads[i].Status, true
			err = e.appendTeam(ctx, heads[i], w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// teamHeads are the newest versions of the memories that are worked on, by lineage id.
func (e *eraser) teamHeads(ctx context.Context) ([]reverie.Memory, []reverie.TeamMemory, error) {
	heads, err := ask[reverie.Memory](ctx, e.t, "team_heads", e.values)
	if err != nil {
		return nil, nil, err
	}
	list, err := store.TeamMemories(ctx, e.t, e.group(), heads)
	return heads, list, err
}

// appendTeam writes the version that an erasure makes of a head, which was made here. The
// words that the head rests on go along where the write says so.
func (e *eraser) appendTeam(ctx context.Context, head reverie.Memory, w reverie.TeamWrite) error {
	w.Memory.Origin, w.Memory.Versions, w.Memory.UpdatedAt = reverie.Origin{}, nil, head.LastSupportedAt
	if w.Quotes {
		found, err := store.TeamEvidence(ctx, e.t, e.group(), pq.StringArray{head.ID})
		if err != nil {
			return err
		}
		w.Memory.Evidence = found[head.ID]
	}
	return store.AppendTeam(ctx, e.db, e.t, e.group(), &head, w, reverie.NewID())
}
