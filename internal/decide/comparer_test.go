package decide_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// TestRelations does what the verdicts come to.
func TestRelations(t *testing.T) {
	for name, c := range map[string]struct {
		verdicts []string
		steps    []string
		ruled    string
	}{
		"duplicate": {[]string{"c1 duplicate", "c2 unrelated"}, []string{"keep Tea is liked by Maya."}, "NONE compared 1"},
		"update": {[]string{"c1 unrelated", "c2 update Tea of all sorts is drunk by Lin and liked by Maya."},
			[]string{"update Tea is drunk by Lin. => Tea of all sorts is drunk by Lin and liked by Maya."}, "UPDATE compared 1"},
		"conflict":    {[]string{"c1 conflict", "c2 unrelated"}, []string{"delete Tea is liked by Maya.", "create => Tea is what Maya likes."}, "DELETE+ADD compared 1"},
		"unrelated":   {[]string{"c2 unrelated", "c1 unrelated"}, []string{"create => Tea is what Maya likes."}, "ADD compared 1"},
		"all at once": {[]string{"c2 duplicate", "c1 conflict"}, []string{"keep Tea is drunk by Lin."}, "NONE compared 1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "Tea is liked by Maya.", "Tea is drunk by Lin.", "Coffee is not.")
			b.says(c.verdicts...)
			res := b.decide(b.request(fact("Tea is what Maya likes.")))
			same(t, "steps", did(res.Steps), c.steps...)
			same(t, "decisions", ruled(res), c.ruled)
			d := res.Decisions[0]
			if len(d.Candidates) != 2 || d.Candidates[0].Statement != "Tea is liked by Maya." || d.Candidates[0].Score != 1 || d.Candidates[0].Relation == "" {
				t.Errorf("candidates %+v", d.Candidates)
			}
			if d.No != 1 || d.Kind != reverie.KindGroup || d.Reason == "" || d.Model != "openai/fake" || d.PromptVersion != "1" || len(d.PromptSHA256) != 64 || res.Asked != 1 {
				t.Errorf("decision %+v, asked %d", d, res.Asked)
			}
			for _, s := range res.Steps {
				switch s.Action {
				case reverie.ActionKeep:
					if d.TargetID != s.Head.MemoryID || d.MemoryID != s.Head.MemoryID {
						t.Errorf("target %s, memory %s, step %+v", d.TargetID, d.MemoryID, s)
					}
				case reverie.ActionDelete:
					if d.TargetID != s.Head.MemoryID {
						t.Errorf("target %s, step %+v", d.TargetID, s)
					}
				default:
					if d.MemoryID != s.MemoryID || s.Action == reverie.ActionUpdate && d.TargetID != s.Head.MemoryID {
						t.Errorf("target %s, memory %s, step %+v", d.TargetID, d.MemoryID, s)
					}
				}
			}
		})
	}
}

// TestQuestion shows handles, never ids, the best candidates first and no more
// than the top of them; the same question in the group's language.
func TestQuestion(t *testing.T) {
	b := newBench(t, "Tea A.", "Tea B.", "Tea C.", "Tea D.", "Tea E.", "Coffee.")
	b.space.near = map[string]float64{"Tea A.": 0.75, "Tea B.": 0.9, "Tea C.": 0.69, "Tea D.": 0.9, "Tea E.": 0.8}
	b.layer.Options.TopK = 3
	b.says("c1 unrelated", "c2 unrelated", "c3 unrelated")
	req := b.request(fact("Tea now."))
	req.Language = prompts.Chinese
	b.decide(req)
	q := b.questions()[0]
	got := []string{q.Fact.Statement, q.Fact.Date, strings.Join(q.Fact.Quotes, "|")}
	for _, c := range q.Candidates {
		got = append(got, c.ID+" "+c.Statement+" "+c.LastSupportedAt)
	}
	same(t, "question", got, "Tea now.", "2026-01-15", "so it is", "c1 Tea B. 2026-01-11", "c2 Tea D. 2026-01-11", "c3 Tea E. 2026-01-11")
	r := b.model.Requests()[0]
	if strings.Contains(r.User, "0000-") || !strings.Contains(r.System, "使用中文") || r.MaxTokens != 1000 {
		t.Errorf("%+v", r)
	}
	if len(b.space.calls) != 1 {
		t.Errorf("embedded %q", b.space.calls)
	}
}

