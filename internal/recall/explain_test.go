package recall_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

func fates(r reverie.Recalled) (list []string) {
	for _, c := range r.Candidates {
		list = append(list, c.Fate+" "+strings.Replace(c.Statement, "dream at 30", "at 30", 1))
	}
	return list
}

// TestExplain: of each memory it is said what became of it and why, those that are too
// far away included, and those that weigh nothing are no worse than their relevance; and nothing is logged.
func TestExplain(t *testing.T) {
	r, d, _ := scene(t)
	remember(t, d.Store, "g1", reverie.KindSession, "mine at 5", "weightless at 10")
	db, err := sql.Open("postgres", pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	pgtest.Rows(t, db, `update memories set tags = '{session,summary}', session_id = 's1' where statement like 'mine%' returning 1`)
	pgtest.Rows(t, db, `update memories set weight = 0 where statement like 'weightless%' returning 1`)
	r.Options.MaxReturn, r.Options.MinSimilarity = 2, 0.6
	req := recall.ContextRequest{GroupID: "g1", SessionID: "s1", Query: "at 0"}
	got, err := r.Explain(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"offered at 0", "own_summary mine at 5", "offered weightless at 10", "beyond_count at 30", "repeats at 30", "beyond_count team at 40",
		"beyond_count dream at 50", "below at 60", "below at 90"}
	if diff := cmp.Diff(want, fates(got)); diff != "" {
		t.Error(diff)
	}
	for _, c := range got.Candidates {
		if c.Score != c.Factors.Score() || (c.Fate == recall.FateBelow) != (c.Factors.Similarity < 0.6) {
			t.Errorf("%s: score %v of %+v", c.Statement, c.Score, c.Factors)
		}
	}
	if got.UsageID != "" || got.Trigger != "always" || got.MinSimilarity != 0.6 {
		t.Errorf("usage %q, trigger %q, similarity %v", got.UsageID, got.Trigger, got.MinSimilarity)
	}
	if err := r.Usage.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := pgtest.Rows(t, db, `select usage_id from memory_usage_log`); len(n) != 0 {
		t.Errorf("%d uses are logged", len(n))
	}
	r.Options.Trigger, r.Options.SemanticThreshold = recall.TriggerSemantic, 0.99
	req.Query = "at 45"
	if got, err = r.Explain(t.Context(), req); err != nil || got.Skipped != "" {
		t.Fatalf("skipped %q, %v", got.Skipped, err)
	}
	r.Options.SemanticThreshold = 0.999
	if got, err = r.Explain(t.Context(), req); err != nil || got.Skipped != recall.SkippedNotSimilar || got.Text == "" {
		t.Fatalf("skipped %q, text %q, %v", got.Skipped, got.Text, err)
	}
	if all := strings.Join(fates(got), ","); strings.Count(all, "not_similar") != 9 || len(got.Candidates) != 9 {
		t.Error(all)
	}
}

// TestExplainIsTheContext: whatever the options, an explanation is of the very context
// that a bot would be given, and what it says is offered is what is.
func TestExplainIsTheContext(t *testing.T) {
	r, d, _ := scene(t)
	r.Usage = nil // a context has no other by-product
	rng := rand.New(rand.NewPCG(11, 12))
	for round := range 40 {
		r.Options.Trigger = []recall.Trigger{recall.TriggerAlways, recall.TriggerSemantic, recall.TriggerKeywords, recall.TriggerNever}[rng.IntN(4)]
		r.Options.Keywords, r.Options.SemanticThreshold = []string{"at"}, rng.Float64()
		r.Options.MaxReturn, r.Options.MinSimilarity, r.Options.FirstRoundEmpty = rng.IntN(7), rng.Float64(), rng.IntN(8) == 0
		d.state.Session.Total.Turns = rng.IntN(3)
		req := recall.ContextRequest{GroupID: "g1", SessionID: []string{"", "s1"}[rng.IntN(2)], Query: fmt.Sprint("at ", rng.IntN(90)), MaxTokens: 1 + rng.IntN(400)}
		given, err := r.Context(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Explain(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(given, got.ContextReply); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
		offered := []reverie.ContextMemory{}
		for _, c := range got.Candidates {
			if c.Fate == "" {
				t.Errorf("round %d: nothing is said of %s", round, c.Statement)
			}
			if c.Fate == recall.FateOffered {
				offered = append(offered, c.ContextMemory)
			}
		}
		if diff := cmp.Diff(given.Memories, offered); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
	}
}

// TestExplainIsBounded: of what is too far away, the nearest are told.
func TestExplainIsBounded(t *testing.T) {
	r, d, _ := scene(t)
	var far []string
	for i := range 60 {
		far = append(far, fmt.Sprintf("far %d at %d", 500+i, 100+i))
	}
	remember(t, d.Store, "g1", reverie.KindGroup, far...)
	got, err := r.Explain(t.Context(), recall.ContextRequest{GroupID: "g1", Query: "at 0"})
	if err != nil {
		t.Fatal(err)
	}
	last := got.Candidates[len(got.Candidates)-1]
	if len(got.Candidates) != 6+50 || last.Fate != recall.FateBelow || last.Factors.Similarity != 0 || last.UpdatedAt.Location() != time.UTC {
		t.Errorf("%d candidates, the last one %+v", len(got.Candidates), last)
	}
}
