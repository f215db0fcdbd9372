package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// BenchmarkCandidates looks for the candidates of twenty facts, as many as an answer may
// create, in a group of 100 active memories, and of none or 5,000 that are archived.
func BenchmarkCandidates(b *testing.B) {
	for _, archived := range []int{0, 5000} {
		b.Run(fmt.Sprint("archived=", archived), func(b *testing.B) {
			w := newWorld(b)
			r, model := rand.New(rand.NewPCG(4, 4)), fmt.Sprintf("bench@%d", besideDims)
			for n := 0; n < archived; n += 500 {
				var steps []reverie.Step
				for i := range 500 {
					steps = append(steps, vectored(fmt.Sprint("archived ", n+i), model, direction(r, besideDims)))
				}
				w.apply(steps...)
			}
			_, err := raw(b).Exec(`update memories set status = 'archived', ended_at = now()`)
			check(b, err)
			var steps []reverie.Step
			for i := range 100 {
				steps = append(steps, vectored(fmt.Sprint("statement ", i), model, direction(r, besideDims)))
			}
			w.apply(steps...)
			q := reverie.CandidateQuery{GroupID: group, Kind: reverie.KindGroup, Model: model, Limit: 5}
			for i := range reverie.MaxCreates {
				q.Probes = append(q.Probes, reverie.Probe{ID: reverie.NewID(), Text: fmt.Sprint("statement ", i, " of a night"), Vector: direction(r, besideDims)})
			}
			for b.Loop() {
				if found := must(w.Candidates(b.Context(), q))(b); len(found[0]) != q.Limit {
					b.Fatalf("%d candidates", len(found[0]))
				}
			}
		})
	}
}

// BenchmarkDueGroups reads all pages of the groups that are due, as a nightly
// window does: 5,000 groups with 200 messages each, of all or a few of which
// some are pending.
func BenchmarkDueGroups(b *testing.B) {
	const groups, each = 5000, 200
	dues := map[string]int{"all": groups, "few": 50}
	for _, name := range []string{"all", "few"} {
		due := dues[name]
		b.Run(name, func(b *testing.B) {
			w := openWorld(b, pg.Options{StatementTimeout: 10 * time.Minute, ReadTimeout: 11 * time.Minute})
			run := w.chunk("", 1, nil)
			db := raw(b)
			for _, statement := range []struct {
				query string
				args  []any
			}{
				{`insert into groups (group_id) select 'due' || to_char(i, 'FM0000') from generate_series(0, $1::int - 1) i`, []any{groups}},
				{`insert into runs select (jsonb_populate_record(r, jsonb_build_object('group_id', g.group_id))).*
					from runs r, groups g where r.run_id = $1 and g.group_id like 'due%'`, []any{run}},
				{`insert into messages (group_id, message_id, role, text, sent_at, run_id, outcome)
					select g.group_id, n, 'user', 'hello', timestamptz '2026-01-01' + n * interval '1 minute', $1, 'considered'
					from groups g, generate_series(1, $2::int) n where g.group_id like 'due%'`, []any{run, each}},
				{`update messages set run_id = null, outcome = null
					where message_id::int > $1::int - 20 and right(group_id, 4)::int % ($2::int / $3::int) = 0`, []any{each, groups, due}},
				{`insert into setbacks select group_id, 'evolve', 1, 'why', now(), null, now() from groups where group_id like '%7'`, nil},
				{`vacuum analyze`, nil},
			} {
				_, err := db.Exec(statement.query, statement.args...)
				check(b, err)
			}
			for b.Loop() {
				found := 0
				for q := (reverie.DueQuery{Job: reverie.JobEvolve, Limit: 500}); ; {
					page := must(w.DueGroups(b.Context(), q))(b)
					if found += len(page); len(page) < q.Limit {
						break
					}
					q.After = page[len(page)-1].ID
				}
				if found != due {
					b.Fatalf("%d groups are due, want %d", found, due)
				}
			}
		})
	}
}
