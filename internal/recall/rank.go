package recall

import (
	"cmp"
	"math"
	"slices"
	"time"

	"reverie/internal/reverie"
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
// those others, and what is worth nothing, have their fate at once. The order does not
// depend on that of the hits.
func rank(hits []reverie.Hit, now time.Time, halfLife time.Duration) []reverie.RecallCandidate {
	list, hash := make([]reverie.RecallCandidate, 0, len(hits)), make(map[string]string, len(hits))
	for _, h := range hits {
		list, hash[h.ID] = append(list, candidate(h, now, halfLife)), h.ContentHash
	}
	byWorth(list)
	said := map[string]bool{}
	for i := range list {
		m := &list[i]
		switch hash := hash[m.MemoryID]; {
		case m.Score <= 0:
			m.Fate = FateWorthless
		case hash != "" && said[hash]:
			m.Fate = FateRepeats
		default:
			said[hash] = true
		}
	}
	return list
}

// byWorth puts candidates into their order, best first.
func byWorth(list []reverie.RecallCandidate) {
	slices.SortFunc(list, func(a, b reverie.RecallCandidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.LineageID, b.LineageID))
	})
}

// candidate says what a memory is worth to a query.
func candidate(h reverie.Hit, now time.Time, halfLife time.Duration) reverie.RecallCandidate {
	f := reverie.Factors{Similarity: h.Score, Weight: h.Weight, Strength: h.Strength,
		Recency: Recency(now.Sub(h.LastSupportedAt), halfLife)}
	return reverie.RecallCandidate{ContextMemory: reverie.ContextMemory{GroupID: h.GroupID, MemoryID: h.ID,
		LineageID: h.LineageID, Kind: h.Kind,
		Statement: h.Statement, Version: h.Version, Score: f.Score(), Factors: f, Tags: append([]string{}, h.Tags...),
		UpdatedAt: h.UpdatedAt.UTC(), LastSupportedAt: h.LastSupportedAt.UTC()}}
}
