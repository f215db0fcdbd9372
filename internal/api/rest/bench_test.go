package rest_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pgvector/pgvector-go"

	"reverie/internal/api"
	"reverie/internal/api/rest"
	"reverie/internal/api/server"
	"reverie/internal/llm"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

const (
	benchDims    = 1536
	benchClients = 200
	rawConns     = 8
)

// crowd is an API over loopback, a full database behind it, and who asks.
type crowd struct {
	full   pgtest.Full
	raw    *sql.DB
	client *http.Client
	base   string
	token  string
	began  time.Time
}

// BenchmarkSearch200 has 200 clients search and have contexts made, over HTTP with a
// token each time, each beside what it reads in plain SQL: as many clients, in turns with the
// others, over as many connections as the store has. No model is called: the vectors of the
// queries are cached.
//
//	go test -run '^$' -bench Search200 -benchtime 20000x ./internal/api/rest
//	REVERIE_BENCH_MEMORIES=1000 REVERIE_BENCH_GROUPS=1 go test -run '^$' -bench Search200 -benchtime 5000x ./internal/api/rest
func BenchmarkSearch200(b *testing.B) {
	c := newCrowd(b)
	b.Run("search", func(b *testing.B) {
		c.measure(b, c.get("/memory/search/%s?q=weekend&threshold=0&limit=5"), c.rawSearch(b))
	})
	b.Run("context", func(b *testing.B) {
		c.measure(b, c.get("/v1/groups/%s/context?session="+pgtest.FullSession+"&query=weekend"), c.rawContext(b))
	})
}

func newCrowd(b *testing.B) *crowd {
	b.Helper()
	memories := 20_000
	if given := os.Getenv("REVERIE_BENCH_MEMORIES"); given != "" {
		var err error
		if memories, err = strconv.Atoi(given); err != nil {
			b.Fatal(err)
		}
	}
	s := pgtest.Open(b, pg.Options{MaxConns: rawConns})
	u, err := url.Parse(pgtest.URL(b))
	if err != nil {
		b.Fatal(err)
	}
	q := u.Query()
	q.Set("binary_parameters", "yes")
	u.RawQuery = q.Encode()
	c := &crowd{began: time.Now(), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchClients}}}
	if c.raw, err = sql.Open("postgres", u.String()); err != nil {
		b.Fatal(err)
	}
	c.raw.SetMaxOpenConns(rawConns)
	c.raw.SetMaxIdleConns(rawConns)
	b.Cleanup(func() { _ = c.raw.Close() })
	if os.Getenv("REVERIE_BENCH_GROUPS") == "1" {
		c.full = pgtest.FillGroups(b, c.raw, []int{memories}, benchDims)
	} else {
		c.full = pgtest.Fill(b, c.raw, memories, benchDims)
	}

	service := newService(s)
	vectors := llm.NewEmbeddings(spread{}, llm.Account{Provider: "test", Model: "bench"}, llm.EmbeddingOptions{Dims: benchDims, Explicit: true, Cache: s})
	searcher := &recall.Searcher{Store: s, Embeddings: vectors, Calibration: reverie.Calibration{Floor: -0.1, Ceiling: 0.2}}
	usage := recall.NewUsageLog(s, recall.UsageOptions{})
	b.Cleanup(func() { _ = usage.Close(context.Background()) })
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	recaller := &recall.Recaller{Store: s, Searcher: searcher, Usage: usage, Now: func() time.Time { return now }, Log: quiet(),
		Options: recall.Options{MinQueryLength: 2, Trigger: recall.TriggerAlways, MinSimilarity: 0.15, HalfLife: 90 * 24 * time.Hour,
			ShortTermCount: 6, MaxReturn: 8, MaxEntities: 3, MaxTokens: 2000, ShortTermTTL: 7 * 24 * time.Hour}}
	service.Searcher = func(context.Context, string) (*recall.Searcher, error) { return searcher, nil }
	service.Recaller = func(context.Context, string) (*recall.Recaller, error) { return recaller, nil }
	if c.token, _, err = service.CreateToken(b.Context(), api.NewToken{Scope: reverie.ScopeRead}); err != nil {
		b.Fatal(err)
	}
	handler, _ := rest.New(service, rest.Options{})
	srv, err := server.New(server.Options{Service: service, REST: handler, RequireToken: true, Listen: "127.0.0.1:0", Log: quiet(),
		MaxWorking: rawConns * 3 / 4}) // as in app
	if err != nil {
		b.Fatal(err)
	}
	addr, err := srv.Start(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = srv.Stop(context.Background()) })
	c.base = "http://" + addr
	for _, g := range c.full.Groups { // each query is in the cache of its group
		if err := c.get("/memory/search/%s?q=weekend&threshold=0&limit=5")(g); err != nil {
			b.Fatal(err)
		}
		if err := c.get("/v1/groups/%s/context?query=weekend")(g); err != nil {
			b.Fatal(err)
		}
	}
	return c
}

// spread embeds each text as a direction of its own.
type spread struct{}

func (spread) Embed(_ context.Context, texts []string) ([][]float32, llm.Usage, error) {
	vectors := make([][]float32, len(texts))
	for i := range texts {
		r := rand.New(rand.NewPCG(7, uint64(len(texts[i]))))
		vectors[i] = make([]float32, benchDims)
		for j := range vectors[i] {
			vectors[i][j] = float32(r.NormFloat64())
		}
	}
	return vectors, llm.Usage{}, nil
}

// ofOneTurn is how many requests one side makes before the other.
const ofOneTurn = 2500

// cost is what the turns of one side have taken.
type cost struct{ wall, cpu, postgres time.Duration }

