package decide_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
	"reverie/internal/llm/offline"
	"reverie/internal/llm/openai"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// wording is a line of testdata/wordings.jsonl: one way to put a fact, or (with a
// base) a statement that says nearly what its base says, and something else.
type wording struct {
	Fact     string           `json:"fact"`
	Language string           `json:"language"`
	Text     string           `json:"text"`
	Base     string           `json:"base"`
	Differs  string           `json:"differs"` // weekday, number, time, name, order, negation
	Truth    reverie.Relation `json:"truth"`   // of the base to the text
}

func readWordings(t testing.TB) (same map[string][]wording, facts []string, near []wording) {
	t.Helper()
	raw, err := os.ReadFile("testdata/wordings.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	same = map[string][]wording{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	for {
		var w wording
		if err := dec.Decode(&w); err == io.EOF {
			return same, facts, near
		} else if err != nil {
			t.Fatal(err)
		}
		if w.Base != "" {
			near = append(near, w)
			continue
		}
		key := w.Fact + " " + w.Language
		if same[key] == nil {
			facts = append(facts, key)
		}
		same[key] = append(same[key], w)
	}
}

// TestWordings writes each fact in all its wordings, one after the other, and
// each near miss after its base, through a decider into a real store. It counts
// what is stored twice, and what is lost. How many memories a fact may end in is
// what was measured; a fact in two languages is two, since the offline vectors of
// the two are strangers.
func TestWordings(t *testing.T) {
	same, facts, near := readWordings(t)
	if n := len(same["badminton en"]) + len(same["badminton zh"]); n != 50 || len(near) < 20 || len(facts) < 6 {
		t.Fatalf("the corpus has %d wordings of one fact, %d facts and %d near misses", n, len(facts), len(near))
	}
	knowing := func(p *press) decider { return p.layer(p.knowing(same, near), openai.Provider, "knowing") }
	for _, mode := range []struct {
		name string
		most map[string]int
		with func(*press) decider
		near []wording // nothing is compared where it is off
	}{
		{"offline", map[string]int{"badminton en": 25, "badminton zh": 25, "translator en": 6, "peanuts zh": 6, "zine en": 6, "key zh": 6, "java en": 5}, func(p *press) decider { return p.layer(offline.New(0), "offline", offline.GenerationModel) }, near},
		{"true verdicts", map[string]int{"badminton en": 1, "badminton zh": 1, "translator en": 1, "peanuts zh": 1, "zine en": 1, "key zh": 1, "java en": 1}, knowing, near},
		{"words alone", map[string]int{"badminton en": 5, "badminton zh": 2, "translator en": 1, "peanuts zh": 5, "zine en": 1, "key zh": 1, "java en": 4}, func(p *press) decider {
			c := knowing(p).(*decide.Comparer)
			c.Embeddings, p.warns = nil, true
			return c
		}, near},
		{"off", map[string]int{"badminton en": 25, "badminton zh": 25, "translator en": 6, "peanuts zh": 6, "zine en": 6, "key zh": 6, "java en": 6}, func(*press) decider { return decide.Plain{} }, nil},
	} {
		t.Run(mode.name, func(t *testing.T) {
			p := newPress(t)
			p.decider = mode.with(p)
			var table strings.Builder
			for _, key := range facts {
				group := strings.ReplaceAll(key, " ", "-")
				p.write(group, same[key]...)
				n := len(p.active(group))
				fmt.Fprintf(&table, "%-14s %2d wordings: %2d memories\n", key, len(same[key]), n)
				if n < 1 || n > mode.most[key] {
					t.Errorf("%s: %d memories, from 1 to %d are expected: %q", key, n, mode.most[key], p.active(group))
				}
			}
			for i, w := range mode.near {
				p.write(fmt.Sprintf("near-%d", i), wording{Language: w.Language, Text: w.Base}, w)
				back := wording{Language: w.Language, Text: w.Base, Base: w.Text, Truth: w.Truth}
				p.write(fmt.Sprintf("back-%d", i), wording{Language: w.Language, Text: w.Text}, back)
				fmt.Fprintf(&table, "%-8s %q, then %q: %q\n", w.Differs, w.Base, w.Text, p.active(fmt.Sprintf("near-%d", i)))
				p.keeps(fmt.Sprintf("near-%d", i), w)
				p.keeps(fmt.Sprintf("back-%d", i), back)
			}
			t.Logf("%d questions\n%s", p.asked, &table)
		})
	}
}

// decider is [decide.Comparer] or [decide.Plain].
type decider interface {
	Decide(ctx context.Context, req decide.Request) (decide.Result, error)
}

// press writes statements as a pipeline does: one run for each.
type press struct {
	*testing.T
	store *store.Store
	decider
	now   time.Time
	sent  int
	asked int
	warns bool // where something is compared, that there are no vectors
}

func newPress(t *testing.T) *press {
	p := &press{T: t, now: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)}
	p.store = pgtest.Open(t, pg.Options{Now: func() time.Time { return p.now }})
	return p
}

// layer compares with a model, by the offline vectors and with the defaults of
// the configuration.
func (p *press) layer(model llm.Generator, provider, name string) decider {
	set, err := prompts.Open("")
	p.check(err)
	policy := llm.NewPolicy(llm.PolicyOptions{Attempts: 1, BreakerFailures: -1})
	return &decide.Comparer{Store: p.store, Prompts: set, Journal: p.store, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Calibration: offline.Calibration,
		Model: llm.NewModel(model, llm.Account{Provider: provider, Model: name, Policy: policy, Ledger: p.store}),
		Embeddings: llm.NewEmbeddings(offline.New(0), llm.Account{Provider: "offline", Model: offline.EmbeddingModel, Policy: policy, Ledger: p.store},
			llm.EmbeddingOptions{Dims: offline.DefaultDims, Explicit: true, Cache: p.store}),
		Options: decide.Options{TopK: 5, MinScore: 0.70, Fallback: decide.FallbackAdd, MaxCalls: 50, MaxOutputTokens: 2000}}
}

