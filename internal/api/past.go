package api

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/diff"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// Diff says how what a group remembers differs between two instants. Passing asks for
// what came and went in between, too.
func (s *Service) Diff(ctx context.Context, q reverie.BetweenQuery, passing bool) (reverie.DiffReply, error) {
	ctx, _, err := reading(ctx, q.GroupID, reverie.ScopeRead)
	if err != nil {
		return reverie.DiffReply{}, err
	}
	if err := q.Until(s.Now()); err != nil {
		return reverie.DiffReply{}, err
	}
	between, err := s.Store.Between(ctx, q)
	if err != nil {
		return reverie.DiffReply{}, err
	}
	reply := reverie.DiffReply{Success: true, MemoryDiff: diff.Memories(between)}
	if !passing {
		reply.Passing = nil
	}
	for _, list := range []*[]reverie.DiffEntry{&reply.Added, &reply.Changed, &reply.Gone, &reply.Passing} {
		if len(*list) > MaxChanges {
			*list, reply.Cut = (*list)[:MaxChanges], true
		}
	}
	return reply, nil
}

// Beginning is when a date of a group's calendar begins; "" is the zero time.
func (s *Service) Beginning(g reverie.Group, date string) (time.Time, error) {
	if date == "" {
		return time.Time{}, nil
	}
	calendar, err := jobs.CalendarOrUTC(g)
	if err != nil {
		s.Log.Warn("dates are read in UTC", "group_id", g.ID, "error", err)
	}
	w, err := calendar.Window(date)
	return w.Since, err
}

// Blame says who wrote a memory: what stands behind each version, and which version
// brought each word of the newest; of an instant that is not zero, of the newest then.
func (s *Service) Blame(ctx context.Context, memoryID string, at time.Time) (reverie.BlameReply, error) {
	ctx, groupID, err := reading(ctx, "", reverie.ScopeRead)
	if err != nil {
		return reverie.BlameReply{}, err
	}
	why, err := s.Store.WhyAt(ctx, groupID, memoryID, at)
	if err != nil {
		return reverie.BlameReply{}, fmt.Errorf("say who wrote memory %s: %w", memoryID, err)
	}
	reply := reverie.BlameReply{Success: true, GroupID: why.Memory.GroupID, Blame: diff.Blame(why)}
	kept := newest(reply.Versions)
	reply.Cut, reply.Versions = len(kept) < len(reply.Versions), kept
	return reply, nil
}