// TestNothingToCompare asks nobody where nothing comes near, where the text is
// known, and where the model has seen what there is.
func TestNothingToCompare(t *testing.T) {
	b := newBench(t, "Tea is liked.", "Coffee is not.")
	res := b.decide(b.request(fact("Milk is sour."), fact("tea is liked")))
	same(t, "decisions", ruled(res), "ADD none 0", "NONE hash 0")
	if len(b.space.calls) != 1 || len(b.space.calls[0]) != 1 {
		t.Errorf("embedded %q", b.space.calls)
	}
	if s := res.Steps[0]; s.EmbeddingModel != b.space.Key() || len(s.Embedding) != 64 {
		t.Errorf("the vector is not carried on: %q", s.EmbeddingModel)
	}

	b = newBench(t, "Tea is liked.", "Coffee is not.")
	req := b.request(fact("Tea is what we like."), fact("Tea is what they like."), fact("TEA is liked!"))
	req.Exempt, req.FactsExempt = map[string]bool{b.heads[0].ID: true, b.heads[1].ID: true}, true
	res = b.decide(req)
	same(t, "decisions", ruled(res), "ADD shown 0", "ADD shown 0", "NONE hash 0")
	if len(b.space.calls) != 0 {
		t.Errorf("embedded %q", b.space.calls)
	}

	b = newBench(t)
	req = b.request(fact("Tea is what we like."))
	same(t, "decisions of an empty group", ruled(b.decide(req)), "ADD none 0")
}

// TestExemptInPart compares with those that the model has not seen.
func TestExemptInPart(t *testing.T) {
	b := newBench(t, "Tea A.", "Tea B.")
	req := b.request(fact("Tea C."), fact("Tea D."))
	req.Exempt, req.FactsExempt = map[string]bool{b.heads[0].ID: true}, true
	b.says("c1 unrelated")
	b.says("c1 duplicate")
	res := b.decide(req)
	same(t, "steps", did(res.Steps), "create => Tea C.", "keep Tea B.")
	for _, q := range b.questions() {
		if len(q.Candidates) != 1 || q.Candidates[0].Statement != "Tea B." {
			t.Errorf("candidates %+v", q.Candidates)
		}
	}
}

// TestEarlierFactsCount lets later facts of a batch join, extend and replace what
// earlier ones became.
func TestEarlierFactsCount(t *testing.T) {
	b := newBench(t, "Tea is liked.")
	b.says("c1 update Tea is liked by Maya.")         // into the memory
	b.says("c1 update Tea is liked by Maya and Lin.") // into the same once more
	b.says("c1 duplicate")                            // of that
	b.says("c1 duplicate")                            // Milk B is Milk A
	b.says("c1 conflict")                             // Milk C instead of Milk A
	b.says("c1 update Milk C comes late.")            // Milk D
	b.says("c1 conflict")                             // Tea is no more
	facts := []decide.Line{fact("Tea is liked by her."), fact("Tea is liked by him."), fact("Tea is liked by both."),
		fact("Milk A."), fact("Milk B."), fact("Milk C."), fact("Milk D."), fact("Tea is out.")}
	for i := range facts {
		facts[i].Evidence = []reverie.Evidence{evidence(fmt.Sprint("m", i))}
	}
	res := b.decide(b.request(facts...))
	same(t, "steps", did(res.Steps), "delete Tea is liked.", "create => Milk C comes late.", "create => Tea is out.")
	same(t, "decisions", ruled(res), "UPDATE compared 1", "UPDATE compared 1", "NONE compared 1", "ADD none 0", "NONE compared 1",
		"DELETE+ADD compared 1", "UPDATE compared 1", "DELETE+ADD compared 1")
	for i, want := range []string{"", "", "", "", "", res.Steps[1].MemoryID, res.Steps[1].MemoryID, res.Steps[2].MemoryID} {
		if res.Decisions[i].MemoryID != want {
			t.Errorf("decision %d names memory %q, want %q", i+1, res.Decisions[i].MemoryID, want)
		}
	}
	if !strings.Contains(res.Decisions[0].Reason, "a later fact of the batch took its place") {
		t.Errorf("reason %q", res.Decisions[0].Reason)
	}
	if q := b.questions()[2]; q.Candidates[0].Statement != "Tea is liked by Maya and Lin." {
		t.Errorf("the third fact is held against %+v", q.Candidates)
	}
	if e := res.Steps[1].Evidence; len(e) != 2 || e[0].MessageID != "m5" || e[1].MessageID != "m6" {
		t.Errorf("evidence %+v", e)
	}
	if len(b.space.calls) != 1 || len(b.space.calls[0]) != len(facts) {
		t.Errorf("embedded %q", b.space.calls)
	}
}

