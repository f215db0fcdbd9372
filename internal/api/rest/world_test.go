package rest_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"reverie/evolve"
	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/api/rest"
	"reverie/internal/api/server"
	"reverie/internal/app"
	"reverie/internal/llm"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/internal/webhook"
	"reverie/jobs"
	"reverie/store"
	"reverie/store/erase"
	"reverie/store/hooks"
	"reverie/store/pgtest"
	"reverie/store/teams"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// world is two groups with something of everything, and the API before them.
type world struct {
	store        *store.Store
	db           *sql.DB
	service      *api.Service
	handler      http.Handler
	doc          *huma.OpenAPI
	mine, theirs place
	all          string // an admin's token of all groups
	now          time.Time
}

// place is a group, what is in it, and tokens of it. Every text of it holds its mark, and
// no id does: who knows an id may name it.
type place struct {
	group, mark                     string
	memory, old, deleted, spare     string // heads, and a version that is none
	rewritten                       string // a head that a person wrote
	run, held, heldToo              string
	webhook, webhookToo             string
	entity, message, session, usage string
	link                            string // who the entity is to be linked with
	token                           map[reverie.Scope]string

	team    *place // a team that nobody of the group is in; its memory is a lineage
	version string // of a team's memory
}

// name is what a place is called in a query.
func (p place) name() string {
	if team, ok := reverie.TeamOf(p.group); ok {
		return team
	}
	return p.group
}

// of is where an operation is to be tried: in a group, or in a team.
func (p place) of(op *huma.Operation) place {
	if op.Tags[0] == "team" {
		return *p.team
	}
	return p
}

// One of the ids is all that a path can be confused by.
const hostileGroup = "telegram-a/b%2F?#..;一 群&x=1"

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{now: time.Now().UTC().Truncate(time.Second)}
	w.store = pgtest.New(t)
	var err error
	if w.db, err = sql.Open("postgres", pgtest.URL(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.db.Close() })
	w.service = newService(w.store)
	srv := server.Options{Service: w.service, RequireToken: true, Log: quiet()}
	srv.REST, w.doc = rest.New(w.service, rest.Options{})
	s, err := server.New(srv)
	if err != nil {
		t.Fatal(err)
	}
	w.handler = s.Handler()
	w.mine, w.theirs = w.furnish(t, hostileGroup, "MARK-OF-MINE"), w.furnish(t, "telegram-their group", "MARK-OF-THEIRS")
	w.mine.link = fmt.Sprintf(`{"group_id":%q,"entity_id":%q}`, w.theirs.group, w.theirs.entity)
	w.mine.team, w.theirs.team = w.gather(t, "atlas", w.mine.mark), w.gather(t, "boreas", w.theirs.mark)
	w.all = w.token(t, "", reverie.ScopeAdmin)
	return w
}

func quiet() *slog.Logger {
	out := io.Discard
	if os.Getenv("REVERIE_TEST_LOG") != "" {
		out = os.Stderr
	}
	return slog.New(slog.NewTextHandler(out, nil))
}

// flat embeds every text alike, so that whatever is searched is found.
type flat struct{}

func (flat) Embed(_ context.Context, texts []string) ([][]float32, llm.Usage, error) {
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = []float32{1, 2, 3}
	}
	return vectors, llm.Usage{}, nil
}

// newService is a service whose runs of evolve end at once.
func newService(s *store.Store) *api.Service {
	vectors := llm.NewEmbeddings(flat{}, llm.Account{Provider: "test", Model: "flat"}, llm.EmbeddingOptions{Dims: 3, Explicit: true, Cache: s})
	searcher := &recall.Searcher{Store: s, Embeddings: vectors, Calibration: reverie.Calibration{Ceiling: 1}}
	eraser := erase.New(s.DB())
	return &api.Service{Store: s, Now: time.Now, Log: quiet(), Sender: webhook.NewSender(webhook.Options{Timeout: time.Second, Now: time.Now}),
		Searcher: func(context.Context, string) (*recall.Searcher, error) { return searcher, nil },
		Recaller: func(context.Context, string) (*recall.Recaller, error) {
			return &recall.Recaller{Store: s, Searcher: searcher, Usage: nil, Now: time.Now, Log: quiet(),
				Options: recall.Options{Trigger: recall.TriggerAlways, HalfLife: 24 * time.Hour, ShortTermCount: 6, MaxReturn: 8, MaxEntities: 3, MaxTokens: 2000}}, nil
		},
		Feedback: func(context.Context, string) (*recall.Feedback, error) {
			return &recall.Feedback{Store: s, Options: recall.FeedbackOptions{Threshold: 0.5, Weights: reverie.WeightRule{Max: 2}}}, nil
		},
		ApproveHeld: app.ApproveHeld(s, &jobs.Leases{Store: s, Holder: "test"}, func() *evolve.Pipeline {
			return &evolve.Pipeline{Store: s, Embeddings: vectors, Now: time.Now, Log: quiet(), Limits: evolve.Limits{MaxActive: 60}}
		}),
		Leases:   &jobs.Leases{Store: s, Holder: "test"},
		Inbox:    api.Inbox{Store: s, Eraser: eraser, Leases: &jobs.Leases{Store: s, Holder: "test", Settler: api.Settler{Eraser: eraser, Log: quiet()}}},
		NewGroup: func(g reverie.Group) reverie.Group { return g },
		Evolver: api.NewEvolver(api.EvolverOptions{Concurrency: 2, Log: quiet(),
			Wait: func() (<-chan time.Time, func()) { return nil, func() {} },
			Run: func(_ context.Context, o api.EvolveOrder) error {
				o.Evolved(reverie.EvolveReply{RunSummary: reverie.RunSummary{Success: true, GroupID: o.GroupID, Message: "no new messages"}, Changes: []reverie.ChangeReply{}})
				return nil
			}}),
	}
}

