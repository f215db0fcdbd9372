package store_test

import (
	"context"
	"testing"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// BenchmarkReader reads what a search and what a context need from 200 memories of a
// group, as the connection's own user and as the role that is confined to the group.
//
//	go test -run '^$' -bench Reader -benchtime 2000x ./store
func BenchmarkReader(b *testing.B) {
	// A connection plans a statement anew for another role: each has connections of its own.
	own, confined := pgtest.Open(b, pg.Options{}), pgtest.Open(b, pg.Options{})
	full := pgtest.FillGroups(b, raw(b), []int{200, 200, 200}, 1536)
	probe := make([]float32, 1536)
	probe[0] = 1
	for name, read := range map[string]func(ctx context.Context, s *store.Store) error{
		"search": func(ctx context.Context, s *store.Store) error {
			_, err := s.Search(ctx, reverie.SearchQuery{GroupID: full.Groups[1], Vector: probe, Model: full.Model, Limit: 5})
			return err
		},
		"context": func(ctx context.Context, s *store.Store) error {
			_, err := s.RecallState(ctx, reverie.RecallQuery{GroupID: full.Groups[1], SessionID: pgtest.FullSession, Turns: 6, Text: "weekend"})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			var plain, walled pgtest.Laps
			ctx := store.AsReader(b.Context(), full.Groups[1])
			for b.Loop() {
				plain.Time(func() { check(b, read(b.Context(), own)) })
				walled.Time(func() { check(b, read(ctx, confined)) })
			}
			plain.Report(b, "own-")
			walled.Report(b, "reader-")
		})
	}
}
