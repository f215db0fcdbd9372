package api

import (
	"context"
	"maps"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store/history"
)

// Bounds of the search for nights. A page has fewer than requested if nights are far apart or large.
const (
	maxNightLooks   = 8    // number of time ranges searched for a page
	maxNightsRead   = 5000 // runs, and edits, read per range
	maxNightRuns    = 500  // runs of a page
	maxNightChanges = 500
)

// Nights returns the history of a group's memories by night, newest first: the nights before a date, "" for the
// newest. A night is a date of the group's own calendar with runs or edits. A run belongs to the date on which its
// window begins, if the window is whole dates. Otherwise, and always for maintenance, it belongs to the date on
// which it began. An edit belongs to the date when it was made.
func (s *Service) Nights(ctx context.Context, groupID, before string, limit int) (reverie.NightsReply, error) {
	ctx, _, err := reading(ctx, groupID, reverie.ScopeRead, within("limit", limit, 1, MaxNights))
	if err != nil {
		return reverie.NightsReply{}, err
	}
	g, err := s.Store.Group(ctx, groupID)
	if err != nil {
		return reverie.NightsReply{}, err
	}
	n := nights{store: s.past(), groupID: groupID, limit: limit}
	if n.cal, err = jobs.CalendarOrUTC(g); err != nil {
		s.Log.Warn("nights are told in UTC", "group_id", groupID, "error", err)
	}
	if before != "" {
		w, err := n.cal.Window(before)
		if err != nil {
			return reverie.NightsReply{}, err
		}
		n.until = w.Since
	}
	return n.read(ctx)
}

// nights is a page of nights while it is built.
type nights struct {
	store   *history.History
	groupID string
	cal     jobs.Calendar
	limit   int
	until   time.Time // everything from here on has been searched; zero: nothing has
	reply   reverie.NightsReply
	runs    int  // number of runs on the page
	full    bool // the page is full: until is the beginning of its last night
}

// read builds the page.
func (n *nights) read(ctx context.Context) (reverie.NightsReply, error) {
	n.reply = reverie.NightsReply{Success: true, GroupID: n.groupID, Nights: []reverie.Night{}}
	for look := 0; ; look++ {
		at, err := n.store.LastWork(ctx, n.groupID, n.until)
		if err != nil {
			return n.reply, err
		}
		if at == nil {
			break
		}
		if n.full || look == maxNightLooks {
			n.reply.More, n.reply.Next = true, n.cal.Containing(n.until).Date
			break
		}
		if err := n.look(ctx, n.cal.Containing(*at)); err != nil {
			return n.reply, err
		}
	}
	err := n.fill(ctx)
	return n.reply, err
}

// look adds the nights of a time range that ends with a date. If it contains more than is read at once, the range
// is shortened, down to that date alone.
func (n *nights) look(ctx context.Context, last reverie.Window) error {
	for dates := n.limit; ; dates /= 2 {
		since := last.Since
		if dates > 1 {
			since = n.cal.Containing(last.Since.AddDate(0, 0, 1-dates)).Since
		}
		work, err := n.store.Work(ctx, n.groupID, since, last.Until, maxNightsRead)
		if err != nil {
			return err
		}
		if work.Cut && since.Before(last.Since) {
			continue
		}
		n.reply.Cut = n.reply.Cut || work.Cut
		found := map[string]*reverie.Night{}
		night := func(w reverie.Window) *reverie.Night {
			if found[w.Date] == nil {
				found[w.Date] = &reverie.Night{Date: w.Date, Since: w.Since, Until: w.Until, Runs: []reverie.RunEntry{}, Changes: []reverie.Change{}}
			}
			return found[w.Date]
		}
		for _, r := range work.Runs {
			if w := n.of(r); !w.Since.Before(since) && w.Since.Before(last.Until) {
				on := night(w)
				on.Runs = append(on.Runs, reverie.RunEntry{Run: r})
			}
		}
		for _, c := range work.Edits {
			on := night(n.cal.Containing(c.CreatedAt))
			on.Changes = append(on.Changes, c)
		}
		n.add(found)
		if !n.full {
			n.until = since
		}
		return nil
	}
}

// of returns the date of a run.
func (n *nights) of(r reverie.Run) reverie.Window {
	if r.Job == reverie.JobEvolve || r.Job == reverie.JobImpression {
		if first, _, whole := n.cal.Dates(r.WindowSince, r.WindowUntil); whole {
			return first
		}
	}
	return n.cal.Containing(r.StartedAt)
}

// add adds nights to the page, newest first, until it is full. A night with more runs than a page may have is
// truncated.
func (n *nights) add(found map[string]*reverie.Night) {
	newest := slices.SortedFunc(maps.Values(found), func(a, b *reverie.Night) int { return b.Since.Compare(a.Since) })
	for _, night := range newest {
		if len(n.reply.Nights) > 0 && n.runs+len(night.Runs) > maxNightRuns {
			n.full = true
			return
		}
		for _, r := range night.Runs {
			if r.UndoneAt == nil && r.Job != reverie.JobImpression {
				night.Stats.Add(r.Stats)
			}
		}
		night.Archived = night.Stats.Archived
		night.Runs, n.reply.Cut = night.Runs[:min(maxNightRuns, len(night.Runs))], n.reply.Cut || len(night.Runs) > maxNightRuns
		n.runs += len(night.Runs)
		n.reply.Nights = append(n.reply.Nights, *night)
		n.until = night.Since
		if n.full = len(n.reply.Nights) == n.limit; n.full {
			return
		}
	}
}

// fill adds to the nights of the page the cost and the changes of their runs. It drops the last nights if not all
// of their changes fit. The first night always stays, truncated if necessary.
func (n *nights) fill(ctx context.Context) error {
	var ids []string
	for _, night := range n.reply.Nights {
		for _, r := range night.Runs {
			ids = append(ids, r.ID)
		}
	}
	spend, changes, err := n.store.RunWork(ctx, n.groupID, ids, maxNightChanges+1)
	if err != nil {
		return err
	}
	byRun := map[string][]reverie.Change{}
	for _, c := range changes {
		byRun[*c.RunID] = append(byRun[*c.RunID], c)
	}
	room := maxNightChanges
	for i := range n.reply.Nights {
		night := &n.reply.Nights[i]
		for j := range night.Runs {
			night.Runs[j].Spend = spend[night.Runs[j].ID]
			night.Changes = append(night.Changes, byRun[night.Runs[j].ID]...)
		}
		slices.SortStableFunc(night.Changes, func(a, b reverie.Change) int { return b.CreatedAt.Compare(a.CreatedAt) })
		if len(night.Changes) > room && i > 0 { // the next page begins with it
			n.reply.More, n.reply.Next, n.reply.Nights = true, n.reply.Nights[i-1].Date, n.reply.Nights[:i]
			return nil
		}
		if len(night.Changes) > room {
			night.Changes, n.reply.Cut = night.Changes[:room], true
		}
		room -= len(night.Changes)
	}
	return nil
}
