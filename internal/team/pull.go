package team

import (
	"context"
	"errors"
	"fmt"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// PullOptions say what is pulled.
type PullOptions struct {
	ID     string // of the memory; "" = all
	DryRun bool   // say what would be taken, and write nothing
	// AcceptRewrites has more memories deleted or rewritten at once than is to be expected.
	AcceptRewrites bool
}

// Pull takes what has changed there since the last sync. Each memory is checked as if it
// were new: what may not be remembered is refused, told by rule, and not stored. What was
// changed here, too, becomes a conflict. Where much of what is here would be deleted or
// rewritten at once, nothing of that is, and HeldBack says what. An error says how far it
// came; the same pull again goes on.
func (s *Syncer) Pull(ctx context.Context, o PullOptions) (reverie.TeamPullReply, error) {
	reply := reverie.TeamPullReply{Team: s.Team, Remote: s.URL, DryRun: o.DryRun, Pulled: []reverie.TeamItem{}}
	p, err := s.puller(ctx, o, &reply)
	if err != nil {
		return reply, err
	}
	if err := p.read(ctx); err != nil {
		return reply, s.stopped("pull from", p.done, len(p.rewrites), err)
	}
	if o.ID != "" && !p.found {
		return reply, fmt.Errorf("pull memory %s: %s has none of this id in team %q: %w", o.ID, s.URL, s.Team, reverie.ErrNotFound)
	}
	if most := max(2, p.active/5); len(p.rewrites) > most && !o.AcceptRewrites {
		for _, c := range p.rewrites {
			held := s.item(c.ours.TeamMemory, c.action())
			if held.Action != reverie.ActionDelete {
				held.Theirs = c.theirs.Statement
			}
			reply.HeldBack = append(reply.HeldBack, held)
		}
		p.rewrites = nil
	}
	if err := p.takeAll(ctx); err != nil {
		return reply, err
	}
	reply.Success = len(reply.Refused)+len(reply.HeldBack) == 0
	return reply, nil
}

// puller is a pull under way.
type puller struct {
	*Syncer
	options  PullOptions
	reply    *reverie.TeamPullReply
	known    map[string]local
	active   int      // memories here
	rewrites []change // what is to be written over; it waits until all is known
	late     []change // what cannot be taken beside what another memory here says
	seen     int
	found    bool // the one that is asked for
	done     int  // memories that were settled
}

// change is a memory here, nil of a new one, and what is to become of it.
type change struct {
	ours   *local
	theirs reverie.TeamMemory
	twin   string // the memory here that says the same, of one that is late
}

func (c change) action() reverie.Action {
	switch {
	case c.ours == nil:
		return reverie.ActionCreate
	case c.theirs.Status == reverie.StatusDeprecated:
		return reverie.ActionDelete
	case c.ours.Status == reverie.StatusDeprecated:
		return reverie.ActionRestore
	}
	return reverie.ActionUpdate
}

func (s *Syncer) puller(ctx context.Context, o PullOptions, reply *reverie.TeamPullReply) (*puller, error) {
	list, err := s.locals(ctx)
	if err != nil {
		return nil, err
	}
	p := &puller{Syncer: s, options: o, reply: reply, known: make(map[string]local, len(list))}
	for _, l := range list {
		p.known[l.ID] = l
		if l.Status == reverie.StatusActive {
			p.active++
		}
	}
	return p, nil
}

// read goes through all pages. What is new is taken as it comes, so that a pull that is
// cut off has not been for nothing.
func (p *puller) read(ctx context.Context) error {
	after := ""
	for {
		page, err := p.Remote.TeamMemories(ctx, p.Team, after, pageSize)
		if err != nil {
			return err
		}
		if page.Team != p.Team || len(page.Memories) > pageSize {
			return fmt.Errorf("it was asked for %d memories of team %q and gave %d of team %q: %w", pageSize, p.Team, len(page.Memories), text.Excerpt(page.Team, 64), reverie.ErrConfiguration)
		}
		for _, theirs := range page.Memories {
			if !reverie.IsTeamID(theirs.ID) || theirs.ID <= after {
				return fmt.Errorf("its list of memories is out of order at %.40q: %w", theirs.ID, reverie.ErrConfiguration)
			}
			after = theirs.ID
			if p.seen++; p.seen > MaxMemories {
				return fmt.Errorf("it has more than %d memories: %w", MaxMemories, reverie.ErrConfiguration)
			}
			if p.options.ID != "" && theirs.ID != p.options.ID {
				continue
			}
			p.found = true
			if err := p.one(ctx, theirs); err != nil {
				return err
			}
		}
		if page.Next == "" || len(page.Memories) == 0 {
			return nil
		}
	}
}

// arrived checks what has come from the other side.
func (s *Syncer) arrived(theirs *reverie.TeamMemory) ([]reverie.ScanFinding, error) {
	if !s.Quotes {
		theirs.Evidence = nil
	}
	return safety.CheckTeamMemory(theirs, s.Privacy, s.Now())
}

// one settles a memory, or puts it aside where it would be written over.
func (p *puller) one(ctx context.Context, theirs reverie.TeamMemory) error {
	id := theirs.ID
	found, err := p.arrived(&theirs)
	if err != nil || len(found) > 0 {
		r := reverie.TeamRefusal{ID: id, Findings: found}
		if err != nil {
			r.Reason = err.Error()
		}
		p.reply.Refused = append(p.reply.Refused, r)
		return nil
	}
	p.done++
	ours, has := p.known[theirs.ID]
	if !has {
		if theirs.Status == reverie.StatusDeprecated { // it is gone before anybody here has seen it
			return nil
		}
		return p.take(ctx, change{theirs: theirs})
	}
	if ours.Held {
		p.reply.Held++
		return nil
	}
	switch judge(ours, theirs) {
	case same:
		p.reply.Unchanged++
		return p.note(ctx, ours, theirs)
	case push:
		p.reply.ToPush++
		return p.note(ctx, ours, theirs)
	case pull:
		p.done--
		p.rewrites = append(p.rewrites, change{ours: &ours, theirs: theirs})
		return nil
	}
	p.reply.Conflicts = append(p.reply.Conflicts, p.item(ours.TeamMemory, ""))
	if p.options.DryRun {
		return nil
	}
	return p.disagree(ctx, ours, theirs)
}

// note links what needs no writing.
func (p *puller) note(ctx context.Context, ours local, theirs reverie.TeamMemory) error {
	if p.options.DryRun {
		return nil
	}
	return p.link(ctx, ours, theirs)
}

// take makes their version the head here. What cannot be taken is told, and stops
// nothing; what may be taken once another memory has changed is put aside.
func (p *puller) take(ctx context.Context, c change) error {
	var err error
	if !p.options.DryRun {
		_, err = p.Store.TakeTeamMemory(ctx, p.toTake(c))
	}
	var twin *reverie.TwinError
	var moved *reverie.TeamHeadError
	switch {
	case err == nil:
		told := p.item(c.theirs, c.action())
		if told.Action == reverie.ActionDelete {
			told = p.item(c.ours.TeamMemory, told.Action)
		}
		p.reply.Pulled = append(p.reply.Pulled, told)
	case errors.As(err, &twin):
		c.twin = twin.ID
		p.late = append(p.late, c)
	case errors.As(err, &moved):
		p.refuse(c, "it was changed here just now: pull again")
	case errors.Is(err, reverie.ErrConflict):
		p.refuse(c, "its id is not free here: the other side has to give it a new one")
	default:
		return err
	}
	return nil
}

func (p *puller) refuse(c change, reason string) {
	p.reply.Refused = append(p.reply.Refused, reverie.TeamRefusal{ID: c.theirs.ID, Reason: reason})
}

// toTake makes their version the head here, and notes that both have it in common.
func (s *Syncer) toTake(c change) reverie.TeamTake {
	t := reverie.TeamTake{Write: reverie.TeamWrite{Team: s.Team, Memory: c.theirs, Quotes: s.Quotes}, Remote: s.URL,
		RemoteID: c.theirs.VersionID, Digest: c.theirs.Digest(), Resolution: noConflict}
	if c.ours != nil {
		t.Write.IfVersion = c.ours.VersionID
	}
	return t
}
