package dream

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
	"reverie/internal/safety"
	"reverie/internal/text"
	"reverie/prompts"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// stage is a group with nothing false about it but the model's server and the clock:
// PostgreSQL, the store, the SDK and the pipeline are the real ones. Stages of one
// test share a database.
type stage struct {
	testing.TB
	store *store.Store
	db    *sql.DB
	model *llmtest.Server
	pipe  *Pipeline
	group string
	clock *time.Time
	told  int
}

// evening is when a stage's clock begins: 20:00 in Shanghai.
var evening = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// hall opens the database that the stages of a test share.
func hall(t testing.TB) *stage {
	t.Helper()
	clock := evening
	s := &stage{TB: t, clock: &clock}
	s.store = pgtest.Open(t, pg.Options{Now: func() time.Time { return *s.clock }})
	s.db = must(sql.Open("postgres", pgtest.URL(t)))(t)
	t.Cleanup(func() { _ = s.db.Close() })
	return s
}

// on is a stage of the hall with a group and a model of its own.
func (s *stage) on(t testing.TB, group string) *stage {
	t.Helper()
	own := &stage{TB: t, store: s.store, db: s.db, clock: s.clock, group: group}
	*own.clock = evening
	own.model = llmtest.New(t, llmtest.WithDims(8))
	own.model.Respond(func(r llmtest.Request) llmtest.Answer { return llmtest.Text(muse(own.read(r))) })
	must(s.store.EnsureGroup(t.Context(), reverie.Group{ID: group, TimeZone: "Asia/Shanghai", Language: "en"}))(t)
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
	return Limits{MaxInputTokens: 24_000, MaxOutputTokens: 4096, MaxItems: 12, MaxActive: 60, MaxShown: reverie.MaxShown,
		MinConfidence: 0.6, HoldRatio: 0.1, HoldMin: 1}
}

