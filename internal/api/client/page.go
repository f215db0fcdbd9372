package client

import (
	"context"
	"iter"

	"reverie/internal/reverie"
)

// pageSize is how many rows iterators ask for at a time.
const pageSize = 100

// pages goes through rows page by page. Next returns a page, and whether there are more.
// An error is the last thing that is yielded.
func pages[T any](next func() (page []T, more bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for more := true; more; {
			page, further, err := next()
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
			}
			more = further && len(page) > 0
		}
	}
}

// AllGroups goes through all groups that the token may see, by id.
func (c *Client) AllGroups(ctx context.Context) iter.Seq2[reverie.GroupReply, error] {
	after := ""
	return pages(func() ([]reverie.GroupReply, bool, error) {
		r, err := c.Groups(ctx, reverie.GroupQuery{After: after, Limit: pageSize})
		after = r.Next
		return r.Groups, r.Next != "", err
	})
}

// AllMemories goes through a group's memories.
func (c *Client) AllMemories(ctx context.Context, q reverie.MemoryQuery) iter.Seq2[reverie.Memory, error] {
	q.Limit, q.Offset = pageSize, 0
	return pages(func() ([]reverie.Memory, bool, error) {
		r, err := c.List(ctx, q)
		q.Offset += len(r.Memories)
		return r.Memories, q.Offset < r.Total, err
	})
}

// AllEntities goes through the people and things of a group, by subject.
func (c *Client) AllEntities(ctx context.Context, groupID string, f reverie.EntityFilter) iter.Seq2[reverie.EntityReply, error] {
	offset := 0
	return pages(func() ([]reverie.EntityReply, bool, error) {
		r, err := c.Entities(ctx, groupID, f, pageSize, offset)
		offset += len(r.Entities)
		return r.Entities, offset < r.Total, err
	})
}

// AllRuns goes through runs, newest first.
func (c *Client) AllRuns(ctx context.Context, q reverie.RunQuery) iter.Seq2[reverie.RunEntry, error] {
	q.Limit = pageSize
	return pages(func() ([]reverie.RunEntry, bool, error) {
		r, err := c.Runs(ctx, q)
		if n := len(r.Runs); n > 0 {
			q.Before = r.Runs[n-1].ID
		}
		return r.Runs, r.More, err
	})
}

// MessagesAfter goes through a group's messages that are newer than one, oldest first.
func (c *Client) MessagesAfter(ctx context.Context, groupID, messageID string) iter.Seq2[reverie.ConversationMessage, error] {
	q := reverie.MessageQuery{GroupID: groupID, After: messageID, Limit: pageSize}
	return pages(func() ([]reverie.ConversationMessage, bool, error) {
		r, err := c.Messages(ctx, q)
		if n := len(r.Messages); n > 0 {
			q.After = r.Messages[n-1].ID
		}
		return r.Messages, r.Newer, err
	})
}

// AllNights goes through a group's nights, newest first.
func (c *Client) AllNights(ctx context.Context, groupID string) iter.Seq2[reverie.Night, error] {
	before := ""
	return pages(func() ([]reverie.Night, bool, error) {
		r, err := c.Nights(ctx, groupID, before, 0)
		if n := len(r.Nights); n > 0 {
			before = r.Nights[n-1].Date
		}
		return r.Nights, r.More, err
	})
}
