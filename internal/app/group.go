package app

import (
	"context"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// GroupChanged is the result of a change to a group.
type GroupChanged struct {
	Before, Group reverie.Group
	AppliesFrom   string         // the first date of a changed calendar, "" if nothing changed
	Open          reverie.Window // the date that was open, which keeps its end
}

// ChangeGroup changes a group. A changed calendar applies from the next date on.
func (a *App) ChangeGroup(ctx context.Context, id string, change reverie.GroupChange) (done GroupChanged, err error) {
	if done.Before, err = a.Store.Group(ctx, id); err != nil {
		return done, err
	}
	known := done.Before.HasCalendar() // otherwise this change repairs it
	if known {
		cal, err := jobs.CalendarOf(done.Before)
		if err != nil {
			return done, err
		}
		done.Open = cal.Containing(a.Clock())
	}
	if done.Group, err = a.Store.ChangeGroup(ctx, id, change, done.Open.Until); err != nil {
		return done, err
	}
	past := done.Group.Past
	if !known || done.Group.SameCalendar(done.Before) || len(past) == 0 ||
		past[len(past)-1].ValidUntil.Before(done.Open.Until) {
		return done, nil
	}
	cal, err := jobs.CalendarOf(done.Group)
	if err != nil {
		return done, err
	}
	done.AppliesFrom = cal.Containing(done.Open.Until).Date
	return done, nil
}
