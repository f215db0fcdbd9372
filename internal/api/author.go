package api

import (
	"cmp"
	"context"
	"errors"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// AuthorMemories returns what a group remembers of an author: memories that rest on the author's words or name the
// author, and the author's entity. For an unknown author it is empty.
func (s *Service) AuthorMemories(ctx context.Context, groupID, authorID string, limit, offset int) (reverie.AuthorMemoriesReply, error) {
	ctx, _, err := reading(ctx, groupID, reverie.ScopeRead, page(limit, offset))
	if err != nil {
		return reverie.AuthorMemoriesReply{}, err
	}
	reply, entityID, err := s.Inbox.Eraser.Remembered(ctx, groupID, authorID)
	if err != nil {
		return reply, err
	}
	reply.Success = true
	reply.Memories = reply.Memories[min(offset, len(reply.Memories)):]
	reply.Memories = reply.Memories[:min(limit, len(reply.Memories))]
	if entityID == "" {
		return reply, nil
	}
	e, err := s.Store.Entity(ctx, groupID, entityID)
	if errors.Is(err, reverie.ErrNotFound) { // erased meanwhile
		return reply, nil
	}
	entity := e.Reply()
	reply.Entity = &entity
	return reply, err
}

// Forget erases an author in a group: see [store/erase.Eraser.Erase]. Without a trace of the author it changes
// nothing. If a run is running in the group, the error is a [reverie.ErrBusy].
func (s *Service) Forget(ctx context.Context, q reverie.EraseQuery) (reverie.ForgetReply, error) {
	if _, err := allowed(ctx, q.GroupID, reverie.ScopeWrite); err != nil {
		return reverie.ForgetReply{}, err
	}
	receipt, err := EraseAuthor(ctx, s.Inbox.Eraser, s.Leases, q)
	if err == nil && !q.DryRun {
		caller, _ := CallerOf(ctx)
		s.Log.Info("an author was erased", "group_id", receipt.GroupID, "erasure_id", receipt.ID, "messages", receipt.Messages,
			"memories_erased", receipt.Erased, "memories_held", receipt.Held, "by", cmp.Or(caller.Name, caller.TokenID))
	}
	return reverie.ForgetReply{Success: err == nil, Erasure: receipt}, err
}

// EraseAuthor erases an author in a group, under its lease: see [store/erase.Eraser.Erase].
func EraseAuthor(ctx context.Context, eraser Eraser, leases *jobs.Leases, q reverie.EraseQuery) (receipt reverie.Erasure, err error) {
	err = leases.IfFree(ctx, q.GroupID, func(ctx context.Context, held *jobs.Held) error {
		return held.Exclusive(func() (err error) {
			receipt, err = eraser.Erase(ctx, held.Lease(), q)
			return err
		})
	})
	return receipt, err
}