func (w *world) token(t testing.TB, group string, scope reverie.Scope) string {
	t.Helper()
	whole, _, err := w.service.CreateToken(t.Context(), api.NewToken{GroupID: group, Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// furnish makes a group with something of everything.
func (w *world) furnish(t testing.TB, group, mark string) place {
	t.Helper()
	ctx := api.WithCaller(t.Context(), api.Anyone)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p := place{group: group, mark: mark, webhook: reverie.NewID(), webhookToo: reverie.NewID(), session: "s1 of " + group, message: "m1 of " + group, token: map[reverie.Scope]string{}}
	_, err := w.store.EnsureGroup(ctx, reverie.Group{ID: group, Name: mark, TimeZone: "Asia/Shanghai"})
	check(err)
	var said []reverie.Message
	for i := range 4 {
		said = append(said, reverie.Message{ID: fmt.Sprintf("m%d of %s", i, group), Author: "Ann " + mark, Role: []reverie.Role{reverie.RoleUser, reverie.RoleAssistant}[i%2],
			Text: fmt.Sprintf("we meet on day %d %s", i, mark), SentAt: w.now.Add(time.Duration(i-100) * time.Minute), SessionID: p.session})
	}
	_, err = w.store.ImportMessages(ctx, group, said)
	check(err)
	p.run = w.remember(t, p, reverie.KindGroup, nil, "the first ", "the second ", "the third ", "the fourth ")
	w.remember(t, p, reverie.KindDream, []string{reverie.TagDream, reverie.TagLongTerm, string(reverie.DreamTheme)}, "a theme ")
	list, _, err := w.store.ListMemories(ctx, reverie.MemoryQuery{GroupID: group, Kind: reverie.KindGroup})
	check(err)
	edit := func(id string, action reverie.Action) string {
		m, err := w.store.Edit(ctx, reverie.Edit{GroupID: group, MemoryID: id, Action: action, Reason: mark})
		check(err)
		return m.ID
	}
	p.memory, p.spare, p.old, p.deleted = list[0].ID, list[1].ID, list[2].ID, list[3].ID
	byHand, err := w.store.Edit(ctx, reverie.Edit{GroupID: group, Action: reverie.ActionCreate, Reason: mark,
		Words: reverie.Words{Statement: "the fifth " + mark, ContentHash: text.ContentHash("the fifth " + mark), Author: "Ann " + mark}})
	check(err)
	p.rewritten = byHand.ID
	edit(p.old, reverie.ActionDelete)
	edit(p.old, reverie.ActionRestore)
	edit(p.deleted, reverie.ActionDelete)
	for _, id := range []string{p.webhook, p.webhookToo} { // to an address to which nothing is sent
		check(hooks.New(w.store.DB()).AddWebhook(ctx, reverie.Webhook{ID: id, GroupID: group, URL: "https://127.0.0.1/" + mark, Secret: "whsec_c2VjcmV0", CreatedAt: w.now}))
	}
	p.entity = reverie.NewID()
	for _, q := range []string{
		`insert into entities (group_id, entity_id, kind, subject, status, created_at, updated_at) values ($1, $2, 'person', $3, 'active', now(), now())`,
		`insert into entity_names (group_id, name_id, entity_id, kind, name, name_key, created_at) values ($1, $2, $2, 'subject', $3, lower($3), now())`,
		`insert into entity_names (group_id, name_id, entity_id, kind, name, name_key, created_at)
			values ($1, gen_random_uuid(), $2, 'id', 'account 1', left('account 1' || $3, 9), now())`,
		`insert into entity_claims (group_id, claim_id, lineage_id, version, entity_id, aspect, value, self, content_hash, confidence, strength, status, created_at, updated_at, last_supported_at)
			values ($1, $2, $2, 1, $2, 'impression', $3, false, 'x', 0.9, 0.5, 'active', now(), now(), now())`,
	} {
		_, err := w.db.Exec(q, group, p.entity, "Ann "+mark)
		check(err)
	}
	for i, held := range []*string{&p.held, &p.heldToo} {
		reply, err := w.service.Propose(ctx, reverie.Proposal{GroupID: group, Action: reverie.ActionCreate, Statement: fmt.Sprintf("proposed %d %s", i, mark), Reason: mark})
		check(err)
		*held = reply.RunID
	}
	p.usage = reverie.NewID()
	check(w.store.LogUsage(ctx, []reverie.Usage{{GroupID: group, UsageID: p.usage, MemoryID: p.memory, LineageID: list[0].LineageID, SessionID: p.session, Position: 1, CreatedAt: w.now}}))
	check(w.store.RecordCall(ctx, reverie.Call{GroupID: group, RunID: &p.run, ID: reverie.NewID(), Purpose: "evolve", Provider: "test", Model: mark, InputTokens: 5, CostUSD: 0.1, Outcome: "ok", CreatedAt: w.now}))
	for _, scope := range reverie.Scopes {
		p.token[scope] = w.token(t, group, scope)
	}
	return p
}

// gather makes a team with a memory.
func (w *world) gather(t testing.TB, team, mark string) *place {
	t.Helper()
	m, err := teams.New(w.store.DB()).PutTeamMemory(t.Context(), reverie.TeamWrite{Team: team, Memory: reverie.TeamMemory{ID: reverie.NewID(), Statement: "The team drinks tea " + mark,
		Status: reverie.StatusActive, Strength: 0.5, ChangeReason: mark, Origin: reverie.Origin{Deployment: mark, MemoryID: reverie.NewID(), LineageID: reverie.NewID(), Version: 1, MadeAt: w.now}}})
	if err != nil {
		t.Fatal(err)
	}
	p := place{group: reverie.TeamGroupID(team), mark: mark, memory: m.ID, version: m.VersionID, token: map[reverie.Scope]string{}}
	for _, scope := range reverie.Scopes {
		p.token[scope] = w.token(t, p.group, scope)
	}
	return &p
}

// remember writes memories by a run that has ended.
func (w *world) remember(t testing.TB, p place, kind reverie.Kind, tags []string, statements ...string) string {
	t.Helper()
	ctx := t.Context()
	lease, err := w.store.AcquireLease(ctx, p.group, reverie.LeaseGroup, "test", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	job := map[reverie.Kind]reverie.Job{reverie.KindGroup: reverie.JobEvolve, reverie.KindDream: reverie.JobDream}[kind]
	run, err := w.store.StartRun(ctx, lease, reverie.Run{Job: job, WindowSince: w.now.Add(-48 * time.Hour), WindowUntil: w.now, Model: p.mark})
	if err != nil {
		t.Fatal(err)
	}
	plan := reverie.Plan{GroupID: p.group, RunID: run.ID, ChunkNo: 1, Kind: kind, Refusals: []reverie.Refusal{{Line: 1, Rule: "evidence", Detail: p.mark}}}
	for _, s := range statements {
		plan.Steps = append(plan.Steps, reverie.Step{Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(), Statement: s + p.mark, Tags: tags,
			ContentHash: text.ContentHash(s + p.mark), Strength: 0.6, LastSupportedAt: w.now, Embedding: []float32{1, 2, 3}, EmbeddingModel: "flat@3", Reason: p.mark,
			Evidence: []reverie.Evidence{{MessageID: p.message, Author: "Ann", Quote: p.mark, SentAt: w.now, LocalDate: "2026-01-15"}}})
	}
	if err = w.store.SaveChunk(ctx, lease, reverie.Chunk{RunID: run.ID, No: 1, Status: reverie.ChunkAnswered, Answer: p.mark}); err == nil {
		_, err = w.store.Apply(ctx, lease, plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	run.Status = reverie.RunSucceeded
	if _, err := w.store.FinishRun(ctx, lease, run); err != nil {
		t.Fatal(err)
	}
	if err := w.store.ReleaseLease(ctx, lease); err != nil {
		t.Fatal(err)
	}
	return run.ID
}

// ask sends a request, by nobody where token is "", with headers: name, value, and so on.
func (w *world) ask(token, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a := httptest.NewRecorder()
	w.handler.ServeHTTP(a, r)
	return a
}

// problem reads a problem, which must be one.
func problemIn(t testing.TB, a *httptest.ResponseRecorder) problem.Problem {
	t.Helper()
	var p problem.Problem
	if err := json.Unmarshal(a.Body.Bytes(), &p); err != nil || a.Header().Get("Content-Type") != problem.MediaType || p.Status != a.Code ||
		p.Title != http.StatusText(a.Code) || p.Detail == "" || p.Type == "" || p.Instance != a.Header().Get("X-Request-Id") || p.Instance == "" {
		t.Errorf("status %d is no good problem: %.300s (%v)", a.Code, a.Body, err)
	}
	return p
}
