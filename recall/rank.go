package recall

import (
	"cmp"
	"math"
	"slices"
	"time"

	"reverie"
)

// Recency is how much the age of a memory's newest support counts: 1 for one that
// is supported now, half of the way to 0.5 after a half-life, never less than 0.5.
func Recency(age, halfLife time.Duration) float64 {
	if age <= 0 || halfLife <= 0 {
		return 1
	}
	return 0.5 + 0.5*math.Exp2(-float64(age)/float64(halfLife))
}

// rank orders candidates by what they are worth to the query, best first: similarity
// x weight x strength x recency. Of memories that say the same, the best one counts;
// what is worth nothing is left out. The order does not depend on that of the hits.
func rank(hits []reverie.Hit, now time.Time, halfLife time.Duration) []reverie.ContextMemory {
	type candidate struct {
		reverie.ContextMemory
		hash string
	}
	list := make([]candidate, 0, len(hits))
	for _, h := range hits {
		f := reverie.Factors{Similarity: h.Score, Weight: h.Weight, Strength: h.Strength, Recency: Recency(now.Sub(h.LastSupportedAt), halfLife)}
		if f.Score() <= 0 {
			continue
		}
		list = append(list, candidate{reverie.ContextMemory{MemoryID: h.ID, LineageID: h.LineageID, Kind: h.Kind, Statement: h.Statement,
			Version: h.Version, Score: f.Score(), Factors: f, Tags: append([]string{}, h.Tags...), UpdatedAt: h.UpdatedAt.UTC(),
			LastSupportedAt: h.LastSupportedAt.UTC()}, h.ContentHash})
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.LineageID, b.LineageID))
	})
	said := map[string]bool{}
	ranked := make([]reverie.ContextMemory, 0, len(list))
	for _, c := range list {
		if c.hash != "" && said[c.hash] {
			continue
		}
		said[c.hash] = true
		ranked = append(ranked, c.ContextMemory)
	}
	return ranked
}
