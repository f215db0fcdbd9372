package recall_test

import (
	"fmt"
	"testing"

	"reverie/internal/llm"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// BenchmarkGrowth makes contexts, and searches by text, as one size grows by ten, all else
// being the same: how many groups there are, how many memories the group has that is asked,
// and how many messages. The groups come first, and stay beside what follows.
//
//	go test -run '^$' -bench '^BenchmarkGrowth$' -benchtime 100x ./internal/recall
func BenchmarkGrowth(b *testing.B) {
	var house *fullHouse
	built := 0 // groups
	for _, size := range []struct {
		name string
		n    int
		town pgtest.Town
	}{
		{"groups", 100, pgtest.Town{Memories: 10, Messages: 10}},
		{"groups", 1000, pgtest.Town{Memories: 10, Messages: 10}},
		{"groups", 10_000, pgtest.Town{Memories: 10, Messages: 10}},
		{"memories", 100, pgtest.Town{Memories: 100, Messages: 1000}},
		{"memories", 1000, pgtest.Town{Memories: 1000, Messages: 1000}},
		{"memories", 10_000, pgtest.Town{Memories: 10_000, Messages: 1000}},
		{"messages", 1000, pgtest.Town{Memories: 100, Messages: 1000}},
		{"messages", 10_000, pgtest.Town{Memories: 100, Messages: 10_000}},
		{"messages", 100_000, pgtest.Town{Memories: 100, Messages: 100_000}},
	} {
		var asked string
		for _, work := range []string{"context", "search-text"} {
			b.Run(fmt.Sprintf("%s/%s=%d", work, size.name, size.n), func(inner *testing.B) {
				if house == nil {
					house = growingHouse(b)
				}
				if asked == "" {
					town := size.town
					town.Dims, town.Groups, town.Prefix = growthDims, 1, fmt.Sprintf("%s %d ", size.name, size.n)
					if size.name == "groups" {
						town.Groups, built = size.n-built, size.n
					}
					town.Build(b, house.raw)
					asked = town.Group(1)
				}
				var laps pgtest.Laps
				house.grow(inner, work, asked) // its vector is in the cache from here on
				for inner.Loop() {
					laps.Time(func() { house.grow(inner, work, asked) })
				}
				laps.Report(inner, "")
			})
		}
	}
}

const growthDims = 64

// growingHouse is an empty database, and what reads it.
func growingHouse(b *testing.B) *fullHouse {
	sc := &fullHouse{Store: pgtest.Open(b, pg.Options{}), raw: pgtest.Bare(b), embedder: &hashed{dims: growthDims}}
	sc.vectors = llm.NewEmbeddings(sc.embedder, llm.Account{Provider: "test", Model: "bench"}, llm.EmbeddingOptions{Dims: growthDims, Explicit: true, Cache: sc.Store})
	return sc
}

// grow asks a group once.
func (sc *fullHouse) grow(b *testing.B, work, group string) {
	r := sc.recaller(nil)
	r.Options.ShortTermTTL, r.Options.MinSimilarity = 0, 0
	var found int
	var err error
	if work == "context" {
		var reply reverie.ContextReply
		reply, err = r.Context(b.Context(), recall.ContextRequest{GroupID: group, SessionID: "s0", Query: "What was said about the weekend?"})
		found = min(reply.Counts.LongTerm, reply.Counts.ShortTerm)
	} else {
		var res recall.Found
		res, err = r.Searcher.Search(b.Context(), recall.Query{GroupID: group, Text: "What was said about the weekend?", Limit: 8})
		found = len(res.Hits)
	}
	if err != nil || found == 0 {
		b.Fatalf("%d were found, %v", found, err)
	}
}
