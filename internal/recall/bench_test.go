package recall_test

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/pgvector/pgvector-go"

	"reverie/internal/llm"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

const benchDims = 1536

// hashed embeds each text as a random direction of its own, and counts the texts.
type hashed struct{ dims, texts int }

func (h *hashed) Embed(_ context.Context, texts []string) ([][]float32, llm.Usage, error) {
	h.texts += len(texts)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(text))
		r := rand.New(rand.NewPCG(sum.Sum64(), 1))
		vectors[i] = make([]float32, h.dims)
		for j := range vectors[i] {
			vectors[i][j] = float32(r.NormFloat64())
		}
	}
	return vectors, llm.Usage{}, nil
}

// fullHouse is a full database, and what reads it.
type fullHouse struct {
	*store.Store
	full     pgtest.Full
	raw      *sql.DB // bare SQL
	picks    []int   // a stream of groups, each as often as it has memories
	embedder *hashed
	vectors  *llm.Embeddings
}

func newFullHouse(b *testing.B, memories int) *fullHouse {
	b.Helper()
	sc := &fullHouse{Store: pgtest.Open(b, pg.Options{}), embedder: &hashed{dims: benchDims}}
	sc.raw = pgtest.Bare(b)
	for _, statement := range []string{`truncate groups cascade`, `truncate llm_calls, embedding_cache`} { // of the size before
		if _, err := sc.raw.Exec(statement); err != nil {
			b.Fatal(err)
		}
	}
	sc.full = pgtest.Fill(b, sc.raw, memories, benchDims)
	sc.vectors = llm.NewEmbeddings(sc.embedder, llm.Account{Provider: "test", Model: "bench"}, llm.EmbeddingOptions{Dims: benchDims, Explicit: true, Cache: sc.Store})
	r := rand.New(rand.NewPCG(3, 3))
	for len(sc.picks) < 1000 {
		n := r.IntN(sc.full.Total)
		sc.picks = append(sc.picks, slices.IndexFunc(sc.full.Sizes, func(size int) bool { n -= size; return n < 0 }))
	}
	return sc
}

func (sc *fullHouse) group(i int) string { return sc.full.Groups[sc.picks[i%len(sc.picks)]] }

// sizes are how many memories the database has: a million only where it is asked for.
func sizes(b *testing.B) []int {
	if given := os.Getenv("REVERIE_BENCH_MEMORIES"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n < 1000 {
			b.Fatalf("REVERIE_BENCH_MEMORIES=%q: a number from 1000 is needed", given)
		}
		return []int{n}
	}
	return []int{10_000, 100_000}
}

// BenchmarkBeside measures what bots wait for, in databases of growing size, each beside
// the same work in bare SQL: by prepared statements through the same driver with the same
// settings, taking turns. x-raw is how many times as long ours takes, at the median. The
// memories are those of the database, in groups of 30 to 500 that are picked as often as
// they have memories. No model is called: the vectors of the queries are cached, and read
// from there.
//
//	go test -run '^$' -bench '^BenchmarkBeside$' -benchtime 500x ./internal/recall
//	REVERIE_BENCH_MEMORIES=1000000 go test -run '^$' -bench '^BenchmarkBeside$' -benchtime 1000x -timeout 1h ./internal/recall
func BenchmarkBeside(b *testing.B) {
	for _, memories := range sizes(b) {
		var house *fullHouse
		for _, work := range []struct {
			name string
			run  func(*fullHouse, *testing.B)
		}{
			{"search/by=vector", (*fullHouse).search}, {"search/by=text", (*fullHouse).searchText},
			{"context", (*fullHouse).context}, {"weights", (*fullHouse).weights},
		} {
			b.Run(fmt.Sprintf("%s/memories=%d", work.name, memories), func(inner *testing.B) {
				if house == nil {
					house = newFullHouse(b, memories)
				}
				work.run(house, inner)
			})
		}
	}
}

