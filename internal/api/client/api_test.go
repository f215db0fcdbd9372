package client_test

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"reverie/evolve"
	"reverie/internal/api"
	"reverie/internal/api/client"
	"reverie/internal/api/rest"
	"reverie/internal/app"
	"reverie/internal/llm"
	"reverie/internal/llm/offline"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// The group's id is all that an id can be.
const group = "../a%2F?b#&群 ;x"

// serve is the API, without tokens, and what it was asked for.
func serve(t *testing.T) (c *client.Client, doc *huma.OpenAPI, asked func() []string) {
	t.Helper()
	s, log := pgtest.New(t), slog.New(slog.NewTextHandler(io.Discard, nil))
	vectors := llm.NewEmbeddings(offline.New(64), llm.Account{Provider: "offline", Model: "bag"}, llm.EmbeddingOptions{Dims: 64, Explicit: true, Cache: s})
	searcher := &recall.Searcher{Store: s, Embeddings: vectors, Calibration: reverie.Calibration{Ceiling: 1}}
	evolver := api.NewEvolver(api.EvolverOptions{Concurrency: 1, Log: log, Wait: func() (<-chan time.Time, func()) { return nil, func() {} },
		Run: func(_ context.Context, o api.EvolveOrder) error {
			o.Evolved(reverie.EvolveReply{Success: true, GroupID: o.GroupID, Message: "no new messages"})
			return nil
		}})
	t.Cleanup(func() { _ = evolver.Close(context.WithoutCancel(t.Context())) })
	handler, doc := rest.New(&api.Service{Store: s, Now: time.Now, Log: log, Leases: &jobs.Leases{Store: s, Holder: "test"}, Evolver: evolver,
		NewGroup: func(g reverie.Group) reverie.Group { return g },
		Searcher: func(context.Context, string) (*recall.Searcher, error) { return searcher, nil },
		Recaller: func(context.Context, string) (*recall.Recaller, error) {
			return &recall.Recaller{Store: s, Searcher: searcher, Now: time.Now, Log: log, Options: recall.Options{Trigger: recall.TriggerAlways,
				HalfLife: time.Hour, ShortTermCount: 2, MaxReturn: 3, MaxEntities: 1, MaxTokens: 500}}, nil
		},
		Feedback: func(context.Context, string) (*recall.Feedback, error) {
			return &recall.Feedback{Store: s, Options: recall.FeedbackOptions{Threshold: 0.5, Weights: reverie.WeightRule{Max: 2}}}, nil
		},
		ApproveHeld: app.ApproveHeld(s, &jobs.Leases{Store: s, Holder: "test"}, func() *evolve.Pipeline {
			return &evolve.Pipeline{Store: s, Embeddings: vectors, Now: time.Now, Log: log, Limits: evolve.Limits{MaxActive: 9}}
		}),
	}, rest.Options{Log: log})
	var mu sync.Mutex
	var list []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		list = append(list, r.Method+" "+r.URL.EscapedPath())
		mu.Unlock()
		handler.ServeHTTP(w, r.WithContext(api.WithCaller(r.Context(), api.Anyone)))
	}))
	t.Cleanup(web.Close)
	return client.New(web.URL, "", client.WithHTTPClient(web.Client()), client.WithRetry(1, 0, 0)), doc, func() []string {
		mu.Lock()
		defer mu.Unlock()
		taken := list
		list = nil
		return taken
	}
}

