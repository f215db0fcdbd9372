package app

import (
	"context"
	"fmt"
	"sync"

	"reverie/internal/reverie"
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
func (a *App) groupsOf(replay bool) DueStore {
	if replay {
		return replayStore{a.Store}
	}
	return a.Store
}

// rewinding is what --replay keeps in mind of each group.
type rewinding struct {
	*App
	dates Backfill
	from  sync.Map // by id: the first date with a message that was taken back
}

// plan tells the dates of a group that are evolved anew. Before what came since
// --from is taken back, these are all of them; after that, those of which something
// is pending, and the dates before --from of which messages were taken back.
func (r *rewinding) plan(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
	if from, rewound := r.from.Load(g.ID); rewound {
		return jobs.Dates(r.Store, from.(string), r.dates.To, r.Clock)(ctx, g)
	}
	back, windows, err := r.wouldRewind(ctx, g, r.dates)
	if err != nil || back.Runs > 0 {
		return jobs.Agenda{Windows: windows}, err
	}
	return jobs.Dates(r.Store, r.dates.From, r.dates.To, r.Clock)(ctx, g)
}

// prepare takes back what a group's runs did, before the first of its dates is
// evolved anew.
func (r *rewinding) prepare(ctx context.Context, held *jobs.Held, g reverie.DueGroup) error {
	q, err := rewindOf(g, r.dates)
	if err != nil || q == nil {
		return err
	}
	return held.Exclusive(func() error {
		back, err := r.Store.Rewind(ctx, held.Lease(), *q)
		if err != nil || back.Runs == 0 {
			return err
		}
		c, err := jobs.CalendarOf(g.Group)
		r.from.Store(g.ID, firstDate(c, r.dates, back))
		r.Log.Info("taken back", "group_id", g.ID, "runs", back.Runs, "messages", back.Messages, "restored", back.Restored,
			"deprecated", back.Deprecated, "weakened", back.Weakened, "left_to_persons", back.Kept)
		return err
	})
}

// firstDate is where the evolution begins anew: at --from, or earlier where a run
// that was taken back had a message of before.
func firstDate(c jobs.Calendar, f Backfill, back reverie.Rewound) string {
	if back.Messages == 0 {
		return f.From
	}
	return min(f.From, c.Containing(back.Earliest).Date)
}

// wouldRewind says what a replay would take back of a group, and which closed
// dates it would evolve.
func (a *App) wouldRewind(ctx context.Context, g reverie.DueGroup, f Backfill) (reverie.Rewound, []reverie.Window, error) {
	q, err := rewindOf(g, f)
	if err != nil || q == nil {
		return reverie.Rewound{}, nil, err
	}
	q.DryRun = true
	back, err := a.Store.Rewind(ctx, reverie.Lease{GroupID: g.ID}, *q)
	if err != nil || back.Runs == 0 {
		return back, nil, err
	}
	c, err := jobs.CalendarOf(g.Group)
	if err != nil {
		return back, nil, err
	}
	windows, err := c.Between(firstDate(c, f, back), f.To)
	closed := windows[:0]
	for _, w := range windows {
		if !w.Until.After(a.Clock()) {
			closed = append(closed, w)
		}
	}
	return back, closed, err
}

// rewindOf is what a replay takes back of a group; nil: its calendar has none of
// the dates.
func rewindOf(g reverie.DueGroup, f Backfill) (*reverie.RewindQuery, error) {
	c, err := jobs.CalendarOf(g.Group)
	if err != nil {
		return nil, err
	}
	windows, err := c.Between(f.From, f.To)
	if err != nil || len(windows) == 0 {
		return nil, err
	}
	return &reverie.RewindQuery{GroupID: g.ID, Job: reverie.JobEvolve, Since: windows[0].Since, Reason: fmt.Sprintf("replay from %s on", f.From)}, nil
}
