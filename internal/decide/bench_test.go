package decide_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
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
)

// bench is a layer over a model's server that follows a script. Statements come
// near each other when their first word is the same.
type bench struct {
	*testing.T
	model *llmtest.Server
	space *space
	shelf *shelf
	layer *decide.Comparer
	heads []reverie.HeadState
}

func newBench(t *testing.T, statements ...string) *bench {
	t.Helper()
	b := &bench{T: t, model: llmtest.New(t), space: &space{near: map[string]float64{}, dim: map[string]int{}}, shelf: &shelf{kept: map[string]reverie.Answer{}}}
	client, err := openai.New(openai.Options{BaseURL: b.model.URL("openai"), Model: "fake", HTTPClient: b.model.Client()})
	if err != nil {
		t.Fatal(err)
	}
	set, err := prompts.Open("")
	if err != nil {
		t.Fatal(err)
	}
	policy := llm.NewPolicy(llm.PolicyOptions{Attempts: 1, BreakerFailures: -1})
	b.layer = &decide.Comparer{Store: b, Model: llm.NewModel(client, llm.Account{Provider: "openai", Model: "fake", Policy: policy}), Embeddings: b.space,
		Prompts: set, Calibration: reverie.Calibration{Floor: 0, Ceiling: 1}, Journal: b.shelf, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Options: decide.Options{TopK: 5, MinScore: 0.7, Fallback: decide.FallbackAdd, MaxCalls: 20, MaxOutputTokens: 1000}}
	for i, s := range statements {
		h := head(reverie.KindGroup, fmt.Sprintf("00000000-0000-7000-8000-%012d", i+1), s)
		h.EmbeddingModel, h.LastSupportedAt = b.space.Key(), time.Date(2026, 1, 10, 20, 0, 0, 0, time.UTC)
		b.heads = append(b.heads, h)
	}
	return b
}

// request is one of a run, about the bench's memories.
func (b *bench) request(facts ...decide.Line) decide.Request {
	return decide.Request{GroupID: "g", RunID: "run", ChunkNo: 1, Kind: reverie.KindGroup, Language: prompts.English, Heads: b.heads, Lines: facts,
		Location: time.FixedZone("", 8*3600), Lease: func() reverie.Lease { return reverie.Lease{GroupID: "g", Fence: 7} }}
}

func (b *bench) decide(req decide.Request) decide.Result {
	b.Helper()
	res, err := b.layer.Decide(b.Context(), req)
	if err != nil {
		b.Fatal(err)
	}
	return res
}

// Candidates searches the bench's memories as a database does, by what their texts have in
// common where there is no model.
func (b *bench) Candidates(_ context.Context, q reverie.CandidateQuery) ([][]reverie.Near, error) {
	found := make([][]reverie.Near, len(q.Probes))
	for i, probe := range q.Probes {
		add := func(id, said string, vector []float32) {
			score := b.space.words(probe.Text, said)
			if q.Model != "" && vector != nil {
				score = max(score, q.Calibration.Score(cosine(probe.Vector, vector)))
			}
			if score >= q.MinScore && id != probe.ID {
				found[i] = append(found[i], reverie.Near{ID: id, Score: score})
			}
		}
		for _, h := range b.heads {
			if h.Kind == q.Kind && !slices.Contains(q.Exclude, h.ID) {
				var vector []float32
				if h.EmbeddingModel == q.Model {
					vector = b.space.vector(h.Statement)
				}
				add(h.ID, h.Statement, vector)
			}
		}
		for _, p := range q.Beside {
			add(p.ID, p.Text, p.Vector)
		}
		slices.SortStableFunc(found[i], func(a, b reverie.Near) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
		})
		found[i] = found[i][:min(len(found[i]), q.Limit)]
	}
	return found, nil
}

func cosine(a, b []float32) (dot float64) {
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
	}
	return dot
}

// space gives statements of one first word one direction, less those of near,
// which deviate from it so far that their cosine with it is that.
type space struct {
	near  map[string]float64
	dim   map[string]int
	calls [][]string
	err   error
	// alike is how far texts have the same words, where they do: "one|other".
	alike map[string]float64
}

// words is the score of two texts by their words.
func (s *space) words(a, b string) float64 { return s.alike[a+"|"+b] }

func (s *space) Key() string { return "space@64" }

func (s *space) Embed(_ context.Context, _ llm.Meta, texts []string) (vectors [][]float32, err error) {
	s.calls = append(s.calls, texts)
	for _, t := range texts {
		vectors = append(vectors, s.vector(t))
	}
	return vectors, s.err
}

func (s *space) vector(text string) []float32 {
	topic, _, _ := strings.Cut(text, " ")
	c, ok := s.near[text]
	if !ok {
		c = 1
	}
	v := make([]float32, 64)
	v[s.at(strings.ToLower(topic))] = float32(c)
	v[s.at("by itself: "+text)] += float32(math.Sqrt(1 - c*c))
	return v
}

func (s *space) at(direction string) int {
	if _, known := s.dim[direction]; !known {
		s.dim[direction] = len(s.dim)
	}
	return s.dim[direction]
}

// shelf keeps answers.
type shelf struct {
	kept map[string]reverie.Answer
}

func (s *shelf) Answers(_ context.Context, groupID, runID, purpose string) (map[string]string, error) {
	found := map[string]string{}
	for hash, a := range s.kept {
		if a.GroupID == groupID && a.RunID == runID && a.Purpose == purpose {
			found[hash] = a.Text
		}
	}
	return found, nil
}

func (s *shelf) SaveAnswer(_ context.Context, lease reverie.Lease, a reverie.Answer) error {
	if lease.Fence != 7 {
		return reverie.ErrLeaseLost
	}
	s.kept[a.InputSHA256] = a
	return nil
}

// questions are what the model was asked.
func (b *bench) questions() (list []prompts.CompareUser) {
	b.Helper()
	for _, r := range b.model.Requests() {
		var q prompts.CompareUser
		if err := json.Unmarshal([]byte(r.User), &q); err != nil {
			b.Fatalf("%s: %v", r.User, err)
		}
		list = append(list, q)
	}
	return list
}

// says scripts an answer: lines of "c1 duplicate" or "c2 update merged statement".
func (b *bench) says(verdicts ...string) {
	b.Helper()
	b.model.Script(llmtest.Lines(verdictLines(verdicts...)...))
}

func verdictLines(verdicts ...string) (list []string) {
	for _, v := range verdicts {
		parts := strings.SplitN(v, " ", 3)
		line := map[string]string{"id": parts[0], "reason": "because", "relation": parts[1]}
		if len(parts) > 2 {
			line["statement"] = parts[2]
		}
		raw, err := json.Marshal(line)
		if err != nil {
			panic(err) // strings always encode
		}
		list = append(list, string(raw))
	}
	return list
}

// ruled are a result's decisions in short.
func ruled(res decide.Result) (list []string) {
	for _, d := range res.Decisions {
		list = append(list, fmt.Sprintf("%s %s %d", d.Action, d.Basis, d.Calls))
	}
	return list
}

// flat is a result without the ids that are born with it.
func flat(res decide.Result) string {
	text := fmt.Sprint(did(res.Steps), did(res.Held), res.HeldReasons, res.Dropped, res.Asked)
	for _, d := range res.Decisions {
		d.MemoryID, d.Candidates = "", slices.Clone(d.Candidates)
		for i := range d.Candidates {
			if d.Candidates[i].Version > 1 {
				d.Candidates[i].MemoryID = ""
			}
		}
		text += fmt.Sprintf("%+v", d)
	}
	return text
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
