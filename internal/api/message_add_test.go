package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/api"
	"reverie/internal/ingest"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store"
	"reverie/store/erase"
	"reverie/store/pgtest"
)

// oddGroup is an id that has everything in it which a path must escape.
const oddGroup = "组 a/b%2F?c#d&e=ü"

func said(ids ...int) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, `{"id":"%d","author":"Lin","text":"message %d","sent_at":"2026-01-15T20:01:00+08:00"}`+"\n", id, id)
	}
	return b.String()
}

func mailroom(t *testing.T) (*api.Service, *store.Store) {
	t.Helper()
	s := pgtest.New(t)
	inbox := api.Inbox{Store: s, Eraser: erase.New(s.DB())}
	inbox.Leases = &jobs.Leases{Store: s, Holder: "test", Settler: api.Settler{Eraser: inbox.Eraser, Log: slog.New(slog.DiscardHandler)}}
	return &api.Service{Store: s, Inbox: inbox, Leases: inbox.Leases, Filters: ingest.Filters{Commands: []string{"/"}}, NewGroup: func(g reverie.Group) reverie.Group {
		g.TimeZone = "Asia/Shanghai"
		return g
	}}, s
}

// TestAddMessages stores what can be read, once, and says of the rest which lines it is.
func TestAddMessages(t *testing.T) {
	t.Parallel()
	service, db := mailroom(t)
	ctx := api.WithCaller(t.Context(), api.Caller{GroupID: oddGroup, Scope: reverie.ScopeWrite})
	var hostile strings.Builder
	for _, line := range []string{"", "[]", "nonsense", `{"id":"\u0000","author":"x","text":"x","sent_at":"2026-01-15T20:01:00Z"}`,
		"{\"id\":\"\xff\",\"author\":\"x\",\"text\":\"x\",\"sent_at\":\"2026-01-15T20:01:00Z\"}", `{"id":"7","author":"x","text":"x","sent_at":"0001-01-01T00:00:00+23:59"}`,
		`{"id":"7","author":"x","text":"x","sent_at":"9999-12-31T23:59:59-23:59"}`, `{"id":"` + strings.Repeat("9", 10_000) + `","author":"x","text":"x","sent_at":"2026-01-15T20:01:00Z"}`} {
		hostile.WriteString(line + "\n")
	}
	for _, c := range []struct {
		name, body string
		want       reverie.MessagesAdded
		lines      []int // that are named
	}{
		{"nothing", "", reverie.MessagesAdded{Success: true}, nil},
		{"three", said(1, 2) + `{"id":3,"author":"Lin","text":"/help me","sent_at":"2026-01-15T20:02:00Z"}`,
			reverie.MessagesAdded{Success: true, New: 3, Filtered: map[reverie.Filter]int{reverie.FilterCommand: 1}}, nil},
		{"some again", said(2, 4), reverie.MessagesAdded{Success: true, New: 1, Known: 1}, nil},
		{"other words under a known id, and under one twice", strings.Replace(said(2), "message", "said", 1) + said(8) +
			strings.Replace(said(8), "Lin", "Mo", 1), reverie.MessagesAdded{Success: true, New: 2, Known: 1, Changed: 1, SameID: 1}, nil},
		{"what cannot be", hostile.String() + said(5), reverie.MessagesAdded{New: 1, BadCount: 7}, []int{2, 3, 4, 5, 6, 7, 8}},
		{"a long list", strings.Repeat("no\n", 30), reverie.MessagesAdded{BadCount: 30}, slices.Collect(func(yield func(int) bool) {
			for i := 1; i <= api.MaxBadLines && yield(i); i++ {
			}
		})},
		{"half of the last", said(6, 7)[:len(said(6))+20], reverie.MessagesAdded{New: 1, BadCount: 1}, []int{2}},
	} {
		got, err := service.AddMessages(ctx, oddGroup, strings.NewReader(c.body))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var lines []int
		for _, b := range got.Bad {
			lines = append(lines, b.Line)
			if b.Reason == "" || len([]rune(b.Reason)) > 300 || strings.HasPrefix(b.Reason, "line ") {
				t.Errorf("%s: line %d: %q", c.name, b.Line, b.Reason)
			}
		}
		got.Bad, c.want.GroupID = nil, oddGroup
		if len(got.Filtered) == 0 {
			got.Filtered = nil
		}
		if diff := cmp.Diff(c.want, got) + cmp.Diff(c.lines, lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	other, err := service.AddMessages(api.WithCaller(t.Context(), api.Anyone), "7", strings.NewReader(strings.ReplaceAll(said(1), "{", `{"group_id":"8",`)+
		strings.ReplaceAll(said(2), "{", `{"group":"8",`)+strings.ReplaceAll(said(3), "{", `{"group_id":7,"group":{"id":8},"x":1,`)))
	if err != nil || other.New != 1 || other.BadCount != 2 || !strings.Contains(other.Bad[1].Reason, "a group other than") {
		t.Errorf("lines of another group: %+v, %v", other, err)
	}
	for id, ahead := range map[string]time.Duration{"soon": 23 * time.Hour, "far": 25 * time.Hour} { // another's clock may be ahead
		service.Now = func() time.Time { return time.Date(2026, 1, 15, 12, 1, 0, 0, time.UTC).Add(-ahead) }
		if got, err := service.AddMessages(ctx, oddGroup, strings.NewReader(strings.Replace(said(90), "90", id, 1))); err != nil || got.Success != (id == "soon") {
			t.Errorf("sent %s ahead: %+v, %v", ahead, got, err)
		}
	}
	g, err := db.Group(t.Context(), oddGroup)
	if err != nil || g.TimeZone != "Asia/Shanghai" {
		t.Errorf("the group is %+v, %v", g, err)
	}
}

// TestAddMessagesBreaksOff keeps the lines that were whole, whatever becomes of the body.
func TestAddMessagesBreaksOff(t *testing.T) {
	t.Parallel()
	service, db := mailroom(t)
	three := said(1, 2, 3)
	cut := three[:2*len(said(1))+40]
	ctx := api.WithCaller(t.Context(), api.Anyone)

	gone, leave := context.WithCancel(ctx) // a client that is gone ends its request's context
	leave()
	if got, err := service.AddMessages(gone, "empty", strings.NewReader("\n")); err != nil || !got.Success {
		t.Errorf("a body without a line: %+v, %v", got, err)
	}
	if _, err := db.Group(t.Context(), "empty"); err != nil {
		t.Errorf("a body without a line makes no group: %v", err)
	}
	got, err := service.AddMessages(gone, "cut", io.MultiReader(strings.NewReader(cut), iotest.ErrReader(io.ErrUnexpectedEOF)))
	if err != nil || got.Success || got.New != 2 || len(got.Bad) != 1 || got.Bad[0].Line != 3 || !strings.Contains(got.Bad[0].Reason, "breaks off") {
		t.Errorf("a body that breaks off: %+v, %v", got, err)
	}
	limited := http.MaxBytesReader(httptest.NewRecorder(), io.NopCloser(strings.NewReader(three)), int64(len(cut)))
	got, err = service.AddMessages(ctx, "large", limited)
	if large := (*http.MaxBytesError)(nil); !errors.As(err, &large) || got.New != 2 || !strings.Contains(err.Error(), "line 3:") || !strings.Contains(err.Error(), "2 of them new") {
		t.Errorf("a body that is too large: %+v, %v", got, err)
	}
	for _, id := range []string{"cut", "large"} {
		list, err := db.GroupList(t.Context(), reverie.GroupQuery{GroupID: id, Limit: 1})
		if err != nil || list[0].Pending != 2 {
			t.Errorf("group %s holds %+v, %v", id, list, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := service.AddMessages(ctx, "cut", io.MultiReader(strings.NewReader(cut), iotest.ErrReader(io.ErrUnexpectedEOF))); err == nil {
		t.Error("what the database has not taken counts as stored")
	}
}

// TestAddMessagesAllowed: a group is made by who may write to it, and by nobody else.
func TestAddMessagesAllowed(t *testing.T) {
	t.Parallel()
	service, db := mailroom(t)
	for name, c := range map[string]struct {
		caller  *api.Caller
		groupID string
		want    error
	}{
		"nobody":        {nil, "g1", reverie.ErrUnauthorized},
		"a reader":      {&api.Caller{Scope: reverie.ScopeRead}, "g1", reverie.ErrForbidden},
		"another's":     {&api.Caller{GroupID: "g2", Scope: reverie.ScopeAdmin}, "g1", reverie.ErrNotFound},
		"an id too odd": {&api.Anyone, "a\x00b", reverie.ErrInvalid},
		"no UTF-8":      {&api.Anyone, "a\xff", reverie.ErrInvalid},
		"too long":      {&api.Anyone, strings.Repeat("g", reverie.MaxGroupIDLength+1), reverie.ErrInvalid},
		"no id":         {&api.Anyone, "", reverie.ErrInvalid},
	} {
		ctx := t.Context()
		if c.caller != nil {
			ctx = api.WithCaller(ctx, *c.caller)
		}
		if _, err := service.AddMessages(ctx, c.groupID, bytes.NewReader([]byte(said(1)))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if list, err := db.GroupList(t.Context(), reverie.GroupQuery{Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("groups are %v, %v", list, err)
	}
}

// TestForgetBusy: an erasure waits for nobody, not even for work of the same process.
func TestForgetBusy(t *testing.T) {
	t.Parallel()
	service, _ := mailroom(t)
	service.Log = slog.New(slog.DiscardHandler)
	ctx := api.WithCaller(t.Context(), api.Caller{GroupID: "g1", Scope: reverie.ScopeWrite})
	if _, err := service.AddMessages(ctx, "g1", strings.NewReader(said(1))); err != nil {
		t.Fatal(err)
	}
	err := service.Leases.With(ctx, "g1", func(ctx context.Context, _ *jobs.Held) error {
		_, err := service.Forget(ctx, reverie.EraseQuery{GroupID: "g1", AuthorID: "Lin"})
		return err
	})
	if !errors.Is(err, reverie.ErrBusy) {
		t.Errorf("while another works: %v", err)
	}
	if reply, err := service.Forget(ctx, reverie.EraseQuery{GroupID: "g1", AuthorID: "Lin"}); err != nil || reply.Erasure.Messages != 1 {
		t.Errorf("then: %+v, %v", reply.Erasure, err)
	}
}
