package main

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/reverie"
)

// moment reads a flag that names a date or an instant of a group; "" is the zero time. A
// group that does not exist is an error all the same.
func (a *app) moment(ctx context.Context, groupID, flag, text string) (time.Time, error) {
	g, err := a.Store.Group(ctx, groupID)
	if err != nil {
		return time.Time{}, unknownGroup(err)
	}
	at, err := instant(g, text)
	if err != nil {
		return at, usageError(fmt.Errorf("--%s: %w", flag, err))
	}
	return at, nil
}

// momentOf is moment for the group that a memory is of.
func (a *app) momentOf(ctx context.Context, groupID, memoryID, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	m, err := a.Store.Memory(ctx, groupID, memoryID)
	if err != nil {
		return time.Time{}, err
	}
	return a.moment(ctx, m.GroupID, "at", text)
}

// history are the versions of a memory, or those that there were then.
func (a *app) history(ctx context.Context, groupID, memoryID, then string) ([]reverie.Memory, error) {
	at, err := a.momentOf(ctx, groupID, memoryID, then)
	switch {
	case err != nil:
		return nil, err
	case at.IsZero():
		return a.Store.History(ctx, groupID, memoryID)
	}
	return a.Store.HistoryAt(ctx, groupID, memoryID, at)
}
