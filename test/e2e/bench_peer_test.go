package e2e

import (
	"database/sql"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"

	"reverie/internal/llm/offline"
	"reverie/internal/text"
	"reverie/store/pgtest"
)

// envPeer is how many groups the nights of BenchmarkPeer have, 200 by default.
const envPeer = "REVERIE_BENCH_PEER"

// As many groups at a time, over as many connections, for both systems.
const (
	peerConcurrency = 32
	peerConnections = 8
)

// peerVectors names the vectors of both as Reverie does.
var peerVectors = fmt.Sprintf("text-embedding-3-small@%d", offline.DefaultDims)

// BenchmarkPeer measures Reverie beside mem0, a memory layer that is used as a library:
// the same PostgreSQL, the same model and the same messages. Run it with -benchtime 1x.
// bench/peer/README.md says what is compared, and how to read it.
func BenchmarkPeer(b *testing.B) {
	b.Run("night", benchmarkPeerNight)
	b.Run("search", benchmarkPeerSearch)
	b.Run("recall", benchmarkPeerRecall)
	b.Run("others", benchmarkPeerOthers)
}

// peerNight is what both hold of the night.
type peerNight struct {
	world  *nightlyWorld // Reverie's groups
	groups []peerGroup   // with what is known of each
	said   []string
	want   []string // what the night adds
	starts map[string]time.Duration
}

func newPeerNight(b *testing.B, ours peerDatabase, count int) *peerNight {
	b.Helper()
	if testing.Short() {
		count = 10
	}
	if text := os.Getenv(envPeer); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	n := &peerNight{world: &nightlyWorld{nightlyCase: nightlyCase{groups: count}, b: b, db: ours.DB}, said: fanOutNight()}
	for _, text := range n.said {
		if fact, ok := strings.CutPrefix(text, "note "); ok {
			n.want = append(n.want, fact)
		}
	}
	n.world.seed()
	byGroup := map[string][]string{}
	for _, row := range peerRows(b, ours, `select group_id, statement from memories order by 1, created_at`) {
		byGroup[row[0]] = append(byGroup[row[0]], row[1])
	}
	for _, id := range slices.Sorted(maps.Keys(byGroup)) {
		n.groups = append(n.groups, peerGroup{id, byGroup[id]})
	}
	return n
}

