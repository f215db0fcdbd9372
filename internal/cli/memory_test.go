package cli

import (
	"bytes"
	"testing"
	"time"

	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// TestMemoriesOfDreams: lists say of what a dream has left what it is about, and
// searches say the kind where it is not plain.
func TestMemoriesOfDreams(t *testing.T) {
	t.Parallel()
	memory := func(id string, kind reverie.Kind, tags ...string) reverie.Memory {
		return reverie.Memory{
			ID:              id,
			Kind:            kind,
			Tags:            tags,
			Statement:       "says " + id,
			Version:         1,
			Type:            reverie.TypePlan,
			Status:          reverie.StatusActive,
			Strength:        0.3,
			Weight:          1,
			LastSupportedAt: time.Date(2026, 2, 9, 0, 0, 0, 0, time.UTC),
		}
	}
	list := []reverie.Memory{
		memory("m1", reverie.KindGroup, "todo"),
		memory("m2", reverie.KindDream, "dream", "long-term", "preference"),
		memory(
			"m3",
			reverie.KindDream,
			"dream",
			"long-term",
			"todo",
			"done",
		),
		memory("m4", reverie.KindDream, "dream", "summary"),
		memory("m5", reverie.KindDream),
	}
	var hits []reverie.Hit
	for _, m := range list {
		hits = append(hits, reverie.Hit{Memory: m, Score: 0.5})
	}
	var b bytes.Buffer
	a := &Console{Stdout: &b, Columns: 100}
	for _, err := range []error{
		a.PrintMemories(list, len(list), reverie.MemoryQuery{}),
		a.PrintFound(recall.Query{}, recall.Found{Hits: hits, Total: 5}),
		a.PrintFound(recall.Query{}, recall.Found{Hits: hits[:1], Total: 5}),
		a.PrintFound(recall.Query{GroupID: "g1"}, recall.Found{}),
		a.PrintFound(recall.Query{GroupID: "g1", Threshold: 0.7}, recall.Found{Below: hits, Total: 5}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	wantLines(t, b.String(), `
STATEMENT  MEMORY  TYPE              STATUS  STRENGTH  SUPPORTED   VERSION  WEIGHT
says m1    m1      plan              active  0.30      2026-02-09  v1       1.00
says m2    m2      dream preference  active  0.30      2026-02-09  v1       1.00
says m3    m3      dream todo, done  active  0.30      2026-02-09  v1       1.00
says m4    m4      dream narrative   active  0.30      2026-02-09  v1       1.00
says m5    m5      dream             active  0.30      2026-02-09  v1       1.00
STATEMENT  MEMORY  SCORE  KIND
says m1    m1      0.50
says m2    m2      0.50   dream preference
says m3    m3      0.50   dream todo, done
says m4    m4      0.50   dream narrative
says m5    m5      0.50   dream
STATEMENT  MEMORY  SCORE
says m1    m1      0.50
g1: nothing found: the group has no memories yet
g1: nothing found: the best of 5 has a score of 0.50, and the threshold is 0.70; lower it or ask in other words
`)
}
