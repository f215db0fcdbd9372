package evolve

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
	"reverie/internal/llm/openai"
	"reverie/internal/reverie"
	"reverie/prompts"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// stage is a whole evolution with nothing false about it but the model's server
// and the clock: PostgreSQL, the store, the SDK and the pipeline are the real
// ones.
type stage struct {
	*testing.T
	store  *store.Store
	db     *sql.DB
	model  *llmtest.Server
	pipe   *Pipeline
	group  string
	now    time.Time
	told   int
	leased int
}

// evening is when a stage's clock begins: 20:00 in Shanghai.
var evening = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, now: evening}
	s.store = pgtest.Open(t, pg.Options{Now: func() time.Time { return s.now }})
	s.db = must(sql.Open("postgres", pgtest.URL(t)))(t)
	t.Cleanup(func() { _ = s.db.Close() })
	s.set("g1")
	return s
}

// beside is a further group of the same store, with a model of its own.
func (s *stage) beside(t *testing.T, group string) *stage {
	t.Helper()
	further := &stage{T: t, store: s.store, db: s.db, now: evening}
	further.set(group)
	return further
}

func (s *stage) set(group string) {
	s.Helper()
	s.group, s.model = group, llmtest.New(s, llmtest.WithDims(8))
	s.model.Respond(scribe(s))
	s.addGroup(group)
	s.pipe = s.pipeline(s.store, s.store, s.store)
}

// must unwraps a result or ends the test.
func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (s *stage) addGroup(id string) {
	s.Helper()
	must(s.store.EnsureGroup(s.Context(), reverie.Group{ID: id, TimeZone: "Asia/Shanghai"}))(s)
}

// pipeline asks the stage's server once for each question: patience has tests of
// its own.
func (s *stage) pipeline(st Store, ledger llm.Ledger, cache llm.Cache) *Pipeline {
	s.Helper()
	client := must(openai.New(openai.Options{BaseURL: s.model.URL("openai"), Model: "fake", HTTPClient: s.model.Client()}))(s)
	account := llm.Account{Provider: openai.Provider, Model: "fake", Ledger: ledger,
		Policy: llm.NewPolicy(llm.PolicyOptions{Attempts: 1, BreakerFailures: -1})}
	return &Pipeline{Store: st, Model: llm.NewModel(client, account), Prompts: must(prompts.Open(""))(s), Decider: decide.Plain{},
		Embeddings: llm.NewEmbeddings(client, account, llm.EmbeddingOptions{Dims: 8, Explicit: true, Cache: cache}),
		Limits:     limits(), Now: func() time.Time { return s.now }, Log: quiet()}
}

// pipelineOf is the stage's pipeline with everything kept by m.
func (s *stage) pipelineOf(m *pgtest.Mortal, limits Limits) *Pipeline {
	s.Helper()
	p := s.pipeline(m, m, m)
	p.Limits = limits
	return p
}

// holding is a lease that nothing renews.
type holding struct{ lease reverie.Lease }

func (h holding) Lease() reverie.Lease            { return h.lease }
func (h holding) Exclusive(fn func() error) error { return fn() }

func (s *stage) hold() holding {
	s.Helper()
	s.leased++
	return holding{must(s.store.AcquireLease(context.WithoutCancel(s.Context()), s.group, reverie.LeaseGroup,
		fmt.Sprintf("test:%d", s.leased), time.Minute))(s)}
}

func (s *stage) release(h holding) {
	s.Helper()
	if err := s.store.ReleaseLease(context.WithoutCancel(s.Context()), h.lease); err != nil {
		s.Fatal(err)
	}
}

// run evolves the stage's group.
func (s *stage) run(req Request) (Result, error) {
	s.Helper()
	return s.runWith(s.Context(), s.pipe, req)
}

func (s *stage) runWith(ctx context.Context, p *Pipeline, req Request) (Result, error) {
	s.Helper()
	req.GroupID = s.group
	if req.DryRun {
		return p.Run(ctx, nil, req)
	}
	h := s.hold()
	defer s.release(h)
	return p.Run(ctx, h, req)
}

// evolve is run of all that is pending, which must go well.
func (s *stage) evolve() Result {
	s.Helper()
	res, err := s.run(Request{})
	if err != nil {
		s.Fatalf("evolve: %v", err)
	}
	return res
}

// say imports messages, a minute apart, the first at the given time. Two people
// take turns.
func (s *stage) say(at time.Time, texts ...string) []string {
	s.Helper()
	var list []reverie.Message
	for i, text := range texts {
		list = append(list, reverie.Message{Author: []string{"Lin", "Maya"}[i%2], Text: text, SentAt: at.Add(time.Duration(i) * time.Minute)})
	}
	return s.bring(list...)
}