// peerRows are the rows of a query for a group and a text.
func peerRows(b *testing.B, db peerDatabase, query string) (all [][2]string) {
	b.Helper()
	rows, err := db.QueryContext(b.Context(), query)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var row [2]string
		if err := rows.Scan(&row[0], &row[1]); err != nil {
			b.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return all
}

// benchmarkPeerNight lets each system take in a night of each of 200 groups: 20 messages,
// of which 3 say what is new and 2 what is known, and 10 memories before them. mem0 is
// given the night in one add, and, as its documentation shows it, turn by turn, two
// messages an add.
func benchmarkPeerNight(b *testing.B) {
	driver := newPeerDriver(b)
	binary := buildBinary(b)
	ours, theirs := openPeer(b, pgtest.URL(b)), openPeer(b, pgtest.NewEmpty(b))
	n := newPeerNight(b, ours, 200)
	n.teach(b, driver, theirs)
	n.measureStarts(b, driver, binary, ours, theirs)
	for _, latency := range []time.Duration{0, 300 * time.Millisecond} {
		model := fmt.Sprintf("model=%dms", latency.Milliseconds())
		b.Run(model+"/system=reverie", func(b *testing.B) {
			for b.Loop() {
				n.seed(b, ours)
				n.evolve(b, newPeerModel(b, latency), binary, ours)
			}
		})
		for _, way := range []struct {
			name   string
			perAdd int
		}{{"mem0-one-add", 0}, {"mem0-turns", 2}} {
			b.Run(model+"/system="+way.name, func(b *testing.B) {
				n := n
				if latency > 0 && way.perAdd > 0 { // the same work, and waiting for so many answers
					n = n.some(50)
				}
				for b.Loop() {
					theirs.exec(b, `truncate memories, memories_entities`, `insert into memories table remembered`, `vacuum analyze memories`, `checkpoint`)
					n.add(b, newPeerModel(b, latency), driver, theirs, way.perAdd)
				}
			})
		}
	}
}

// some is the night of a few of the groups.
func (n *peerNight) some(groups int) *peerNight {
	few := *n
	few.groups = n.groups[:min(groups, len(n.groups))]
	return &few
}

// measureStarts measures what a process of each costs that has nothing to do: Reverie's
// finds that no night is due, mem0's opens as many connections as for a night.
func (n *peerNight) measureStarts(b *testing.B, driver *peerDriver, binary string, ours, theirs peerDatabase) {
	b.Helper()
	const times = 3
	n.starts = map[string]time.Duration{}
	for _, system := range []string{"reverie", "mem0"} {
		b.Run("start/system="+system, func(b *testing.B) {
			m := newPeerModel(b, 0)
			var own, postgres, wall time.Duration
			peak := int64(0)
			for range times {
				db, start := ours, func() *toll { return n.evolveAll(b, m, binary, ours) }
				if system == "mem0" {
					db, start = theirs, func() *toll { _, t := driver.do(n.job("open", m, theirs)); return t }
				} else {
					ours.exec(b, `truncate groups cascade`)
				}
				began := pgtest.PostgresTime(db.DB)
				took := start()
				postgres += pgtest.PostgresTime(db.DB) - began
				own, wall, peak = own+took.own, wall+took.wall, max(peak, took.peak)
			}
			n.starts[system] = (own + postgres) / times
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(wall.Seconds()/times, "s")
			b.ReportMetric(own.Seconds()*1000/times, "ms-cpu")
			b.ReportMetric(postgres.Seconds()*1000/times, "ms-postgres")
			b.ReportMetric(float64(peak)/1024, "MiB-peak")
		})
	}
}

// job is what mem0's driver is told for all of the groups.
func (n *peerNight) job(what string, m *peerModel, theirs peerDatabase) peerJob {
	return peerJob{What: what, Database: theirs.url, Collection: "memories", Model: m.url(), Connections: peerConnections, Concurrency: peerConcurrency}
}

// peerDatabase is where one of the systems keeps what it knows.
type peerDatabase struct {
	*sql.DB
	url string
}

func openPeer(b *testing.B, url string) peerDatabase {
	b.Helper()
	db, err := sql.Open("postgres", url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	return peerDatabase{db, url}
}

func (d peerDatabase) exec(b *testing.B, statements ...string) {
	b.Helper()
	for _, s := range statements {
		if _, err := d.ExecContext(b.Context(), s); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
}

// teach has mem0 remember what is known of each group, by its own means, and keeps a
// copy of that.
func (n *peerNight) teach(b *testing.B, driver *peerDriver, theirs peerDatabase) {
	b.Helper()
	job := n.job("remember", newPeerModel(b, 0), theirs)
	job.Groups = n.groups
	driver.do(job)
	theirs.exec(b, `create table remembered as table memories`)
}

// seed makes Reverie's groups anew, as nights before would have left them: with vectors.
func (n *peerNight) seed(b *testing.B, ours peerDatabase) {
	b.Helper()
	n.world.b = b
	n.world.seed()
	known := n.groups[0].Texts
	vectors, _, err := offline.New(offline.DefaultDims).Embed(b.Context(), known)
	if err != nil {
		b.Fatal(err)
	}
	var texts pq.StringArray
	for _, v := range vectors {
		texts = append(texts, pgvectorText(v))
	}
	if _, err := ours.ExecContext(b.Context(), `update memories m set embedding = u.v::vector, embedding_model = $3
		from unnest($1::text[], $2::text[]) u (statement, v) where m.statement = u.statement`, pq.StringArray(known), texts, peerVectors); err != nil {
		b.Fatal(err)
	}
	ours.exec(b, `vacuum analyze memories`, `checkpoint`)
}

// pgvectorText is a vector as pgvector reads it.
func pgvectorText(v []float32) string {
	return strings.ReplaceAll(fmt.Sprint(v), " ", ",")
}

// evolve lets Reverie's binary do all nights that are due.
func (n *peerNight) evolve(b *testing.B, m *peerModel, binary string, ours peerDatabase) {
	b.Helper()
	began := pgtest.PostgresTime(ours.DB)
	m.reset()
	took := n.evolveAll(b, m, binary, ours)
	n.report(b, "reverie", m, took, pgtest.PostgresTime(ours.DB)-began, peerRows(b, ours, `select group_id, statement from memories where status = 'active'`))
}

// evolveAll runs the binary to its end.
func (n *peerNight) evolveAll(b *testing.B, m *peerModel, binary string, ours peerDatabase) *toll {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), binary, "evolve", "--due", "--json")
	cmd.Dir, cmd.Env = b.TempDir(), peerEnv(b, m, ours)
	_, took := runMeasured(b, cmd)
	return took
}

func peerEnv(b *testing.B, m *peerModel, ours peerDatabase) []string {
	return []string{"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "REVERIE_DATABASE_URL=" + ours.url,
		"REVERIE_LLM_PROVIDER=openai", "REVERIE_LLM_BASE_URL=" + m.url(), "REVERIE_HTTP_REQUESTS_PER_SECOND=0",
		"REVERIE_DATABASE_MAX_CONNS=" + strconv.Itoa(peerConnections), "REVERIE_JOBS_CONCURRENCY=" + strconv.Itoa(peerConcurrency)}
}

// mem0Held is what mem0 has kept.
const mem0Held = `select payload->>'user_id', payload->>'data' from memories`

// add gives mem0 the night of each group, perAdd messages at a time, or all at once.
// Who wrote a message stands before it, as its prompt's examples have it.
func (n *peerNight) add(b *testing.B, m *peerModel, driver *peerDriver, theirs peerDatabase, perAdd int) {
	b.Helper()
	job := n.job("night", m, theirs)
	job.PerAdd = perAdd
	for _, g := range n.groups {
		job.Groups = append(job.Groups, peerGroup{ID: g.ID})
	}
	job.Messages = n.lines()
	began := pgtest.PostgresTime(theirs.DB)
	m.reset()
	_, took := driver.do(job)
	n.report(b, "mem0", m, took, pgtest.PostgresTime(theirs.DB)-began, peerRows(b, theirs, mem0Held))
}

// lines are the night's messages, with the name of who wrote before each.
func (n *peerNight) lines() (all []string) {
	for i, text := range n.said {
		all = append(all, fmt.Sprintf("Author %d: %s", (i+1)%4, text))
	}
	return all
}

// report says what a night took, and what came of it.
func (n *peerNight) report(b *testing.B, system string, m *peerModel, took *toll, postgres time.Duration, held [][2]string) {
	b.Helper()
	groups := float64(len(n.groups))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took.wall.Seconds(), "s")
	b.ReportMetric(groups/took.wall.Seconds(), "groups/s")
	b.ReportMetric(took.own.Seconds()*1000/groups, "ms-cpu/group")
	b.ReportMetric(postgres.Seconds()*1000/groups, "ms-postgres/group")
	if postgres > 0 { // else it is on another machine
		b.ReportMetric((took.own+postgres).Seconds()*1000/groups, "ms-all/group")
		if start, ok := n.starts[system]; ok {
			b.ReportMetric((took.own+postgres-start).Seconds()*1000/groups, "ms-marginal/group")
		}
	}
	b.ReportMetric(float64(took.peak)/1024, "MiB-peak")
	m.report(len(n.groups))
	all, right, twice := n.judge(held)
	b.ReportMetric(float64(all)/groups, "memories/group")
	b.ReportMetric(float64(right)/groups, "right/group")
	b.ReportMetric(float64(twice)/groups, "duplicates/group")
	if right != len(n.want)*len(n.groups) {
		b.Errorf("%d of the %d facts of the nights are remembered", right, len(n.want)*len(n.groups))
	}
}

// judge counts what is remembered, what of it the nights should have added, and what
// says the same as another memory of its group.
func (n *peerNight) judge(held [][2]string) (all, right, twice int) {
	want := map[string]bool{}
	for _, fact := range n.want {
		want[text.ContentHash(fact)] = true
	}
	measured := map[string]bool{}
	for _, g := range n.groups {
		measured[g.ID] = true
	}
	seen := map[[2]string]bool{}
	for _, row := range held {
		if !measured[row[0]] {
			continue
		}
		key := [2]string{row[0], text.ContentHash(row[1])}
		all++
		switch {
		case seen[key]:
			twice++
		case want[key[1]]:
			right++
		}
		seen[key] = true
	}
	return all, right, twice
}
