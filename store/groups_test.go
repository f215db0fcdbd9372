package store_test

import (
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
)

func TestGroupsByID(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	check(t, w.AddGroup(ctx, reverie.Group{ID: "other", TimeZone: "Asia/Tokyo"}))
	w.chunk("", 1, w.messages(1)) // a group that had a run keeps its calendar
	end := time.Date(2026, 1, 15, 16, 0, 0, 0, time.UTC)
	must(w.ChangeGroup(ctx, group, reverie.GroupChange{DayBoundary: pointer("04:00")}, end))(t)
	got := must(w.Groups(ctx, []string{"other", group, "nobody"}))(t)
	if len(got) != 2 || got["other"].TimeZone != "Asia/Tokyo" || got["other"].Past != nil {
		t.Errorf("groups are %+v", got)
	}
	if past := got[group].Past; len(past) != 1 || !past[0].ValidUntil.Equal(end) || got[group].DayBoundary != "04:00" {
		t.Errorf("the changed group is %+v", got[group])
	}
	alone := must(w.Group(ctx, group))(t)
	if one := must(w.Groups(ctx, []string{group}))(t)[group]; one.ID != alone.ID || !slices.Equal(one.Past, alone.Past) {
		t.Errorf("it is %+v, by itself %+v", one, alone)
	}
	if none := must(w.Groups(ctx, nil))(t); len(none) != 0 {
		t.Errorf("nobody asked for %+v", none)
	}
}

// Whether people and things are followed is kept with the group, and read
// wherever a group is.
func TestGroupImpressions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	check(t, w.AddGroup(ctx, reverie.Group{ID: "on", Impressions: "on"}))
	wantErr(t, w.AddGroup(ctx, reverie.Group{ID: "x", Impressions: "yes"}), reverie.ErrInvalid)
	wantErr(t, second(w.ChangeGroup(ctx, group, reverie.GroupChange{Impressions: pointer("true")}, time.Time{})), reverie.ErrInvalid)
	for _, want := range []string{"off", "on", ""} {
		g := must(w.ChangeGroup(ctx, group, reverie.GroupChange{Impressions: &want}, time.Time{}))(t)
		list := must(w.GroupList(ctx, reverie.GroupQuery{}))(t)
		if g.Impressions != want || list[0].Impressions != want || list[1].Impressions != "on" {
			t.Errorf("set to %q: %+v, listed %+v", want, g, list)
		}
	}
	must(w.ChangeGroup(ctx, group, reverie.GroupChange{Impressions: pointer("on")}, time.Time{}))(t)
	if g := must(w.PauseGroup(ctx, group))(t); g.Impressions != "on" {
		t.Errorf("a pause has changed it to %q", g.Impressions)
	}
	if g := must(w.Groups(ctx, []string{group}))(t)[group]; g.Impressions != "on" {
		t.Errorf("by id it is %q", g.Impressions)
	}
}
