package web

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// nightsPerPage is the number of nights on a page.
const nightsPerPage = 30

// timelineView is the history of a group's memories, night by night.
type timelineView struct {
	Group   reverie.GroupReply
	Changed chart // created, updated and deleted
	Kept    chart
	Nights  []nightView // newest first
	Before  string      // the older nights are before this date; "" = none
	Newest  bool        // the page begins at the newest night
	Cut     bool
}

// nightView is the effects of one night's runs and edits on memories.
type nightView struct {
	reverie.Night
	Changes                   []changeView
	Created, Updated, Deleted int
	Kept                      int // by the last run of evolve
	Evolved                   bool
	Met, Known                int // entities that impressions created and updated
}

// nightChanges is the number of changes of a night that are shown at once; the rest can be unfolded.
const nightChanges = 10

// First returns the changes shown at once.
func (n nightView) First() []changeView { return n.Changes[:min(len(n.Changes), nightChanges)] }

// Rest returns the other changes.
func (n nightView) Rest() []changeView { return n.Changes[len(n.First()):] }

// Nothing reports whether no memory was created, updated, deleted or kept.
func (n nightView) Nothing() bool { return n.Created+n.Updated+n.Deleted+n.Kept == 0 }

// Quiet reports whether the night needs no attention: no memory or entity changed, and all runs succeeded.
func (n nightView) Quiet() bool {
	return n.Created+n.Updated+n.Deleted+n.Met+n.Known+n.Archived+len(n.Changes) == 0 &&
		!slices.ContainsFunc(n.Runs, func(r reverie.RunEntry) bool {
			return r.Status != reverie.RunSucceeded || r.UndoneAt != nil
		})
}

// stretch is consecutive quiet nights, or one other night.
type stretch struct {
	Quiet  bool
	Nights []nightView // newest first
}

// First returns the date of the oldest night.
func (s stretch) First() string { return s.Nights[len(s.Nights)-1].Date }

// Last returns the date of the newest night.
func (s stretch) Last() string { return s.Nights[0].Date }

// Stretches groups consecutive quiet nights.
func (d timelineView) Stretches() (list []stretch) {
	for _, n := range d.Nights {
		if last := len(list) - 1; n.Quiet() && last >= 0 && list[last].Quiet {
			list[last].Nights = append(list[last].Nights, n)
			continue
		}
		list = append(list, stretch{n.Quiet(), []nightView{n}})
	}
	return list
}

// runsNamed is the maximum number of runs of one job that a night lists.
const runsNamed = 3

// nightJob is a job and its runs of a night: the listed ones, and the number of others, which all succeeded.
type nightJob struct {
	Job   reverie.Job
	Named []reverie.RunEntry
	More  int
}

// Jobs sorts the runs of a night by job, in the order in which each job came first. Of
// many runs of one job, as of the sessions of a day, only those are named that did not
// go well.
func (n nightView) Jobs() []nightJob {
	var list []nightJob
	for _, r := range n.Runs {
		i := slices.IndexFunc(list, func(j nightJob) bool { return j.Job == r.Job })
		if i < 0 {
			i = len(list)
			list = append(list, nightJob{Job: r.Job})
		}
		list[i].Named = append(list[i].Named, r)
	}
	for i, j := range list {
		if len(j.Named) <= runsNamed {
			continue
		}
		list[i].Named = slices.DeleteFunc(slices.Clone(j.Named), func(r reverie.RunEntry) bool {
			return r.Status == reverie.RunSucceeded && r.UndoneAt == nil
		})
		list[i].More = len(j.Named) - len(list[i].Named)
	}
	return list
}

// newNight counts the changes to memories and, separately, to entities. Undone changes do not count.
func newNight(n reverie.Night, groupID string, zone *time.Location) nightView {
	night := nightView{Night: n}
	for _, r := range n.Runs { // newest first
		if r.UndoneAt != nil {
			continue
		}
		if r.Job == reverie.JobImpression {
			night.Met += r.Stats.Created
			night.Known += r.Stats.Updated
			continue
		}
		night.Created += r.Stats.Created
		night.Updated += r.Stats.Updated
		night.Deleted += r.Stats.Deleted
		if r.Job == reverie.JobEvolve && !night.Evolved {
			night.Kept, night.Evolved = r.Stats.Kept, true
		}
	}
	for _, c := range n.Changes {
		change := loggedChange(c, groupID, zone)
		night.Changes = append(night.Changes, change)
		if change.ByHand && c.Action == reverie.ActionDelete {
			night.Deleted++
		}
		if change.ByHand && c.Action == reverie.ActionRestore {
			night.Created++
		}
	}
	return night
}

