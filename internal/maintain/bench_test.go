package maintain

import (
	"database/sql"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// BenchmarkMaintain is one night of two hundred groups with so many memories each: all
// of them have faded, or nothing has; and the texts of 20,000 messages of one group.
func BenchmarkMaintain(b *testing.B) {
	s := pgtest.Open(b, pg.Options{})
	db := must(sql.Open("postgres", pgtest.URL(b)))(b)
	defer func() { _ = db.Close() }()
	const groups = 200
	exec := func(query string, args ...any) { must(db.ExecContext(b.Context(), query, args...))(b) }
	exec(`insert into groups (group_id) select 'g' || n from generate_series(1, $1) n`, groups)
	k := &Keeper{Store: s, Rule: rule, Batch: 500, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	night := func(b *testing.B) {
		for n := range groups {
			id := fmt.Sprintf("g%d", n+1)
			if !must(k.Due(b.Context(), id))(b) {
				continue
			}
			h := holding{must(s.AcquireLease(b.Context(), id, reverie.LeaseGroup, "bench", time.Minute))(b)}
			must(k.Run(b.Context(), h, Request{GroupID: id}))(b)
			if err := s.ReleaseLease(b.Context(), h.lease); err != nil {
				b.Fatal(err)
			}
		}
	}
	rate := func(b *testing.B, n int, unit string) { b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), unit) }
	for _, memories := range []int{30, 500} {
		exec(`delete from memories`)
		exec(`insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, strength, content_hash, created_at, updated_at, last_supported_at)
			select 'g' || g, gen_random_uuid(), gen_random_uuid(), 'group', 'fact ' || m, 1, 'active', 0.8, m, now(), now(), now() - interval '20 days'
			from generate_series(1, $1) g, generate_series(1, $2) m`, groups, memories)
		exec(`analyze`)
		b.Run(fmt.Sprintf("memories=%d/all are archived", memories), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				exec(`update memories set status = 'active', ended_at = null, weight = 0.1`)
				b.StartTimer()
				night(b)
			}
			rate(b, groups, "groups/s")
		})
		b.Run(fmt.Sprintf("memories=%d/nothing is due", memories), func(b *testing.B) {
			for b.Loop() {
				night(b)
			}
			rate(b, groups, "groups/s")
		})
	}
	k.Retention.Messages = 24 * time.Hour
	exec(`insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at, finished_at)
		values ('g1', gen_random_uuid(), 'evolve', now(), now(), 'succeeded', 1, now(), now())`)
	exec(`insert into messages (group_id, message_id, role, text, sent_at, run_id, outcome)
		select 'g1', n, 'user', '', now() - interval '9 days' + n * interval '10 s', (select run_id from runs where group_id = 'g1' and job = 'evolve'), 'cited'
		from generate_series(1, 20000) n`)
	b.Run("messages=20000", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			exec(`update messages set text = 'a message', pruned_at = null`)
			h := holding{must(s.AcquireLease(b.Context(), "g1", reverie.LeaseGroup, "bench", time.Hour))(b)}
			b.StartTimer()
			if res := must(k.Run(b.Context(), h, Request{GroupID: "g1"}))(b); res.Pruned.Messages != 20000 {
				b.Fatalf("%+v", res.Pruned)
			}
			b.StopTimer()
			if err := s.ReleaseLease(b.Context(), h.lease); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		rate(b, 20000, "messages/s")
	})
}
