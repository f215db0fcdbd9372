package team_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/erase"
	"reverie/store/teams"
)

// remember has a group remember what somebody has said there.
func (d *deployment) remember(group, author, name, s string) reverie.Memory {
	d.t.Helper()
	ctx, at := d.t.Context(), time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	said := reverie.Message{ID: reverie.NewID(), AuthorID: author, Author: name, Role: reverie.RoleUser, Text: s, SentAt: at}
	step := reverie.Step{Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(), Statement: s, ContentHash: text.ContentHash(s),
		Tags: []string{}, Strength: reverie.TentativeStrength, LastSupportedAt: at,
		Evidence: []reverie.Evidence{{MessageID: said.ID, AuthorID: author, Author: name, Quote: s, SentAt: at, LocalDate: at.Format(time.DateOnly)}}}
	_, err := d.store.ImportMessages(ctx, group, []reverie.Message{said})
	lease, err2 := d.store.AcquireLease(ctx, group, reverie.LeaseGroup, "test", time.Minute)
	run, err3 := d.store.StartRun(ctx, lease, reverie.Run{Job: reverie.JobEvolve, WindowSince: at, WindowUntil: at})
	err4 := d.store.SaveChunk(ctx, lease, reverie.Chunk{RunID: run.ID, No: 1, Status: reverie.ChunkAnswered, MessageIDs: []string{said.ID}})
	_, err5 := d.store.Apply(ctx, lease, reverie.Plan{GroupID: group, RunID: run.ID, ChunkNo: 1, Kind: reverie.KindGroup, Steps: []reverie.Step{step},
		Outcomes: map[string]reverie.Outcome{said.ID: reverie.OutcomeCited}})
	run.Status = reverie.RunSucceeded
	_, err6 := d.store.FinishRun(ctx, lease, run)
	m, err7 := d.store.LineageHead(ctx, group, step.LineageID)
	if err := errors.Join(err, err2, err3, err4, err5, err6, err7, d.store.ReleaseLease(ctx, lease)); err != nil {
		d.t.Fatal(err)
	}
	return m
}

// version asks over HTTP which version of a memory is the newest.
func (d *deployment) version(id string) string {
	d.t.Helper()
	r, _ := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.web.URL+"/v1/team/memories/"+id, nil)
	r.Header.Set("Authorization", "Bearer "+d.token)
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	_ = reply.Body.Close()
	return strings.Trim(reply.Header.Get("ETag"), `"`)
}

// erased: what an erasure ends at the hub ends with a pull here, and does not come back by
// a push of what was made of the version before; what only names the author is taken over
// without the name.
func erased(t *testing.T, hub, spoke *deployment) {
	if _, err := hub.store.EnsureGroup(t.Context(), reverie.Group{ID: "g1"}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, said := range [][3]string{{"u1000", "Wojciechowska", "Wojciechowska is allergic to peanuts"}, {"u1000", "Wojciechowska", "Wojciechowska has a cat"}, {"u2000", "Ann", "The team meets with Wojciechowska on Fridays"}} {
		shared, _, err := teams.New(hub.store.DB()).ShareMemory(t.Context(), reverie.TeamShare{Team: crew, Memory: hub.remember("g1", said[0], said[1], said[2])})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, shared.ID)
	}
	other := hub.say("The bus leaves at ten")
	before := map[string]string{}
	for _, id := range append(ids, other) {
		before[id] = hub.head(id).VersionID
	}
	spoke.pull(hub)
	spoke.edit(ids[1], "Wojciechowska has two cats")

	lease, err := hub.store.AcquireLease(t.Context(), "g1", reverie.LeaseGroup, "test", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := erase.New(hub.store.DB()).Erase(t.Context(), lease, reverie.EraseQuery{GroupID: "g1", AuthorID: "u1000"}); err != nil || got.Team != 2 {
		t.Fatalf("erased %+v, %v", got, err)
	}
	for _, id := range append(ids, other) {
		if got := hub.version(id); got == "" || (got == before[id]) != (id == other) {
			t.Errorf("the version of %s is %q, and was %q", id, got, before[id])
		}
	}
	if r := spoke.push(hub); done(r) != 0 || !slices.ContainsFunc(items(r, reverie.TeamConflicting), func(c reverie.TeamItem) bool { return c.ID == ids[1] }) || hub.said()[ids[1]] != "" {
		t.Errorf("pushed on top of what was erased: %+v", r)
	}
	if r := spoke.pull(hub); done(r) != 2 {
		t.Errorf("pulled %+v", r)
	}
	if said := spoke.said(); said[ids[0]] != "" || said[ids[2]] != "The team meets with [erased] on Fridays" || said[other] == "" {
		t.Errorf("the spoke says %v", said)
	}
}
