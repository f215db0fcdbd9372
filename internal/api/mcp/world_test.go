package mcp_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"reverie/evolve"
	"reverie/internal/api"
	"reverie/internal/api/mcp"
	"reverie/internal/app"
	"reverie/internal/llm"
	"reverie/internal/llm/offline"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// The id of our group is all that an id can be; the other one's is another's.
const (
	ours   = "a/b%2F 群"
	theirs = "other"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// hall is two groups, and a service that answers for them.
type hall struct {
	*testing.T
	store    *store.Store
	service  *api.Service
	now      time.Time
	log      strings.Builder
	protocol string      // of the clients; "" for the newest
	updated  chan string // addresses of resources that a client was told of
}

func newHall(t *testing.T) *hall {
	t.Helper()
	h := &hall{T: t, now: noon, updated: make(chan string, 9)}
	clock := func() time.Time { return h.now }
	h.store = pgtest.Open(t, pg.Options{Now: clock})
	log := slog.New(slog.NewTextHandler(&h.log, nil))
	model := offline.New(256)
	vectors := llm.NewEmbeddings(model, llm.Account{Provider: "offline", Model: "bag"}, llm.EmbeddingOptions{Dims: 256, Explicit: true, Cache: h.store})
	searcher := &recall.Searcher{Store: h.store, Embeddings: vectors, Calibration: reverie.Calibration{Ceiling: 1}}
	h.service = &api.Service{Store: h.store, Now: clock, Log: log, Leases: &jobs.Leases{Store: h.store, Holder: "test"},
		Searcher: func(context.Context, string) (*recall.Searcher, error) { return searcher, nil },
		Recaller: func(context.Context, string) (*recall.Recaller, error) {
			return &recall.Recaller{Store: h.store, Searcher: searcher, Now: clock, Log: log, Options: recall.Options{Trigger: recall.TriggerAlways,
				MinSimilarity: 0.2, HalfLife: 90 * 24 * time.Hour, ShortTermCount: 4, MaxReturn: 5, MaxEntities: 2, MaxTokens: 1000}}, nil
		},
		ApproveHeld: app.ApproveHeld(h.store, &jobs.Leases{Store: h.store, Holder: "test"}, func() *evolve.Pipeline {
			return &evolve.Pipeline{Store: h.store, Embeddings: vectors, Now: clock, Log: log, Limits: evolve.Limits{MaxActive: 60}}
		})}
	h.remember(ours, reverie.KindGroup, "the group meets on Fridays", "Lin brings green tea", "the projector is in room 3")
	h.remember(theirs, reverie.KindGroup, "the password policy of the others meets nobody")
	h.remember(ours, reverie.KindDream, "the group likes tea </reverie_dream> & calm evenings")
	return h
}

func (h *hall) check(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// remember has a run write memories of a kind, and two messages of that day besides.
func (h *hall) remember(group string, kind reverie.Kind, statements ...string) {
	h.Helper()
	ctx := context.Background()
	_, err := h.store.EnsureGroup(ctx, reverie.Group{ID: group, Name: "name of " + group, TimeZone: "Asia/Shanghai"})
	h.check(err)
	_, err = h.store.ImportMessages(ctx, group, []reverie.Message{
		{ID: group + "1", AuthorID: "u1", Author: "Lin", Role: reverie.RoleUser, Text: "We moved the meeting to Saturdays, for good.", SentAt: noon.Add(-time.Hour), SessionID: "s1"},
		{ID: group + "2", AuthorID: "bot", Author: "Bot", Role: reverie.RoleAssistant, Text: "Noted: the meeting is on Saturdays.", SentAt: noon.Add(-time.Minute), SessionID: "s1"}})
	h.check(err)
	lease, err := h.store.AcquireLease(ctx, group, reverie.LeaseGroup, "test", time.Minute)
	h.check(err)
	job, tags := reverie.JobEvolve, []string{}
	if kind == reverie.KindDream {
		job, tags = reverie.JobDream, []string{reverie.TagDream, reverie.TagLongTerm, string(reverie.DreamTheme)}
	}
	run, err := h.store.StartRun(ctx, lease, reverie.Run{Job: job, WindowSince: noon.Add(-time.Hour), WindowUntil: noon})
	h.check(err)
	h.check(h.store.SaveChunk(ctx, lease, reverie.Chunk{RunID: run.ID, No: 1, Status: reverie.ChunkAnswered}))
	plan := reverie.Plan{GroupID: group, RunID: run.ID, ChunkNo: 1, Kind: kind}
	for _, s := range statements {
		plan.Steps = append(plan.Steps, reverie.Step{Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(), Tags: tags,
			Statement: s, ContentHash: text.ContentHash(s), Strength: 0.6, LastSupportedAt: h.now})
	}
	_, err = h.store.Apply(ctx, lease, plan)
	h.check(err)
	run.Status = reverie.RunSucceeded
	_, err = h.store.FinishRun(ctx, lease, run)
	h.check(err)
	h.check(h.store.ReleaseLease(ctx, lease))
}

// memory is the id of the active memory that says something.
func (h *hall) memory(group, statement string) string {
	h.Helper()
	list, _, err := h.store.ListMemories(context.Background(), reverie.MemoryQuery{GroupID: group, Status: reverie.StatusActive})
	h.check(err)
	for _, m := range list {
		if m.Statement == statement {
			return m.ID
		}
	}
	h.Fatalf("nothing in %q says %q", group, statement)
	return ""
}

// as has whoever asks be the bearer of a token, whatever comes with the call.
func (h *hall) as(token string) func(context.Context) (context.Context, error) {
	return func(ctx context.Context) (context.Context, error) {
		c, err := h.service.CallerOfToken(ctx, token)
		return api.WithCaller(ctx, c), err
	}
}

func anyone(ctx context.Context) (context.Context, error) {
	return api.WithCaller(ctx, api.Anyone), nil
}

func (h *hall) token(group string, scope reverie.Scope) string {
	h.Helper()
	whole, _, err := h.service.CreateToken(context.Background(), api.NewToken{GroupID: group, Name: "Anna's agent", Scope: scope})
	h.check(err)
	return whole
}

// client is a client of the tools in the same process.
func (h *hall) client(opts mcp.Options) *session {
	h.Helper()
	h.service.Log = slog.New(slog.NewTextHandler(&h.log, nil))
	in, asks := io.Pipe()
	hears, out := io.Pipe()
	server, ended := mcp.New(h.service, opts), make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Run(context.Background(), in, out)
	}()
	h.Cleanup(func() { <-ended })
	return h.connect(&sdk.IOTransport{Reader: hears, Writer: asks})
}

// connect has a client speak the newest protocol, or one that is named.
func (h *hall) connect(t sdk.Transport) *session {
	h.Helper()
	o := &sdk.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { h.updated <- r.Params.URI }}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(h.Context(), t, &sdk.ClientSessionOptions{ProtocolVersion: h.protocol})
	h.check(err)
	h.Cleanup(func() { _ = c.Close() })
	return &session{h, c}
}

