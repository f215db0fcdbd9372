package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"reverie/evolve"
	"reverie/internal/batch"
	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/prompts"
	"reverie/store"
	"reverie/store/batches"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// noon is when the tests begin: the 15th is open.
var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// hurried is a clock on which what is waited for comes at once, as late as it should.
type hurried struct {
	*clockwork.FakeClock
	world *world
}

func (c hurried) After(d time.Duration) <-chan time.Time {
	if d == reverie.LeaseRenew { // nothing takes as long as that
		return nil
	}
	c.Advance(d)
	if c.world.look != nil {
		c.world.look()
	}
	now := make(chan time.Time, 1)
	now <- c.Now()
	return now
}

// world is a database with groups, a provider, and a process after the other.
type world struct {
	*testing.T
	store    *store.Store
	clock    hurried
	provider *provider
	told     int
	options  func(*batch.Options)
	budget   *llm.Budget
	between  func(wave int) // called before each wave
	look     func()         // called before each look at the batches but the first
	waves    int
}

func newWorld(t *testing.T) *world {
	w := &world{T: t}
	w.clock = hurried{clockwork.NewFakeClockAt(noon), w}
	w.store = pgtest.Open(t, pg.Options{Now: w.clock.Now})
	w.provider = &provider{world: w, batches: map[string]*handedIn{}}
	return w
}

// say gives a group messages of some days ago, a minute apart.
func (w *world) say(group string, daysAgo int, texts ...string) {
	w.Helper()
	must(w.store.EnsureGroup(w.Context(), reverie.Group{ID: group, TimeZone: "UTC"}))(w)
	var list []reverie.Message
	for i, text := range texts {
		w.told++
		author := []string{"Lin", "Maya"}[i%2]
		list = append(list, reverie.Message{ID: fmt.Sprintf("m%04d", w.told), AuthorID: strings.ToLower(author), Author: author, Text: text,
			SentAt: noon.AddDate(0, 0, -daysAgo).Add(time.Duration(i) * time.Minute)})
	}
	must(w.store.ImportMessages(w.Context(), group, list))(w)
}

// tell is a story of several groups, nights and chunks, in which facts are compared.
func (w *world) tell() {
	for g := range 3 {
		group := fmt.Sprintf("g%d", g+1)
		w.say(group, 3, "note tea "+group+" likes tea.", "note bus "+group+" goes by bus.", "note cats "+group+" has cats.")
		w.say(group, 2, "note tea "+group+" likes green tea.", "note bus "+group+" took bus 7.", "note cats "+group+" has two cats.",
			"note sun "+group+" likes the sun.")
		w.say(group, 1, "note tea "+group+" likes black tea.")
	}
}

// process is one that works until it dies, of everything after its Left-th call.
type process struct {
	*world
	mortal *pgtest.Mortal
	waves  *batch.Waves
	runner *jobs.Runner
}

var errDead = errors.New("the process is dead")

// life counts the calls of one process to the store of batches and to the provider, and
// ends before or after one of them.
type life struct {
	mu     sync.Mutex
	left   int // below zero: it lives
	after  bool
	dead   bool
	calls  []string
	mortal *pgtest.Mortal
}

func (l *life) call(what string, do func() error) error {
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return errDead
	}
	dies := l.left == 0
	l.left--
	l.calls = append(l.calls, what)
	if dies {
		l.dead = true
		if l.mortal != nil {
			l.mortal.Left = 0
		}
	}
	l.mu.Unlock()
	if dies && !l.after {
		return errDead
	}
	err := do()
	if dies {
		return errDead
	}
	return err
}

