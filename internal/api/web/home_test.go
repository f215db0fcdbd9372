package web_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/api"
	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// TestHome has the first page begin with how everything stands, and each group with what
// was done in it day by day.
func TestHome(t *testing.T) {
	now := time.Date(2026, 3, 30, 12, 0, 0, 0, time.UTC)
	service := &api.Service{Store: pgtest.Open(t, pg.Options{}), Now: func() time.Time { return now }}
	v := visit(t, serve(t, service), "en")
	db, err := sql.Open("postgres", pgtest.URL(t))
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	write := func(query string, args ...any) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), query, args...)
		check(t, err)
	}
	for i := range groupsShown + 1 {
		check(t, service.Store.AddGroup(t.Context(), reverie.Group{ID: fmt.Sprintf("g%02d", i), TimeZone: "UTC"}))
	}
	write(`insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, strength, content_hash, created_at, updated_at, last_supported_at)
		select 'g01', id, id, 'group', 'x', 1, 'active', 1, 'x', now(), now(), now() from (select gen_random_uuid() as id) i`)
	for day, changes := range map[int]int{0: 4, 29: 1} {
		write(`insert into memory_change_log (group_id, change_id, action, memory_id, version, created_at)
			select 'g01', gen_random_uuid(), 'strength', memory_id, 1, $1::timestamptz from memories, generate_series(1, $2)`, now.AddDate(0, 0, -day), changes)
	}
	write(`insert into setbacks (group_id, job, failures, error, retry_at, parked_at, updated_at)
		select group_id, 'evolve', 3, 'no <answer>', $1, $1, $1 from groups limit 11`, now)
	write(`insert into messages (group_id, message_id, role, text, sent_at) values ('g07', 'm', 'user', 'x', $1)`, now.AddDate(0, 0, -8))

	a := v.get("/ui/")
	a.whole(t)
	text := words(a.doc)
	for _, want := range []string{"Last 24 hours 0 runs nothing has run yet", "0 runs failed 11 jobs are held up", "Pending review 0 runs Nothing to review.", "Spent today 0 USD 0 USD yesterday",
		"parked g00 evolve failed 3 timesno <answer>", "The first 10 of 11.", "g07 last message 2026-03-22"} {
		if !strings.Contains(text, want) {
			t.Errorf("the first page does not say %q:\n%s", want, text)
		}
	}
	var active []string
	for _, svg := range a.all("svg") {
		path := attr(a.within(svg, "path")[1], "d")
		if path != "" {
			active = append(active, words(svg)+": "+path)
		}
	}
	if want := []string{"5 changes in 30 days: M0 20v-5h3v5zM116 20v-20h3v20z"}; !slices.Equal(active, want) {
		t.Errorf("sparklines: %q, want %q", active, want)
	}
	next := v.get("/ui/?after=g49")
	if text := words(next.doc); strings.Contains(text, "Last 24 hours") || !strings.Contains(text, "g50") || strings.Contains(text, "g49") {
		t.Errorf("the second page: %s", text)
	}
}

// groupsShown is how many groups a page lists.
const groupsShown = 50
