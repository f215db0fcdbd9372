package jobs

import (
	"context"
	"errors"
	"slices"
	"time"

	"reverie/internal/reverie"
)

// Agenda is what is due for a group.
type Agenda struct {
	Windows []reverie.Window // the oldest first
	Capped  int              // further ones that are due and left for a later run
}

// Plan tells what is due for a group; an empty agenda says nothing is. An error
// counts as a failure of the group, like one of [Work].
type Plan func(ctx context.Context, g reverie.DueGroup) (Agenda, error)

// PendingStore tells in which windows a group has pending messages.
type PendingStore interface {
	PendingWindows(ctx context.Context, groupID string, windows []reverie.Window) ([]reverie.WindowLoad, error)
}

// Nightly plans the dates that have ended and have pending messages, at most so
// many of them; 0 is all.
func Nightly(store PendingStore, now func() time.Time, limit int) Plan {
	return func(ctx context.Context, g reverie.DueGroup) (Agenda, error) {
		cal, err := CalendarOf(g.Group)
		if err != nil {
			return Agenda{}, err
		}
		due := slices.Collect(cal.Closed(g.FirstPending, now()))
		if len(due) > 1 { // the oldest pending message lies in the first one
			if due, err = pending(ctx, store, g.ID, due); err != nil {
				return Agenda{}, err
			}
		}
		if limit > 0 && len(due) > limit {
			return Agenda{Windows: due[:limit], Capped: len(due) - limit}, nil
		}
		return Agenda{Windows: due}, nil
	}
}

// Everything plans all that is pending at once, the open date included.
func Everything() Plan {
	return func(context.Context, reverie.DueGroup) (Agenda, error) {
		return Agenda{Windows: []reverie.Window{{}}}, nil
	}
}

// Dates plans those of the dates from the one to the other, both included, that
// have ended and have pending messages. Dates that cannot be read stop it all.
func Dates(store PendingStore, from, to string, now func() time.Time) Plan {
	return func(ctx context.Context, g reverie.DueGroup) (Agenda, error) {
		if _, _, err := parseRange(from, to); err != nil {
			return Agenda{}, Abort(err)
		}
		cal, err := CalendarOf(g.Group)
		if err != nil {
			return Agenda{}, err
		}
		windows, err := cal.Between(from, to)
		if err != nil {
			return Agenda{}, err
		}
		open := now()
		windows = slices.DeleteFunc(windows, func(w reverie.Window) bool {
			return w.Until.After(open) || !w.Until.After(g.FirstPending)
		})
		due, err := pending(ctx, store, g.ID, windows)
		return Agenda{Windows: due}, err
	}
}

// windowsAtOnce bounds one question to the store: a message from long ago makes
// for very many dates.
const windowsAtOnce = 4000

// pending are those of the windows that have pending messages.
func pending(ctx context.Context, store PendingStore, groupID string, windows []reverie.Window) ([]reverie.Window, error) {
	var due []reverie.Window
	for some := range slices.Chunk(windows, windowsAtOnce) {
		loads, err := store.PendingWindows(ctx, groupID, some)
		if err != nil {
			return nil, err
		}
		for _, l := range loads {
			due = append(due, l.Window)
		}
	}
	return due, nil
}

// Abort marks an error that is the same for every group, such as a refused key:
// the fan-out ends with it. What is under way may finish.
func Abort(err error) error {
	if err == nil {
		return nil
	}
	return &abortError{err}
}

type abortError struct{ err error }

func (e *abortError) Error() string { return e.err.Error() }
func (e *abortError) Unwrap() error { return e.err }

// aborted is the error that was marked, or nil.
func aborted(err error) error {
	if a, ok := errors.AsType[*abortError](err); ok {
		return a.err
	}
	return nil
}
