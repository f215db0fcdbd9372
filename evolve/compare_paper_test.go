package evolve

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// moody compares at random: it answers all, some or none, and cannot be trusted
// with a merged statement.
type moody struct {
	r *rand.Rand
}

func (m *moody) Name() string { return "test/moody" }

func (m *moody) Key() string { return "moody@2" }

// Embed finds everything near everything.
func (m *moody) Embed(_ context.Context, _ llm.Meta, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = []float32{1, m.r.Float32()}
	}
	return vectors, nil
}

// Candidates finds everything that is not stored near everything.
func (m *moody) Candidates(_ context.Context, q reverie.CandidateQuery) ([][]reverie.Near, error) {
	found := make([][]reverie.Near, len(q.Probes))
	for i, probe := range q.Probes {
		for _, p := range q.Beside {
			if p.ID != probe.ID {
				found[i] = append(found[i], reverie.Near{ID: p.ID, Score: reverie.Cosine(probe.Vector, p.Vector)})
			}
		}
	}
	return found, nil
}

func (m *moody) Generate(_ context.Context, _ llm.Meta, req llm.Request) (llm.Response, error) {
	var q prompts.CompareUser
	if err := json.Unmarshal([]byte(req.User), &q); err != nil {
		return llm.Response{}, err
	}
	var b strings.Builder
	for _, c := range q.Candidates {
		relation := []string{"duplicate", "update", "conflict", "conflict", "unrelated", "unrelated", "perhaps"}[m.r.IntN(7)]
		merged := c.Statement + " " + q.Fact.Statement
		if m.r.IntN(2) == 0 {
			merged = statements[m.r.IntN(len(statements))]
		}
		fmt.Fprintf(&b, `{"id":%q,"reason":"so it seems","relation":%q,"statement":%q}`+"\n", c.ID, relation, merged)
	}
	return llm.Response{Text: b.String(), Finish: llm.FinishStop}, nil
}

// TestRandomComparedPlans throws random verdicts at confused answers: whatever is
// compared with what, a plan stays sound.
func TestRandomComparedPlans(t *testing.T) {
	set, err := prompts.Open("")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	seeds := []uint64{1351, 7549, 13937, 59983} // in which something was unsound once
	for seed := range uint64(1000) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 8))
		p, m := randomPaper(r), &moody{r: r}
		text := randomAnswer(r, len(p.Memories), len(p.Fresh)+len(p.Earlier))
		layer := &decide.Comparer{Store: m, Model: m, Embeddings: m, Prompts: set, Calibration: reverie.Calibration{Ceiling: 1}, Log: quiet(),
			Options: decide.Options{TopK: 5, MinScore: 0.7, Fallback: []decide.Fallback{"add", "add", "add", "skip", "hold"}[seed%5], MaxCalls: 6, MaxOutputTokens: 100}}
		s, c, plan := p.judgeBy(t, &Pipeline{Decider: layer, Limits: limits(), CompareShown: seed%4 > 0, Log: quiet()}, text)
		checkInvariants(t, s, plan)
		facts := 0
		for _, l := range c.accepted {
			if l.action == reverie.ActionCreate {
				facts++
			}
		}
		if len(plan.Decisions) != facts {
			t.Errorf("%d decisions on %d facts", len(plan.Decisions), facts)
		}
		checkDecisions(t, s, plan)
		if t.Failed() {
			t.Fatalf("seed %d\n%s\nanswer:\n%s\nplan: %s\ndecisions: %+v", seed, jsonText(t, p), text, jsonText(t, newVerdict(plan)), plan.Decisions)
		}
		for _, d := range plan.Decisions {
			seen[string(d.Action)+" "+string(d.Basis)]++
		}
	}
	for _, want := range []string{"ADD compared", "ADD none", "ADD shown", "ADD fallback", "NONE hash", "NONE compared", "UPDATE compared",
		"DELETE+ADD compared", "SKIP fallback", "HOLD fallback", "HOLD compared"} {
		if seen[want] == 0 {
			t.Errorf("no decision was %q: %v", want, seen)
		}
	}
}

// checkDecisions holds each decision to naming what is there: a head as target,
// and as memory a head that stays or a version that the plan writes or holds.
func checkDecisions(t *testing.T, s *chunkInput, plan reverie.Plan) {
	t.Helper()
	heads, stays := map[string]bool{}, map[string]bool{}
	for _, h := range slices.Concat(s.state.Heads, s.state.Again) {
		heads[h.ID], stays[h.ID] = true, true
	}
	held := map[string]bool{}
	for _, step := range plan.Held {
		held[step.MemoryID] = true
	}
	for _, step := range plan.Steps {
		if step.Action != reverie.ActionKeep {
			delete(stays, step.Head.MemoryID)
		}
		if step.MemoryID != "" {
			stays[step.MemoryID] = true
		}
	}
	for i, d := range plan.Decisions {
		if d.No != i+1 || d.Reason == "" || d.RunID != paperRun || d.ChunkNo != 1 {
			t.Errorf("decision %d: %+v", i+1, d)
		}
		waits := d.MemoryID != "" && held[d.MemoryID]
		if d.TargetID != "" && !heads[d.TargetID] || d.MemoryID != "" && !stays[d.MemoryID] && !waits {
			t.Errorf("decision %d (%s) names target %q and memory %q", d.No, d.Action, d.TargetID, d.MemoryID)
		}
		if none := d.Action == reverie.DecisionSkip || strings.Contains(d.Reason, "took its place"); none != (d.MemoryID == "") ||
			waits != (d.Action == reverie.DecisionHold) && !plan.HeldAll {
			t.Errorf("decision %d (%s) names memory %q", d.No, d.Action, d.MemoryID)
		}
	}
}
