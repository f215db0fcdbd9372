package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie"
)

const team = "atlas"

// teamWrite is a write of a statement by another deployment.
func teamWrite(id, statement, ifVersion string) reverie.TeamWrite {
	return reverie.TeamWrite{Team: team, IfVersion: ifVersion, Memory: reverie.TeamMemory{ID: id, Statement: statement, Status: reverie.StatusActive,
		Tags: []string{"tea"}, Strength: 0.7, ChangeReason: "said so", CreatedAt: noon.Add(-time.Hour), UpdatedAt: noon.Add(-time.Minute),
		Origin:   reverie.Origin{Deployment: "berlin", MemoryID: reverie.NewID(), LineageID: reverie.NewID(), Version: 3, Job: reverie.JobEvolve, Messages: 4, MadeAt: noon.Add(-time.Minute)},
		Versions: []reverie.TeamVersion{}}}
}

func (w *world) put(tw reverie.TeamWrite) reverie.TeamMemory {
	w.t.Helper()
	m, _, err := w.PutTeamMemory(w.t.Context(), tw)
	check(w.t, err)
	return m
}

// A memory goes through its life: every state is a version of its own, its provenance
// goes along, and a write that rests on another version is told of the head.
func TestTeamMemoryLife(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	id := reverie.NewID()
	first := teamWrite(id, "The team drinks tea", "")
	first.Memory.Versions = []reverie.TeamVersion{{VersionID: reverie.NewID(), Version: 2, Deployment: "berlin", UpdatedAt: noon.Add(-time.Hour)}}
	m, created, err := w.PutTeamMemory(ctx, first)
	check(t, err)
	want := first.Memory
	want.VersionID, want.Version, want.UpdatedAt = m.VersionID, 1, noon
	if diff := cmp.Diff(want, m); diff != "" || !created || !reverie.IsTeamID(m.VersionID) {
		t.Errorf("created %v (-want +got):\n%s", created, diff)
	}
	var moved *reverie.TeamHeadError
	for name, tw := range map[string]reverie.TeamWrite{"again": first, "on an old version": teamWrite(id, "x", reverie.NewID())} {
		_, _, err := w.PutTeamMemory(ctx, tw)
		wantErr(t, err, reverie.ErrConflict)
		if !errors.As(err, &moved) || !cmp.Equal(&m, moved.Head) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err = w.PutTeamMemory(ctx, teamWrite(reverie.NewID(), "x", m.VersionID))
	if !errors.As(err, &moved) || moved.Head != nil {
		t.Errorf("a change of nothing: %v", err)
	}

	w.now = w.now.Add(time.Hour)
	second := teamWrite(id, "The team drinks coffee", m.VersionID)
	second.Memory.Versions = append(first.Memory.Versions, reverie.TeamVersion{VersionID: first.Memory.Origin.MemoryID, Version: 3, Deployment: "berlin", UpdatedAt: noon})
	m2 := w.put(second)
	if m2.Version != 2 || len(m2.Versions) != 2 || m2.Versions[1].VersionID != first.Memory.Origin.MemoryID || !m2.CreatedAt.Equal(first.Memory.CreatedAt) {
		t.Errorf("changed: %+v", m2)
	}
	gone := teamWrite(id, "The team drinks coffee", m2.VersionID)
	gone.Memory.Status = reverie.StatusDeprecated
	m3 := w.put(gone)
	back := w.put(teamWrite(id, "The team drinks coffee", m3.VersionID))
	if m3.Status != reverie.StatusDeprecated || back.Status != reverie.StatusActive || back.Version != 4 {
		t.Errorf("deleted: %+v, back: %+v", m3, back)
	}
	var actions []reverie.Action
	for _, c := range must(w.Changes(ctx, reverie.TeamGroupID(team), time.Time{}, time.Time{}, 0))(t) {
		actions = append([]reverie.Action{c.Action}, actions...)
	}
	if diff := cmp.Diff([]reverie.Action{"create", "update", "delete", "restore"}, actions); diff != "" {
		t.Error(diff)
	}
	list := must(w.TeamMemories(ctx, reverie.TeamGroupID(team), "", 10))(t)
	if diff := cmp.Diff([]reverie.TeamMemory{back}, list); diff != "" {
		t.Error(diff)
	}
}