// search looks for the eight memories nearest to a vector, beside the query alone.
func (sc *fullHouse) search(b *testing.B) {
	probe, _, _ := (&hashed{dims: benchDims}).Embed(b.Context(), []string{"probe"})
	near := pgtest.Prepare(b, sc.raw, bareSearch)
	var laps pgtest.Beside
	for i := 0; b.Loop(); i++ {
		var r reverie.Ranking
		var err error
		laps.Time(func() {
			r, err = sc.Search(b.Context(), reverie.SearchQuery{GroupID: sc.group(i), Vector: probe[0], Model: sc.full.Model, Limit: 8})
		}, func() { bareHits(b, near, sc.group(i), probe[0], sc.full.Model, 8) })
		if err != nil || len(r.Hits) != 8 {
			b.Fatalf("%d hits, %v", len(r.Hits), err)
		}
	}
	laps.Report(b)
}

// searchText looks for the eight memories nearest to a text, as the API does. The bare side
// reads the vector of the text from the cache, and asks for what is nearest to that: it
// asks for no team's memories, nor whether any memory of the group has no vector yet.
func (sc *fullHouse) searchText(b *testing.B) {
	const text = "What was planned for the weekend?"
	searcher := sc.recaller(nil).Searcher
	ask := func(group string) {
		if res, err := searcher.Search(b.Context(), recall.Query{GroupID: group, Text: text, Limit: 8}); err != nil || len(res.Hits) != 8 {
			b.Fatalf("%d hits, %v", len(res.Hits), err)
		}
	}
	ask(sc.group(0))
	sc.spreadCache(b)
	cached, near := pgtest.Prepare(b, sc.raw, bareCached), pgtest.Prepare(b, sc.raw, bareSearch)
	var laps pgtest.Beside
	for i := 0; b.Loop(); i++ {
		laps.Time(func() { ask(sc.group(i)) }, func() {
			bareHits(b, near, sc.group(i), bareVector(b, cached, sc.group(i), sc.full.Model), sc.full.Model, 8)
		})
	}
	laps.Report(b)
}

// spreadCache gives each group the vectors that the first one picked has in the cache.
func (sc *fullHouse) spreadCache(b *testing.B) {
	if _, err := sc.raw.Exec(`insert into embedding_cache select g.group_id, c.model, c.content_hash, c.embedding, now()
		from groups g cross join embedding_cache c where c.group_id = $1 on conflict do nothing`, sc.group(0)); err != nil {
		b.Fatal(err)
	}
}

// recaller makes contexts with the settings that are the default.
func (sc *fullHouse) recaller(usage *recall.UsageLog) *recall.Recaller {
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	return &recall.Recaller{Store: sc.Store, Usage: usage, Now: func() time.Time { return now },
		Searcher: &recall.Searcher{Store: sc.Store, Embeddings: sc.vectors, Calibration: reverie.Calibration{Floor: -0.1, Ceiling: 0.2}},
		Options: recall.Options{MinQueryLength: 2, Trigger: recall.TriggerAlways, MinSimilarity: 0.15, HalfLife: 90 * 24 * time.Hour,
			ShortTermCount: 6, MaxReturn: 8, MaxEntities: 3, MaxTokens: 2000, ShortTermTTL: 7 * 24 * time.Hour}}
}

func (sc *fullHouse) context(b *testing.B) {
	const query = "What has Person 7 said about the weekend?"
	ctx := b.Context()
	usage := recall.NewUsageLog(sc.Store, recall.UsageOptions{})
	r := sc.recaller(usage)
	ask := func(group string) reverie.ContextReply {
		reply, err := r.Context(ctx, recall.ContextRequest{GroupID: group, SessionID: pgtest.FullSession, Query: query})
		if err != nil {
			b.Fatal(err)
		}
		return reply
	}
	first := ask(sc.group(0))
	if first.Counts.LongTerm != 8 || first.Counts.Entities != 1 || first.Counts.ShortTerm != 12 || first.Counts.Summarized != 12 {
		b.Fatalf("the context is not full: %+v, %q", first.Counts, first.Warnings)
	}
	sc.spreadCache(b)
	bare := newBareContext(b, sc.raw)
	asked := sc.embedder.texts
	var laps pgtest.Beside
	for i := 0; b.Loop(); i++ {
		laps.Time(func() { ask(sc.group(i)) }, func() { bare.read(b, sc.group(i), sc.full.Model, "what has person 7 said about the weekend") })
	}
	if sc.embedder.texts != asked {
		b.Fatalf("%d texts were embedded", sc.embedder.texts-asked)
	}
	laps.Report(b)
	if err := usage.Close(ctx); err != nil {
		b.Fatal(err)
	}
}

