package store_test

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"reverie/internal/reverie"
)

func (w *world) edit(id string, a reverie.Action, value float64) (reverie.Memory, error) {
	return w.Edit(w.t.Context(), reverie.Edit{GroupID: group, MemoryID: id, Action: a, Value: value, Reason: "because"})
}

func TestEditDeleteAndRestore(t *testing.T) {
	w := newWorld(t)
	tea := create("likes tea")
	w.apply(tea)
	w.now = noon.Add(time.Hour)
	wantErr(t, second(w.edit(tea.MemoryID, reverie.ActionRestore, 0)), reverie.ErrConflict) // has an active head
	must(w.edit(tea.MemoryID, reverie.ActionWeight, 0.2))(t)
	gone := must(w.edit(tea.MemoryID, reverie.ActionDelete, 0))(t)
	if gone.Status != reverie.StatusDeprecated || gone.ID != tea.MemoryID || len(w.active()) != 0 {
		t.Errorf("deleted %+v", gone)
	}
	for _, a := range []reverie.Action{reverie.ActionDelete, reverie.ActionStrength, reverie.ActionWeight} {
		wantErr(t, second(w.edit(tea.MemoryID, a, 0.5)), reverie.ErrConflict) // not active
	}
	w.now = noon.Add(2 * time.Hour)
	back := must(w.Edit(t.Context(), reverie.Edit{MemoryID: tea.MemoryID, Action: reverie.ActionRestore, Reason: "it is true"}))(t)
	if back.Version != 2 || *back.ParentID != tea.MemoryID || back.Status != reverie.StatusActive || back.ChangeSummary != "it is true" ||
		!back.LastSupportedAt.Equal(w.now) || back.Strength != reverie.EstablishedStrength || back.Weight != reverie.DefaultWeight || back.RunID != nil || back.EmbeddingModel != model || !back.CreatedAt.Equal(noon) {
		t.Errorf("restored %+v", back)
	}
	hits := must(w.Search(t.Context(), reverie.SearchQuery{GroupID: group, Vector: tea.Embedding, Model: model}))(t).Hits
	if len(hits) != 1 || *hits[0].Cosine < 0.99 || hits[0].ID != back.ID {
		t.Errorf("the vector was not restored: %+v", hits)
	}
	var old *reverie.NotHeadError
	if _, err := w.edit(tea.MemoryID, reverie.ActionDelete, 0); !errors.As(err, &old) || old.Head.MemoryID != back.ID || old.Head.Version != 2 {
		t.Errorf("error %v, want one that names the head %s", err, back.ID)
	}
	log := must(w.Changes(t.Context(), group, time.Time{}, time.Time{}, 2))(t)
	if log[0].Action != reverie.ActionRestore || log[0].NewStatement != "likes tea" || log[0].MemoryID != back.ID || *log[0].OldID != tea.MemoryID ||
		log[1].Action != reverie.ActionDelete || log[1].OldStatement != "likes tea" || log[1].NewStatement != "" || log[1].RunID != nil {
		t.Errorf("log %+v", log)
	}
}

func TestRestoreNamesTheTwin(t *testing.T) {
	w := newWorld(t)
	tea := create("likes tea")
	w.apply(tea)
	must(w.edit(tea.MemoryID, reverie.ActionDelete, 0))(t)
	twin := create("likes tea")
	w.apply(twin)
	_, err := w.edit(tea.MemoryID, reverie.ActionRestore, 0)
	wantErr(t, err, reverie.ErrConflict)
	if !strings.Contains(err.Error(), twin.MemoryID) {
		t.Errorf("%v does not name the memory that says the same", err)
	}
}

