package store_test

import (
	"errors"
	"strings"
	"testing"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
	"reverie/store/teams"
)

// TestShareMemory: a group's memory becomes a team's, with its origin and without its
// words; shared again it is a new version only where it has changed; its deletion is a
// version, too.
func TestShareMemory(t *testing.T) {
	s := pgtest.New(t)
	ctx := t.Context()
	for _, g := range []string{"g1", "g2"} {
		if _, err := s.EnsureGroup(ctx, reverie.Group{ID: g}); err != nil {
			t.Fatal(err)
		}
	}
	made, err := teams.New(s.DB()).PutTeamMemory(ctx, reverie.TeamWrite{Team: "source", Memory: reverie.TeamMemory{ID: reverie.NewID(), Statement: "Tea is at four", Status: reverie.StatusActive, Strength: 0.7}})
	if err != nil {
		t.Fatal(err)
	}
	source := func() reverie.Memory {
		m, err := s.LineageHead(ctx, reverie.TeamGroupID("source"), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	share := func() (reverie.TeamMemory, bool) {
		m, shared, err := teams.New(s.DB()).ShareMemory(ctx, reverie.TeamShare{Team: "crew", Memory: source(), Reason: "for all"})
		if err != nil {
			t.Fatal(err)
		}
		return m, shared
	}
	first, shared := share()
	here, err := teams.New(s.DB()).Deployment(ctx)
	if o := first.Origin; err != nil || !shared || first.Version != 1 || first.Strength != 0.7 || o.MemoryID != made.VersionID || o.LineageID != made.ID || o.Deployment != here {
		t.Errorf("shared is %+v, %v", first, err)
	}
	if again, shared := share(); shared || again.VersionID != first.VersionID {
		t.Errorf("shared again without a change: %+v", again)
	}
	if _, err := teams.New(s.DB()).PutTeamMemory(ctx, reverie.TeamWrite{Team: "source", IfVersion: made.VersionID, Memory: reverie.TeamMemory{ID: made.ID,
		Statement: "Tea is at five", Status: reverie.StatusActive, Strength: 0.7}}); err != nil {
		t.Fatal(err)
	}
	second, shared := share()
	if !shared || second.ID != first.ID || second.Version != 2 || second.Statement != "Tea is at five" {
		t.Errorf("shared after a change: %+v", second)
	}
	gone, err := s.Edit(ctx, reverie.Edit{MemoryID: second.VersionID, Action: reverie.ActionDelete, Reason: "over"})
	if err != nil || gone.Version != 3 || gone.Status != reverie.StatusDeprecated || gone.ID == second.VersionID {
		t.Errorf("deleted it is %+v, %v", gone, err)
	}
	if _, _, err := teams.New(s.DB()).TeamMemoryOf(ctx, "others", first.ID); !errors.Is(err, reverie.ErrNotFound) {
		t.Errorf("of another team: %v", err)
	}
	if m, of, err := teams.New(s.DB()).TeamMemoryOf(ctx, "", first.VersionID); err != nil || of != "crew" || m.VersionID != gone.ID {
		t.Errorf("by an old version: %+v of %q, %v", m, of, err)
	}
	w := reverie.TeamShare{Team: "crew", Memory: source()}
	if _, _, err := teams.New(s.DB()).ShareMemory(ctx, w); !errors.Is(err, reverie.ErrConflict) || !strings.Contains(err.Error(), "was deleted (version 3; it said \"Tea is at five\")") {
		t.Errorf("shared again though the team has deleted it: %v", err)
	}
	back, err := s.Edit(ctx, reverie.Edit{MemoryID: gone.ID, Action: reverie.ActionRestore})
	if err != nil || back.Version != 4 || back.Status != reverie.StatusActive {
		t.Errorf("restored it is %+v, %v", back, err)
	}
	if _, err := teams.New(s.DB()).PutTeamMemory(ctx, reverie.TeamWrite{Team: "source", IfVersion: source().ID, Memory: reverie.TeamMemory{ID: made.ID,
		Statement: "Tea is at six", Status: reverie.StatusActive, Strength: 0.7}}); err != nil {
		t.Fatal(err)
	}
	w.Memory = source()
	if _, _, err := teams.New(s.DB()).ShareMemory(ctx, w); !errors.Is(err, reverie.ErrConflict) || !strings.Contains(err.Error(), `now says "Tea is at five" (version 4)`) {
		t.Errorf("shared over what the team has written: %v", err)
	}
	w.Overwrite = true
	if m, shared, err := teams.New(s.DB()).ShareMemory(ctx, w); err != nil || !shared || m.Version != 5 || m.Statement != "Tea is at six" {
		t.Errorf("shared over it by force: %+v, %v", m, err)
	}
}
