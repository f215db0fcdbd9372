package dream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// heap is the input of material to come.
func heap() *chunkInput { return &chunkInput{loc: time.UTC, count: map[string]int{}} }

// session is one with so many facts, and a summary where that is not "".
func (s *chunkInput) session(summary string, facts ...string) (heads []*reverie.HeadState) {
	id := fmt.Sprintf("session %d", len(s.state.Sessions)+1)
	s.state.Sessions = append(s.state.Sessions, reverie.Session{ID: id, FirstAt: evening, LastAt: evening.AddDate(0, 0, len(s.state.Sessions))})
	if summary != "" {
		heads = append(heads, &reverie.HeadState{Memory: reverie.Memory{Kind: reverie.KindSession, SessionID: id, Statement: summary, Tags: []string{reverie.TagSummary}}})
	}
	for _, fact := range facts {
		heads = append(heads, &reverie.HeadState{Memory: reverie.Memory{Kind: reverie.KindSession, SessionID: id, Statement: fact}})
	}
	return heads
}

// pile is material of random sizes.
func pile(rng *rand.Rand) (s *chunkInput, b batch) {
	word := func() string { return strings.Repeat("word ", 1+rng.IntN(40)) }
	s = heap()
	var heads []*reverie.HeadState
	for range rng.IntN(8) {
		var facts []string
		for range rng.IntN(12) {
			facts = append(facts, word())
		}
		summary := ""
		if len(facts) == 0 || rng.IntN(3) > 0 {
			summary = word()
		}
		heads = append(heads, s.session(summary, facts...)...)
	}
	for range rng.IntN(10) {
		heads = append(heads, &reverie.HeadState{Memory: reverie.Memory{Kind: reverie.KindGroup, Statement: word()}})
	}
	return s, s.numberSources(heads)
}

// contents are the units of batches in order, each as it is shown; a session's with
// its dates. Where a session can be cited, it shows its summary, and the reverse.
func contents(t *testing.T, s *chunkInput, list ...batch) (all []string) {
	t.Helper()
	var memories []string
	for _, b := range list {
		if len(b) == 0 {
			t.Error("a question about nothing")
		}
		sessions, beside := s.views(b)
		for _, v := range sessions {
			if v.Facts == nil || (v.ID == "") != (v.Summary == "") || v.ID == "" && len(v.Facts) == 0 {
				t.Errorf("a part that cannot be shown: %+v", v)
			}
			if v.Summary != "" {
				all = append(all, v.ID+v.From+v.To+v.Summary)
			}
			for _, f := range v.Facts {
				all = append(all, f.ID+v.From+v.To+f.Statement)
			}
		}
		for _, m := range beside {
			memories = append(memories, m.ID+m.Statement)
		}
	}
	return append(all, memories...)
}

// TestPack loses nothing, says nothing twice, keeps the order and the budget, divides
// no session that fits a question, and leaves no question that fits into the one before.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 120 {
		s, b := pile(rng)
		room := rng.IntN(900) - rng.IntN(200)
		packed := pack(s, b, room)
		if got, want := contents(t, s, packed...), contents(t, s, whole(b)...); !slices.Equal(got, want) {
			t.Fatalf("room %d:\n got %q\nwant %q", room, got, want)
		}
		parts, sizes := map[string]int{}, map[string]batch{}
		for i, q := range packed {
			tokens := s.tokens(q)
			if tokens > room && len(q) > 1 {
				t.Errorf("question %d has %d tokens in %d units, at most %d fit", i+1, tokens, len(q), room)
			}
			if i > 0 && s.tokens(packed[i-1])+tokens <= room {
				t.Errorf("questions %d and %d would fit into one", i, i+1)
			}
			sessions, _ := s.views(q)
			for _, v := range sessions {
				parts[v.To]++
			}
		}
		for _, src := range b {
			sizes[src.head.SessionID] = append(sizes[src.head.SessionID], src)
		}
		for _, session := range s.state.Sessions {
			if s.tokens(sizes[session.ID]) <= room && parts[session.LastAt.Format(time.DateOnly)] != 1 {
				t.Errorf("%s fits a question, and is in %d parts", session.ID, parts[session.LastAt.Format(time.DateOnly)])
			}
		}
	}
}

// pack divides material into chunks, one after the other.
func pack(s *chunkInput, b batch, room int) (list []batch) {
	for len(b) > 0 {
		n := fitting(b, room, s.tokens)
		list, b = append(list, b[:n]), b[n:]
	}
	return list
}

// whole is a batch as a list of one, or of none where it is empty.
func whole(b batch) []batch {
	if len(b) == 0 {
		return nil
	}
	return []batch{b}
}

// TestDivided shows the halves of a batch, and theirs, as the whole was shown.
func TestDivided(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 60 {
		s, b := pile(rng)
		if len(b) == 0 {
			continue
		}
		var list []batch
		for unit := range slices.Chunk(b, 1+rng.IntN(4)) {
			list = append(list, unit)
		}
		if got, want := contents(t, s, list...), contents(t, s, b); !slices.Equal(got, want) {
			t.Errorf("%q ends as %q", want, got)
		}
	}
}

// TestPackGrows: the number of questions grows as the material does.
func TestPackGrows(t *testing.T) {
	s := heap()
	var heads []*reverie.HeadState
	for range 200 {
		fact := strings.Repeat("Lin keeps bees ", 4)
		heads = append(heads, s.session(strings.Repeat("They talked. ", 20), fact, fact, fact, fact, fact)...)
	}
	b := s.numberSources(heads)
	few, many := pack(s, b[:600], 8000), pack(s, b, 8000)
	if len(few) < 2 || len(many) > 2*len(few) || len(many) < 2*len(few)-1 {
		t.Errorf("%d questions for 100 sessions, %d for 200", len(few), len(many))
	}
}
