package main

import (
	"context"
	"fmt"

	"reverie"
	"reverie/jobs"
	"reverie/store"
)

// replayStore makes every group due, also one without pending messages: what a
// replay takes back is pending only then.
type replayStore struct{ *store.Store }

// DueGroups lists all groups that are not paused.
func (s replayStore) DueGroups(ctx context.Context, q reverie.DueQuery) ([]reverie.DueGroup, error) {
	var due []reverie.DueGroup
	if q.GroupID != "" {
		if due, err := s.Store.DueGroups(ctx, q); err != nil || len(due) > 0 {
			return due, err
		}
	}
	for q.Limit == 0 || len(due) < q.Limit { // a page with paused groups is filled from the next
		entries, err := s.GroupList(ctx, reverie.GroupQuery{GroupID: q.GroupID, After: q.After, Limit: q.Limit})
		if err != nil || len(entries) == 0 {
			return due, err
		}
		for _, e := range entries {
			if q.After = e.ID; (!e.Paused || q.GroupID != "") && (q.Limit == 0 || len(due) < q.Limit) {
				due = append(due, dueOf(e, q.Job))
			}
		}
		if q.GroupID != "" || q.Limit == 0 {
			break
		}
	}
	return due, nil
}

// dueOf is a group in a list as one that is due.
func dueOf(e reverie.GroupEntry, job reverie.Job) reverie.DueGroup {
	g := reverie.DueGroup{Group: e.Group}
	if e.OldestPending != nil {
		g.FirstPending = *e.OldestPending
	}
	for _, s := range e.Setbacks {
		if s.Job == job {
			g.Setback = &s
		}
	}
	return g
}

// groupsOf lists the groups of a backfill.
func (a *app) groupsOf(replay bool) dueStore {
	if replay {
		return replayStore{a.store}
	}
	return a.store
}

// replay plans the dates of a group that are evolved anew, after what came since
// --from was taken back: all that is pending up to --to. Before that, it says
// whether there is anything to take back.
func (a *app) replay(f backfillFlags) jobs.Plan {
	return func(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
		back, windows, err := a.wouldRewind(ctx, g, f)
		if err != nil || back.Runs > 0 {
			return jobs.Agenda{Windows: windows}, err
		}
		c, err := jobs.CalendarOf(g.Group)
		if err != nil || g.FirstPending.IsZero() {
			return jobs.Agenda{}, err
		}
		from := min(f.from, c.Containing(g.FirstPending).Date)
		if from > f.to {
			return jobs.Agenda{}, nil
		}
		return jobs.Dates(a.store, from, f.to, a.now)(ctx, g)
	}
}

// wouldRewind says what a replay would take back of a group, and which closed
// dates it would evolve.
func (a *app) wouldRewind(ctx context.Context, g reverie.DueGroup, f backfillFlags) (reverie.Rewound, []reverie.Window, error) {
	q, err := rewindOf(g, f)
	if err != nil {
		return reverie.Rewound{}, nil, err
	}
	q.DryRun = true
	back, err := a.store.Rewind(ctx, reverie.Lease{GroupID: g.ID}, q)
	if err != nil {
		return back, nil, err
	}
	c, err := jobs.CalendarOf(g.Group)
	if err != nil {
		return back, nil, err
	}
	from := f.from
	if back.Runs > 0 {
		from = min(from, c.Containing(back.Earliest).Date)
	}
	windows, err := c.Between(from, f.to)
	closed := windows[:0]
	for _, w := range windows {
		if !w.Until.After(a.now()) {
			closed = append(closed, w)
		}
	}
	return back, closed, err
}

// rewindOf is what a replay takes back of a group.
func rewindOf(g reverie.DueGroup, f backfillFlags) (reverie.RewindQuery, error) {
	c, err := jobs.CalendarOf(g.Group)
	if err != nil {
		return reverie.RewindQuery{}, err
	}
	w, err := c.Window(f.from)
	return reverie.RewindQuery{GroupID: g.ID, Job: reverie.JobEvolve, Since: w.Since,
		Reason: fmt.Sprintf("replay from %s on", f.from)}, err
}

// rewind takes back what a group's runs did, before the first of its dates is
// evolved anew.
func (a *app) rewind(ctx context.Context, held *jobs.Held, g reverie.DueGroup, f backfillFlags) error {
	q, err := rewindOf(g, f)
	if err != nil {
		return err
	}
	return held.Exclusive(func() error {
		back, err := a.store.Rewind(ctx, held.Lease(), q)
		if err == nil {
			a.log.Info("taken back", "group_id", g.ID, "runs", back.Runs, "messages", back.Messages, "restored", back.Restored,
				"deprecated", back.Deprecated, "weakened", back.Weakened, "left_to_persons", back.Kept)
		}
		return err
	})
}
