package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
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
	m, err := w.PutTeamMemory(w.t.Context(), tw)
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
	m, err := w.PutTeamMemory(ctx, first)
	check(t, err)
	want := first.Memory
	want.VersionID, want.Version, want.UpdatedAt = m.VersionID, 1, noon
	if diff := cmp.Diff(want, m); diff != "" || m.Version != 1 || !reverie.IsTeamID(m.VersionID) {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	var moved *reverie.TeamHeadError
	for name, tw := range map[string]reverie.TeamWrite{"again": first, "on an old version": teamWrite(id, "x", reverie.NewID())} {
		_, err := w.PutTeamMemory(ctx, tw)
		wantErr(t, err, reverie.ErrConflict)
		if !errors.As(err, &moved) || !cmp.Equal(&m, moved.Head) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = w.PutTeamMemory(ctx, teamWrite(reverie.NewID(), "x", m.VersionID))
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

// What another tenant has is nobody else's: an id in use cannot be taken, and nothing is
// read or written across.
func TestTeamMemoriesOfOthers(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.apply(create("小明 likes tea"))
	chat := w.active()["小明 likes tea"]
	m := w.put(teamWrite(reverie.NewID(), "Ours alone", ""))
	other := teamWrite(m.ID, "Theirs now", "")
	other.Team = "boreas"
	inUse := []reverie.TeamWrite{other, teamWrite(chat.LineageID, "x", ""), teamWrite(chat.ID, "x", ""), teamWrite(m.VersionID, "x", "")}
	for _, tw := range inUse {
		_, err := w.PutTeamMemory(ctx, tw)
		wantErr(t, err, reverie.ErrConflict)
	}
	other.IfVersion = m.VersionID
	var moved *reverie.TeamHeadError
	if _, err := w.PutTeamMemory(ctx, other); !errors.As(err, &moved) || moved.Head != nil {
		t.Errorf("a head across teams: %v", err)
	}
	for _, tenant := range []string{group, reverie.TeamGroupID("boreas")} {
		_, err := w.TeamMemory(ctx, tenant, m.ID)
		wantErr(t, err, reverie.ErrNotFound)
	}
	list := must(w.TeamMemories(ctx, group, "", 10))(t) // of a chat there are none
	_, err := w.TeamMemories(ctx, reverie.TeamGroupID("nobody"), "", 10)
	wantErr(t, err, reverie.ErrNotFound)
	if n := count(t, raw(t), `select count(*) from memories where group_id in ('g1', 'team:atlas', 'team:boreas')`); n != 2 || len(list) != 0 {
		t.Errorf("%d memories, %d of the chat's listed", n, len(list))
	}
	if _, err := w.PutTeamMemory(ctx, teamWrite(reverie.NewID(), "ours  alone!", "")); !errors.Is(err, reverie.ErrConflict) || !strings.Contains(err.Error(), m.ID) {
		t.Errorf("a twin: %v", err)
	}
}

// Of many who write on top of the same version one is heard, and the others are told of
// what it wrote; of many with one key all are, and it is written once.
func TestTeamWritesAtOnce(t *testing.T) {
	w := newWorld(t)
	m := w.put(teamWrite(reverie.NewID(), "Nobody has changed this", ""))
	for key, want := range map[string]int{"": 1, "k1": 5} {
		writes := make(chan error)
		head := must(w.TeamMemory(t.Context(), reverie.TeamGroupID(team), m.ID))(t)
		one := teamWrite(m.ID, "Changed under the key "+key, head.VersionID)
		one.RequestKey, one.BodySHA256 = key, "x"
		for range 5 {
			go func() {
				_, err := w.PutTeamMemory(t.Context(), one)
				writes <- err
			}()
		}
		won := 0
		for range 5 {
			var moved *reverie.TeamHeadError
			if err := <-writes; err == nil {
				won++
			} else if !errors.As(err, &moved) || moved.Head.Version != head.Version+1 {
				t.Errorf("key %q: %v", key, err)
			}
		}
		if after := must(w.TeamMemory(t.Context(), reverie.TeamGroupID(team), m.ID))(t); won != want || after.Version != head.Version+1 {
			t.Errorf("key %q: %d won, and it is %+v", key, won, after)
		}
	}
	again := teamWrite(m.ID, "Something else", "")
	again.RequestKey, again.BodySHA256 = "k1", "y"
	_, err := w.PutTeamMemory(t.Context(), again)
	wantErr(t, err, reverie.ErrKeyReused)
	w.now = w.now.Add(8 * 24 * time.Hour) // the key is free again, once another was kept
	next := teamWrite(reverie.NewID(), "Later on", "")
	next.RequestKey = "k2"
	w.put(next)
	if n := count(t, raw(t), `select count(*) from team_requests`); n != 1 {
		t.Errorf("%d answers are kept", n)
	}
}

// Quotes are kept where they may be, and told to who asks for them.
func TestTeamEvidence(t *testing.T) {
	w := newWorld(t)
	tw := teamWrite(reverie.NewID(), "The team drinks tea", "")
	tw.Memory.Evidence = []reverie.Evidence{{MessageID: "m1", AuthorID: "u1", Author: "Lin", Quote: "tea, please", SentAt: noon, LocalDate: "2026-01-15"}}
	without := w.put(tw)
	tw.Quotes, tw.IfVersion, tw.Memory.Statement = true, without.VersionID, "The team drinks green tea"
	with := w.put(tw)
	list := must(w.TeamMemories(t.Context(), reverie.TeamGroupID(team), "", 10))(t)
	if list[0].Evidence != nil || without.Evidence != nil {
		t.Errorf("told unasked: %+v", list[0].Evidence)
	}
	check(t, w.TeamEvidence(t.Context(), reverie.TeamGroupID(team), list))
	if diff := cmp.Diff(tw.Memory.Evidence, list[0].Evidence); diff != "" || !cmp.Equal(with.Evidence, list[0].Evidence) {
		t.Error(diff)
	}
	if n := count(t, raw(t), `select count(*) from memory_evidence`); n != 1 {
		t.Errorf("%d quotes are kept", n)
	}
	check(t, w.TeamEvidence(t.Context(), group, list))
	if list[0].Evidence != nil {
		t.Error("another group is told")
	}
}

// Nothing nightly happens in a team, and no chat is one.
func TestTeamHasNoNights(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.put(teamWrite(reverie.NewID(), "The team drinks tea", ""))
	tenant := reverie.TeamGroupID(team)
	_, err := w.ImportMessages(ctx, tenant, []reverie.Message{{ID: "m1", Author: "Lin", Text: "hi", SentAt: noon}})
	wantErr(t, err, reverie.ErrInvalid)
	lease := must(w.AcquireLease(ctx, tenant, reverie.LeaseGroup, "host:1:b", time.Minute))(t)
	for _, job := range []reverie.Job{reverie.JobEvolve, reverie.JobDream, reverie.JobExtract, reverie.JobImpression} {
		_, err := w.StartRun(ctx, lease, reverie.Run{Job: job, WindowSince: noon, WindowUntil: noon})
		wantErr(t, err, reverie.ErrInvalid)
	}
	must(w.StartRun(ctx, lease, reverie.Run{Job: reverie.JobMaintain, WindowSince: noon, WindowUntil: noon}))(t)
	_, err = w.CleanList(ctx, reverie.CleanQuery{GroupID: tenant, Below: 1})
	wantErr(t, err, reverie.ErrInvalid)
	_, err = w.AddTeam(ctx, "a b")
	wantErr(t, err, reverie.ErrInvalid)
	_, err = w.EnsureGroup(ctx, reverie.Group{ID: "team:boreas"})
	wantErr(t, err, reverie.ErrInvalid)
}