// pipeline asks the stage's server once for each question: patience has tests of its
// own.
func (s *stage) pipeline(m *pgtest.Mortal) *Pipeline {
	s.Helper()
	client := must(openai.New(openai.Options{BaseURL: s.model.URL("openai"), Model: "fake", HTTPClient: s.model.Client()}))(s)
	account := llm.Account{Provider: openai.Provider, Model: "fake", Ledger: m, Policy: llm.NewPolicy(llm.PolicyOptions{Attempts: 1, BreakerFailures: -1})}
	return &Pipeline{Store: m, Model: llm.NewModel(client, account), Prompts: must(prompts.Open(""))(s), Journal: m, Decider: decide.Plain{},
		Embeddings: llm.NewEmbeddings(client, account, llm.EmbeddingOptions{Dims: 8, Explicit: true, Cache: m}),
		Limits:     limits(), Rule: reverie.DreamRule{Idle: 24 * time.Hour, Sessions: 10, Interval: time.Hour, Silence: 30 * time.Minute},
		Now: func() time.Time { return *s.clock }, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// holding is a lease that nothing renews.
type holding struct{ lease reverie.Lease }

func (h holding) Lease() reverie.Lease            { return h.lease }
func (h holding) Exclusive(fn func() error) error { return fn() }

// leased does something under the group's lease.
func (s *stage) leased(fn func(lease reverie.Lease)) {
	s.Helper()
	lease := must(s.store.AcquireLease(s.Context(), s.group, reverie.LeaseGroup, "test", time.Minute))(s)
	defer func() {
		if err := s.store.ReleaseLease(context.WithoutCancel(s.Context()), lease); err != nil {
			s.Error(err)
		}
	}()
	fn(lease)
}

func (s *stage) runWith(p *Pipeline, req Request) (res Result, err error) {
	s.Helper()
	req.GroupID = s.group
	if req.DryRun {
		return p.Run(s.Context(), nil, req)
	}
	s.leased(func(lease reverie.Lease) { res, err = p.Run(s.Context(), holding{lease}, req) })
	return res, err
}

// dream takes all there is, which must go well.
func (s *stage) dream(req Request) Result {
	s.Helper()
	res, err := s.runWith(s.pipe, req)
	if err != nil {
		s.Fatalf("dream: %v", err)
	}
	return res
}

// talk is a session that has been held now and extracted: a message for each fact,
// and a summary, "" for none. It takes a minute for each fact, and one at least.
func (s *stage) talk(session, summary string, facts ...string) {
	s.Helper()
	var list []reverie.Message
	for _, text := range append(slices.Clone(facts), "And so on.") {
		s.told++
		list = append(list, reverie.Message{ID: fmt.Sprintf("%s-%03d", s.group, s.told), AuthorID: "Lin", Author: "Lin", Text: text, SentAt: *s.clock, SessionID: session})
		*s.clock = s.clock.Add(time.Minute)
	}
	must(s.store.ImportMessages(s.Context(), s.group, list))(s)
	loc := must(time.LoadLocation("Asia/Shanghai"))(s)
	var steps []reverie.Step
	for i, body := range facts {
		steps = append(steps, birth(body, text.ContentHash(body), session, []string{reverie.TagSession, "fact"}, safety.EvidenceOf(list[i], "", loc)))
	}
	if summary != "" {
		steps = append(steps, birth(summary, text.SummaryHash(session, summary), session, []string{reverie.TagSession, reverie.TagSummary},
			safety.EvidenceOf(list[0], "", loc)))
	}
	ids := make([]string, len(list))
	for i, m := range list {
		ids[i] = m.ID
	}
	s.write(reverie.JobExtract, session, ids, reverie.Plan{Kind: reverie.KindSession, SessionID: session, Used: ids, Steps: steps})
}

// remember lets the group remember statements.
func (s *stage) remember(statements ...string) {
	s.Helper()
	var steps []reverie.Step
	for _, body := range statements {
		steps = append(steps, birth(body, text.ContentHash(body), "", nil))
	}
	s.write(reverie.JobEvolve, "", nil, reverie.Plan{Kind: reverie.KindGroup, Steps: steps})
}

func birth(text, hash, session string, tags []string, evidence ...reverie.Evidence) reverie.Step {
	st := reverie.Step{Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(), SessionID: session, Statement: text,
		ContentHash: hash, Tags: tags, Strength: reverie.TentativeStrength, Evidence: evidence}
	if len(evidence) > 0 {
		st.LastSupportedAt = evidence[0].SentAt
	}
	return st
}

// write applies a plan in a run of its own.
func (s *stage) write(job reverie.Job, session string, messages []string, plan reverie.Plan) {
	s.Helper()
	s.leased(func(lease reverie.Lease) {
		run := must(s.store.StartRun(s.Context(), lease, reverie.Run{Job: job, SessionID: session, WindowSince: *s.clock, WindowUntil: s.clock.Add(time.Minute)}))(s)
		plan.GroupID, plan.RunID, plan.ChunkNo = s.group, run.ID, 1
		if err := s.store.SaveChunk(s.Context(), lease, reverie.Chunk{RunID: run.ID, No: 1, MessageIDs: messages, Status: reverie.ChunkAnswered}); err != nil {
			s.Fatal(err)
		}
		must(s.store.Apply(s.Context(), lease, plan))(s)
		run.Status = reverie.RunSucceeded
		must(s.store.FinishRun(s.Context(), lease, run))(s)
	})
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

// items are what dreams have left, with type and version; those that are done say so.
func (s *stage) items(want ...string) {
	s.Helper()
	s.want(`select tags[3] || ': ' || statement || ' v' || version || case when 'done' = any (tags) then ' done' else '' end
		from memories where group_id = $1 and kind = 'dream' and status = 'active' and not 'summary' = any (tags) order by statement collate "C"`, want...)
}

// narrative is what the narrative says.
func (s *stage) narrative(want ...string) {
	s.Helper()
	s.want(`select statement || ' v' || version from memories where group_id = $1 and status = 'active' and tags = '{dream,summary}' and kind = 'dream'`, want...)
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

// rules are the rules of refusals, in order.
func rules(refusals []reverie.Refusal) (list []string) {
	for _, f := range refusals {
		list = append(list, f.Rule)
	}
	return list
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

// read is the user part of a question, as a model reads it.
func (s *stage) read(r llmtest.Request) (q prompts.DreamUser) {
	if err := json.Unmarshal([]byte(r.User), &q); err != nil {
		s.Errorf("the user part is no JSON object: %v\n%s", err, r.User)
	}
	return q
}

// muse is a model that does what facts say, so that the same question always has the
// same answer:
//
//	likes STATEMENT      a preference
//	topic STATEMENT      a theme, of all facts that say so
//	must STATEMENT       a todo
//	done OLD => NEW      closes the todo that says OLD
//	change OLD => NEW    replaces the item that says OLD
//	still OLD            bears out the item that says OLD
//
// What stands behind " | " only keeps two facts apart.
//
// Its narrative is the last words of what it is shown.
func muse(q prompts.DreamUser) string {
	m := &musing{at: map[string]int{}, known: map[string]prompts.DreamItemView{}}
	for _, d := range q.Items {
		m.known[d.Content] = d
	}
	for _, v := range q.Sessions {
		m.say(v.Summary)
		for _, f := range v.Facts {
			m.fact(f)
		}
	}
	for _, v := range q.Memories {
		if v.New {
			m.say(v.Statement)
		}
	}
	text := line(map[string]any{"type": "summary", "content": strings.Join(m.words, " ") + "."})
	for _, l := range m.lines {
		if l["keep"] == true {
			delete(l, "content")
		}
		text += "\n" + line(l)
	}
	return text
}

type musing struct {
	words []string
	lines []map[string]any
	at    map[string]int // by content
	known map[string]prompts.DreamItemView
}

func (m *musing) say(text string) {
	if said := strings.Fields(strings.TrimSuffix(text, ".")); len(said) > 0 {
		m.words = append(m.words, said[len(said)-1])
	}
}

func (m *musing) fact(f prompts.DreamFactView) {
	said, _, _ := strings.Cut(f.Statement, " | ")
	word, rest, _ := strings.Cut(said, " ")
	from, to, _ := strings.Cut(rest, " => ")
	switch word {
	case "likes":
		m.add(map[string]any{"type": "preference", "content": rest}, f.ID)
	case "topic":
		m.add(map[string]any{"type": "theme", "content": rest, "tags": []string{"talk", "summary", "todo"}}, f.ID)
	case "must":
		m.add(map[string]any{"type": "todo", "content": rest}, f.ID)
	case "still":
		m.add(map[string]any{"type": m.known[rest].Type, "content": rest, "replace": m.known[rest].ID, "keep": true}, f.ID)
	case "done", "change":
		m.add(map[string]any{"type": m.known[from].Type, "content": to, "replace": m.known[from].ID, "done": word == "done"}, f.ID)
	}
}

// add adds a line, or a source to the line that says so already.
func (m *musing) add(l map[string]any, source string) {
	content := l["content"].(string)
	if at, said := m.at[content]; said {
		m.lines[at]["sources"] = append(m.lines[at]["sources"].([]string), source)
		return
	}
	m.at[content] = len(m.lines)
	l["sources"], l["confidence"] = []string{source}, 0.9
	m.lines = append(m.lines, l)
}

func line(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return string(raw)
}