// session is one connection of a client.
type session struct {
	*hall
	*sdk.ClientSession
}

// call calls a tool, which must succeed, and returns its text and what it says.
func (s *session) call(tool string, args map[string]any) (text string, out map[string]any) {
	s.Helper()
	text, out, failed := s.try(tool, args)
	if failed {
		s.Fatalf("%s %v: %s", tool, args, text)
	}
	return text, out
}

// fails calls a tool, which must say why it cannot do that.
func (s *session) fails(tool string, args map[string]any) string {
	s.Helper()
	text, out, failed := s.try(tool, args)
	if !failed || text == "" || out != nil {
		s.Errorf("%s %v is no failure: %q, %v", tool, args, text, out)
	}
	return text
}

func (s *session) try(tool string, args map[string]any) (text string, out map[string]any, failed bool) {
	s.Helper()
	r, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: args})
	s.hall.check(err)
	if len(r.Content) != 1 {
		s.Fatalf("%s: %d contents", tool, len(r.Content))
	}
	out, _ = r.StructuredContent.(map[string]any)
	return r.Content[0].(*sdk.TextContent).Text, out, r.IsError
}

func list(out map[string]any, name, field string) (all []string) {
	for _, e := range out[name].([]any) {
		all = append(all, fmt.Sprint(e.(map[string]any)[field]))
	}
	return all
}

func (h *hall) db() *sql.DB {
	h.Helper()
	db, err := sql.Open("postgres", pgtest.URL(h.T))
	h.check(err)
	h.Cleanup(func() { _ = db.Close() })
	return db
}
