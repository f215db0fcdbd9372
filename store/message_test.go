package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

func TestImportIsIdempotent(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	at := time.Date(2026, 1, 15, 20, 30, 0, 123456789, time.FixedZone("", 8*3600))
	list := []reverie.Message{
		{ID: "b", Author: "小明", Text: `quotes " and \ and , {braces}` + "\n", SentAt: at, SessionID: "s", ReplyTo: "a"},
		{ID: "a", Author: "Bob", Text: "", SentAt: at}, // same instant: order of arrival decides
		{ID: "b", Author: "other", Text: "the same id again", SentAt: at},
	}
	if got := must(w.ImportMessages(ctx, group, list))(t); !cmp.Equal(got, reverie.ImportResult{New: 2, Known: 1}) {
		t.Errorf("first import %+v", got)
	}
	if got := must(w.ImportMessages(ctx, group, list))(t); !cmp.Equal(got, reverie.ImportResult{Known: 3}) {
		t.Errorf("second import %+v", got)
	}
	want := []reverie.Message{
		{GroupID: group, ID: "b", AuthorID: "小明", Author: "小明", Role: reverie.RoleUser, Text: list[0].Text,
			SentAt: time.Date(2026, 1, 15, 12, 30, 0, 123456000, time.UTC), SessionID: "s", ReplyTo: "a"},
		{GroupID: group, ID: "a", AuthorID: "Bob", Author: "Bob", Role: reverie.RoleUser, SentAt: time.Date(2026, 1, 15, 12, 30, 0, 123456000, time.UTC),
			SessionID: "cut-20260115T123000Z-7faf184f"},
	}
	state := must(w.Gather(ctx, reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, Limit: 10}))(t)
	if diff := cmp.Diff(want, state.Pending); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	wantErr(t, second(w.ImportMessages(ctx, "nowhere", list)), reverie.ErrNotFound)
	wantErr(t, second(w.ImportMessages(ctx, group, []reverie.Message{{ID: "c", Author: "x", SentAt: at}, {ID: "", SentAt: at}})), reverie.ErrInvalid)
	wantErr(t, second(w.ImportMessages(ctx, group, make([]reverie.Message, 1001))), reverie.ErrInvalid)
	if n := must(w.MessageCounts(ctx, group))(t).Pending; n != 2 {
		t.Errorf("%d pending, want 2", n)
	}
}

// Importers of the same messages in opposite orders do not stop each other.
func TestConcurrentImports(t *testing.T) {
	w := newWorld(t)
	var up, down []reverie.Message
	for i := range 400 {
		up = append(up, reverie.Message{ID: fmt.Sprintf("x%03d", i), Author: "a", SentAt: noon})
		down = append(down, reverie.Message{ID: fmt.Sprintf("x%03d", 399-i), Author: "a", SentAt: noon})
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for _, list := range [][]reverie.Message{up, down, up} {
		wg.Go(func() {
			got, err := w.ImportMessages(t.Context(), group, list)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			total += got.New
		})
	}
	wg.Wait()
	if total != 400 {
		t.Errorf("%d new in all, want 400", total)
	}
}

func TestGatherWindow(t *testing.T) {
	w := newWorld(t)
	ids := w.messages(6) // a minute apart
	at := func(i int) time.Time { return noon.Add(time.Duration(i+1-1000) * time.Minute) }
	run := w.chunk("", 1, ids[:2])
	check(t, second(w.Apply(t.Context(), w.lease, consumeAll(run, ids[:2]))))
	for name, tt := range map[string]struct {
		q       reverie.GatherQuery
		pending []string
		more    bool
		context []string
	}{
		"all":          {reverie.GatherQuery{Limit: 10}, ids[2:], false, nil},
		"limit":        {reverie.GatherQuery{Limit: 2}, ids[2:4], true, nil},
		"exactly":      {reverie.GatherQuery{Limit: 4}, ids[2:], false, nil},
		"half-open":    {reverie.GatherQuery{Limit: 10, Since: at(3), Until: at(5)}, ids[3:5], false, nil},
		"named":        {reverie.GatherQuery{MessageIDs: []string{ids[3], ids[2], ids[0], "x"}}, ids[2:4], true, nil},
		"skip":         {reverie.GatherQuery{Limit: 2, Skip: 1}, ids[3:5], true, nil},
		"named inside": {reverie.GatherQuery{MessageIDs: ids[2:], Since: at(3), Until: at(4)}, ids[3:4], false, nil},
		"all named":    {reverie.GatherQuery{MessageIDs: ids, Until: noon}, ids[2:], false, nil},
		"context":      {reverie.GatherQuery{Limit: 1, ContextSince: at(0), ContextLimit: 10}, ids[2:3], true, ids[:2]},
		"newest first": {reverie.GatherQuery{Limit: 1, ContextSince: at(0), ContextLimit: 1}, ids[2:3], true, ids[1:2]},
		"context ends": {reverie.GatherQuery{Limit: 1, Until: at(1), ContextSince: at(0), ContextLimit: 9}, nil, false, ids[:1]},
	} {
		t.Run(name, func(t *testing.T) {
			tt.q.GroupID, tt.q.Kind = group, reverie.KindGroup
			state := must(w.Gather(t.Context(), tt.q))(t)
			if diff := cmp.Diff(tt.pending, messageIDs(state.Pending)); diff != "" || state.More != tt.more {
				t.Errorf("pending, more %v (-want +got):\n%s", state.More, diff)
			}
			if diff := cmp.Diff(tt.context, messageIDs(state.Context)); diff != "" {
				t.Errorf("context (-want +got):\n%s", diff)
			}
			if state.Group.TimeZone != "Asia/Shanghai" {
				t.Errorf("group %+v", state.Group)
			}
		})
	}
	wantErr(t, second(w.Gather(t.Context(), reverie.GatherQuery{GroupID: "nowhere"})), reverie.ErrNotFound)
	if n := must(w.CountPending(t.Context(), group, at(3), at(5)))(t); n != 2 {
		t.Errorf("%d pending within the window, want 2", n)
	}
	if n := must(w.CountPending(t.Context(), group, time.Time{}, time.Time{}))(t); n != 4 {
		t.Errorf("%d pending, want 4", n)
	}
}

func messageIDs(list []reverie.Message) []string {
	var ids []string
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestGroups(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, id := range []string{"g10", "G2", "群"} {
		w.ensure(id)
	}
	if created := must(w.EnsureGroup(ctx, reverie.Group{ID: group, Name: "other", Paused: true}))(t); created {
		t.Error("a known group was created")
	}
	if g := must(w.Group(ctx, group))(t); g.Name != "Group g1" || g.Paused {
		t.Errorf("a known group was overwritten: %+v", g)
	}
	page := must(w.GroupList(ctx, reverie.GroupQuery{Limit: 2}))(t)
	rest := must(w.GroupList(ctx, reverie.GroupQuery{After: page[1].ID}))(t)
	if page[0].ID != "G2" || page[1].ID != "g1" || len(rest) != 2 || rest[0].ID != "g10" || rest[1].ID != "群" {
		t.Errorf("pages %+v, %+v, want byte order", page, rest)
	}
	wantErr(t, second(w.EnsureGroup(ctx, reverie.Group{ID: "z", TimeZone: "Mars/Olympus"})), reverie.ErrInvalid)
	wantErr(t, second(w.EnsureGroup(ctx, reverie.Group{})), reverie.ErrInvalid)
	wantErr(t, second(w.Group(ctx, "nowhere")), reverie.ErrNotFound)
}
