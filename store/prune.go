package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// The expired rows, by kind. $1 is the group, $2 the time.
	expiredShortTerm = ` from session_summaries x join sessions s on s.group_id = $1
		and s.session_id = x.session_id
		where x.group_id = $1 and s.last_at < $2::timestamptz`

	// A run that has ended, without pending plans, and without a chunk that could be resumed for its answers.
	endedRuns = ` join runs r on r.group_id = $1 and r.run_id = x.run_id
		where x.group_id = $1 and r.status <> 'running' and r.finished_at < $2::timestamptz
			and not exists (select 1 from held_plans h where h.group_id = $1 and h.run_id = r.run_id
				and h.status = 'waiting')
			and (r.undone_at is not null or not exists (select 1 from run_chunks c
				where c.group_id = $1 and c.run_id = r.run_id and c.status in ('open', 'answered') and (
					exists (select 1 from messages m where r.job = 'evolve' and m.group_id = $1
						and m.message_id = any (c.message_ids) and m.run_id is null)
					or exists (select 1 from message_uses u where u.group_id = $1 and u.job = r.job
						and u.message_id = any (c.message_ids) and u.run_id is null))))`
	expiredChunks  = ` from run_chunks x` + endedRuns + ` and x.answer <> ''`
	expiredAnswers = ` from answers x` + endedRuns
	// A submitted question keeps its row until its batch has ended.
	expiredQuestions = ` from batch_questions x` + endedRuns + ` and (x.batch_id is null or x.status not in ('waiting', 'erased'))`

	expiredUsage = ` from memory_usage_log x where x.group_id = $1 and x.created_at < $2::timestamptz`

	countShortTermQuery = `select count(*)` + expiredShortTerm
	countAnswersQuery   = `select (select count(*)` + expiredChunks + `) + (select count(*)` + expiredAnswers + `)
		+ (select count(*)` + expiredQuestions + `)`
	countUsageQuery = `select count(*)` + expiredUsage

	// The messages that a summary has covered stay marked.
	pruneShortTermQuery = `delete from session_summaries d
		using (select x.session_id` + expiredShortTerm + ` order by x.session_id limit $3) e
		where d.group_id = $1 and d.session_id = e.session_id`

	pruneChunksQuery = `update run_chunks d set answer = ''
		from (select x.run_id, x.chunk_no` + expiredChunks + ` order by x.run_id, x.chunk_no limit $3) e
		where d.group_id = $1 and d.run_id = e.run_id and d.chunk_no = e.chunk_no`

	pruneAnswersQuery = `delete from answers d
		using (select x.run_id, x.input_sha256` + expiredAnswers + ` order by x.run_id, x.input_sha256 limit $3) e
		where d.group_id = $1 and d.run_id = e.run_id and d.input_sha256 = e.input_sha256`

	pruneQuestionsQuery = `delete from batch_questions d
		using (select x.question_id` + expiredQuestions + ` order by x.question_id limit $3) e
		where d.group_id = $1 and d.question_id = e.question_id`

	// This waits for a row that is being judged, and counts its new state.
	pruneUsageQuery = `with gone as (
			delete from memory_usage_log d
			using (select x.usage_id, x.memory_id` + expiredUsage + ` order by x.created_at, x.usage_id, x.memory_id
				limit $3) e
			where d.group_id = $1 and d.usage_id = e.usage_id and d.memory_id = e.memory_id
			returning d.lineage_id, d.was_referenced, d.created_at),
		summed as (
			insert into memory_usage_totals as t (group_id, lineage_id, offered, referenced, ignored, last_offered_at,
				last_used_at)
			select $1, lineage_id, count(*), count(*) filter (where was_referenced), count(*)
				filter (where not was_referenced), max(created_at),
				max(created_at) filter (where was_referenced)
			from gone group by lineage_id order by lineage_id
			on conflict (group_id, lineage_id) do update set offered = t.offered + excluded.offered,
				referenced = t.referenced + excluded.referenced, ignored = t.ignored + excluded.ignored,
				last_offered_at = greatest(t.last_offered_at, excluded.last_offered_at),
				last_used_at = greatest(t.last_used_at, excluded.last_used_at))
		select count(*) from gone`
)

// countExpired counts the expired rows of a group.
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

