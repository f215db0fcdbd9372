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