func (w *world) process(l *life) *process {
	w.Helper()
	mortal := pgtest.NewMortal(w.store, -1)
	l.mortal = mortal
	of := &mortalProvider{w.provider, l}
	account := llm.Account{Provider: "test", Model: "m", Ledger: mortal, Batcher: of, Now: w.clock.Now,
		Asked:  batch.Direct{Store: batches.New(w.store.DB())},
		Prices: map[string]llm.Price{"m": {Input: 10, Output: 20}},
		Policy: llm.NewPolicy(llm.PolicyOptions{Attempts: 1, BreakerFailures: -1})}
	model := llm.NewModel(of, account)
	set := must(prompts.Open(""))(w)
	embeddings := llm.NewEmbeddings(topics{}, llm.Account{Provider: "test", Model: "topics", Free: true},
		llm.EmbeddingOptions{Dims: 16, Explicit: true, Cache: mortal})
	quiet := slog.New(slog.DiscardHandler)
	pipe := &evolve.Pipeline{Store: mortal, Model: model, Prompts: set, Embeddings: embeddings, CompareShown: true,
		Decider: &decide.Comparer{Store: mortal, Model: model, Embeddings: embeddings, Prompts: set, Journal: mortal, Log: quiet,
			Calibration: reverie.Calibration{Floor: 0, Ceiling: 1},
			Options:     decide.Options{TopK: 5, MinScore: 0.7, Fallback: decide.FallbackAdd, MaxCalls: 50, MaxOutputTokens: 1000}},
		Limits: evolve.Limits{MaxMessages: 3, MaxInputTokens: 8000, MaxOutputTokens: 1000, MaxCreates: 10, MaxActive: 100,
			Target: 30, MaxShown: 50, HoldRatio: 1, HoldMin: 100},
		Now: w.clock.Now, Log: quiet}
	o := batch.Options{Job: reverie.JobEvolve, Models: []*llm.Model{model}, Deadline: 24 * time.Hour, Poll: 30 * time.Second,
		Holder: "test:1", Clock: w.clock, Log: quiet, Tell: func(string) {}, Count: func(string, int) {},
		Called: func(reverie.Call) {}}
	if w.options != nil {
		w.options(&o)
	}
	p := &process{world: w, mortal: mortal, waves: batch.New(&mortalBatches{batches.New(w.store.DB()), l}, o)}
	p.runner = &jobs.Runner{Job: reverie.JobEvolve, Store: w.store, Leases: &jobs.Leases{Store: w.store, Holder: "test:1"},
		Concurrency: 1, Plan: jobs.Nightly(w.store, func() time.Time { return noon }, 0), Now: w.clock.Now, Log: quiet, Rule: reverie.ParkRule{After: 9},
		IgnoreRetry: true,
		Work: func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, win reverie.Window) (jobs.RunOutcome, error) {
			var hold pipeline.LeaseHolder = held
			r, err := pipe.Run(ctx, hold, evolve.Request{GroupID: g.ID, Since: win.Since, Until: win.Until})
			return jobs.RunOutcome{RunID: r.RunID, Status: r.Status, NoNew: r.NoNew, Stats: r.Stats, Result: r}, err
		}}
	return p
}

// run works in waves, and returns what the last wave ended with, or the waves.
func (p *process) run() (summary jobs.Summary, err error) {
	ctx := llm.WithBudget(p.Context(), p.budget)
	var last error
	err = p.waves.Run(ctx, nil, func(ctx context.Context) bool {
		p.world.waves++
		if p.between != nil {
			p.between(p.world.waves)
		}
		var s jobs.Summary
		s, last = p.runner.Run(ctx, nil)
		summary.Next(s)
		return last != nil && !errors.As(last, new(*jobs.PartialError))
	})
	return summary, errors.Join(err, last)
}

// inBatches evolves all that is due, and ends the test where not all is done.
func (w *world) inBatches() jobs.Summary {
	w.Helper()
	s, err := w.process(&life{left: -1}).run()
	if err != nil {
		w.Fatalf("in batches: %v", err)
	}
	return s
}

// directly evolves all that is due without batches.
func (w *world) directly() {
	w.Helper()
	if _, err := w.process(&life{left: -1}).runner.Run(w.Context(), nil); err != nil {
		w.Fatalf("directly: %v", err)
	}
}

func (w *world) rows(query string, args ...any) []string {
	w.Helper()
	return must(pg.QueryAll[string](w.Context(), w.store.DB(), "look", query, args...))(w)
}

func (w *world) exec(query string) {
	w.Helper()
	if err := w.store.DB().Exec(w.Context(), "change", query); err != nil {
		w.Fatal(err)
	}
}

func (w *world) want(query string, want ...string) {
	w.Helper()
	if got := w.rows(query); !slices.Equal(got, want) {
		w.Errorf("%s\n got %q\nwant %q", query, got, want)
	}
}

// account is what the groups remember, how it came about, and what became of the messages.
func (w *world) account() []string {
	w.Helper()
	return slices.Concat(
		w.rows(`select concat_ws('|', m.group_id, m.statement, m.version, m.status, m.strength::numeric(4,2)) from memories m order by 1`),
		w.rows(`select concat_ws('|', m.group_id, m.message_id, m.outcome, r.window_since, r.status) from messages m
			join runs r on r.group_id = m.group_id and r.run_id = m.run_id order by 1`),
		w.rows(`select concat_ws('|', group_id, window_since, attempt, status, error) from runs order by 1`),
		w.rows(`select concat_ws('|', group_id, purpose, outcome, count(*), sum(input_tokens), sum(output_tokens)) from llm_calls
			group by group_id, purpose, outcome order by 1`))
}

