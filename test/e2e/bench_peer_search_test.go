package e2e

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/lib/pq"

	"reverie/internal/llm/offline"
	"reverie/store/pgtest"
)

// envPeerIndex is up to how many memories mem0 is measured with its HNSW index as well, and
// all memories are of one group, 10,000 by default: it takes minutes to build for more.
const envPeerIndex = "REVERIE_BENCH_PEER_INDEX"

// peerShelf is a number of memories that both systems hold: pairs of sentences, so that
// few texts are embedded and yet no two memories say or point at the same.
type peerShelf struct {
	memories int
	perGroup int // 0: all are of one group
	base     []string
	queries  []string
	groups   []peerGroup // of each query
}

// peerWarm is how many queries come before those that are measured.
const peerWarm = 5

func newPeerShelf(memories, perGroup int) *peerShelf {
	s := &peerShelf{memories: memories, perGroup: perGroup}
	groups := 1
	if perGroup > 0 {
		groups = memories / perGroup
	}
	names := []string{"Ann", "Ben", "Cleo", "Dana", "Emil", "Fay", "Gus", "Hana", "Ivo", "June", "Kai", "Lin", "Mia", "Noor", "Ole"}
	things := []string{"tea", "the projector", "a violin", "chess", "the garden", "old maps", "bread", "the printer", "poems", "sailing", "a bicycle", "bees", "the choir",
		"puzzles", "stamps", "the kitchen", "running", "films", "pottery", "birds", "the budget", "coffee", "knots", "trains", "the newsletter", "stars", "cheese", "dancing", "mending", "cats"}
	for _, thing := range things {
		for _, name := range names {
			s.base = append(s.base, fmt.Sprintf("%s takes care of %s", name, thing))
		}
	}
	measured := 50
	if memories > 10_000 {
		measured = 20
	}
	for i := range peerWarm + measured {
		s.queries = append(s.queries, fmt.Sprintf("who of us takes care of %s on day %d", things[i*7%len(things)], i))
		s.groups = append(s.groups, peerGroup{ID: fmt.Sprintf("group%06d", i*37%groups)})
	}
	return s
}

// pairs are the memories as rows of two tables of the base, with a group each.
func (s *peerShelf) pairs() string {
	group := `'group000000'`
	if s.perGroup > 0 {
		group = fmt.Sprintf(`'group' || to_char((row_number() over () - 1) / %d, 'FM000000')`, s.perGroup)
	}
	return fmt.Sprintf(`(select %s as id, a.no as one, b.no as other from base a join base b on a.no < b.no limit %d) pair
		join base a on a.no = pair.one join base b on b.no = pair.other`, group, s.memories)
}