func (s *site) timelinePage(v *visit) (any, error) {
	before := v.URL.Query().Get("before")
	reply, err := s.Nights(v.Context(), v.Group.ID, before, nightsPerPage)
	if err != nil {
		return nil, err
	}
	d := timelineView{Group: *v.Group, Newest: before == "", Cut: reply.Cut}
	for _, n := range reply.Nights {
		d.Nights = append(d.Nights, newNight(n, v.Group.ID, v.Zone()))
	}
	if reply.More {
		d.Before = reply.Next
	}
	d.draw(v)
	return d, nil
}

// sum describes how many memories were created, updated, deleted and kept.
func (n nightView) sum(l lang) string {
	text := l.text("timeline.night", n.Created, n.Updated, n.Deleted)
	if n.Evolved {
		text += l.text("timeline.and_kept", n.Kept)
	}
	return text
}

// draw draws the pictures: a column for each night, newest on the right. Dates without changes have no column.
func (d *timelineView) draw(v *visit) {
	if len(d.Nights) == 0 {
		return
	}
	slots := max(len(d.Nights), nightsPerPage) // few nights do not make wide columns
	changed, kept := make([]column, slots), make([]column, slots)
	for i, n := range d.Nights {
		at, title := slots-1-i, fmt.Sprintf("%s: %s", n.Date, n.sum(v.lang))
		changed[at] = column{Title: title, URL: nightURL(n.Date),
			Up:   []part{{"bar-created", float64(n.Created)}, {"bar-updated", float64(n.Updated)}},
			Down: []part{{"bar-deleted", float64(n.Deleted)}}}
		kept[at] = column{Title: title, URL: nightURL(n.Date), Up: []part{{"bar-kept", float64(n.Kept)}}}
	}
	first, last := d.Nights[len(d.Nights)-1].Date, d.Nights[0].Date
	whole := func(n float64) string { return text.Grouped(int(n)) }
	d.Changed = newChart("changed", v.t("timeline.changed"), v.t("timeline.desc", first, last), changed, whole)
	d.Kept = newChart("kept", v.t("timeline.kept"), v.t("timeline.desc", first, last), kept, whole)
	if d.Kept.Low, d.Kept.Last = true, last; len(d.Nights) == slots {
		d.Kept.First = first
	}
}

// changeView is a change of the log for the template "change": the statement, the reason, and the evidence.
type changeView struct {
	reverie.ChangeReply
	GroupID  string
	MemoryID string // the version to link to
	RunID    string // for an undo, the undone run; "" on the run's own page
	ByHand   bool   // by a person
	At       time.Time
	Zone     *time.Location
}

// quotesShown is the number of messages that a change quotes at once; the rest can be unfolded.
const quotesShown = 3

// First returns the change with the evidence shown at once.
func (c changeView) First() changeView {
	c.Evidence = c.Evidence[:min(len(c.Evidence), quotesShown)]
	return c
}

// Rest returns the change with the other evidence.
func (c changeView) Rest() changeView {
	c.Evidence = c.Evidence[len(c.First().Evidence):]
	return c
}

// Before returns the statement before the change.
func (c changeView) Before() string { return c.OldStatement }

// After returns the statement after the change.
func (c changeView) After() string {
	if c.Action == reverie.ActionCreate {
		return c.Statement
	}
	return c.NewStatement
}

// Reworded reports whether the change altered the statement.
func (c changeView) Reworded() bool {
	return c.Before() != "" && c.After() != "" && c.Before() != c.After()
}

// Text returns the statement of a change that did not alter it.
func (c changeView) Text() string { return cmp.Or(c.After(), c.Before()) }

// Gone reports whether the change ended the memory.
func (c changeView) Gone() bool { return c.After() == "" && c.Before() != "" }

// newChange shows a change of a group.
func newChange(groupID string, c reverie.ChangeReply, zone *time.Location) changeView {
	return changeView{ChangeReply: c, GroupID: groupID, MemoryID: cmp.Or(c.NewID, c.OldID), Zone: zone}
}

// loggedChange shows a row of the change log.
func loggedChange(c reverie.Change, groupID string, zone *time.Location) changeView {
	view := newChange(groupID, c.Reply(), zone)
	view.MemoryID, view.At = c.MemoryID, c.CreatedAt
	switch {
	case c.RunID != nil:
		view.RunID = *c.RunID
	case c.UndoneRunID != nil: // the undone run
		view.RunID = *c.UndoneRunID
	default:
		view.ByHand = c.Action != reverie.ActionUndo
	}
	return view
}
