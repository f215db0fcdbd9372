package store_test

import (
	"fmt"
	"testing"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// besideDims is the width of a common embedding.
const besideDims = 1536

// BenchmarkBeside measures what nights and imports wait for in the database, each beside
// the same work in bare SQL: through the same driver with the same settings, prepared, in
// one transaction where ours is one, taking turns in the same tables. x-raw is how many
// times as long ours takes, at the median. What bare SQL does and leaves out stands where
// it is written; both end with the same rows. Searches and contexts are measured in
// recall.
//
//	go test -run '^$' -bench '^BenchmarkBeside$' -benchtime 300x ./store
func BenchmarkBeside(b *testing.B) {
	for _, size := range []struct{ steps, messages int }{{10, 20}, {10, 200}, {40, 200}} {
		b.Run(fmt.Sprintf("apply/steps=%d/messages=%d", size.steps, size.messages), func(b *testing.B) {
			town := pgtest.Town{Prefix: "bench", Groups: 20, Memories: 100, Messages: 1000, Dims: besideDims}
			besideApply(b, openTown(b, town), town, size.steps, size.messages)
		})
	}
	for _, memories := range []int{30, 300} {
		b.Run(fmt.Sprintf("gather/memories=%d/messages=200", memories), func(b *testing.B) {
			town := pgtest.Town{Prefix: "bench", Groups: 20, Memories: memories, Messages: 1000, Dims: besideDims}
			besideGather(b, openTown(b, town), town)
		})
	}
	for _, size := range []int{1, 1000} {
		for _, session := range []string{"one", "new", "cut"} {
			b.Run(fmt.Sprintf("import/messages=%d/session=%s", size, session), func(b *testing.B) {
				town := pgtest.Town{Prefix: "bench", Groups: 20, Memories: 1, Messages: 1000, Dims: besideDims}
				besideImport(b, openTown(b, town), town, size, session)
			})
		}
	}
}

// besideGather gathers 200 pending messages and all memories of a group, beside three
// plain queries for the same columns of the same rows in one transaction, scanned into the
// same structs. The bare side leaves out what the store asks besides (which memories are to
// be judged again, and why), and its queries have no snapshot in common.
func besideGather(b *testing.B, w *world, town pgtest.Town) {
	p := w.plot(town, 1)
	must(w.ImportMessages(b.Context(), p.id, p.lines(300, "pending")))(b)
	db := pgtest.Bare(b)
	group := pgtest.Prepare(b, db, `select group_id, name, time_zone, language, paused, day_boundary, impressions, session_silence, dream_idle, dream_sessions, dream_interval, team
		from groups where group_id = $1`)
	heads := pgtest.Prepare(b, db, `select group_id, memory_id, lineage_id, parent_id, kind, session_id, statement, version, status, tags, strength, weight, content_hash,
			embedding_model, change_summary, run_id, created_at, updated_at, ended_at, last_supported_at,
			array(select distinct to_char(e.local_date, 'YYYY-MM-DD') from memory_evidence e where e.group_id = m.group_id and e.lineage_id = m.lineage_id
				and e.action <> 'delete' and e.withdrawn_at is null order by 1) as dates
		from memories m where group_id = $1 and kind = $2 and status = 'active' order by created_at, lineage_id`)
	messages := pgtest.Prepare(b, db, `select group_id, message_id, author_id, author, role, text, sent_at, session_id, reply_to, run_id, outcome, filter
		from messages where group_id = $1 and run_id is null and outcome is null and sent_at >= $2 and sent_at < $3 order by sent_at, seq limit $4`)
	q := reverie.GatherQuery{GroupID: p.id, Kind: reverie.KindGroup, Since: noon.AddDate(-10, 0, 0), Until: noon, Limit: 200}
	var laps pgtest.Beside
	for b.Loop() {
		laps.Time(func() {
			if state := must(w.Gather(b.Context(), q))(b); len(state.Pending) != q.Limit || len(state.Heads) != town.Memories || !state.More {
				b.Fatalf("gathered %d messages and %d memories", len(state.Pending), len(state.Heads))
			}
		}, func() {
			tx := must(db.Begin())(b)
			if len(pgtest.Read(b, tx.Stmt(group), groupFields, p.id)) != 1 ||
				len(pgtest.Read(b, tx.Stmt(heads), headFields, p.id, string(q.Kind))) != town.Memories ||
				len(pgtest.Read(b, tx.Stmt(messages), messageFields, p.id, q.Since, q.Until, q.Limit+1)) != q.Limit+1 {
				b.Fatal("rows are missing")
			}
			check(b, tx.Commit())
		})
	}
	laps.Report(b)
}

func groupFields(g *reverie.Group) []any {
	return []any{&g.ID, &g.Name, &g.TimeZone, &g.Language, &g.Paused, &g.DayBoundary, &g.Impressions, &g.SessionSilence, &g.DreamIdle, &g.DreamSessions, &g.DreamInterval, &g.Team}
}

func headFields(h *reverie.HeadState) []any {
	return []any{&h.GroupID, &h.ID, &h.LineageID, &h.ParentID, &h.Kind, &h.SessionID, &h.Statement, &h.Version, &h.Status, pq.Array(&h.Tags), &h.Strength, &h.Weight,
		&h.ContentHash, &h.EmbeddingModel, &h.ChangeSummary, &h.RunID, &h.CreatedAt, &h.UpdatedAt, &h.EndedAt, &h.LastSupportedAt, pq.Array(&h.SupportDates)}
}

func messageFields(m *reverie.Message) []any {
	return []any{&m.GroupID, &m.ID, &m.AuthorID, &m.Author, &m.Role, &m.Text, &m.SentAt, &m.SessionID, &m.ReplyTo, &m.RunID, &m.Outcome, &m.Filter}
}
