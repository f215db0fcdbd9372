package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lib/pq"

	"reverie"
	"reverie/store"
)

const (
	benchDims   = 1536
	benchGroups = 1000
	benchEach   = 100 // memories of each group: 100,000 in all
)

var benchModel = fmt.Sprintf("bench@%d", benchDims)

func benchGroup(i int) string { return fmt.Sprintf("bench%04d", i%benchGroups) }

// populate fills the database with copies of a few vectors: what a search costs
// does not depend on what they say.
func populate(b *testing.B) *world {
	b.Helper()
	w := openWorld(b, store.Options{StatementTimeout: 10 * time.Minute, ReadTimeout: 11 * time.Minute})
	r := rand.New(rand.NewPCG(1, 1))
	hashes := map[string][]float32{}
	for i := range benchEach {
		hashes[fmt.Sprint(i)] = direction(r, benchDims)
	}
	check(b, w.SaveEmbeddings(b.Context(), "source", benchModel, hashes))
	var ids pq.StringArray
	for i := range benchGroups {
		ids = append(ids, benchGroup(i))
	}
	db := raw(b)
	for _, statement := range []string{
		`insert into groups (group_id) select unnest($1::text[])`,
		`insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, strength, content_hash,
			embedding, embedding_model, created_at, updated_at, last_supported_at)
		select g, gen_random_uuid(), gen_random_uuid(), 'group', 'statement ' || c.content_hash, 1, 'active', 0.3, c.content_hash,
			c.embedding, c.model, now(), now(), now()
		from unnest($1::text[]) g cross join embedding_cache c where c.group_id = 'source'`,
	} {
		_, err := db.Exec(statement, ids)
		check(b, err)
	}
	_, err := db.Exec(`vacuum analyze memories`)
	check(b, err)
	return w
}

func BenchmarkSearch(b *testing.B) {
	w := populate(b)
	probe := direction(rand.New(rand.NewPCG(2, 2)), benchDims)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := rand.IntN(benchGroups); pb.Next(); i++ {
			hits, err := w.Search(b.Context(), reverie.SearchQuery{GroupID: benchGroup(i), Vector: probe, Model: benchModel, MinCosine: -1, Limit: 5})
			if err != nil || len(hits) != 5 {
				b.Fatalf("%d hits, %v", len(hits), err)
			}
		}
	})
}

// BenchmarkCandidates looks for the candidates of twenty facts, as many as a run
// may create, in a group of 100 memories.
func BenchmarkCandidates(b *testing.B) {
	w := newWorld(b)
	r := rand.New(rand.NewPCG(4, 4))
	var steps []reverie.Step
	for i := range benchEach {
		steps = append(steps, vectored(fmt.Sprint("statement ", i), benchModel, direction(r, benchDims)))
	}
	w.apply(steps...)
	q := reverie.CandidateQuery{GroupID: group, Kind: reverie.KindGroup, Model: benchModel, MinCosine: -1, Limit: 5}
	for range reverie.MaxCreates {
		q.Probes = append(q.Probes, direction(r, benchDims))
	}
	for b.Loop() {
		if found := must(w.Candidates(b.Context(), q))(b); len(found[0]) != q.Limit {
			b.Fatalf("%d candidates", len(found[0]))
		}
	}
}

func BenchmarkGather(b *testing.B) {
	w := populate(b)
	w.messages(200)
	check(b, second(w.Apply(b.Context(), w.lease, w.plan(create("one")))))
	q := reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, Limit: 200}
	for b.Loop() {
		state, err := w.Gather(b.Context(), q)
		if err != nil || len(state.Pending) == 0 {
			b.Fatal(err)
		}
	}
}

// BenchmarkApply applies ten steps and consumes 200 messages a time.
func BenchmarkApply(b *testing.B) {
	w := populate(b)
	r := rand.New(rand.NewPCG(3, 3))
	vectors := make([][]float32, 10)
	for i := range vectors {
		vectors[i] = direction(r, benchDims)
	}
	for b.Loop() {
		b.StopTimer()
		plan := w.plan()
		for _, id := range w.messages(198) {
			plan.Outcomes[id] = reverie.OutcomeConsidered
		}
		for _, v := range vectors {
			st := create(reverie.NewID())
			st.Embedding, st.EmbeddingModel = v, benchModel
			plan.Steps = append(plan.Steps, st)
		}
		b.StartTimer()
		must(w.Apply(b.Context(), w.lease, plan))(b)
	}
}

// BenchmarkDueGroups reads all pages of the groups that are due, as a nightly
// window does: 5,000 groups with 200 messages each, of all or a few of which
// some are pending.
func BenchmarkDueGroups(b *testing.B) {
	const groups, each = 5000, 200
	for name, due := range map[string]int{"all": groups, "few": 50} {
		b.Run(name, func(b *testing.B) {
			w := openWorld(b, store.Options{StatementTimeout: 10 * time.Minute, ReadTimeout: 11 * time.Minute})
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