// TestUnquotedReplacement lets both halves wait for a person, and whatever else
// would be done to the memory.
func TestUnquotedReplacement(t *testing.T) {
	b := newBench(t, "Tea is liked.", "Milk is liked.")
	first, second, third, fourth := fact("Tea is out."), fact("Tea is black."), fact("Tea is gone."), fact("Tea is loved.")
	first.Quoted = false
	b.says("c1 conflict")
	b.says("c1 update Tea is liked black.")
	b.says("c1 conflict")
	b.says("c1 duplicate")
	res := b.decide(b.request(first, second, third, fourth))
	same(t, "steps", did(res.Steps), "keep Tea is liked.")
	same(t, "held", did(res.Held), "delete Tea is liked.", "create => Tea is out.", "create => Tea is black.", "create => Tea is gone.")
	same(t, "decisions", ruled(res), "HOLD compared 1", "HOLD compared 1", "HOLD compared 1", "NONE compared 1")
	if len(res.HeldReasons) != 2 || res.Decisions[0].TargetID != b.heads[0].ID {
		t.Errorf("reasons %q, decision %+v", res.HeldReasons, res.Decisions[0])
	}
	tea := b.heads[0].LineageID
	for i, want := range []string{tea, "", tea} { // only what denies the memory needs its end
		if s := res.Held[i+1]; s.Replaces != want || res.Decisions[i].MemoryID != s.MemoryID {
			t.Errorf("held %+v for decision %+v", s, res.Decisions[i])
		}
	}

	b = newBench(t)
	b.says("c1 conflict")
	res = b.decide(b.request(second, first))
	same(t, "steps", did(res.Steps), "create => Tea is black.")
	same(t, "held", did(res.Held), "create => Tea is out.")
}

// TestRestatedIsNotReplaced leaves to a person what the same batch denies and says
// again, whichever comes first.
func TestRestatedIsNotReplaced(t *testing.T) {
	for _, facts := range [][]decide.Line{{fact("Tea is out."), fact("tea is liked")}, {fact("tea is liked"), fact("Tea is out.")}} {
		b := newBench(t, "Tea is liked.")
		b.says("c1 conflict")
		res := b.decide(b.request(facts...))
		same(t, "steps", did(res.Steps), "keep Tea is liked.")
		same(t, "held", did(res.Held), "create => Tea is out.")
		if len(res.HeldReasons) != 1 || res.Decisions[0].No != 1 || res.Decisions[0].Statement != facts[0].Statement {
			t.Errorf("held because %q, decisions %+v", res.HeldReasons, res.Decisions)
		}
	}
}

// TestReplacedPairs names the memory that each new one needs the end of.
func TestReplacedPairs(t *testing.T) {
	b := newBench(t, "Tea is liked.")
	b.says("c1 conflict")
	b.says("c1 conflict")
	res := b.decide(b.request(fact("Tea is out."), fact("Tea is in.")))
	same(t, "steps", did(res.Steps), "delete Tea is liked.", "create => Tea is in.")
	if s := res.Steps[1]; s.Replaces != b.heads[0].LineageID {
		t.Errorf("%+v", s)
	}
}

