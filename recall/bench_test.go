package recall_test

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/pgvector/pgvector-go"

	"reverie"
	"reverie/llm"
	"reverie/recall"
	"reverie/store"
	"reverie/store/storetest"
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
	full     storetest.Full
	raw      *sql.DB // the same driver, with as few frills
	picks    []int   // a stream of groups, each as often as it has memories
	embedder *hashed
	vectors  *llm.Embeddings
}

func newFullHouse(b *testing.B, memories int) *fullHouse {
	b.Helper()
	sc := &fullHouse{Store: storetest.Open(b, store.Options{}), embedder: &hashed{dims: benchDims}}
	u, err := url.Parse(storetest.URL(b))
	if err != nil {
		b.Fatal(err)
	}
	q := u.Query()
	q.Set("binary_parameters", "yes")
	u.RawQuery = q.Encode()
	if sc.raw, err = sql.Open("postgres", u.String()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sc.raw.Close() })
	sc.full = storetest.Fill(b, sc.raw, memories, benchDims)
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

// BenchmarkRecall measures what bots wait for, in databases of growing size, each
// beside the same work in plain SQL through the same driver. No model is called: the
// vectors of the queries are cached, and read from there.
//
//	go test -run '^$' -bench Recall -benchtime 1000x ./recall
//	REVERIE_BENCH_MEMORIES=1000000 go test -run '^$' -bench Recall -benchtime 1000x -timeout 1h ./recall
func BenchmarkRecall(b *testing.B) {
	for _, memories := range sizes(b) {
		b.Run(fmt.Sprint("memories=", memories), func(b *testing.B) {
			sc := newFullHouse(b, memories)
			b.Run("search", sc.search)
			b.Run("context", sc.context)
			b.Run("weights", sc.weights)
		})
	}
}

func (sc *fullHouse) search(b *testing.B) {
	probe, _, _ := (&hashed{dims: benchDims}).Embed(b.Context(), []string{"probe"})
	plain := prepare(b, sc.raw, rawSearch)
	var laps storetest.Beside
	for i := 0; b.Loop(); i++ {
		var hits []reverie.Hit
		var err error
		laps.Time(func() {
			hits, err = sc.Search(b.Context(), reverie.SearchQuery{GroupID: sc.group(i), Vector: probe[0], Model: sc.full.Model, MinCosine: -1, Limit: 8})
		}, func() { rawHits(b, plain, sc.group(i), probe[0], sc.full.Model, 8) })
		if err != nil || len(hits) != 8 {
			b.Fatalf("%d hits, %v", len(hits), err)
		}
	}
	laps.Report(b)
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
		reply, err := r.Context(ctx, recall.ContextRequest{GroupID: group, SessionID: storetest.FullSession, Query: query})
		if err != nil {
			b.Fatal(err)
		}
		return reply
	}
	first := ask(sc.group(0))
	if first.Counts.LongTerm != 8 || first.Counts.Entities != 1 || first.Counts.ShortTerm != 12 || first.Counts.Summarized != 12 {
		b.Fatalf("the context is not full: %+v, %q", first.Counts, first.Warnings)
	}
	if _, err := sc.raw.Exec(`insert into embedding_cache select g.group_id, c.model, c.content_hash, c.embedding, now()
		from groups g cross join embedding_cache c where c.group_id = $1 on conflict do nothing`, sc.group(0)); err != nil {
		b.Fatal(err)
	}
	plain := prepareContext(b, sc.raw)
	asked := sc.embedder.texts
	var laps storetest.Beside
	for i := 0; b.Loop(); i++ {
		laps.Time(func() { ask(sc.group(i)) }, func() { plain.read(b, sc.group(i), sc.full.Model, "what has person 7 said about the weekend") })
	}
	if sc.embedder.texts != asked {
		b.Fatalf("%d texts were embedded", sc.embedder.texts-asked)
	}
	laps.Report(b)
	if err := usage.Close(ctx); err != nil {
		b.Fatal(err)
	}
}

