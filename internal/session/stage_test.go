package session

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
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

func TestMain(m *testing.M) { pgtest.Main(m) }

// stage is a session with nothing false about it but the model's server and the
// clock: PostgreSQL, the store, the SDK and the pipeline are the real ones. Stages
// of one test share a database, and have a group each.
type stage struct {
	testing.TB
	store *store.Store
	db    *sql.DB
	model *llmtest.Server
	pipe  *Pipeline
	group string
	id    string // of the session
	clock *time.Time
	told  int
}

// evening is when a stage's clock begins: 20:00 in Shanghai.
var evening = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// hall opens the database that the stages of a test share.
func hall(t testing.TB) *stage {
	t.Helper()
	clock := evening
	s := &stage{TB: t, clock: &clock, id: "s1"}
	s.store = pgtest.Open(t, pg.Options{Now: func() time.Time { return *s.clock }})
	s.db = must(sql.Open("postgres", pgtest.URL(t)))(t)
	t.Cleanup(func() { _ = s.db.Close() })
	return s
}

// on is a stage of the hall with a group and a model of its own.
func (s *stage) on(t testing.TB, group string) *stage {
	t.Helper()
	own := &stage{TB: t, store: s.store, db: s.db, clock: s.clock, group: group, id: "s1"}
	*own.clock = evening
	own.model = llmtest.New(t, llmtest.WithDims(8))
	own.model.Respond(scribe(t))
	must(s.store.EnsureGroup(t.Context(), reverie.Group{ID: group, TimeZone: "Asia/Shanghai"}))(t)
	own.pipe = own.pipeline(pgtest.NewMortal(s.store, -1))
	return own
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

// limits are the product's own.
func limits() Limits {
	return Limits{MaxMessages: 200, MaxInputTokens: 24_000, MaxOutputTokens: 4096, MaxSummaryTokens: 4096, MaxFacts: 10,
		MinConfidence: 0.6, AutoTag: true, MaxShown: reverie.MaxShown, HoldRatio: 0.2, HoldMin: 2}
}

// pipeline asks the stage's server once for each question: patience has tests of
// its own.
func (s *stage) pipeline(m *pgtest.Mortal) *Pipeline {
	s.Helper()
	client := must(openai.New(openai.Options{BaseURL: s.model.URL("openai"), Model: "fake", HTTPClient: s.model.Client()}))(s)
	account := llm.Account{Provider: openai.Provider, Model: "fake", Ledger: m, Policy: llm.NewPolicy(llm.PolicyOptions{Attempts: 1, BreakerFailures: -1})}
	model := llm.NewModel(client, account)
	return &Pipeline{Store: m, Model: model, Summarizer: model, Prompts: must(prompts.Open(""))(s), Journal: m, Decider: decide.Plain{},
		Embeddings: llm.NewEmbeddings(client, account, llm.EmbeddingOptions{Dims: 8, Explicit: true, Cache: m}),
		Limits:     limits(), Rule: reverie.SessionRule{Tokens: 12_000, ToolCalls: 24, Turns: 5, KeepTurns: 6, FoldTurns: 12},
		Now: func() time.Time { return *s.clock }, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// holding is a lease that nothing renews.
type holding struct{ lease reverie.Lease }

func (h holding) Lease() reverie.Lease            { return h.lease }
func (h holding) Exclusive(fn func() error) error { return fn() }

func (s *stage) runWith(p *Pipeline, req Request) (Result, error) {
	s.Helper()
	req.GroupID, req.SessionID = s.group, s.id
	if req.DryRun {
		return p.Run(s.Context(), nil, req)
	}
	lease := must(s.store.AcquireLease(s.Context(), s.group, reverie.LeaseGroup, "test", time.Minute))(s)
	defer func() {
		if err := s.store.ReleaseLease(context.WithoutCancel(s.Context()), lease); err != nil {
			s.Error(err)
		}
	}()
	return p.Run(s.Context(), holding{lease}, req)
}

// extract takes all there is, which must go well.
func (s *stage) extract(req Request) Result {
	s.Helper()
	res, err := s.runWith(s.pipe, req)
	if err != nil {
		s.Fatalf("extract: %v", err)
	}
	return res
}

// say imports messages of the session a minute apart, the first one now: "u: ..." is
// a user's, "a: ..." the assistant's, "t: ..." a tool's. The clock goes on.
func (s *stage) say(lines ...string) (ids []string) {
	s.Helper()
	var list []reverie.Message
	for _, line := range lines {
		who, text, _ := strings.Cut(line, ": ")
		s.told++
		m := reverie.Message{ID: fmt.Sprintf("%s-%s-%03d", s.group, s.id, s.told), Author: "Lin", Text: text, SentAt: *s.clock, SessionID: s.id}
		switch who {
		case "a":
			m.Author, m.Role = "Bot", reverie.RoleAssistant
		case "t":
			m.Author, m.Role = "search", reverie.RoleTool
		}
		list, ids = append(list, m), append(ids, m.ID)
		*s.clock = s.clock.Add(time.Minute)
	}
	must(s.store.ImportMessages(s.Context(), s.group, list))(s)
	return ids
}

// chat says turns: each a user's words and an answer.
func (s *stage) chat(texts ...string) {
	s.Helper()
	var lines []string
	for _, text := range texts {
		lines = append(lines, "u: "+text, "a: ok")
	}
	s.say(lines...)
}

func (s *stage) session() reverie.Session {
	s.Helper()
	return must(s.store.Session(context.WithoutCancel(s.Context()), s.group, s.id))(s)
}

// rows is a query's result, the columns of a row joined by a bar.
func (s *stage) rows(query string, args ...any) []string {
	s.Helper()
	return pgtest.Rows(s, s.db, query, args...)
}

// want compares a query's rows on the stage's group with those given.
func (s *stage) want(query string, want ...string) {
	s.Helper()
	if got := s.rows(query, s.group); !slices.Equal(got, append([]string{}, want...)) {
		s.Errorf("%s\n got %q\nwant %q", query, got, want)
	}
}

// facts are the statements that sessions of the group have left, with versions.
func (s *stage) facts(want ...string) {
	s.Helper()
	s.want(`select statement || ' v' || version from memories where group_id = $1 and kind = 'session' and status = 'active'
		and not 'summary' = any (tags) order by statement collate "C"`, want...)
}

// recap is what the session's summary memory says.
func (s *stage) recap(want ...string) {
	s.Helper()
	s.want(`select statement || ' v' || version from memories where group_id = $1 and status = 'active' and tags = '{session,summary}'
		and session_id <> '' order by 1`, want...)
}

// asked counts the questions so far, those for vectors left out.
func (s *stage) asked() (n int) {
	for _, r := range s.model.Requests() {
		if !r.Embedding() {
			n++
		}
	}
	return n
}

func wantErr(t testing.TB, err error, kinds ...error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, kind := range []error{reverie.ErrDeferred, reverie.ErrConfiguration, reverie.ErrUnusable, reverie.ErrLeaseLost, reverie.ErrConflict, reverie.ErrNotFound} {
		if is := errors.Is(err, kind); is != slices.Contains(kinds, kind) {
			t.Errorf("that the error is %q is %v: %v", kind, is, err)
		}
	}
}

// question is the user part of either prompt, as a model reads it.
type question struct {
	prompts.ExtractUser
	Rolling string                `json:"rolling_summary"`
	Older   []prompts.MessageView `json:"older_turns"`
}

func readQuestion(t testing.TB, r llmtest.Request) (q question) {
	if err := json.Unmarshal([]byte(r.User), &q); err != nil {
		t.Errorf("the user part is no JSON object: %v\n%s", err, r.User)
	}
	return q
}

// scribe is a model that does what the chat says, so that the same question always
// has the same answer:
//
//	note STATEMENT      a fact
//	unsure STATEMENT    one of little confidence
//	change OLD => NEW   replaces the known fact that says OLD
//
// It sums a session up by the first words of what users say.
func scribe(t testing.TB) func(llmtest.Request) llmtest.Answer {
	return func(r llmtest.Request) llmtest.Answer { return llmtest.Text(transcribe(readQuestion(t, r))) }
}

func transcribe(q question) string {
	if q.Older != nil {
		return line(map[string]any{"summary": sum(q.Rolling, q.Older)})
	}
	handles := map[string]string{}
	for _, k := range q.KnownFacts {
		handles[k.Statement] = k.ID
	}
	var b strings.Builder
	for _, m := range q.Turns {
		word, rest, _ := strings.Cut(m.Text, " ")
		fact := map[string]any{"type": "fact", "content": rest, "confidence": 0.9, "tags": []string{"talk"},
			"evidence": []map[string]any{{"message": m.ID, "quote": m.Text}}}
		switch word {
		case "note":
		case "unsure":
			fact["confidence"] = 0.4
		case "change":
			from, to, _ := strings.Cut(rest, " => ")
			fact["replace"], fact["content"] = handles[from], to
		default:
			continue
		}
		b.WriteString(line(fact) + "\n")
	}
	b.WriteString(line(map[string]any{"type": "summary", "content": sum(q.Summary, q.Turns),
		"evidence": []map[string]any{{"message": q.Turns[len(q.Turns)-1].ID}}}))
	return b.String()
}

// sum adds the first word and the last of each user's message to a summary.
func sum(before string, messages []prompts.MessageView) string {
	words := strings.Fields(before)
	for _, m := range messages {
		if said := strings.Fields(m.Text); m.Role == "" && len(said) > 0 {
			words = append(words, said[len(said)-1])
		}
	}
	return strings.Join(words, " ")
}

func line(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return string(raw)
}