// knowing is a model behind a real SDK that knows how the statements of the corpus
// stand to each other.
func (p *press) knowing(same map[string][]wording, near []wording) llm.Generator {
	fact := map[string]string{}
	for key, list := range same {
		for _, w := range list {
			fact[w.Text] = key
		}
	}
	srv := llmtest.New(p.T)
	srv.Respond(func(r llmtest.Request) llmtest.Answer {
		var q prompts.CompareUser
		p.check(json.Unmarshal([]byte(r.User), &q))
		var lines []string
		for _, c := range q.Candidates {
			relation := reverie.RelationUnrelated
			if fact[c.Statement] != "" && fact[c.Statement] == fact[q.Fact.Statement] {
				relation = reverie.RelationDuplicate
			}
			for _, w := range near {
				if w.Base == c.Statement && w.Text == q.Fact.Statement || w.Text == c.Statement && w.Base == q.Fact.Statement {
					relation = w.Truth
				}
			}
			line, err := json.Marshal(map[string]any{"id": c.ID, "reason": "as the corpus has it", "relation": relation})
			p.check(err)
			lines = append(lines, string(line))
		}
		return llmtest.Lines(lines...)
	})
	client, err := openai.New(openai.Options{BaseURL: srv.URL("openai"), Model: "knowing", HTTPClient: srv.Client()})
	p.check(err)
	return client
}

func (p *press) check(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// write lets statements be decided on and applied, each in a run of its own.
func (p *press) write(group string, list ...wording) {
	p.Helper()
	for _, w := range list {
		p.run(group, w)
	}
}

func (p *press) run(group string, w wording) {
	p.Helper()
	ctx := p.Context()
	p.sent++
	p.now = p.now.Add(time.Minute)
	m := reverie.Message{ID: fmt.Sprintf("m%d", p.sent), AuthorID: "u1", Author: "Bo", Role: reverie.RoleUser, Text: w.Text, SentAt: p.now.Add(-time.Second)}
	_, err := p.store.EnsureGroup(ctx, reverie.Group{ID: group, TimeZone: "Asia/Kathmandu", Language: w.Language})
	p.check(err)
	_, err = p.store.ImportMessages(ctx, group, []reverie.Message{m})
	p.check(err)
	lease, err := p.store.AcquireLease(ctx, group, reverie.LeaseGroup, "test", time.Minute)
	p.check(err)
	run, err := p.store.StartRun(ctx, lease, reverie.Run{Job: reverie.JobEvolve, WindowSince: m.SentAt, WindowUntil: p.now, Model: "test/none"})
	p.check(err)
	p.check(p.store.SaveChunk(ctx, lease, reverie.Chunk{RunID: run.ID, No: 1, InputSHA256: "in", MessageIDs: []string{m.ID}, Status: reverie.ChunkAnswered}))
	state, err := p.store.Gather(ctx, reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, Until: p.now, Limit: 1})
	p.check(err)
	location, err := time.LoadLocation("Asia/Kathmandu")
	p.check(err)
	res, err := p.Decide(ctx, decide.Request{GroupID: group, RunID: run.ID, ChunkNo: 1, Kind: reverie.KindGroup, Language: w.Language, Location: location,
		Lease: func() reverie.Lease { return lease }, Heads: state.Heads, Lines: []decide.Line{{Action: reverie.ActionCreate, Statement: w.Text,
			ContentHash: text.ContentHash(w.Text), Reason: "it was said", Quoted: true, Evidence: []reverie.Evidence{{MessageID: m.ID, AuthorID: m.AuthorID,
				Author: m.Author, Quote: w.Text, SentAt: m.SentAt, LocalDate: text.LocalDate(m.SentAt, location)}}}}})
	p.check(err)
	if len(res.Held) > 0 || len(res.Dropped) > 0 || len(res.Warnings) > 0 && !p.warns {
		p.Errorf("%q: held %+v, dropped %+v, warnings %q", w.Text, res.Held, res.Dropped, res.Warnings)
	}
	p.asked += res.Asked
	_, err = p.store.Apply(ctx, lease, reverie.Plan{GroupID: group, RunID: run.ID, ChunkNo: 1, Kind: reverie.KindGroup, Steps: res.Steps, Decisions: res.Decisions,
		Outcomes: map[string]reverie.Outcome{m.ID: reverie.OutcomeCited}})
	p.check(err)
	run.Status = reverie.RunSucceeded
	_, err = p.store.FinishRun(ctx, lease, run)
	p.check(err)
	p.check(p.store.ReleaseLease(ctx, lease))
}

// active are the statements that a group remembers.
func (p *press) active(group string) []string {
	p.Helper()
	state, err := p.store.Gather(p.Context(), reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, Until: p.now, Limit: 1})
	p.check(err)
	var list []string
	for _, h := range state.Heads {
		list = append(list, h.Statement)
	}
	return list
}

// keeps fails where a near miss was taken for its base, or its base was given up
// though both hold.
func (p *press) keeps(group string, w wording) {
	p.Helper()
	active := p.active(group)
	if !slices.Contains(active, w.Text) {
		p.Errorf("%q is lost to %q: %q", w.Text, w.Base, active)
	}
	if w.Truth == reverie.RelationUnrelated && !slices.Contains(active, w.Base) {
		p.Errorf("%q is lost to %q: %q", w.Base, w.Text, active)
	}
}
