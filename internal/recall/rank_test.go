package recall

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

var rankedAt = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

const quarter = 90 * 24 * time.Hour

func TestRecency(t *testing.T) {
	for _, c := range []struct {
		age, halfLife time.Duration
		want          float64
	}{
		{0, quarter, 1}, {-time.Hour, quarter, 1}, {quarter, quarter, 0.75}, {2 * quarter, quarter, 0.625},
		{100 * 365 * 24 * time.Hour, quarter, 0.5}, {time.Hour, 0, 1},
	} {
		if got := Recency(c.age, c.halfLife); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("Recency(%v, %v) = %v, want %v", c.age, c.halfLife, got, c.want)
		}
	}
}

// someHits are memories with few enough values for ties.
func someHits(rng *rand.Rand, n int) []reverie.Hit {
	hits := make([]reverie.Hit, n)
	for i := range hits {
		hits[i] = reverie.Hit{Score: float64(rng.IntN(4)) / 3, Memory: reverie.Memory{ID: fmt.Sprint("m", i), LineageID: fmt.Sprintf("l%02d", i),
			Weight: float64(rng.IntN(5)) / 2, Strength: float64(rng.IntN(4)) / 3, ContentHash: []string{"", "a", "b", "c"}[rng.IntN(4)],
			LastSupportedAt: rankedAt.Add(-time.Duration(rng.IntN(3)) * quarter)}}
	}
	return hits
}

func ids(list []reverie.RecallCandidate) []string {
	out := []string{}
	for _, m := range list {
		out = append(out, m.LineageID)
	}
	return out
}

// standing are those that may be offered.
func standing(list []reverie.RecallCandidate) (out []reverie.RecallCandidate) {
	for _, m := range list {
		if m.Fate == "" {
			out = append(out, m)
		}
	}
	return out
}

// TestRank: the score is the similarity and 0.05 at most for the other factors; the order
// goes by it, then by lineage, whatever the order of the hits; and what says the same stands
// there once, with its best score.
func TestRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		hits := someHits(rng, rng.IntN(12))
		all := rank(hits, rankedAt, quarter)
		got := standing(all)
		best := map[string]float64{}
		for _, h := range hits {
			score := h.Score + 0.05/3*(h.Weight/2+h.Strength+Recency(rankedAt.Sub(h.LastSupportedAt), quarter))
			key := h.ContentHash
			if key == "" {
				key = h.LineageID
			}
			best[key] = max(best[key], score)
		}
		if len(all) != len(hits) {
			t.Fatalf("round %d: %d of %d hits are told of", round, len(all), len(hits))
		}
		if len(got) != len(best) {
			t.Fatalf("round %d: %d ranked, want %d", round, len(got), len(best))
		}
		for i, m := range got {
			if m.Score != m.Factors.Score() || m.Score < m.Factors.Similarity || m.Score > m.Factors.Similarity+0.05+1e-9 {
				t.Errorf("round %d: score %v of factors %+v", round, m.Score, m.Factors)
			}
			h := hits[slices.IndexFunc(hits, func(h reverie.Hit) bool { return h.ID == m.MemoryID })]
			if h.ContentHash != "" && m.Score < best[h.ContentHash]-1e-9 {
				t.Errorf("round %d: %s stands for its hash with %v, not with %v", round, m.LineageID, m.Score, best[h.ContentHash])
			}
			if i > 0 && (got[i-1].Score < m.Score || got[i-1].Score == m.Score && got[i-1].LineageID >= m.LineageID) {
				t.Errorf("round %d: %v", round, ids(got))
			}
		}
		rng.Shuffle(len(hits), func(i, j int) { hits[i], hits[j] = hits[j], hits[i] })
		if diff := cmp.Diff(ids(got), ids(standing(rank(hits, rankedAt, quarter)))); diff != "" {
			t.Errorf("round %d: the order of the hits matters: %s", round, diff)
		}
	}
}

// TestRankIsMonotone: more of any factor never lowers a memory's place.
func TestRankIsMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	raise := map[string]func(*reverie.Hit){
		"similarity": func(h *reverie.Hit) { h.Score += 0.2 },
		"weight":     func(h *reverie.Hit) { h.Weight += 0.2 },
		"strength":   func(h *reverie.Hit) { h.Strength += 0.2 },
		"recency":    func(h *reverie.Hit) { h.LastSupportedAt = h.LastSupportedAt.Add(quarter / 2) },
	}
	for range 200 {
		hits := someHits(rng, 2+rng.IntN(8))
		for i := range hits {
			hits[i].ContentHash = ""
		}
		i := rng.IntN(len(hits))
		before := slices.Index(ids(standing(rank(hits, rankedAt, quarter))), hits[i].LineageID)
		for name, more := range raise {
			raised := slices.Clone(hits)
			more(&raised[i])
			after := slices.Index(ids(standing(rank(raised, rankedAt, quarter))), hits[i].LineageID)
			if before >= 0 && (after < 0 || after > before) {
				t.Errorf("more %s moves a memory from place %d to %d", name, before, after)
			}
		}
	}
}

// TestRecencyFalls: with age, from 1 towards 0.5, by half of what is left with each half-life,
// and never faster for a longer one.
func TestRecencyFalls(t *testing.T) {
	const seed = 17
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 1000 {
		age, more, half := time.Duration(rng.Int64N(int64(9*quarter))), time.Duration(rng.Int64N(int64(quarter))), 1+time.Duration(rng.Int64N(int64(2*quarter)))
		got := Recency(age, half)
		switch {
		case got < 0.5 || got > 1 || Recency(age+more, half) > got || Recency(age, half+more) < got:
			t.Fatalf("seed %d: Recency(%v, %v) = %v, %v later %v", seed, age, half, got, more, Recency(age+more, half))
		case math.Abs(Recency(age+half, half)-0.5-(got-0.5)/2) > 1e-9:
			t.Fatalf("seed %d: a half-life after %v it is %v", seed, got, Recency(age+half, half))
		}
	}
}
