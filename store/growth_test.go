package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// growth is work in a database that differs in one size from the one before: in how many
// groups there are, how many memories the group has that it is done for, and how many
// messages the group has behind it.
type growth struct {
	size string
	n    int
	town pgtest.Town // what is added to the database for it; the work is done in its first group
}

func growths() (list []growth) {
	before := 0
	for _, n := range []int{100, 1000, 10_000} {
		list = append(list, growth{"groups", n, pgtest.Town{First: before + 1, Groups: n - before, Memories: 10, Messages: 10, Dims: 64}})
		before = n
	}
	for _, n := range []int{100, 1000, 10_000} {
		list = append(list, growth{"memories", n, pgtest.Town{Groups: 1, Memories: n, Messages: 10_000, Dims: 256}})
	}
	for _, n := range []int{1000, 10_000, 100_000} {
		list = append(list, growth{"messages", n, pgtest.Town{Groups: 1, Memories: 100, Messages: n, Dims: 256}})
	}
	for i := range list {
		list[i].town.Prefix = fmt.Sprintf("%s %d ", list[i].size, list[i].n)
	}
	return list
}

// BenchmarkGrowth does the same work as one size grows by ten, all else being the same. The
// groups come first, and stay beside what follows. Contexts are measured in recall.
//
//	go test -run '^$' -bench '^BenchmarkGrowth$' -benchtime 40x ./store
func BenchmarkGrowth(b *testing.B) {
	var w *world
	for _, g := range growths() {
		var p *plot
		for _, work := range []struct {
			name string
			run  func(*testing.B, *plot) pgtest.Laps
		}{{"apply", growApply}, {"gather", growGather}, {"search", growSearch}, {"import", growImport}, {"delete", growDelete}} {
			b.Run(fmt.Sprintf("%s/%s=%d", work.name, g.size, g.n), func(inner *testing.B) {
				if w == nil {
					w = openWorld(b, pg.Options{})
				}
				if p == nil {
					g.town.Build(b, pgtest.Bare(b))
					p = w.plot(g.town, max(g.town.First, 1))
				}
				laps := work.run(inner, p)
				laps.Report(inner, "")
			})
		}
	}
}

// growApply applies ten steps and consumes twenty messages.
func growApply(b *testing.B, p *plot) (laps pgtest.Laps) {
	for b.Loop() {
		plan := p.night(10, 20)
		laps.Time(func() { must(p.w.Apply(b.Context(), p.lease, plan))(b) })
	}
	return laps
}

// growGather gathers twenty messages, of which more are pending, and all memories.
func growGather(b *testing.B, p *plot) (laps pgtest.Laps) {
	must(p.w.ImportMessages(b.Context(), p.id, p.lines(40, "pending")))(b)
	q := reverie.GatherQuery{GroupID: p.id, Kind: reverie.KindGroup, Until: noon, Limit: 20}
	for b.Loop() {
		laps.Time(func() {
			if state := must(p.w.Gather(b.Context(), q))(b); len(state.Pending) != q.Limit || len(state.Heads) != len(p.heads) {
				b.Fatalf("gathered %d messages and %d memories", len(state.Pending), len(state.Heads))
			}
		})
	}
	return laps
}

// growSearch looks for the eight memories nearest to a vector.
func growSearch(b *testing.B, p *plot) (laps pgtest.Laps) {
	probe := direction(rand.New(rand.NewPCG(2, 2)), len(p.vectors[0]))
	q := reverie.SearchQuery{GroupID: p.id, Vector: probe, Model: fmt.Sprintf("bench@%d", len(probe)), Limit: 8}
	for b.Loop() {
		laps.Time(func() {
			if hits := must(p.w.Search(b.Context(), q))(b).Hits; len(hits) != q.Limit {
				b.Fatalf("%d hits", len(hits))
			}
		})
	}
	return laps
}

// growImport imports twenty messages into a session that silence cuts.
func growImport(b *testing.B, p *plot) (laps pgtest.Laps) {
	for b.Loop() {
		list := p.lines(20, "")
		laps.Time(func() { must(p.w.ImportMessages(b.Context(), p.id, list))(b) })
	}
	return laps
}

// growDelete deletes a message that was read.
func growDelete(b *testing.B, p *plot) (laps pgtest.Laps) {
	n := 0
	for b.Loop() {
		n++
		gone := []reverie.MessageChange{{ID: fmt.Sprint("h", n), Deleted: true}}
		laps.Time(func() {
			must(p.w.NoteChanges(b.Context(), p.id, gone))(b)
			check(b, p.w.ApplyChanges(b.Context(), p.lease))
		})
	}
	return laps
}
