package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"reverie/internal/reverie"
)

// Runs returns a page of the runs that the caller sees, newest first, with what each has
// spent. A group that does not exist, or a run to go on before that is not among those,
// is a [reverie.ErrNotFound].
func (s *Service) Runs(ctx context.Context, q reverie.RunQuery) (reverie.RunsReply, error) {
	ctx, confined, err := reading(ctx, q.GroupID, reverie.ScopeRead)
	if err != nil {
		return reverie.RunsReply{}, err
	}
	if err := errors.Join(page(q.Limit, 0), oneOf("job", q.Job, reverie.Jobs), oneOf("status", q.Status, reverie.RunStatuses)); err != nil {
		return reverie.RunsReply{}, err
	}
	if q.GroupID != "" { // no runs, or no such group?
		if _, err := s.Store.Group(ctx, q.GroupID); err != nil {
			return reverie.RunsReply{}, err
		}
	}
	limit := q.Limit
	q.GroupID, q.Limit = confined, limit+1 // to see whether there are more
	runs, err := s.Store.Runs(ctx, q)
	if err != nil {
		return reverie.RunsReply{}, err
	}
	more := len(runs) > limit
	return reverie.RunsReply{Success: true, Runs: append([]reverie.RunEntry{}, runs[:min(limit, len(runs))]...), More: more}, nil
}

// Run returns a run with its chunks, changes, refused lines, held plans and calls, at
// most [MaxParts] of each.
func (s *Service) Run(ctx context.Context, runID string) (reverie.RunReply, error) {
	ctx, groupID, err := reading(ctx, "", reverie.ScopeRead)
	if err != nil {
		return reverie.RunReply{}, err
	}
	d, err := s.Store.RunUpTo(ctx, groupID, runID, MaxParts)
	if err != nil {
		return reverie.RunReply{}, err
	}
	g, err := s.Store.GroupList(ctx, reverie.GroupQuery{GroupID: d.Run.GroupID, Limit: 1})
	if err != nil {
		return reverie.RunReply{}, err
	}
	return d.Reply(g[0]), nil
}

// oneOf checks that something, unless it is left out, is one of a list.
func oneOf[T ~string](what string, value T, known []T) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s %q: it is one of %v: %w", what, value, known, reverie.ErrInvalid)
}