// Prune removes expired rows, at most b.Limit, and returns the time from which to search for further messages. The same
// transaction updates the run's stats. A lost lease is reverie.ErrLeaseLost, and nothing is written. A run that has
// ended is reverie.ErrConflict.
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
			pruneAnswersQuery, &p.Answers}, {b.Answers, pruneQuestionsQuery, &p.Answers}} {
			left := b.Limit - p.Total()
			if of.before.IsZero() || left <= 0 {
				continue
			}
			n, err := t.ExecRows(ctx, of.query, lease.GroupID, of.before, left)
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

const (
	// The messages that every job has finished with. Evolve has consumed them, and no queue has them: neither that of
	// impressions, if people are observed, nor that of a session that goes on. No held plan has them, since its
	// rejection may make them pending again. The unread messages of a session that has long been silent are given up,
	// unless its extraction was interrupted and will continue.
	expiredMessages = ` from messages x join groups g on g.group_id = $1
		where x.group_id = $1 and x.run_id is not null and x.pruned_at is null and x.sent_at < $2::timestamptz
			and x.sent_at >= $3::timestamptz
			and not exists (select 1 from held_plans h where h.group_id = $1 and h.run_id = x.run_id
				and h.status = 'waiting')
			and not exists (select 1 from message_uses u
				where u.group_id = $1 and u.job in ('extract', 'impression') and u.message_id = x.message_id and case
					when u.run_id is not null then exists (select 1 from held_plans h
						where h.group_id = $1 and h.run_id = u.run_id and h.status = 'waiting')
					when u.job = 'impression' then g.impressions = 'on' or g.impressions = '' and $4::bool
					else exists (select 1 from sessions s
						where s.group_id = $1 and s.session_id = u.session_id and (s.last_at >= $2::timestamptz
							or s.parked_at is null and (s.unfinished or exists (select 1 from runs r
								where r.group_id = $1 and r.session_id = s.session_id and r.session_id <> '' and r.job = 'extract'
									and r.status = 'running')))) end)`

	// No job reads filtered messages. They have their own index.
	expiredFiltered = ` from messages x where x.group_id = $1 and x.filter <> '' and x.pruned_at is null
			and x.sent_at < $2::timestamptz and x.sent_at >= $3::timestamptz`

	countMessagesQuery = `select (select count(*)` + expiredMessages + `) + (select count(*)` + expiredFiltered + `)`

	findMessagesQuery = `select message_id, sent_at from (
			(select x.message_id, x.sent_at, x.seq` + expiredMessages + ` order by x.sent_at, x.seq limit $5)
			union all (select x.message_id, x.sent_at, x.seq` + expiredFiltered + ` order by x.sent_at, x.seq limit $5)) e
		order by sent_at, seq limit $5`

	// The row stays, with its author.
	pruneMessagesQuery = `update messages set text = '', pruned_at = $3::timestamptz where group_id = $1
		and message_id = any ($2::text[])`

	// An unread message is marked as used by the run that gives it up.
	giveUpQuery = `update message_uses set run_id = $3::uuid
		where group_id = $1 and job in ('extract', 'impression') and message_id = any ($2::text[]) and run_id is null
		returning case when job = 'extract' then session_id else '' end as session_id, message_id`

	// If no message is left, there is no extraction to continue.
	givenUpQuery = `update sessions set unfinished = false where group_id = $1 and session_id = $2 and unfinished
		and new_messages = 0`
)

// pruneMessages removes the texts of the oldest expired messages, and returns the time that it has reached.
func pruneMessages(ctx context.Context, t *pg.Tx, groupID string, at time.Time, b reverie.PruneBatch) (int, time.Time,
	error) {
	// A message that is imported now may continue a session, or renew its counts.
	if _, err := LockGroup(ctx, t, groupID); err != nil {
		return 0, b.After, err
	}
	var found []struct {
		ID     string    `db:"message_id"`
		SentAt time.Time `db:"sent_at"`
	}
	if err := t.Select(ctx, &found, findMessagesQuery, groupID, b.Messages, pg.OrMinusInfinity(b.After), b.Impressions,
		b.Limit); err != nil || len(found) == 0 {
		return 0, b.After, err
	}
	ids := make(pq.StringArray, len(found))
	for i, m := range found {
		ids[i] = m.ID
	}
	if err := t.Exec(ctx, pruneMessagesQuery, groupID, ids, at); err != nil {
		return 0, b.After, err
	}
	var given []struct {
		SessionID string `db:"session_id"`
		ID        string `db:"message_id"`
	}
	if err := t.Select(ctx, &given, giveUpQuery, groupID, ids, b.Run.ID); err != nil {
		return 0, b.After, err
	}
	bySession := map[string]pq.StringArray{}
	for _, u := range given {
		bySession[u.SessionID] = append(bySession[u.SessionID], u.ID)
	}
	delete(bySession, "") // messages for impressions
	for _, id := range slices.Sorted(maps.Keys(bySession)) {
		if err := t.Exec(ctx, AddNewQuery, groupID, id, bySession[id], at, -1); err != nil {
			return 0, b.After, err
		}
		if err := t.Exec(ctx, givenUpQuery, groupID, id); err != nil {
			return 0, b.After, err
		}
	}
	return len(found), found[len(found)-1].SentAt, nil
}
