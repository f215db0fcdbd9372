package web

import (
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// TestTimelineColumns draws a column for each night, the newest on the right.
func TestTimelineColumns(t *testing.T) {
	d := timelineView{Nights: []nightView{{Night: reverie.Night{Date: "2026-06-01"}, Created: 1}, {Night: reverie.Night{Date: "2026-01-02"}}}}
	d.draw(&visit{lang: english})
	columns := d.Changed.Columns
	if len(columns) != nightsPerPage || columns[nightsPerPage-1].URL != "#n2026-06-01" || columns[nightsPerPage-2].URL != "#n2026-01-02" ||
		len(columns[nightsPerPage-1].Bars) != 1 || columns[0].URL != "" {
		t.Errorf("%+v", d.Changed)
	}
}

// TestStretches folds nights in a row of which nothing came.
func TestStretches(t *testing.T) {
	quiet := nightView{Kept: 9, Evolved: true, Night: reverie.Night{Runs: []reverie.RunEntry{{Run: reverie.Run{Status: reverie.RunSucceeded}}}}}
	failed := nightView{Night: reverie.Night{Runs: []reverie.RunEntry{{Run: reverie.Run{Status: reverie.RunFailed}}}}}
	loud := []nightView{failed, {Created: 1}, {Updated: 1}, {Deleted: 1}, {Met: 1}, {Known: 1}, {Night: reverie.Night{Archived: 1}}, {Changes: make([]changeView, 1)}}
	var sizes []int
	for _, s := range (timelineView{Nights: append(append([]nightView{quiet, quiet}, loud...), quiet)}).Stretches() {
		if sizes = append(sizes, len(s.Nights)); !s.Quiet {
			sizes[len(sizes)-1] *= -1
		}
	}
	if want := []int{2, -1, -1, -1, -1, -1, -1, -1, -1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("%v, want %v", sizes, want)
	}
}

// TestNewNight counts people apart from memories, and folds what is much.
func TestNewNight(t *testing.T) {
	undone := time.Now()
	run := func(job reverie.Job, created int, undoneAt *time.Time) reverie.RunEntry {
		return reverie.RunEntry{Run: reverie.Run{Job: job, Stats: reverie.Stats{Created: created}, UndoneAt: undoneAt}}
	}
	n := newNight(reverie.Night{Runs: []reverie.RunEntry{run(reverie.JobImpression, 2, nil), run(reverie.JobImpression, 3, &undone)}}, "g", time.UTC)
	if !n.Nothing() || n.Met != 2 || n.Known != 0 || len(n.First())+len(n.Rest()) != 0 {
		t.Errorf("of people alone: %+v", n)
	}
	n = newNight(reverie.Night{Changes: make([]reverie.Change, nightChanges+2)}, "g", time.UTC)
	if len(n.First()) != nightChanges || len(n.Rest()) != 2 {
		t.Errorf("%d changes at once, and %d more", len(n.First()), len(n.Rest()))
	}
	c := changeView{ChangeReply: reverie.ChangeReply{Evidence: make([]reverie.EvidenceReply, quotesShown+9)}}
	if len(c.First().Evidence) != quotesShown || len(c.Rest().Evidence) != 9 || len(c.Evidence) != quotesShown+9 {
		t.Errorf("%d quotes at once, and %d more", len(c.First().Evidence), len(c.Rest().Evidence))
	}
}
