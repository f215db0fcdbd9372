package api

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
)

// Messages returns a page of a group's conversation, oldest first: the newest messages,
// those before or after one, or those around one, of one session or of all. A group,
// session or message that does not exist, or is another group's, is a
// [reverie.ErrNotFound].
func (s *Service) Messages(ctx context.Context, q reverie.MessageQuery) (reverie.MessagesReply, error) {
	ctx, _, err := reading(ctx, q.GroupID, reverie.ScopeRead)
	if err != nil {
		return reverie.MessagesReply{}, err
	}
	if err := page(q.Limit, 0); err != nil {
		return reverie.MessagesReply{}, err
	}
	anchors := 0
	for _, id := range []string{q.Before, q.After, q.Around} {
		if id != "" {
			anchors++
		}
	}
	if anchors > 1 {
		return reverie.MessagesReply{}, fmt.Errorf("messages before, after and around one exclude each other: %w", reverie.ErrInvalid)
	}
	return s.Store.Conversation(ctx, q)
}