// benchmarkPeerSearch searches 1,000 to 100,000 memories, of groups of a hundred, and up to
// 10,000 of one group: one client, one search after the other. Reverie is asked over HTTP, as bots
// ask it, and mem0 within its own process, as bots use it. Both embed each query, by a
// model that answers at once; Reverie remembers the vector of one that it had before.
func benchmarkPeerSearch(b *testing.B) {
	driver := newPeerDriver(b)
	m := newPeerModel(b, 0)
	indexed := 10_000
	if text := os.Getenv(envPeerIndex); text != "" {
		var err error
		if indexed, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	for _, memories := range []int{1000, 10_000, 100_000} {
		for of, perGroup := range []int{0, 100} {
			if perGroup == 0 && memories > indexed {
				continue
			}
			s := newPeerShelf(memories, perGroup)
			name := fmt.Sprintf("groups-of=%s/memories=%d", []string{"all", "100"}[of], memories)
			b.Run(name+"/system=reverie", func(b *testing.B) {
				ours := openPeer(b, pgtest.URL(b))
				s.fillOurs(b, ours)
				s.serve(b, m, ours)
			})
			b.Run(name+"/system=mem0", func(b *testing.B) {
				theirs := openPeer(b, pgtest.NewEmpty(b))
				s.fillTheirs(b, m, driver, theirs)
				b.Run("index=none", func(b *testing.B) { s.ask(b, m, driver, theirs) })
				if memories > indexed {
					return
				}
				theirs.exec(b, `set maintenance_work_mem = '1GB'`, `set max_parallel_maintenance_workers = 0`,
					`create index memories_hnsw_idx on memories using hnsw (vector vector_cosine_ops)`)
				b.Run("index=hnsw", func(b *testing.B) {
					before, _ := theirs.scans(b)
					s.ask(b, m, driver, theirs)
					hnsw := 0
					until(b, "PostgreSQL has counted the searches", func() bool {
						var all int
						all, hnsw = theirs.scans(b)
						return all >= before+len(s.queries)
					})
					b.ReportMetric(float64(hnsw)/float64(len(s.queries)), "index-scans/search") // 0 where PostgreSQL does not take it
				})
			})
		}
	}
}

// scans counts how often mem0's memories were read, in any way, and by its HNSW index.
func (d peerDatabase) scans(b *testing.B) (all, hnsw int) {
	b.Helper()
	if err := d.QueryRowContext(b.Context(), `select t.seq_scan + t.idx_scan, i.idx_scan from pg_stat_user_tables t join pg_stat_user_indexes i using (relid)
		where i.indexrelname = 'memories_hnsw_idx'`).Scan(&all, &hnsw); err != nil {
		b.Fatal(err)
	}
	return all, hnsw
}

func (s *peerShelf) fillOurs(b *testing.B, ours peerDatabase) {
	b.Helper()
	vectors, _, err := offline.New(offline.DefaultDims).Embed(b.Context(), s.base)
	if err != nil {
		b.Fatal(err)
	}
	var texts pq.StringArray
	for _, v := range vectors {
		texts = append(texts, pgvectorText(v))
	}
	ours.exec(b, `create table base (no int primary key, text text, v vector)`)
	if _, err := ours.ExecContext(b.Context(), `insert into base select no, text, v::vector from unnest($1::text[], $2::text[]) with ordinality u (text, v, no)`,
		pq.StringArray(s.base), texts); err != nil {
		b.Fatal(err)
	}
	ours.exec(b, `insert into groups (group_id, time_zone) select distinct pair.id, 'UTC' from `+s.pairs(),
		`insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, strength, content_hash, embedding, embedding_model,
				created_at, updated_at, last_supported_at)
			select pair.id, gen_random_uuid(), gen_random_uuid(), 'group', a.text || ', and ' || b.text, 1, 'active', 0.5, md5(a.text || b.text), a.v + b.v, '`+peerVectors+`',
				now(), now(), now() from `+s.pairs(),
		`vacuum analyze groups, memories`, `checkpoint`)
}

// fillTheirs has mem0 remember the base by its own means, and makes of its rows those of
// the pairs, as it would have made them.
func (s *peerShelf) fillTheirs(b *testing.B, m *peerModel, driver *peerDriver, theirs peerDatabase) {
	b.Helper()
	driver.do(peerJob{What: "remember", Database: theirs.url, Collection: "memories", Model: m.url(), Connections: 1, Concurrency: 1,
		Groups: []peerGroup{{"base", s.base}}})
	theirs.exec(b, `create table base as select row_number() over () as no, vector, payload from memories`, `truncate memories`,
		`insert into memories select gen_random_uuid(), a.vector + b.vector, a.payload || jsonb_build_object('user_id', pair.id,
				'data', (a.payload->>'data') || ', and ' || (b.payload->>'data'), 'hash', md5((a.payload->>'data') || (b.payload->>'data')),
				'textLemmatized', (a.payload->>'textLemmatized') || ' ' || (b.payload->>'textLemmatized'))
			from `+s.pairs(),
		`vacuum analyze memories`, `checkpoint`)
}

// serve asks Reverie's server, first for what it was never asked, then for the same.
func (s *peerShelf) serve(b *testing.B, m *peerModel, ours peerDatabase) {
	b.Helper()
	p := start(b, append(peerEnv(b, m, ours), "REVERIE_LOG_FORMAT=json"), "serve", "--listen", "127.0.0.1:0")
	until(b, "it serves", func() bool { return servesAt.MatchString(p.err.String()) })
	base := servesAt.FindStringSubmatch(p.err.String())[1]
	for _, query := range []string{"new", "known"} {
		b.Run("query="+query, func(b *testing.B) {
			m.reset()
			var laps pgtest.Laps
			found := 0
			for i, text := range s.queries {
				began := time.Now()
				reply, err := search(b.Context(), base, s.groups[i].ID, text, url.Values{"limit": {"10"}, "threshold": {"0"}})
				took := time.Since(began)
				if err != nil {
					b.Fatal(err)
				}
				if i >= peerWarm {
					laps, found = append(laps, took), found+len(reply.Results)
				}
			}
			s.report(b, m, laps, found)
		})
	}
}

// ask has mem0 search.
func (s *peerShelf) ask(b *testing.B, m *peerModel, driver *peerDriver, theirs peerDatabase) {
	b.Helper()
	m.reset()
	r, _ := driver.do(peerJob{What: "search", Database: theirs.url, Collection: "memories", Model: m.url(), Connections: 1,
		Groups: s.groups, Queries: s.queries, Warm: peerWarm, Limit: 10})
	var laps pgtest.Laps
	for _, ms := range r.Took {
		laps = append(laps, time.Duration(ms*float64(time.Millisecond)))
	}
	found := 0
	for _, texts := range r.Shown {
		found += len(texts)
	}
	s.report(b, m, laps, found)
}

func (s *peerShelf) report(b *testing.B, m *peerModel, laps pgtest.Laps, found int) {
	if len(laps) != len(s.queries)-peerWarm {
		b.Fatalf("%d searches were timed, want %d", len(laps), len(s.queries)-peerWarm)
	}
	laps.Report(b, "")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(found)/float64(len(laps)), "found/search")
	b.ReportMetric(float64(m.embeddings.Load())/float64(len(s.queries)), "embeddings/search")
}
