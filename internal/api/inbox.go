package api

import (
	"context"
	"errors"
	"log/slog"

	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store"
)

// Eraser erases authors and messages: see [store/erase.Eraser].
type Eraser interface {
	Erase(ctx context.Context, lease reverie.Lease, q reverie.EraseQuery) (reverie.Erasure, error)
	Remembered(ctx context.Context, groupID, authorID string) (reply reverie.AuthorMemoriesReply, entityID string, err error)
	NoteChanges(ctx context.Context, groupID string, changes []reverie.MessageChange) (reverie.ChangeResult, error)
	WaitingChanges(ctx context.Context, groupID string, of ...string) (int, error)
	ApplyChanges(ctx context.Context, lease reverie.Lease) error
}

// Inbox stores messages and their later changes. It is an [ingest.Store].
type Inbox struct {
	*store.Store
	Eraser Eraser
	Leases *jobs.Leases // with a [Settler]
}

// ImportMessages is [store.Store.ImportMessages], see [Inbox.Take].
func (in Inbox) ImportMessages(ctx context.Context, groupID string, messages []reverie.Message) (reverie.ImportResult, error) {
	return in.Take(ctx, groupID, messages, func() (reverie.ImportResult, error) {
		return in.Store.ImportMessages(ctx, groupID, messages)
	})
}

// Take imports messages with bring, and applies changes that arrived before them.
func (in Inbox) Take(ctx context.Context, groupID string, messages []reverie.Message, bring func() (reverie.ImportResult, error)) (reverie.ImportResult, error) {
	res, err := bring()
	if err == nil && res.New > 0 {
		ids := make([]string, len(messages))
		for i, m := range messages {
			ids[i] = m.ID
		}
		_, err = in.settle(ctx, groupID, ids)
	}
	return res, err
}

// ChangeMessages queues changes of messages, and applies them if possible. Otherwise, if a message is missing or a
// run works in the group, they wait. They are applied when the message arrives, or with the next lease of the
// group.
func (in Inbox) ChangeMessages(ctx context.Context, groupID string, changes []reverie.MessageChange) (reverie.ChangeResult, error) {
	res, err := in.Eraser.NoteChanges(ctx, groupID, changes)
	if err == nil { // a known change may still wait, since its process may have died
		ids := make([]string, len(changes))
		for i, c := range changes {
			ids[i] = c.ID
		}
		var busy int
		busy, err = in.settle(ctx, groupID, ids)
		res.Waiting = min(res.Waiting+busy, len(changes))
	}
	return res, err
}

// settle applies the waiting changes of some messages of a group, and returns how many still wait.
func (in Inbox) settle(ctx context.Context, groupID string, ids []string) (waiting int, err error) {
	if waiting, err = in.Eraser.WaitingChanges(ctx, groupID, ids...); err != nil || waiting == 0 {
		return waiting, err
	}
	err = in.Leases.IfFree(ctx, groupID, func(context.Context, *jobs.Held) error { return nil })
	if errors.Is(err, reverie.ErrBusy) {
		return waiting, nil // the holder of the lease applies them
	}
	if err != nil {
		return waiting, err
	}
	return in.Eraser.WaitingChanges(ctx, groupID, ids...)
}

// Settler applies waiting changes of messages with each lease of their group: it is a [jobs.Settler]. An error is
// logged, and the changes wait for the next lease.
type Settler struct {
	Eraser Eraser
	Log    *slog.Logger
}

// Waits reports whether any changes wait.
func (s Settler) Waits(ctx context.Context, groupID string) bool {
	n, err := s.Eraser.WaitingChanges(ctx, groupID)
	s.note(ctx, groupID, err)
	return n > 0
}

// Settle applies them.
func (s Settler) Settle(ctx context.Context, lease reverie.Lease) {
	s.note(ctx, lease.GroupID, s.Eraser.ApplyChanges(ctx, lease))
}

func (s Settler) note(ctx context.Context, groupID string, err error) {
	if err != nil && ctx.Err() == nil {
		s.Log.Error("what became of messages waits for the next run of the group", "group_id", groupID, "error", err)
	}
}
