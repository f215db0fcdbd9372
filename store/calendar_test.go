package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

func pointer(s string) *string { return &s }

func TestAddGroup(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	check(t, w.AddGroup(ctx, reverie.Group{ID: "new", TimeZone: "Asia/Tokyo", DayBoundary: "04:00", Language: "en"}))
	wantErr(t, w.AddGroup(ctx, reverie.Group{ID: "new", Name: "other"}), reverie.ErrConflict)
	if got := must(w.Group(ctx, "new"))(t); got.Name != "" || got.TimeZone != "Asia/Tokyo" || got.DayBoundary != "04:00" {
		t.Errorf("added %+v", got)
	}
	if got := must(w.Group(ctx, group))(t); got.DayBoundary != "00:00" || got.Past != nil {
		t.Errorf("by default %+v", got)
	}
	wantErr(t, w.AddGroup(ctx, reverie.Group{ID: "x", DayBoundary: "4:00"}), reverie.ErrInvalid)
	wantErr(t, w.AddGroup(ctx, reverie.Group{ID: "x", Language: "fr"}), reverie.ErrInvalid)
	wantErr(t, second(w.EnsureGroup(ctx, reverie.Group{ID: "x", DayBoundary: "24:00"})), reverie.ErrInvalid)
	wantErr(t, second(w.Group(ctx, "x")), reverie.ErrNotFound)
}

// A calendar is kept for the nights that were worked on, and changes once a date.
func TestChangeGroupKeepsCalendars(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	end := time.Date(2026, 1, 15, 16, 0, 0, 0, time.UTC) // of the 15th in Shanghai
	change := func(openUntil time.Time, c reverie.GroupChange) reverie.Group {
		t.Helper()
		got := must(w.ChangeGroup(ctx, group, c, openUntil))(t)
		if diff := cmp.Diff(must(w.Group(ctx, group))(t), got); diff != "" {
			t.Errorf("what is said and what is there (-there +said):\n%s", diff)
		}
		return got
	}
	if g := change(end, reverie.GroupChange{TimeZone: pointer("Asia/Tokyo")}); g.Past != nil || g.TimeZone != "Asia/Tokyo" {
		t.Errorf("a group without a run keeps %+v", g.Past)
	}
	w.chunk("", 1, w.messages(1))
	if g := change(time.Time{}, reverie.GroupChange{Name: pointer("Other"), Language: pointer(""), TimeZone: pointer("Asia/Tokyo")}); g.Past != nil || g.Name != "Other" || g.Language != "" {
		t.Errorf("a new name alone: %+v", g)
	}
	kept := []reverie.PastCalendar{{TimeZone: "Asia/Tokyo", DayBoundary: "00:00", ValidUntil: end}}
	for _, zone := range []string{"America/New_York", "Asia/Kathmandu"} { // changed one's mind on the same date
		g := change(end, reverie.GroupChange{TimeZone: &zone, DayBoundary: pointer("04:00")})
		if diff := cmp.Diff(kept, g.Past); diff != "" || g.TimeZone != zone || g.DayBoundary != "04:00" {
			t.Errorf("%s: %+v, past (-want +got):\n%s", zone, g, diff)
		}
	}
	later := end.AddDate(0, 0, 3)
	kept = append(kept, reverie.PastCalendar{TimeZone: "Asia/Kathmandu", DayBoundary: "04:00", ValidUntil: later})
	if g := change(later, reverie.GroupChange{DayBoundary: pointer("")}); cmp.Diff(kept, g.Past) != "" || g.DayBoundary != "00:00" {
		t.Errorf("midnight again: %+v", g)
	}

	before := must(w.Group(ctx, group))(t)
	wantErr(t, second(w.ChangeGroup(ctx, group, reverie.GroupChange{TimeZone: pointer("UTC")}, time.Time{})), reverie.ErrInvalid)
	for _, bad := range []reverie.GroupChange{{TimeZone: pointer("Mars/Olympus")}, {DayBoundary: pointer("4")}, {Language: pointer("fr")}, {Name: pointer("a\x00")}} {
		bad.Paused = new(bool)
		*bad.Paused = true
		wantErr(t, second(w.ChangeGroup(ctx, group, bad, later)), reverie.ErrInvalid)
	}
	wantErr(t, second(w.ChangeGroup(ctx, "nowhere", reverie.GroupChange{}, later)), reverie.ErrNotFound)
	if diff := cmp.Diff(before, must(w.Group(ctx, group))(t)); diff != "" {
		t.Errorf("a refused change has left (-before +after):\n%s", diff)
	}
}

func TestResumeGroup(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	if g := must(w.PauseGroup(ctx, group))(t); !g.Paused || g.TimeZone != "Asia/Shanghai" {
		t.Errorf("paused %+v", g)
	}
	want := []reverie.Setback{
		must(w.NoteFailure(ctx, group, "dream", "no answer", reverie.ParkRule{After: 9}))(t),
		must(w.NoteFailure(ctx, group, reverie.JobEvolve, "bad answer", reverie.ParkRule{After: 1}))(t),
	}
	w.ensure("g2")
	must(w.NoteFailure(ctx, "g2", reverie.JobEvolve, "bad answer", reverie.ParkRule{After: 1}))(t)
	g, gone, err := w.ResumeGroup(ctx, group)
	check(t, err)
	if diff := cmp.Diff(want, gone); diff != "" || g.Paused || must(w.Group(ctx, group))(t).Paused {
		t.Errorf("resumed %+v, setbacks (-want +got):\n%s", g, diff)
	}
	if _, gone, err = w.ResumeGroup(ctx, group); err != nil || len(gone) != 0 {
		t.Errorf("resumed twice: %+v, %v", gone, err)
	}
	if n := count(t, raw(t), `select count(*) from setbacks where group_id = 'g2'`); n != 1 {
		t.Errorf("another group has %d setbacks", n)
	}
	_, _, err = w.ResumeGroup(ctx, "nowhere")
	wantErr(t, err, reverie.ErrNotFound)
	wantErr(t, second(w.PauseGroup(ctx, "nowhere")), reverie.ErrNotFound)
}

// What a group is told as changed is changed once, whatever reply is lost.
func TestGroupsSurviveALostReply(t *testing.T) {
	for name, f := range map[string]fault{"reply lost": lostReply, "request lost": lostSend} {
		t.Run(name, func(t *testing.T) {
			var n network
			s := pgtest.Open(t, n.options())
			ctx := t.Context()
			n.once("COMMIT", f)
			check(t, s.AddGroup(ctx, reverie.Group{ID: "a"})) // and no conflict with itself
			n.once("COMMIT", f)
			if created := must(s.EnsureGroup(ctx, reverie.Group{ID: "b"}))(t); !created {
				t.Error("the group that was created counts as known")
			}
			n.once("COMMIT", f)
			if created := must(s.EnsureGroup(ctx, reverie.Group{ID: "b"}))(t); created {
				t.Error("the group that was known counts as created")
			}
			want := must(s.NoteFailure(ctx, "a", reverie.JobEvolve, "why", reverie.ParkRule{After: 9}))(t)
			n.once("COMMIT", f)
			_, gone, err := s.ResumeGroup(ctx, "a")
			check(t, err)
			if diff := cmp.Diff([]reverie.Setback{want}, gone); diff != "" {
				t.Errorf("setbacks (-want +got):\n%s", diff)
			}
		})
	}
}