func TestEditValues(t *testing.T) {
	w := newWorld(t)
	tea := create("likes tea")
	w.apply(tea)
	if m := must(w.edit(tea.MemoryID, reverie.ActionStrength, 0.8))(t); m.Strength != 0.8 || m.Version != 1 {
		t.Errorf("strength: %+v", m)
	}
	if m := must(w.edit(tea.MemoryID, reverie.ActionWeight, 2))(t); m.Weight != 2 || m.Strength != 0.8 {
		t.Errorf("weight: %+v", m)
	}
	log := must(w.Changes(t.Context(), group, time.Time{}, time.Time{}, 2))(t)
	if log[0].Summary != "weight 1.00 -> 2.00: because" || log[1].Summary != "strength 0.30 -> 0.80: because" {
		t.Errorf("log %+v", log)
	}
	for name, e := range map[string]reverie.Edit{
		"above": {Action: reverie.ActionStrength, Value: 1.01}, "below": {Action: reverie.ActionWeight, Value: -0.1},
		"NaN": {Action: reverie.ActionStrength, Value: math.NaN()}, "action": {Action: reverie.ActionCreate},
	} {
		e.GroupID, e.MemoryID = group, tea.MemoryID
		if _, err := w.Edit(t.Context(), e); !errors.Is(err, reverie.ErrInvalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	for _, id := range []string{reverie.NewID(), "no id", ""} {
		wantErr(t, second(w.edit(id, reverie.ActionDelete, 0)), reverie.ErrNotFound)
	}
	w.ensure("g2")
	_, err := w.Edit(t.Context(), reverie.Edit{GroupID: "g2", MemoryID: tea.MemoryID, Action: reverie.ActionDelete})
	wantErr(t, err, reverie.ErrNotFound) // another group's
}

// Many people restore at once: one does, the others are told.
func TestConcurrentEdits(t *testing.T) {
	w := newWorld(t)
	tea := create("likes tea")
	w.apply(tea)
	must(w.edit(tea.MemoryID, reverie.ActionDelete, 0))(t)
	var wg sync.WaitGroup
	errs := make(chan error, 4)
	for range cap(errs) {
		wg.Go(func() { errs <- second(w.edit(tea.MemoryID, reverie.ActionRestore, 0)) })
	}
	wg.Wait()
	close(errs)
	done := 0
	for err := range errs {
		if err == nil {
			done++
		} else if !errors.Is(err, reverie.ErrConflict) {
			t.Error(err)
		}
	}
	if done != 1 {
		t.Errorf("%d restores succeeded, want 1", done)
	}
}

func TestListMemories(t *testing.T) {
	w := newWorld(t)
	for i, statement := range []string{"one", "two", "three"} {
		w.now = noon.Add(time.Duration(i) * time.Hour)
		w.apply(create(statement))
	}
	heads := w.active()
	w.now = noon.Add(5 * time.Hour)
	w.apply(update(heads["one"], "one more"), remove(heads["two"], "gone"))
	for _, tt := range []struct {
		q     reverie.MemoryQuery
		want  string
		total int
	}{
		{reverie.MemoryQuery{Status: reverie.StatusActive}, "one more,three", 2},
		{reverie.MemoryQuery{Status: reverie.StatusDeprecated}, "two", 1},
		{reverie.MemoryQuery{Status: reverie.StatusSuperseded}, "one", 1},
		{reverie.MemoryQuery{}, "one,one more,two,three", 4},
		{reverie.MemoryQuery{Limit: 2, Offset: 1}, "one more,two", 4},
		{reverie.MemoryQuery{Offset: 9}, "", 4},
		{reverie.MemoryQuery{Kind: reverie.KindDream}, "", 0},
		{reverie.MemoryQuery{Status: reverie.StatusArchived}, "", 0},
		{reverie.MemoryQuery{Recorded: true, At: noon.Add(-time.Second)}, "", 0},
		{reverie.MemoryQuery{Recorded: true, At: noon.Add(90 * time.Minute)}, "one,two", 2},
		{reverie.MemoryQuery{Recorded: true, At: noon.Add(5*time.Hour - time.Second), Status: reverie.StatusDeprecated}, "one,two,three", 3},
		{reverie.MemoryQuery{Recorded: true, At: noon.Add(5 * time.Hour)}, "one more,three", 2},
	} {
		tt.q.GroupID = group
		list, total, err := w.ListMemories(t.Context(), tt.q)
		check(t, err)
		var got []string
		for _, m := range list {
			got = append(got, m.Statement)
		}
		if strings.Join(got, ",") != tt.want || total != tt.total {
			t.Errorf("%+v: %v of %d, want %s of %d", tt.q, got, total, tt.want, tt.total)
		}
	}
	_, _, err := w.ListMemories(t.Context(), reverie.MemoryQuery{GroupID: "nowhere"})
	wantErr(t, err, reverie.ErrNotFound)
	head := must(w.LineageHead(t.Context(), group, heads["two"].LineageID))(t)
	if head.Statement != "two" || head.Status != reverie.StatusDeprecated {
		t.Errorf("head %+v", head)
	}
}