// TestOperations: each operation of the OpenAPI document has a method, which asks for it
// and reads its answer, whatever the group is called.
func TestOperations(t *testing.T) {
	c, doc, asked := serve(t)
	ctx := t.Context()
	var run, wrong, memory, usage string
	approve := func() (err error) {
		reply, err := c.Approve(ctx, run)
		if err == nil {
			memory = reply.Changes[0].NewID
		}
		return err
	}
	propose := func() error {
		p := reverie.Proposal{GroupID: group, Action: reverie.ActionCreate, Statement: "the group likes tea", Reason: "said so", Evidence: []reverie.Evidence{{MessageID: "m1", Quote: "love tea"}}}
		reply, err := c.Propose(ctx, p)
		if run = reply.RunID; err != nil {
			return err
		}
		reply, err = c.Propose(ctx, reverie.Proposal{GroupID: group, Action: reverie.ActionCreate, Statement: "the group hates tea", Reason: "wrong"})
		wrong = reply.RunID
		return err
	}
	offer := func() error {
		reply, err := c.Context(ctx, group, client.ContextQuery{Query: "who likes tea?", SessionID: "s1", MaxTokens: 400})
		if err == nil && (len(reply.Memories) != 1 || reply.ShortTerm == nil) {
			t.Errorf("the context is %+v", reply)
		}
		usage = reply.UsageID
		return err
	}
	third := 0.3
	message := `{"id":"m1","author_id":"u1","author":"Lin","text":"We all love tea.","session_id":"s1","sent_at":"2026-01-15T12:30:00Z"}` + "\n"
	steps := []struct {
		id   string
		call func() error
	}{
		{"add-messages", func() error { return second(c.AddMessages(ctx, group, strings.NewReader(message))) }},
		{"propose-memory", propose},
		{"get-run", func() error { return second(c.Run(ctx, run)) }},
		{"approve-run", approve},
		{"reject-run", func() error { return second(c.Reject(ctx, wrong, true)) }},
		{"list-groups", func() error { return second(c.Groups(ctx, reverie.GroupQuery{State: reverie.GroupActive, Limit: 3})) }},
		{"get-group", func() error { return second(c.Group(ctx, group)) }},
		{"get-group-stats", func() error { return second(c.Stats(ctx, group)) }},
		{"list-nights", func() error { return second(c.Nights(ctx, group, "2030-01-01", 3)) }},
		{"list-messages", func() error {
			return second(c.Messages(ctx, reverie.MessageQuery{GroupID: group, Around: "m1", Limit: 5}))
		}},
		{"list-memories", func() error {
			return second(c.List(ctx, reverie.MemoryQuery{GroupID: group, Kind: reverie.KindGroup, At: time.Now(), Limit: 5}))
		}},
		{"search-memories", func() error {
			return second(c.Search(ctx, group, client.SearchQuery{Text: "tea", Limit: 2, Threshold: &third, At: time.Now()}))
		}},
		{"make-context", offer},
		{"explain-context", func() error { return second(c.Explain(ctx, group, client.ContextQuery{Query: "who likes tea?"})) }},
		{"give-feedback", func() error {
			return second(c.Feedback(ctx, group, client.Answer{UsageID: usage, SessionID: "s1", Response: "You like tea."}))
		}},
		{"set-memory-strength", func() error { return second(c.SetStrength(ctx, memory, 0.9, "sure")) }},
		{"delete-memory", func() error { return second(c.Delete(ctx, memory, "no more")) }},
		{"restore-memory", func() error { return second(c.Restore(ctx, memory, "again")) }},
		{"get-memory-history", func() error { return second(c.History(ctx, memory)) }},
		{"get-memory-history", func() error { return second(c.HistoryAt(ctx, memory, time.Now())) }},
		{"get-memory-blame", func() error { return second(c.Blame(ctx, memory, time.Now())) }},
		{"get-memory-diff", func() error {
			return second(c.Diff(ctx, reverie.BetweenQuery{GroupID: group, From: time.Now().Add(-time.Hour), Kind: reverie.KindGroup}, true))
		}},
		{"make-context", func() error { return second(c.Context(ctx, group, client.ContextQuery{Query: "tea", At: time.Now()})) }},
		{"get-memory-why", func() error { return second(c.Why(ctx, memory)) }},
		{"list-changes", func() error { return second(c.Changes(ctx, group, 2)) }},
		{"evolve-group", func() error { return second(c.Evolve(ctx, group, 1)) }},
		{"list-runs", func() error {
			return second(c.Runs(ctx, reverie.RunQuery{GroupID: group, Job: reverie.JobPropose, Limit: 1}))
		}},
		{"get-dream", func() error { return second(c.Dream(ctx, group)) }},
		{"list-entities", func() error {
			return second(c.Entities(ctx, group, reverie.EntityFilter{Kind: reverie.EntityPerson, Name: "l"}, 2, 0))
		}},
		{"get-entity", func() error { return second(c.Entity(ctx, group, reverie.NewID())) }},
		{"put-team-memory", func() error { return second(c.PutTeamMemory(ctx, "atlas", teamMemory("The team likes tea"), "", "k1")) }},
		{"list-team-memories", func() error { return second(c.TeamMemories(ctx, "atlas", "", 3)) }},
		{"get-team-memory", func() error { return second(c.TeamMemory(ctx, "atlas", teamMemory("").ID)) }},
		{"undo-run", func() error {
			dry, err := c.Undo(ctx, reverie.UndoQuery{RunID: run, DryRun: true})
			if err != nil {
				return err
			}
			reply, err := c.Undo(ctx, reverie.UndoQuery{RunID: run, Reason: "wrong", Force: true, Before: dry.Runs[0].Before})
			if err == nil && (!dry.DryRun || reply.DryRun || !reply.Runs[0].Exact || len(reply.Runs[0].Changes) != 1) {
				t.Errorf("taken back: %+v, as %+v", reply, dry)
			}
			return err
		}},
		{"get-costs", func() error { return second(c.Costs(ctx, reverie.CostQuery{GroupID: group, Limit: 3})) }},
	}
	routes, missing := operations(doc), map[string]bool{}
	for id := range routes {
		missing[id] = true
	}
	delete(missing, "get-context") // make-context asks for the same, and takes longer queries
	for _, s := range steps {
		err := s.call()
		if p := problem(err); err != nil && (s.id != "get-entity" || p == nil || !strings.Contains(p.Detail, "no such thing")) {
			t.Errorf("%s: %v", s.id, err)
		}
		if list := asked(); routes[s.id] == "" || !matches(routes[s.id], list[0]) {
			t.Errorf("%s is %q, and asked for was %q", s.id, routes[s.id], list)
		}
		delete(missing, s.id)
	}
	if len(missing) > 0 {
		t.Errorf("the client has no method for %q", slices.Sorted(maps.Keys(missing)))
	}
	memories := 0
	for _, err := range c.AllMemories(ctx, reverie.MemoryQuery{GroupID: group}) {
		if err != nil {
			t.Fatal(err)
		}
		memories++
	}
	var said []string
	for m, err := range c.MessagesAfter(ctx, group, "") {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, m.ID)
	}
	if diff := cmp.Diff([]string{"m1"}, said); diff != "" || memories != 2 { // two versions
		t.Errorf("%d memories; %s", memories, diff)
	}
}

// operations are method and path of all operations, by id.
func operations(doc *huma.OpenAPI) map[string]string {
	all := map[string]string{}
	for path, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op != nil {
				all[op.OperationID] = op.Method + " " + path
			}
		}
	}
	return all
}

// matches tells whether a request is one for a route.
func matches(route, asked string) bool {
	want, got := strings.Split(route, "/"), strings.Split(asked, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && (!strings.HasPrefix(want[i], "{") || got[i] == "") {
			return false
		}
	}
	return true
}
