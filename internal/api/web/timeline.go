package web

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// nightsPerPage is how many nights the timeline shows at once.
const nightsPerPage = 30

// timelineView is what became of a group's memories, night by night.
type timelineView struct {
	Group   reverie.GroupReply
	Changed chart // created, updated and deleted
	Kept    chart
	Nights  []nightView // newest first
	Before  string      // the date that the older nights come before; "" = there are none
	Newest  bool        // the page begins at the newest night
	Cut     bool
}

// nightView is one night: what its runs, and persons, did to memories.
type nightView struct {
	reverie.Night
	Changes                   []changeView
	Created, Updated, Deleted int
	Kept                      int // by the last run of evolve
	Evolved                   bool
	Met, Known                int // people and things that impressions created and updated
}

// nightChanges is how many changes of a night are there at once; who asks sees the rest.
const nightChanges = 10

// First are the changes that are there at once.
func (n nightView) First() []changeView { return n.Changes[:min(len(n.Changes), nightChanges)] }

// Rest are the other ones.
func (n nightView) Rest() []changeView { return n.Changes[len(n.First()):] }

// Nothing tells whether no memory was created, updated, deleted or kept.
func (n nightView) Nothing() bool { return n.Created+n.Updated+n.Deleted+n.Kept == 0 }

// Quiet tells whether nothing came of it that anybody has to look at: no memory, person or
// thing is otherwise than before, and all went well.
func (n nightView) Quiet() bool {
	return n.Created+n.Updated+n.Deleted+n.Met+n.Known+n.Archived+len(n.Changes) == 0 &&
		!slices.ContainsFunc(n.Runs, func(r reverie.RunEntry) bool {
			return r.Status != reverie.RunSucceeded || r.UndoneAt != nil
		})
}

// stretch is nights in a row that are all quiet, or one that is not.
type stretch struct {
	Quiet  bool
	Nights []nightView // newest first
}

// First is the date of the oldest night.
func (s stretch) First() string { return s.Nights[len(s.Nights)-1].Date }

// Last is the date of the newest night.
func (s stretch) Last() string { return s.Nights[0].Date }

// Stretches are the nights, the quiet ones of a row together.
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

// runsNamed is how many runs of one job a night names one by one.
const runsNamed = 3

// nightJob is a job and its runs of a night: those that are named, and how many more
// there are, which all went well.
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

// newNight counts what was done to memories, and apart from them to people and things;
// what was taken back is not among it.
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

// sum says how many memories were created, updated, deleted and kept.
func (n nightView) sum(l lang) string {
	text := l.text("timeline.night", n.Created, n.Updated, n.Deleted)
	if n.Evolved {
		text += l.text("timeline.and_kept", n.Kept)
	}
	return text
}

// draw makes the pictures: a column for each night, the newest on the right. Dates on which
// nothing was done have none.
func (d *timelineView) draw(v *visit) {
	if len(d.Nights) == 0 {
		return
	}
	slots := max(len(d.Nights), nightsPerPage) // few nights are no wide columns
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

// changeView is a change of the log, as the template "change" shows it: what became of a
// statement, why, and by which messages.
type changeView struct {
	reverie.ChangeReply
	GroupID  string
	MemoryID string // the version that it leads to
	RunID    string // of an undo the one that is taken back; "" where the page is the run's own
	ByHand   bool   // by a person
	At       time.Time
	Zone     *time.Location
}

// quotesShown is how many messages a change quotes at once; who asks sees the rest.
const quotesShown = 3

// First is the change with the evidence that is there at once.
func (c changeView) First() changeView {
	c.Evidence = c.Evidence[:min(len(c.Evidence), quotesShown)]
	return c
}

// Rest is the change with the other evidence.
func (c changeView) Rest() changeView {
	c.Evidence = c.Evidence[len(c.First().Evidence):]
	return c
}

// Before is the statement before the change, After the one after it.
func (c changeView) Before() string { return c.OldStatement }

// After is the statement that stands now.
func (c changeView) After() string {
	if c.Action == reverie.ActionCreate {
		return c.Statement
	}
	return c.NewStatement
}

// Reworded tells whether the change is one of words.
func (c changeView) Reworded() bool {
	return c.Before() != "" && c.After() != "" && c.Before() != c.After()
}

// Text is what stands there where nothing is reworded.
func (c changeView) Text() string { return cmp.Or(c.After(), c.Before()) }

// Gone tells whether the statement is no longer one of the group's.
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
	case c.UndoneRunID != nil: // that it takes back
		view.RunID = *c.UndoneRunID
	default:
		view.ByHand = c.Action != reverie.ActionUndo
	}
	return view
}