// weights judges contexts of eight memories, and does the same by two plain updates.
func (sc *fullHouse) weights(b *testing.B) {
	ctx := b.Context()
	move := prepare(b, sc.raw, `update memories m set weight = least(greatest(m.weight + u.by, 0), 2)
		from unnest($2::uuid[], $3::float8[]) as u (id, by) where m.group_id = $1 and m.memory_id = u.id and m.status = 'active'`)
	mark := prepare(b, sc.raw, `update memory_usage_log l set was_referenced = u.by > 0, reference_score = 0.5, weight_after = 1, judged_at = now()
		from unnest($3::uuid[], $4::float8[]) as u (id, by) where l.group_id = $1 and l.usage_id = $2 and l.memory_id = u.id`)
	rule := reverie.WeightRule{Referenced: 0.1, Ignored: -0.02, Max: 2}
	var laps storetest.Beside
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

func prepare(b *testing.B, db *sql.DB, query string) *sql.Stmt {
	b.Helper()
	st, err := db.Prepare(query)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	return st
}

const rawSearch = `select memory_id, lineage_id, kind, statement, version, tags, strength, weight, content_hash, updated_at, last_supported_at,
		1 - (embedding <=> $2::vector) as score
	from memories where group_id = $1 and status = 'active' and embedding_model = $3 order by embedding <=> $2::vector limit $4`

// rawHits reads what a search reads.
func rawHits(b *testing.B, st *sql.Stmt, group string, probe []float32, model string, limit int) {
	vector, err := pgvector.NewVector(probe).EncodeBinary(nil)
	if err != nil {
		b.Fatal(err)
	}
	rows, err := st.Query(group, vector, model, limit)
	if err != nil {
		b.Fatal(err)
	}
	scan(b, rows)
}

// scan reads all rows, as text.
func scan(b *testing.B, rows *sql.Rows) {
	columns, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	cells, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			b.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
}

// plainContext reads what a context is made of by prepared statements, one after
// the other, and makes nothing of it.
type plainContext struct {
	group, session, summary, messages, names, entities, claims, cached, missing, near *sql.Stmt
}

func prepareContext(b *testing.B, db *sql.DB) plainContext {
	return plainContext{
		group:   prepare(b, db, `select * from groups where group_id = $1`),
		session: prepare(b, db, `select * from sessions where group_id = $1 and session_id = $2`),
		summary: prepare(b, db, `select * from session_summaries where group_id = $1 and session_id = $2`),
		messages: prepare(b, db, `select message_id, author, role, text, sent_at from messages m where group_id = $1 and session_id = $2 and session_id <> ''
			and not exists (select 1 from message_uses u where u.group_id = m.group_id and u.job = 'summarize' and u.message_id = m.message_id)
			order by sent_at desc, seq desc limit 12`),
		names:    prepare(b, db, `select entity_id, name from entity_names where group_id = $1 and ended_at is null and strpos($2, name_key) > 0`),
		entities: prepare(b, db, `select * from entities where group_id = $1 and entity_id = $2`),
		claims:   prepare(b, db, `select * from entity_claims where group_id = $1 and entity_id = $2 and status = 'active'`),
		cached:   prepare(b, db, `select vector_send(embedding) from embedding_cache where group_id = $1 and model = $2 limit 1`),
		missing:  prepare(b, db, `select memory_id from memories where group_id = $1 and status = 'active' and embedding_model <> $2`),
		near:     prepare(b, db, rawSearch),
	}
}

func (p plainContext) read(b *testing.B, group, model, text string) {
	for _, q := range []struct {
		st   *sql.Stmt
		args []any
	}{
		{p.group, []any{group}},
		{p.session, []any{group, storetest.FullSession}},
		{p.summary, []any{group, storetest.FullSession}},
		{p.messages, []any{group, storetest.FullSession}},
		{p.names, []any{group, text}},
		{p.entities, []any{group, "00000000-0000-7000-8000-000000000007"}},
		{p.claims, []any{group, "00000000-0000-7000-8000-000000000007"}},
		{p.missing, []any{group, model}},
	} {
		rows, err := q.st.Query(q.args...)
		if err != nil {
			b.Fatal(err)
		}
		scan(b, rows)
	}
	var bytes []byte
	if err := p.cached.QueryRow(group, model).Scan(&bytes); err != nil {
		b.Fatal(err)
	}
	var v pgvector.Vector
	if err := v.DecodeBinary(bytes); err != nil {
		b.Fatal(err)
	}
	rawHits(b, p.near, group, v.Slice(), model, 100)
}