func (s *stage) bring(list ...reverie.Message) (ids []string) {
	s.Helper()
	for i := range list {
		s.told++
		if list[i].ID == "" {
			list[i].ID = fmt.Sprintf("m%04d", s.told)
		}
		ids = append(ids, list[i].ID)
	}
	for part := range slices.Chunk(list, store.MaxImport) {
		must(s.store.ImportMessages(s.Context(), s.group, part))(s)
	}
	return ids
}

// questions are what the model was asked so far about messages.
func (s *stage) questions() (list []question) {
	s.Helper()
	for _, r := range s.model.Requests() {
		if !r.Embedding() && !comparison(r) {
			list = append(list, readQuestion(s, r))
		}
	}
	return list
}

// rows is a query's result, the columns of a row joined by a bar.
func (s *stage) rows(query string, args ...any) []string {
	s.Helper()
	return pgtest.Rows(s, s.db, query, args...)
}

// want compares a query's rows with those given.
func (s *stage) want(query string, want ...string) {
	s.Helper()
	if got := s.rows(query); !slices.Equal(got, want) {
		s.Errorf("%s\n got %q\nwant %q", query, got, want)
	}
}

// active are the statements that the group remembers, with their versions.
func (s *stage) active() []string {
	s.Helper()
	return s.rows(`select statement || ' v' || version from memories where group_id = $1 and status = 'active' order by statement collate "C"`, s.group)
}

func (s *stage) pending() int {
	s.Helper()
	return must(s.store.CountPending(s.Context(), s.group, time.Time{}, time.Time{}))(s)
}

// dump is every row of every table but those named.
func (s *stage) dump(except ...string) (list []string) {
	s.Helper()
	for _, table := range s.rows(`select tablename from pg_tables where schemaname = 'public' order by 1`) {
		if slices.Contains(except, table) {
			continue
		}
		for _, row := range s.rows(`select t::text from "` + table + `" t order by 1`) {
			list = append(list, table+": "+row)
		}
	}
	return list
}

func wantErr(t testing.TB, err error, kinds ...error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, kind := range []error{reverie.ErrDeferred, reverie.ErrUnavailable, reverie.ErrConfiguration, reverie.ErrUnusable, reverie.ErrLeaseLost, reverie.ErrConflict} {
		if is := errors.Is(err, kind); is != slices.Contains(kinds, kind) {
			t.Errorf("that the error is %q is %v: %v", kind, is, err)
		}
	}
}

// question is the user part of a prompt, as a model reads it.
type question struct {
	System string `json:"-"`
	prompts.EvolveUser
}

func readQuestion(t testing.TB, r llmtest.Request) question {
	q := question{System: r.System}
	if err := json.Unmarshal([]byte(r.User), &q.EvolveUser); err != nil {
		t.Errorf("the user part is no JSON object: %v\n%s", err, r.User)
	}
	return q
}

// scribe is a model that does what the chat says, so that a test writes the plan
// into the chat and the same question always has the same answer:
//
//	note STATEMENT      creates it
//	change OLD => NEW   updates the memory that says OLD
//	drop STATEMENT      deletes it, quoting the message
//	forget STATEMENT    deletes it without a quote
//	again STATEMENT     keeps it, with the message as evidence
func scribe(t testing.TB) func(llmtest.Request) llmtest.Answer {
	return func(r llmtest.Request) llmtest.Answer { return llmtest.Text(transcribe(readQuestion(t, r))) }
}

func transcribe(q question) string {
	handles := map[string]string{}
	for _, m := range q.ExistingMemories {
		handles[m.Statement] = m.ID
	}
	var b strings.Builder
	stands := false // it names a memory that it was shown, or something new
	for _, m := range q.NewDiscussions {
		word, rest, _ := strings.Cut(m.Text, " ")
		evidence := []map[string]any{{"message": m.ID, "quote": rest}}
		line := map[string]any{"change_reason": m.Author + " said so", "evidence": evidence}
		switch word {
		case "note":
			line["action"], line["statement"] = "create", rest
		case "change":
			from, to, _ := strings.Cut(rest, " => ")
			line["action"], line["old_id"], line["statement"] = "update", handles[from], to
		case "drop":
			line["action"], line["old_id"] = "delete", handles[rest]
		case "forget":
			line["action"], line["old_id"] = "delete", handles[rest]
			delete(line, "evidence")
		case "again":
			line["action"], line["old_id"] = "keep", handles[rest]
		default:
			continue
		}
		stands = stands || line["old_id"] != ""
		raw, err := json.Marshal(line)
		if err != nil {
			panic(err) // strings and numbers always encode
		}
		b.Write(append(raw, '\n'))
	}
	if !stands {
		return `{"action":"none"}`
	}
	return b.String()
}