// weights judges contexts of eight memories, beside two statements in one transaction: one
// keeps the weights as they were and moves them, one marks what was offered. The bare side
// locks nothing beforehand, does not look whether a memory has a newer version, or a row is
// judged already, and reads back nothing.
func (sc *fullHouse) weights(b *testing.B) {
	ctx := b.Context()
	move := pgtest.Prepare(b, sc.raw, `with u as (select * from unnest($2::uuid[], $3::float8[]) as u (id, by)),
		kept as (insert into memory_values (group_id, memory_id, strength, weight, last_supported_at, valid_until)
			select m.group_id, m.memory_id, m.strength, m.weight, m.last_supported_at, now() from memories m join u on u.id = m.memory_id where m.group_id = $1)
		update memories m set weight = least(greatest(m.weight + u.by, 0), 2) from u where m.group_id = $1 and m.memory_id = u.id and m.status = 'active'`)
	mark := pgtest.Prepare(b, sc.raw, `update memory_usage_log l set was_referenced = u.by > 0, reference_score = 0.5, weight_after = 1, judged_at = now()
		from unnest($3::uuid[], $4::float8[]) as u (id, by) where l.group_id = $1 and l.usage_id = $2 and l.memory_id = u.id`)
	rule := reverie.WeightRule{Referenced: 0.1, Ignored: -0.02, Max: 2}
	var laps pgtest.Beside
	for i := 0; b.Loop(); i++ {
		usages := []string{reverie.NewID(), reverie.NewID()}
		var verdicts []reverie.UsageVerdict
		var ids pq.StringArray
		var moves pq.Float64Array
		var rows []reverie.Usage
		for n, m := range sc.some(b, sc.group(i), 8) {
			verdicts = append(verdicts, reverie.UsageVerdict{MemoryID: m.ID, Referenced: n%4 == 0, Score: 0.5})
			ids, moves = append(ids, m.ID), append(moves, []float64{0.1, -0.02, -0.02, -0.02}[n%4])
			for _, usage := range usages {
				rows = append(rows, reverie.Usage{GroupID: sc.group(i), UsageID: usage, MemoryID: m.ID, LineageID: m.LineageID, Position: n + 1})
			}
		}
		if err := sc.LogUsage(ctx, rows); err != nil {
			b.Fatal(err)
		}
		var judged []reverie.Usage
		var err error
		laps.Time(func() { judged, err = sc.Judge(ctx, sc.group(i), usages[0], verdicts, rule) }, func() {
			tx, err := sc.raw.Begin()
			if err == nil {
				_, err = tx.Stmt(move).Exec(sc.group(i), ids, moves)
			}
			if err == nil {
				_, err = tx.Stmt(mark).Exec(sc.group(i), usages[1], ids, moves)
			}
			if err == nil {
				err = tx.Commit()
			}
			if err != nil {
				b.Fatal(err)
			}
		})
		if err != nil || len(judged) != 8 || judged[7].WeightAfter == nil {
			b.Fatalf("%+v, %v", judged, err)
		}
	}
	laps.Report(b)
}

// some are memories of a group, any.
func (sc *fullHouse) some(b *testing.B, group string, n int) []reverie.Memory {
	list, _, err := sc.ListMemories(b.Context(), reverie.MemoryQuery{GroupID: group, Status: reverie.StatusActive, Limit: n})
	if err != nil || len(list) != n {
		b.Fatalf("%d memories, %v", len(list), err)
	}
	return list
}

const (
	bareCached = `select vector_send(embedding) from embedding_cache where group_id = $1 and model = $2 limit 1`
	bareSearch = `select memory_id, lineage_id, kind, session_id, statement, version, status, tags, strength, weight, content_hash, updated_at, last_supported_at,
			1 - (embedding <=> $2::vector) as score
		from memories where group_id = $1 and status = 'active' and embedding_model = $3 order by score desc limit $4`
)

