package team

import (
	"context"
	"fmt"
	"slices"

	"reverie/internal/reverie"
)

// takeAll takes what is to be written over, deletions first, and what was put aside. Two
// memories never say the same: one that takes over what another one says waits until that
// has changed.
func (p *puller) takeAll(ctx context.Context) error {
	deletions, others := split(p.rewrites, func(c change) bool { return c.action() == reverie.ActionDelete })
	todo := slices.Concat(deletions, others, p.late)
	for len(todo) > 0 {
		p.late = nil
		for _, c := range todo {
			if err := p.take(ctx, c); err != nil {
				return err
			}
		}
		if len(p.late) == len(todo) {
			i := inCircle(p.late)
			if i < 0 {
				break
			}
			if err := p.makeRoom(ctx, p.late[i].ours, p.late[i].theirs.ID); err != nil {
				return err
			}
		}
		todo = p.late
	}
	for _, c := range p.late {
		p.refuse(c, fmt.Sprintf("team memory %s here says the same: change or delete one of them", c.twin))
	}
	return nil
}

// inCircle finds one of those that wait for each other in a circle, -1 where there is
// none.
func inCircle(late []change) int {
	at := make(map[string]int, len(late))
	for i, c := range late {
		at[c.theirs.ID] = i
	}
	for i := range late {
		next, ok := at[late[i].twin]
		for range late {
			if !ok || next == i {
				break
			}
			next, ok = at[late[next].twin]
		}
		if ok && next == i {
			return i
		}
	}
	return -1
}

// makeRoom ends a memory that others wait for, until they have what it says and it can say
// something else. That is noted as what was common: a pull that is cut off here goes on.
func (p *puller) makeRoom(ctx context.Context, ours *local, id string) error {
	m := reverie.TeamMemory{ID: id, Statement: ours.Statement, Status: reverie.StatusDeprecated, Tags: ours.Tags, Strength: ours.Strength,
		ChangeReason: "ended for the moment: others take over its words"}
	before := ours.VersionID
	if ours.Link != nil {
		before = ours.Link.RemoteID
	}
	ended, err := p.Store.TakeTeamMemory(ctx, reverie.TeamTake{Write: reverie.TeamWrite{Team: p.Team, Memory: m, IfVersion: ours.VersionID},
		Remote: p.URL, RemoteID: before, Digest: m.Digest(), Resolution: noConflict})
	ours.VersionID = ended.VersionID
	return err
}
