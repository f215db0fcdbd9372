package store

import (
	"context"

	"reverie"
)

// Conversation returns a page of a group's messages.
func (s *Store) Conversation(ctx context.Context, q reverie.MessageQuery) (reverie.MessagesReply, error) {
	return reverie.MessagesReply{Success: true, GroupID: q.GroupID, Messages: []reverie.ConversationMessage{}}, nil
}