// TestRoomForWhatIsHeld lets no more wait for a person than may be created, and
// leaves a memory alone where there is no room for what would replace it.
func TestRoomForWhatIsHeld(t *testing.T) {
	b := newBench(t, "Tea is liked.")
	b.layer.Options.Fallback = decide.FallbackHold
	b.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Prose() })
	req := b.request(fact("Tea A."), fact("Tea B."), fact("Tea C."), fact("Milk."))
	req.MaxCreates = 2
	res := b.decide(req)
	same(t, "held", did(res.Held), "create => Tea A.", "create => Tea B.")
	same(t, "decisions", ruled(res), "HOLD fallback 2", "HOLD fallback 2", "SKIP fallback 2", "SKIP none 0")
	if len(res.Dropped) != 2 || res.Dropped[0].Rule != decide.RuleQuota {
		t.Errorf("dropped %+v", res.Dropped)
	}

	b = newBench(t, "Tea is liked.")
	unquoted := fact("Tea is out.")
	unquoted.Quoted = false
	b.says("c1 conflict")
	b.says("c1 update Tea is liked hot.")
	req = b.request(fact("Milk A."), fact("Beer A."), unquoted, fact("Tea is hot."))
	req.MaxCreates = 2
	res = b.decide(req)
	same(t, "steps", did(res.Steps), "create => Milk A.", "create => Beer A.", "update Tea is liked. => Tea is liked hot.")
	same(t, "held", did(res.Held))
}

// TestMaxCalls falls back beyond what a run may ask, whoever has asked.
func TestMaxCalls(t *testing.T) {
	b := newBench(t, "Tea A.")
	b.layer.Options.MaxCalls = 5
	b.says("c1 unrelated")
	req := b.request(fact("Tea B."), fact("Tea C."))
	req.Asked, req.FactsExempt = 4, true
	res := b.decide(req)
	same(t, "decisions", ruled(res), "ADD compared 1", "ADD fallback 0")
	if res.Asked != 5 || !strings.Contains(res.Decisions[1].Reason, "max_calls") || len(res.Decisions[1].Candidates) != 1 {
		t.Errorf("asked %d, %+v", res.Asked, res.Decisions[1])
	}
}

