package dream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"reverie/prompts"
)

// pile is material of random sizes.
func pile(rng *rand.Rand) (b batch) {
	word := func() string { return strings.Repeat("word ", 1+rng.IntN(40)) }
	facts := 0
	for i := range rng.IntN(8) {
		s := prompts.DreamSessionView{From: fmt.Sprintf("2026-01-%02d", i+1), To: "2026-02-01", Facts: []prompts.DreamFactView{}}
		for range rng.IntN(12) {
			facts++
			s.Facts = append(s.Facts, prompts.DreamFactView{ID: fmt.Sprintf("f%d", facts), Statement: word()})
		}
		if len(s.Facts) == 0 || rng.IntN(3) > 0 {
			s.ID, s.Summary = fmt.Sprintf("s%d", i+1), word()
		}
		b.sessions = append(b.sessions, s)
	}
	for i := range rng.IntN(10) {
		b.memories = append(b.memories, prompts.DreamMemoryView{ID: fmt.Sprintf("m%d", i+1), Statement: word(), New: true})
	}
	return b
}

// contents are the units of batches in order, each as it is shown; a session's with
// its dates. Where a session can be cited, it shows its summary, and the reverse.
func contents(t *testing.T, list ...batch) (all []string) {
	t.Helper()
	for _, b := range list {
		if len(b.sessions)+len(b.memories) == 0 {
			t.Error("a question about nothing")
		}
		for _, s := range b.sessions {
			if s.Facts == nil || (s.ID == "") != (s.Summary == "") || units(s) == 0 {
				t.Errorf("a piece that cannot be shown: %+v", s)
			}
			if s.Summary != "" {
				all = append(all, s.ID+s.From+s.To+s.Summary)
			}
			for _, f := range s.Facts {
				all = append(all, f.ID+s.From+s.To+f.Statement)
			}
		}
	}
	for _, b := range list {
		for _, m := range b.memories {
			all = append(all, m.ID+m.Statement)
		}
	}
	return all
}

// count is how many units a question has, and what it is estimated to cost.
func count(b batch) (n, tokens int) {
	for _, s := range b.sessions {
		n, tokens = n+units(s), tokens+prompts.Tokens(s)
	}
	for _, m := range b.memories {
		n, tokens = n+1, tokens+prompts.Tokens(m)
	}
	return n, tokens
}

// TestPack loses nothing, says nothing twice, keeps the order and the budget, divides
// no session that fits a question, and leaves no question that fits into the one before.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 120 {
		b, overhead, budget := pile(rng), rng.IntN(200), rng.IntN(900)
		packed := pack(b, overhead, budget)
		if got, want := contents(t, packed...), contents(t, whole(b)...); !slices.Equal(got, want) {
			t.Fatalf("budget %d:\n got %q\nwant %q", budget, got, want)
		}
		pieces := map[string]int{}
		for i, q := range packed {
			n, tokens := count(q)
			if tokens > budget-overhead && n > 1 {
				t.Errorf("question %d has %d tokens in %d units, at most %d fit", i+1, tokens, n, budget-overhead)
			}
			if i > 0 {
				if _, before := count(packed[i-1]); before+tokens <= budget-overhead {
					t.Errorf("questions %d and %d would fit into one", i, i+1)
				}
			}
			for _, s := range q.sessions {
				pieces[s.From]++
			}
		}
		for _, s := range b.sessions {
			if prompts.Tokens(s) <= budget-overhead && pieces[s.From] != 1 {
				t.Errorf("session %q fits a question, and is in %d pieces", s.ID, pieces[s.From])
			}
		}
	}
}

// whole is a batch as a list of one, or of none where it is empty.
func whole(b batch) []batch {
	if len(b.sessions)+len(b.memories) == 0 {
		return nil
	}
	return []batch{b}
}

// TestHalve divides a batch again and again until each unit stands alone.
func TestHalve(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 60 {
		b := pile(rng)
		if len(b.sessions)+len(b.memories) == 0 {
			continue
		}
		want := contents(t, b)
		list := []batch{b}
		for i := 0; i < len(list); {
			n, _ := count(list[i])
			first, second, ok := halve(list[i])
			if ok != (n > 1) {
				t.Fatalf("%d units, divided: %v", n, ok)
			}
			if !ok {
				i++
				continue
			}
			if got := contents(t, first, second); !slices.Equal(got, contents(t, list[i])) {
				t.Fatalf("%q becomes %q", contents(t, list[i]), got)
			}
			if left, _ := count(first); left != n/2 {
				t.Errorf("%d units of %d in the first half", left, n)
			}
			list = slices.Replace(list, i, i+1, first, second)
		}
		if len(list) != len(want) || !slices.Equal(contents(t, list...), want) {
			t.Errorf("%q ends as %q", want, contents(t, list...))
		}
	}
}

// TestPackGrows: the number of questions grows as the material does.
func TestPackGrows(t *testing.T) {
	var b batch
	for i := range 200 {
		s := prompts.DreamSessionView{ID: fmt.Sprintf("s%d", i+1), From: "2026-01-01", To: "2026-01-01", Summary: strings.Repeat("They talked. ", 20), Facts: []prompts.DreamFactView{}}
		for j := range 5 {
			s.Facts = append(s.Facts, prompts.DreamFactView{ID: fmt.Sprintf("f%d", 5*i+j+1), Statement: strings.Repeat("Lin keeps bees ", 4)})
		}
		b.sessions = append(b.sessions, s)
	}
	few, many := pack(batch{sessions: b.sessions[:100]}, 1000, 9000), pack(b, 1000, 9000)
	if len(few) < 2 || len(many) > 2*len(few) || len(many) < 2*len(few)-1 {
		t.Errorf("%d questions for 100 sessions, %d for 200", len(few), len(many))
	}
}