// paid are the dollars in the ledger.
func (w *world) paid() float64 {
	w.Helper()
	return must(w.store.SpendSince(w.Context(), noon.AddDate(-1, 0, 0)))(w).CostUSD
}

// topics embeds texts by their first word.
type topics struct{}

func (topics) Embed(_ context.Context, texts []string) ([][]float32, llm.Usage, error) {
	var vectors [][]float32
	for _, t := range texts {
		word, _, _ := strings.Cut(strings.ToLower(t), " ")
		v, own := llmtest.Vector(word, 16), llmtest.Vector(t, 16)
		for i := range v {
			v[i] = float32(math.Sqrt(0.99))*v[i] + 0.1*own[i]
		}
		vectors = append(vectors, v)
	}
	return vectors, llm.Usage{}, nil
}

// says is what the model says: what the chat notes is created, and of facts that come near
// a memory the first is an update of it.
func says(req llm.Request) string {
	var b strings.Builder
	if strings.Contains(req.User, `"candidates":`) {
		var q prompts.CompareUser
		_ = json.Unmarshal([]byte(req.User), &q)
		for i, c := range q.Candidates {
			relation, statement := "unrelated", ""
			if i == 0 {
				relation, statement = "update", q.Fact.Statement
			}
			raw, _ := json.Marshal(map[string]string{"id": c.ID, "relation": relation, "statement": statement, "reason": "so it seems"})
			b.Write(append(raw, '\n'))
		}
		return b.String()
	}
	var q prompts.EvolveUser
	_ = json.Unmarshal([]byte(req.User), &q)
	for _, m := range q.NewDiscussions {
		_, note, _ := strings.Cut(m.Text, " ")
		raw, _ := json.Marshal(map[string]any{"action": "create", "statement": note, "change_reason": "said so",
			"evidence": []map[string]any{{"message": m.ID, "quote": note}}})
		b.Write(append(raw, '\n'))
	}
	return b.String()
}

var nonces = regexp.MustCompile(`\{"nonce":"[^"]+"\}`)

func answer(req llm.Request) llm.Response {
	text := says(req)
	if nonce := nonces.FindString(req.System); nonce != "" {
		text = nonce + "\n" + text
	}
	return llm.Response{Text: text, Finish: llm.FinishStop, Usage: llm.Usage{InputTokens: 1000, OutputTokens: 100}}
}

// provider answers batches as soon as it is looked at them, and counts what it is paid for.
type provider struct {
	world *world

	mu      sync.Mutex
	batches map[string]*handedIn
	asked   []string // questions that were answered in batches, by their texts
	direct  []string
	submits int

	limits llm.BatchLimits
	answer func(b *handedIn) []llm.BatchAnswer // nil: each is answered
	state  func(b *handedIn) (llm.BatchState, error)
	lose   func(n int) (lost, reached bool)
	submit func(s llm.BatchSubmission, questions []llm.BatchQuestion) error
	hang   func(ctx context.Context, call string) error
	listed time.Time // when batches are listed at last
	find   error
	read   error
	cancel error
	drop   error

	dropped []string // batches
}

func (p *provider) hangs(ctx context.Context, call string) error {
	if p.hang == nil {
		return nil
	}
	return p.hang(ctx, call)
}

type handedIn struct {
	id        string
	key       string
	questions []llm.BatchQuestion
	cancelled bool
}

func plain(q llm.Request) string {
	system, _, _ := strings.Cut(q.System, "\n\nBegin your answer")
	return system + q.User
}

func (p *provider) answers(b *handedIn) []llm.BatchAnswer {
	if p.answer != nil {
		return p.answer(b)
	}
	return answersTo(b)
}

func answersTo(b *handedIn) (list []llm.BatchAnswer) {
	for _, q := range b.questions {
		list = append(list, llm.BatchAnswer{ID: q.ID, Response: answer(q.Request)})
	}
	return list
}

// mortalProvider is the provider as a process sees it.
type mortalProvider struct {
	*provider
	life *life
}

func (p *mortalProvider) Generate(_ context.Context, req llm.Request) (resp llm.Response, err error) {
	err = p.life.call("Generate", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.direct = append(p.direct, plain(req))
		resp = answer(req)
		return nil
	})
	return resp, err
}

