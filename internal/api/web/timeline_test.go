package web

import (
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// TestDatesOfNights has a picture show every date of a short time, and tell where it
// leaves out some of a long one.
func TestDatesOfNights(t *testing.T) {
	nights := func(dates ...string) (list []nightView) {
		for _, date := range dates {
			list = append(list, nightView{Night: reverie.Night{Date: date}})
		}
		return list
	}
	if got := datesOfNights(nights("2026-03-02", "2026-03-01", "2026-01-10")); len(got) != 52 || got[0] != "2026-01-10" || slices.Contains(got, "") {
		t.Errorf("of a short time: %q", got)
	}
	got := datesOfNights(nights("2026-06-03", "2026-06-01", "2026-01-02", "2026-01-01"))
	if want := []string{"2026-01-01", "2026-01-02", "", "2026-06-01", "", "2026-06-03"}; !slices.Equal(got, want) {
		t.Errorf("of a long time: %q", got)
	}
	d := timelineView{Nights: nights("2026-06-01", "2026-01-02")}
	d.draw(&visit{lang: english})
	if gap := d.Changed.Columns[1]; !d.Gaps || len(d.Changed.Columns) != 3 || len(gap.Bars) != 1 || gap.Title != "between 2026-01-02 and 2026-06-01 nothing was done" {
		t.Errorf("%+v", d.Changed)
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