// bareHits reads what a search reads.
func bareHits(b *testing.B, near *sql.Stmt, group string, probe []float32, model string, limit int) {
	vector, err := pgvector.NewVector(probe).EncodeBinary(nil)
	if err != nil {
		b.Fatal(err)
	}
	hits := pgtest.Read(b, near, func(h *reverie.Hit) []any {
		return []any{&h.ID, &h.LineageID, &h.Kind, &h.SessionID, &h.Statement, &h.Version, &h.Status, pq.Array(&h.Tags), &h.Strength, &h.Weight, &h.ContentHash,
			&h.UpdatedAt, &h.LastSupportedAt, &h.Score}
	}, group, vector, model, limit)
	if len(hits) == 0 {
		b.Fatal("nothing was found")
	}
}

// bareVector reads a vector from the cache.
func bareVector(b *testing.B, cached *sql.Stmt, group, model string) []float32 {
	var bytes []byte
	if err := cached.QueryRow(group, model).Scan(&bytes); err != nil {
		b.Fatal(err)
	}
	var v pgvector.Vector
	if err := v.DecodeBinary(bytes); err != nil {
		b.Fatal(err)
	}
	return v.Slice()
}

// bareContext reads what a context is made of by prepared statements, one after the
// other: the group, the session, its rolling summary and newest messages, the names that
// stand in the query, whom they name and what is said of them, the vector of the query, and
// the hundred memories nearest to it. Nothing is ranked, nor is a text composed of it, nor is
// what would be offered logged.
type bareContext struct {
	group, session, summary, messages, names, entities, claims, cached, near *sql.Stmt
}

func newBareContext(b *testing.B, db *sql.DB) bareContext {
	return bareContext{
		group:   pgtest.Prepare(b, db, `select * from groups where group_id = $1`),
		session: pgtest.Prepare(b, db, `select * from sessions where group_id = $1 and session_id = $2`),
		summary: pgtest.Prepare(b, db, `select * from session_summaries where group_id = $1 and session_id = $2`),
		messages: pgtest.Prepare(b, db, `select message_id, author, role, text, sent_at from messages m where group_id = $1 and session_id = $2 and session_id <> ''
			and not exists (select 1 from message_uses u where u.group_id = m.group_id and u.job = 'summarize' and u.message_id = m.message_id)
			order by sent_at desc, seq desc limit 12`),
		names:    pgtest.Prepare(b, db, `select entity_id, name from entity_names where group_id = $1 and ended_at is null and strpos($2, name_key) > 0`),
		entities: pgtest.Prepare(b, db, `select * from entities where group_id = $1 and entity_id = $2`),
		claims:   pgtest.Prepare(b, db, `select * from entity_claims where group_id = $1 and entity_id = $2 and status = 'active'`),
		cached:   pgtest.Prepare(b, db, bareCached),
		near:     pgtest.Prepare(b, db, bareSearch),
	}
}

func (c bareContext) read(b *testing.B, group, model, text string) {
	const entity = "00000000-0000-7000-8000-000000000007"
	for _, q := range []struct {
		st   *sql.Stmt
		args []any
	}{
		{c.group, []any{group}},
		{c.session, []any{group, pgtest.FullSession}},
		{c.summary, []any{group, pgtest.FullSession}},
		{c.messages, []any{group, pgtest.FullSession}},
		{c.names, []any{group, text}},
		{c.entities, []any{group, entity}},
		{c.claims, []any{group, entity}},
	} {
		if cells(b, q.st, q.args...) == 0 {
			b.Fatal("the bare context is not full")
		}
	}
	bareHits(b, c.near, group, bareVector(b, c.cached, group, model), model, 100)
}

// cells runs a prepared statement and scans all of its columns as text, and returns how
// many rows there are.
func cells(b testing.TB, st *sql.Stmt, args ...any) int {
	b.Helper()
	rows, err := st.Query(args...)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for list, into := make([]sql.NullString, len(columns)), make([]any, len(columns)); rows.Next(); n++ {
		for i := range list {
			into[i] = &list[i]
		}
		if err := rows.Scan(into...); err != nil {
			b.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return n
}
