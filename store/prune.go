package store

import (
	"context"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// What is kept no longer, by sort. $1 is the group, $2 the instant.
	expiredShortTerm = ` from session_summaries x join sessions s on s.group_id = x.group_id
		and s.session_id = x.session_id
		where x.group_id = $1 and s.last_at < $2::timestamptz`

	// A run that has ended, of which nothing waits for a person, and no chunk of
	// which would be taken up again for the sake of its answers.
	endedRuns = ` join runs r on r.group_id = x.group_id and r.run_id = x.run_id
		where x.group_id = $1 and r.status <> 'running' and r.finished_at < $2::timestamptz
			and not exists (select 1 from held_plans h where h.group_id = r.group_id and h.run_id = r.run_id
				and h.status = 'waiting')
			and (r.undone_at is not null or not exists (select 1 from run_chunks c
				where c.group_id = r.group_id and c.run_id = r.run_id and c.status in ('open', 'answered') and (
					exists (select 1 from messages m where r.job = 'evolve' and m.group_id = c.group_id
						and m.message_id = any (c.message_ids) and m.run_id is null)
					or exists (select 1 from message_uses u where u.group_id = c.group_id and u.job = r.job
						and u.message_id = any (c.message_ids) and u.run_id is null))))`
	expiredChunks  = ` from run_chunks x` + endedRuns + ` and x.answer <> ''`
	expiredAnswers = ` from answers x` + endedRuns

	expiredUsage = ` from memory_usage_log x where x.group_id = $1 and x.created_at < $2::timestamptz`

	countShortTermQuery = `select count(*)` + expiredShortTerm
	countAnswersQuery   = `select (select count(*)` + expiredChunks + `) + (select count(*)` + expiredAnswers + `)`
	countUsageQuery     = `select count(*)` + expiredUsage

	// Which messages a summary covered is known for good: their uses stay.
	pruneShortTermQuery = `delete from session_summaries d
		using (select x.session_id` + expiredShortTerm + ` order by x.session_id limit $3) e
		where d.group_id = $1 and d.session_id = e.session_id`

	pruneChunksQuery = `update run_chunks d set answer = ''
		from (select x.run_id, x.chunk_no` + expiredChunks + ` order by x.run_id, x.chunk_no limit $3) e
		where d.group_id = $1 and d.run_id = e.run_id and d.chunk_no = e.chunk_no`

	pruneAnswersQuery = `delete from answers d
		using (select x.run_id, x.input_sha256` + expiredAnswers + ` order by x.run_id, x.input_sha256 limit $3) e
		where d.group_id = $1 and d.run_id = e.run_id and d.input_sha256 = e.input_sha256`

	// A row that is being judged is waited for, and counts as it is then.
	pruneUsageQuery = `with gone as (
			delete from memory_usage_log d
			using (select x.usage_id, x.memory_id` + expiredUsage + ` order by x.created_at, x.usage_id, x.memory_id
				limit $3) e
			where d.group_id = $1 and d.usage_id = e.usage_id and d.memory_id = e.memory_id
			returning d.lineage_id, d.was_referenced, d.created_at),
		summed as (
			insert into memory_usage_totals as t (group_id, lineage_id, offered, referenced, ignored, last_offered_at)
			select $1, lineage_id, count(*), count(*) filter (where was_referenced), count(*)
				filter (where not was_referenced), max(created_at)
			from gone group by lineage_id order by lineage_id
			on conflict (group_id, lineage_id) do update set offered = t.offered + excluded.offered,
				referenced = t.referenced + excluded.referenced, ignored = t.ignored + excluded.ignored,
				last_offered_at = greatest(t.last_offered_at, excluded.last_offered_at))
		select count(*) from gone`
)

// countExpired counts what a group keeps no longer.
func countExpired(ctx context.Context, t *pg.Tx, q reverie.UpkeepQuery) (reverie.Pruned, error) {
	var p reverie.Pruned
	if !q.Messages.IsZero() {
		if err := t.Get(ctx, &p.Messages, countMessagesQuery, q.GroupID, q.Messages, "-infinity", q.Impressions); err != nil {
			return p, err
		}
	}
	for _, c := range []struct {
		before time.Time
		query  string
		n      *int
	}{{q.ShortTerm, countShortTermQuery, &p.ShortTerm}, {q.Answers, countAnswersQuery, &p.Answers}, {q.Usage,
		countUsageQuery, &p.Usage}} {
		if c.before.IsZero() {
			continue
		}
		if err := t.Get(ctx, c.n, c.query, q.GroupID, c.before); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Prune removes what has expired, at most b.Limit rows of it, and tells from where
// on to look for further messages. What it counts is in the run's stats with it.
// Once another holder has taken the lease the error is reverie.ErrLeaseLost, and
// nothing is written; a run that has ended is reverie.ErrConflict.
func (s *Store) Prune(ctx context.Context, lease reverie.Lease, b reverie.PruneBatch) (reverie.Pruned, time.Time,
	error) {
	var p reverie.Pruned
	var after time.Time
	err := s.upkeep(ctx, lease, b.Run, "prune what has expired", func(ctx context.Context, t *pg.Tx,
		at time.Time) (reverie.Stats, error) {
		p, after = reverie.Pruned{}, b.After
		stats := b.Run.Stats
		if !b.Messages.IsZero() {
			var err error
			if p.Messages, after, err = pruneMessages(ctx, t, lease.GroupID, at, b); err != nil {
				return stats, err
			}
		}
		for _, of := range []struct {
			before time.Time
			query  string
			n      *int
		}{{b.ShortTerm, pruneShortTermQuery, &p.ShortTerm}, {b.Answers, pruneChunksQuery, &p.Answers}, {b.Answers,
			pruneAnswersQuery, &p.Answers}} {
			left := b.Limit - p.Total()
			if of.before.IsZero() || left <= 0 {
				continue
			}
			n, err := t.Exec(ctx, of.query, lease.GroupID, of.before, left)
			if err != nil {
				return stats, err
			}
			*of.n += n
		}
		if left := b.Limit - p.Total(); !b.Usage.IsZero() && left > 0 {
			if err := t.Get(ctx, &p.Usage, pruneUsageQuery, lease.GroupID, b.Usage, left); err != nil {
				return stats, err
			}
		}
		stats.Pruned += p.Total()
		return stats, nil
	})
	return p, after, err
}