func (p *mortalProvider) SubmitBatch(ctx context.Context, s llm.BatchSubmission, questions []llm.BatchQuestion) (id string, err error) {
	err = p.life.call("SubmitBatch", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if err := p.hangs(ctx, "SubmitBatch"); err != nil {
			return err
		}
		p.submits++
		lost, reached := false, false
		if p.lose != nil {
			lost, reached = p.lose(p.submits)
		}
		if lost && !reached {
			return &llm.Error{Provider: "test", Fault: llm.FaultNetwork}
		}
		if p.submit != nil {
			if err := p.submit(s, questions); err != nil {
				return err
			}
		}
		id = fmt.Sprintf("batch_%d", len(p.batches)+1)
		p.batches[id] = &handedIn{id: id, key: s.Key, questions: questions}
		for _, q := range questions {
			p.asked = append(p.asked, plain(q.Request))
		}
		if lost {
			return &llm.Error{Provider: "test", Fault: llm.FaultTimeout}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return id, nil
}

func (p *mortalProvider) FindBatch(ctx context.Context, s llm.BatchSubmission, mine, known func(string) bool) (found string, err error) {
	err = p.life.call("FindBatch", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if err := errors.Join(p.find, p.hangs(ctx, "FindBatch")); err != nil {
			return err
		}
		for id, b := range p.batches {
			if !known(id) && mine(b.questions[0].ID) && !p.world.clock.Now().Before(p.listed) {
				found = id
			}
		}
		return nil
	})
	return found, err
}

func (p *mortalProvider) BatchState(ctx context.Context, id string) (state llm.BatchState, err error) {
	err = p.life.call("BatchState", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		state = llm.BatchState{Phase: llm.BatchEnded}
		if err := p.hangs(ctx, "BatchState"); err != nil {
			return err
		}
		if b := p.batches[id]; b.cancelled {
			state.Phase = llm.BatchCancelled
		} else if p.state != nil {
			var err error
			state, err = p.state(b)
			return err
		}
		return nil
	})
	return state, err
}

func (p *mortalProvider) BatchAnswers(ctx context.Context, id string, each func(llm.BatchAnswer) error) error {
	var list []llm.BatchAnswer
	err := p.life.call("BatchAnswers", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		list = p.answers(p.batches[id])
		return errors.Join(p.read, p.hangs(ctx, "BatchAnswers"))
	})
	for _, a := range list {
		if err == nil {
			err = each(a)
		}
	}
	return err
}

func (p *mortalProvider) CancelBatch(ctx context.Context, id string) error {
	return p.life.call("CancelBatch", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if err := p.hangs(ctx, "CancelBatch"); err != nil {
			return err
		}
		p.batches[id].cancelled = p.cancel == nil
		return p.cancel
	})
}

func (p *mortalProvider) DropBatch(_ context.Context, id string) error {
	return p.life.call("DropBatch", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.dropped = append(p.dropped, id)
		return p.drop
	})
}

func (p *mortalProvider) BatchLimits() llm.BatchLimits { return p.limits }

// mortalBatches is the store of batches as a process sees it.
type mortalBatches struct {
	*batches.Batches
	life *life
}

func (m *mortalBatches) PutQuestion(ctx context.Context, q reverie.BatchQuestion, tries int, since time.Time) (kept reverie.BatchQuestion, err error) {
	err = m.life.call("Put", func() error { kept, err = m.Batches.PutQuestion(ctx, q, tries, since); return err })
	return kept, err
}

func (m *mortalBatches) AssignBatch(ctx context.Context, b reverie.Batch, questions []reverie.BatchQuestion, holder string, ttl time.Duration) (list []reverie.BatchQuestion, err error) {
	err = m.life.call("Assign", func() error { list, err = m.Batches.AssignBatch(ctx, b, questions, holder, ttl); return err })
	return list, err
}

func (m *mortalBatches) BatchSubmitted(ctx context.Context, id, providerID string) error {
	return m.life.call("Submitted", func() error { return m.Batches.BatchSubmitted(ctx, id, providerID) })
}

func (m *mortalBatches) TakeAnswer(ctx context.Context, id string, a reverie.BatchAnswer) (is bool, err error) {
	err = m.life.call("Take", func() error { is, err = m.Batches.TakeAnswer(ctx, id, a); return err })
	return is, err
}

func (m *mortalBatches) CloseBatch(ctx context.Context, id string, status reverie.BatchStatus, why string, tries int) (n int, err error) {
	err = m.life.call("Close", func() error { n, err = m.Batches.CloseBatch(ctx, id, status, why, tries); return err })
	return n, err
}

func (m *mortalBatches) BatchesOut(ctx context.Context, job reverie.Job) (list []reverie.Batch, err error) {
	err = m.life.call("Out", func() error { list, err = m.Batches.BatchesOut(ctx, job); return err })
	return list, err
}