// measure has the clients ask for groups, one request after another each, of us and in raw SQL in turns.
// The processor time of a request is with its client's.
func (c *crowd) measure(b *testing.B, ask, raw func(group string) error) {
	var both pgtest.Beside
	var ours, theirs cost
	b.ResetTimer()
	for left := b.N; left > 0; left -= ofOneTurn {
		n := int64(min(left, ofOneTurn))
		c.turn(b, n, raw, &both.Raw, &theirs)
		c.turn(b, n, ask, &both.Ours, &ours)
	}
	both.Report(b)
	for prefix, of := range map[string]cost{"": ours, "raw-": theirs} {
		b.ReportMetric(float64(b.N)/of.wall.Seconds(), prefix+"req/s")
		b.ReportMetric(of.cpu.Seconds()*1000/float64(b.N), prefix+"ms-cpu")
		b.ReportMetric(of.postgres.Seconds()*1000/float64(b.N), prefix+"ms-postgres")
	}
}

// turn has n requests made by all clients.
func (c *crowd) turn(b *testing.B, n int64, ask func(group string) error, laps *pgtest.Laps, of *cost) {
	var next atomic.Int64
	var wait sync.WaitGroup
	of.cpu, of.postgres = of.cpu-pgtest.OwnTime(), of.postgres-pgtest.PostgresTime(c.raw)
	of.wall -= time.Since(c.began)
	each := make([]pgtest.Laps, benchClients)
	for client := range each {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(3, uint64(client)))
			for next.Add(1) <= n {
				group := c.full.Groups[r.IntN(len(c.full.Groups))]
				each[client].Time(func() {
					if err := ask(group); err != nil {
						b.Error(err)
					}
				})
			}
		})
	}
	wait.Wait()
	of.wall += time.Since(c.began)
	of.cpu, of.postgres = of.cpu+pgtest.OwnTime(), of.postgres+pgtest.PostgresTime(c.raw)
	*laps = append(*laps, slices.Concat(each...)...)
}

// get asks the API about a group.
func (c *crowd) get(path string) func(string) error {
	return func(group string) error {
		r, err := http.NewRequest(http.MethodGet, c.base+fmt.Sprintf(path, group), nil)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+c.token)
		answer, err := c.client.Do(r)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if err == nil && (answer.StatusCode != http.StatusOK || n < 300) {
			err = fmt.Errorf("%s: status %d, %d bytes", path, answer.StatusCode, n)
		}
		return err
	}
}

// rawNear is a search in SQL.
const rawNear = `select memory_id, lineage_id, kind, statement, version, tags, strength, weight, content_hash, updated_at, last_supported_at,
		1 - (embedding <=> $2::vector) as score
	from memories where group_id = $1 and status = 'active' and embedding_model = $3 order by embedding <=> $2::vector limit $4`

// rawSearch is the search alone.
func (c *crowd) rawSearch(b *testing.B) func(string) error {
	near, probe := c.prepare(b, rawNear), probe(b)
	return func(group string) error {
		n, err := read(near, group, probe, c.full.Model, 5)
		if err == nil && n != 5 {
			err = fmt.Errorf("%d rows", n)
		}
		return err
	}
}

// rawContext is what a context reads, one statement after the other. What it writes, the
// log of what it offers, is left out.
func (c *crowd) rawContext(b *testing.B) func(string) error {
	var ofSession []*sql.Stmt
	ofGroup := c.prepare(b, `select * from groups where group_id = $1`)
	for _, query := range []string{
		`select * from sessions where group_id = $1 and session_id = $2`,
		`select * from session_summaries where group_id = $1 and session_id = $2`,
		`select message_id, author, role, text, sent_at from messages m where group_id = $1 and session_id = $2 and session_id <> ''
			and not exists (select 1 from message_uses u where u.group_id = m.group_id and u.job = 'summarize' and u.message_id = m.message_id)
			order by sent_at desc, seq desc limit 12`,
	} {
		ofSession = append(ofSession, c.prepare(b, query))
	}
	names := c.prepare(b, `select entity_id, name from entity_names where group_id = $1 and ended_at is null and strpos($2, name_key) > 0`)
	cached := c.prepare(b, `select vector_send(embedding) from embedding_cache where group_id = $1 and model = $2 limit 1`)
	near := c.prepare(b, rawNear)
	return func(group string) error {
		if _, err := read(ofGroup, group); err != nil {
			return err
		}
		for _, st := range ofSession {
			if _, err := read(st, group, pgtest.FullSession); err != nil {
				return err
			}
		}
		if _, err := read(names, group, "weekend"); err != nil {
			return err
		}
		var vector []byte
		if err := cached.QueryRow(group, c.full.Model).Scan(&vector); err != nil {
			return err
		}
		_, err := read(near, group, vector, c.full.Model, 100)
		return err
	}
}

func (c *crowd) prepare(b *testing.B, query string) *sql.Stmt {
	b.Helper()
	st, err := c.raw.Prepare(query)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	return st
}

// probe is the vector of the query, as PostgreSQL takes it.
func probe(b *testing.B) []byte {
	b.Helper()
	probes, _, _ := spread{}.Embed(b.Context(), []string{"weekend"})
	binary, err := pgvector.NewVector(probes[0]).EncodeBinary(nil)
	if err != nil {
		b.Fatal(err)
	}
	return binary
}

// read reads all rows as they come, and counts them.
func read(st *sql.Stmt, args ...any) (n int, err error) {
	rows, err := st.Query(args...)
	if err != nil {
		return 0, err
	}
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	cells, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
	for i := range cells {
		into[i] = &cells[i]
	}
	for ; rows.Next(); n++ {
		if err := rows.Scan(into...); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}