// TestPassingFaults stop the round: it is done once more, later.
func TestPassingFaults(t *testing.T) {
	for name, answer := range map[string]llmtest.Answer{"429": llmtest.RateLimited(time.Second), "503": llmtest.Failure(503, "busy"), "reset": llmtest.Reset()} {
		b := newBench(t, "Tea A.")
		b.model.Script(answer)
		_, err := b.layer.Decide(t.Context(), b.request(fact("Tea B.")))
		if !errors.Is(err, reverie.ErrDeferred) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := newBench(t, "Tea A.")
	b.model.Script(llmtest.Failure(401, "no"))
	_, err := b.layer.Decide(t.Context(), b.request(fact("Tea B.")))
	wantErr(t, err, reverie.ErrConfiguration)

	ctx, cancel := context.WithCancel(t.Context())
	b = newBench(t, "Tea A.")
	b.model.Respond(func(llmtest.Request) llmtest.Answer {
		cancel()
		return llmtest.Hang()
	})
	_, err = b.layer.Decide(ctx, b.request(fact("Tea B.")))
	wantErr(t, err, context.Canceled)

	b = newBench(t, "Tea A.")
	b.says("c1 unrelated")
	req := b.request(fact("Tea B."))
	req.Lease = func() reverie.Lease { return reverie.Lease{Fence: 6} }
	_, err = b.layer.Decide(t.Context(), req)
	wantErr(t, err, reverie.ErrLeaseLost)
}

// TestTooLargeAQuestion is no reason to stop, and not asked twice.
func TestTooLargeAQuestion(t *testing.T) {
	b := newBench(t, "Tea A.")
	b.model.Script(llmtest.Failure(413, "too large"))
	same(t, "decisions", ruled(b.decide(b.request(fact("Tea B.")))), "ADD fallback 0")
}

// TestRepeated asks nothing again in the same run, broken answers included, and
// comes to the same.
func TestRepeated(t *testing.T) {
	b := newBench(t, "Tea A.", "Tea B 3.")
	b.model.Script(llmtest.Prose())
	b.says("c1 unrelated", "c2 update Tea B 3 and 4.")
	b.says("c1 unrelated", "c2 duplicate") // the 3 is passed over, and it insists
	b.says("c2 duplicate")
	req := b.request(fact("Tea 4."), fact("Tea 4 again."))
	first := b.decide(req)
	same(t, "decisions", ruled(first), "UPDATE compared 2", "NONE compared 2")
	asked := len(b.questions())
	second := b.decide(req)
	if flat(first) != flat(second) || len(b.questions()) != asked {
		t.Errorf("%d questions\nfirst  %s\nsecond %s", len(b.questions())-asked, flat(first), flat(second))
	}
	dry := req
	dry.RunID, dry.Lease = "", nil
	b.model.Script(llmtest.Refused(), llmtest.Refused(), llmtest.Refused(), llmtest.Refused())
	kept := len(b.shelf.kept)
	same(t, "decisions of a dry run", ruled(b.decide(dry)), "ADD fallback 2", "ADD fallback 2")
	if len(b.shelf.kept) != kept {
		t.Error("a dry run keeps answers")
	}
}

// TestWithoutVectors compares by words alone, also the facts among each other, and says so
// once; an embedder that is not optional stops the round.
func TestWithoutVectors(t *testing.T) {
	b := newBench(t, "Tea A.", "Coffee.")
	b.space.alike = map[string]float64{"Tea is A.|Tea A.": 0.8, "Tea is A.|Coffee.": 0.6, "Milk, more.|Milk.": 0.7}
	b.layer.Embeddings = nil
	b.says("c1 duplicate")
	b.says("c1 duplicate")
	res := b.decide(b.request(fact("Tea B."), fact("tea a"), fact("Tea is A."), fact("Milk."), fact("Milk, more.")))
	same(t, "decisions", ruled(res), "ADD none 0", "NONE hash 0", "NONE compared 1", "ADD none 0", "NONE compared 1")
	same(t, "steps", did(res.Steps), "create => Tea B.", "keep Tea A.", "create => Milk.")
	if c := res.Decisions[2].Candidates; len(c) != 1 || c[0].Statement != "Tea A." || c[0].Score != 0.8 {
		t.Errorf("candidates %+v", c)
	}
	if len(res.Warnings) != 1 || res.EmbeddingsOff {
		t.Errorf("warnings %q", res.Warnings)
	}

	b = newBench(t, "Tea A.")
	b.space.err = errors.New("no such route")
	_, err := b.layer.Decide(t.Context(), b.request(fact("Tea B.")))
	wantErr(t, err, b.space.err)
	b.layer.EmbeddingsOptional = true
	res = b.decide(b.request(fact("Tea B.")))
	same(t, "decisions", ruled(res), "ADD none 0")
	if len(res.Warnings) != 1 || !res.EmbeddingsOff || !strings.Contains(res.Decisions[0].Reason, "by its words") {
		t.Errorf("warnings %q, %+v", res.Warnings, res.Decisions[0])
	}
	req := b.request(fact("Tea B."))
	req.EmbeddingsOff = true
	if res = b.decide(req); len(b.space.calls) != 2 || !res.EmbeddingsOff {
		t.Errorf("the embedder that failed was asked again: %q", b.space.calls)
	}
	b.space.err = &reverie.BudgetError{Scope: "run", What: "calls"}
	_, err = b.layer.Decide(t.Context(), b.request(fact("Tea B.")))
	wantErr(t, err, reverie.ErrDeferred)
}

// TestHeadsWithoutVectors compares also with what the store cannot find by this
// model: a dry run's own memories, and those of another embedder.
func TestHeadsWithoutVectors(t *testing.T) {
	b := newBench(t, "Tea A.", "Tea B.", "Coffee.")
	b.heads[0].EmbeddingModel, b.heads[2].EmbeddingModel = "", "another@8"
	b.says("c1 duplicate", "c2 unrelated")
	res := b.decide(b.request(fact("Tea C.")))
	same(t, "steps", did(res.Steps), "keep Tea A.")
	if len(b.space.calls) != 1 || strings.Join(b.space.calls[0], "|") != "Tea C.|Tea A.|Coffee." {
		t.Errorf("embedded %q", b.space.calls)
	}
}

// TestSpendMustBeSeen: vectors that were paid for and are in no ledger are no warning, also
// where the round could do without.
func TestSpendMustBeSeen(t *testing.T) {
	b := newBench(t, "Tea is liked by Maya.")
	b.layer.EmbeddingsOptional = true
	b.space.err = &llm.LedgerError{Call: reverie.Call{Provider: "p", Model: "e", Outcome: "ok"}, Err: errors.New("no space left")}
	b.says("c1 unrelated")
	res, err := b.layer.Decide(t.Context(), b.request(fact("Tea is what Maya likes.")))
	if !errors.As(err, new(*llm.LedgerError)) {
		t.Errorf("error %v, warnings %q", err, res.Warnings)
	}
}
