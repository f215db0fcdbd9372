package api_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"reverie/internal/api"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// TestLongHistory: of a memory with more versions than an answer holds, the newest ones
// are told.
func TestLongHistory(t *testing.T) {
	s := pgtest.New(t)
	service := &api.Service{Store: s, Now: time.Now}
	if _, err := s.EnsureGroup(t.Context(), reverie.Group{ID: "g1"}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("postgres", pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var newest string
	if err := db.QueryRow(`with v as (select n, gen_random_uuid() as id from generate_series(1, $1::int) n),
			w as (insert into memories (group_id, memory_id, lineage_id, parent_id, kind, statement, version, status, strength, content_hash, created_at, updated_at, ended_at, last_supported_at)
				select 'g1', v.id, $2, p.id, 'group', 'x', v.n, 'deprecated', 0.5, 'x', now(), now(), now(), now() from v left join v p on p.n = v.n - 1)
		select id from v order by n desc limit 1`, api.MaxVersions+2, reverie.NewID()).Scan(&newest); err != nil {
		t.Fatal(err)
	}
	ctx := api.WithCaller(t.Context(), api.Anyone)
	h, err := service.History(ctx, newest, reverie.When{})
	if err != nil || len(h.History) != api.MaxVersions || !h.Cut || h.History[0].Version != 3 || h.CurrentVersion != api.MaxVersions+2 {
		t.Errorf("%d versions from %d, cut %v, %v", len(h.History), h.History[0].Version, h.Cut, err)
	}
	why, err := service.Why(ctx, newest)
	if err != nil || len(why.Versions) != api.MaxVersions || !why.Cut || why.Versions[0].Memory.Version != 3 {
		t.Errorf("%d versions, cut %v, %v", len(why.Versions), why.Cut, err)
	}
	for _, threshold := range []float64{-0.1, 1.1} {
		if _, err := service.Search(ctx, recall.Query{GroupID: "g1", Text: "x", Limit: 1, Threshold: threshold}); !errors.Is(err, reverie.ErrInvalid) {
			t.Errorf("threshold %v: %v", threshold, err)
		}
	}
}
