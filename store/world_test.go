package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	group = "g1"
	model = "test@3"
)

// noon is the clock of a world when it begins.
var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// world is a store with one group and its lease, and a clock that tests move.
type world struct {
	parts
	t     testing.TB
	now   time.Time
	lease reverie.Lease
	sent  int
}

func newWorld(t testing.TB) *world { return openWorld(t, pg.Options{}) }

func openWorld(t testing.TB, opts pg.Options) *world {
	t.Helper()
	w := &world{t: t, now: noon}
	opts.Now = func() time.Time { return w.now }
	w.parts = partsOf(pgtest.Open(t, opts))
	w.ensure(group)
	w.lease = must(w.AcquireLease(t.Context(), group, reverie.LeaseGroup, "host:1:a", time.Minute))(t)
	return w
}

func (w *world) ensure(id string) {
	w.t.Helper()
	if _, err := w.EnsureGroup(w.t.Context(), reverie.Group{ID: id, Name: "Group " + id, TimeZone: "Asia/Shanghai", Language: "zh"}); err != nil {
		w.t.Fatal(err)
	}
}

// must unwraps a result or ends the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error %v, want one that is %q", err, kind)
	}
}

// messages imports n messages, a minute apart, and returns their ids.
func (w *world) messages(n int) []string {
	w.t.Helper()
	var list []reverie.Message
	var ids []string
	for range n {
		w.sent++
		id := fmt.Sprintf("m%04d", w.sent)
		ids = append(ids, id)
		list = append(list, reverie.Message{ID: id, AuthorID: "u1", Author: "小明", Role: reverie.RoleUser, Text: "message " + id,
			SentAt: noon.Add(time.Duration(w.sent-1000) * time.Minute)})
	}
	got := must(w.ImportMessages(w.t.Context(), group, list))(w.t)
	if got.New != n {
		w.t.Fatalf("imported %+v, want %d new", got, n)
	}
	return ids
}

// chunk starts a run if run is "", and saves a chunk of it that holds ids.
func (w *world) chunk(runID string, no int, ids []string) (run string) {
	w.t.Helper()
	if runID == "" {
		started := must(w.StartRun(w.t.Context(), w.lease, reverie.Run{Job: reverie.JobEvolve,
			WindowSince: noon.Add(-24 * time.Hour), WindowUntil: noon, Model: "offline/offline"}))(w.t)
		runID = started.ID
	}
	check(w.t, w.SaveChunk(w.t.Context(), w.lease, reverie.Chunk{RunID: runID, No: no, InputSHA256: "in", MessageIDs: ids,
		Answer: `{"action":"none"}`, Status: reverie.ChunkAnswered}))
	return runID
}

// apply consumes fresh messages with a plan of the given steps.
func (w *world) apply(steps ...reverie.Step) []reverie.Change {
	w.t.Helper()
	return must(w.Apply(w.t.Context(), w.lease, w.plan(steps...)))(w.t)
}

// plan is one whose run and chunk are there, over two fresh messages.
func (w *world) plan(steps ...reverie.Step) reverie.Plan {
	w.t.Helper()
	ids := w.messages(2)
	return reverie.Plan{GroupID: group, RunID: w.chunk("", 1, ids), ChunkNo: 1, Kind: reverie.KindGroup, Steps: steps,
		Outcomes: map[string]reverie.Outcome{ids[0]: reverie.OutcomeCited, ids[1]: reverie.OutcomeConsidered}}
}

func hash(statement string) string { return text.ContentHash(statement) }

func create(statement string) reverie.Step {
	return reverie.Step{Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(), Statement: statement,
		ContentHash: hash(statement), Reason: "said so", Tags: []string{"food", `a "quoted", tag`}, Strength: reverie.TentativeStrength,
		LastSupportedAt: noon.Add(-time.Hour), Embedding: unit(), EmbeddingModel: model,
		Evidence: []reverie.Evidence{evidence("m0001", "2026-01-15")}}
}

func update(m reverie.Memory, statement string) reverie.Step {
	st := create(statement)
	st.Action, st.LineageID, st.OldStatement = reverie.ActionUpdate, m.LineageID, m.Statement
	st.Head = reverie.Head{MemoryID: m.ID, Version: m.Version}
	return st
}

func remove(m reverie.Memory, reason string) reverie.Step {
	return reverie.Step{Action: reverie.ActionDelete, LineageID: m.LineageID, OldStatement: m.Statement, Reason: reason,
		Head: reverie.Head{MemoryID: m.ID, Version: m.Version}, Evidence: []reverie.Evidence{evidence("m0001", "2026-01-15")}}
}

func support(m reverie.Memory, date string, strength float64) reverie.Step {
	return reverie.Step{Action: reverie.ActionKeep, LineageID: m.LineageID, Strength: strength, LastSupportedAt: noon,
		Head: reverie.Head{MemoryID: m.ID, Version: m.Version}, Evidence: []reverie.Evidence{evidence("m0002", date)}}
}

func evidence(id, date string) reverie.Evidence {
	return reverie.Evidence{MessageID: id, AuthorID: "u1", Author: "小明", Quote: "message " + id, SentAt: noon.Add(-time.Hour), LocalDate: date}
}

// unit is a random direction.
func unit() []float32 {
	return []float32{rand.Float32() + 0.1, rand.Float32() - 0.5, rand.Float32() - 0.5}
}

// active returns the group's active memories by statement.
func (w *world) active() map[string]reverie.Memory {
	w.t.Helper()
	list, _, err := w.ListMemories(w.t.Context(), reverie.MemoryQuery{GroupID: group, Status: reverie.StatusActive})
	check(w.t, err)
	found := map[string]reverie.Memory{}
	for _, m := range list {
		found[m.Statement] = m
	}
	return found
}

// raw is a plain connection to the test's database.
func raw(t testing.TB) *sql.DB {
	t.Helper()
	db := must(sql.Open("postgres", pgtest.URL(t)))(t)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func count(t testing.TB, db *sql.DB, query string, args ...any) int {
	t.Helper()
	var n int
	check(t, db.QueryRow(query, args...).Scan(&n))
	return n
}

// noLeaks fails the test when goroutines outlive its store.
func noLeaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

func openRaw(url string) (*sql.DB, error) { return sql.Open("postgres", url) }
