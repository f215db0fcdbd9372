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
	a := &Console{Stdout: &b}
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
MEMORY  VERSION  TYPE              STATUS  STRENGTH  WEIGHT  SUPPORTED   STATEMENT
m1      v1       plan              active  0.30      1.00    2026-02-09  says m1
m2      v1       dream preference  active  0.30      1.00    2026-02-09  says m2
m3      v1       dream todo, done  active  0.30      1.00    2026-02-09  says m3
m4      v1       dream narrative   active  0.30      1.00    2026-02-09  says m4
m5      v1       dream             active  0.30      1.00    2026-02-09  says m5
SCORE  MEMORY  KIND              STATEMENT
0.50   m1                        says m1
0.50   m2      dream preference  says m2
0.50   m3      dream todo, done  says m3
0.50   m4      dream narrative   says m4
0.50   m5      dream             says m5
SCORE  MEMORY  STATEMENT
0.50   m1      says m1
g1: nothing found: the group has no memories yet
g1: nothing found: the best of 5 has a score of 0.50, and the threshold is 0.70; lower it or ask in other words
`)
}
