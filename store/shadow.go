package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// fromLive completes a query that reads the live schema's tables as live.NAME.
func (x *Scratch) fromLive(query string) string {
	return strings.ReplaceAll(query, "live.", pq.QuoteIdentifier(x.home)+".")
}

// once is [Store.run], in one snapshot, for what would not be the same if it were done
// twice. Nobody else writes here, so that one lock is enough to wait for a commit whose reply was lost.
func (x *Scratch) once(ctx context.Context, what string, do func(ctx context.Context, t *pg.Tx) error) error {
	const lock = `select pg_advisory_xact_lock(hashtextextended($1, 0))`
	var xid string
	return x.db.Run(ctx, pg.Work{What: what, Snapshot: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := t.Get(ctx, &xid, pg.XIDQuery); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, lock, x.Schema); err != nil {
				return err
			}
			return do(ctx, t)
		},
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
			if _, err := t.Exec(ctx, lock, x.Schema); err != nil {
				return false, err
			}
			return pg.WasCommitted(ctx, t, xid)
		}})
}

// What was known of group $1 just before the instant $2, in the order in which rows rest
// on each other.
var copyGroupQueries = []string{
	`insert into past_calendars select * from live.past_calendars where group_id = $1 and $2::timestamptz is not null`,

	`insert into runs (group_id, run_id, job, session_id, window_since, window_until, status, attempt, model, prompt_version, prompt_sha256,
			stats, error, started_at, finished_at, undone_at)
		select ` + runAt + ` from live.runs r where r.group_id = $1 and r.started_at < $2`,

	copyChunks + ` and c.created_at < $2`,

	consumedMessages,

	`insert into memories (` + copiedVersion + `, status, ended_at, strength, weight, last_supported_at, decayed_at)
		select m.` + strings.ReplaceAll(copiedVersion, ", ", ", m.") + `, ` + statusAt + `, case when m.ended_at < $2 then m.ended_at end, ` + valuesAt + `
		from live.memories m
		left join lateral (select * from live.memory_values v where v.group_id = $1 and v.memory_id = m.memory_id and v.valid_until >= $2
			order by v.valid_until, v.value_no limit 1) v on true
		cross join lateral (` + overAt + `) o
		where m.group_id = $1 and m.updated_at < $2`,

	`insert into memory_evidence (evidence_no, ` + copiedEvidence + `, lineage_id, memory_id, run_id, withdrawn_at) overriding system value
		select e.evidence_no, e.` + strings.ReplaceAll(copiedEvidence, ", ", ", e.") + `, e.lineage_id, e.memory_id, e.run_id,
			case when e.withdrawn_at < $2 then e.withdrawn_at end
		from live.memory_evidence e join memories m on m.group_id = $1 and m.memory_id = e.memory_id
		where e.group_id = $1 and e.created_at < $2`,

	`insert into memory_sources select s.* from live.memory_sources s
		join memories m on m.group_id = $1 and m.memory_id = s.memory_id
		join memories o on o.group_id = $1 and o.memory_id = s.source_id
		join runs r on r.group_id = $1 and r.run_id = s.run_id
		where s.group_id = $1 and $2::timestamptz is not null`,

	`insert into memory_change_log select c.* from live.memory_change_log c
		join memories m on m.group_id = $1 and m.memory_id = c.memory_id
		where c.group_id = $1 and c.created_at < $2`,

	`insert into decisions (` + copiedDecision + `, target_id, memory_id)
		select d.` + strings.ReplaceAll(copiedDecision, ", ", ", d.") + `, d.target_id, m.memory_id
		from live.decisions d
		join run_chunks k on k.group_id = $1 and k.run_id = d.run_id and k.chunk_no = d.chunk_no
		left join memories m on m.group_id = $1 and m.memory_id = d.memory_id
		where d.group_id = $1 and d.created_at < $2
			and (d.target_id is null or exists (select 1 from memories o where o.group_id = $1 and o.memory_id = d.target_id))`,

	copyHeldPlans,

	`update runs r set status = 'held' where r.group_id = $1 and $2::timestamptz is not null and r.status in ('succeeded', 'rejected')
		and exists (select 1 from held_plans h where h.group_id = $1 and h.run_id = r.run_id and h.status = 'waiting')`,

	`insert into rejudgements (group_id, lineage_id, memory_id, reason, created_at, change_id, held, run_id)
		select q.group_id, q.lineage_id, q.memory_id, q.reason, q.created_at, q.change_id, q.held and r.run_id is not null, r.run_id
		from (` + judgementsAt + `) q join memories m on m.group_id = $1 and m.memory_id = q.memory_id
		left join runs r on r.group_id = $1 and r.run_id = q.run_id and r.finished_at < $2`,

	`insert into embedding_cache select * from live.embedding_cache where group_id = $1 and $2::timestamptz is not null`,

	`select setval(pg_get_serial_sequence('memory_evidence', 'evidence_no'), (select max(evidence_no) from memory_evidence where group_id = $1))
		where $2::timestamptz is not null`,
}

const (
	copiedMessage = `group_id, message_id, seq, author_id, author, role, text, sent_at, session_id, reply_to, tokens, pruned_at`
	copiedVersion = `group_id, memory_id, lineage_id, parent_id, kind, session_id, statement, version, tags, content_hash, embedding,
			embedding_model, change_summary, run_id, created_at, updated_at`
	copiedEvidence = `group_id, message_id, author_id, author, quote, sent_at, local_date, action, created_at`
	copiedDecision = `group_id, run_id, chunk_no, decision_no, kind, statement, content_hash, action, basis, planned_id, reason, candidates,
			model, prompt_version, prompt_sha256, calls, created_at`

	// A run r as it was: one that was under way is one that failed, since nobody will go on
	// with it there.
	runAt = `r.group_id, r.run_id, r.job, r.session_id, r.window_since, r.window_until, case when r.finished_at < $2 then r.status else 'failed' end,
			r.attempt, r.model, r.prompt_version, r.prompt_sha256, r.stats,
			case when r.finished_at < $2 then r.error else 'it was under way' end, r.started_at, case when r.finished_at < $2 then r.finished_at else least($2, clock_timestamp()) end,
			case when r.undone_at < $2 then r.undone_at end`

	// The chunks of the runs that were copied. An answer is needed where a run takes it up.
	copyChunks = `insert into run_chunks (group_id, run_id, chunk_no, input_sha256, message_ids, memory_ids, questions, status, refusals, created_at, answer)
		select c.group_id, c.run_id, c.chunk_no, c.input_sha256, c.message_ids, c.memory_ids, c.questions, c.status, c.refusals, c.created_at,
			case when c.status in ('open', 'answered') then c.answer else '' end
		from live.run_chunks c join runs r on r.group_id = $1 and r.run_id = c.run_id
		where c.group_id = $1 and not exists (select 1 from run_chunks k where k.group_id = $1 and k.run_id = c.run_id and k.chunk_no = c.chunk_no)`

	// When a plan was approved, its changes tell. When it was rejected nothing does, but
	// that taking back its run did it.
	copyHeldPlans = `insert into held_plans (group_id, run_id, chunk_no, kind, plan, heads, whole, reason, created_at, status)
		select h.group_id, h.run_id, h.chunk_no, h.kind, h.plan, h.heads, h.whole, h.reason, h.created_at, ` + heldAt + `
		from live.held_plans h
		join live.runs r on r.group_id = $1 and r.run_id = h.run_id
		join run_chunks k on k.group_id = $1 and k.run_id = h.run_id and k.chunk_no = h.chunk_no
		where h.group_id = $1 and h.created_at < $2
			and not exists (select 1 from held_plans o where o.group_id = $1 and o.run_id = h.run_id and o.chunk_no = h.chunk_no)`
	heldAt = `case when h.status = 'rejected' and r.undone_at >= $2 then 'waiting'
			when h.status = 'approved' and exists (select 1 from live.memory_change_log c where c.group_id = $1 and c.run_id = h.run_id
				and c.chunk_no = h.chunk_no and c.created_at > r.finished_at and c.created_at >= $2) then 'waiting'
			else h.status end`

	// The rows of rejudgements as they were.
	judgementsAt = `select * from (
			select distinct on (lineage_id) * from (
				select group_id, lineage_id, memory_id, reason, created_at, change_id, run_id, held, valid_until, past_no
				from live.past_rejudgements where group_id = $1 and valid_until >= $2::timestamptz
				union all
				select group_id, lineage_id, memory_id, reason, created_at, change_id, run_id, held, 'infinity', null from live.rejudgements where group_id = $1) q
			order by lineage_id, valid_until, past_no) q
		where created_at < $2`

	// The values of a version m, by the row v of those that were changed since, if any.
	valuesAt = `coalesce(v.strength, m.strength), coalesce(v.weight, m.weight), coalesce(v.last_supported_at, m.last_supported_at),
			case when v.value_no is null then m.decayed_at else v.decayed_at end`

	// When version m, which is no longer active, was over for good, and whether it was
	// archived before that; if it was neither from when it stopped being active, it was held.
	overAt = `select least(
				(select n.updated_at from live.memories n where n.group_id = $1 and n.lineage_id = m.lineage_id and n.version = m.version + 1),
				(select min(c.created_at) from live.memory_change_log c where c.group_id = $1 and c.memory_id = m.memory_id
					and c.action in ('delete', 'undo') and c.new_statement = '')) as over,
			exists (select 1 from live.memory_change_log c where c.group_id = $1 and c.memory_id = m.memory_id and c.action = 'archive') as archived`

	// The status of a version m: see [reverie.WhyVersion] for the same of one.
	statusAt = `case when m.ended_at is null or m.ended_at >= $2 then 'active'
			when m.status <> 'deprecated' or o.over is null or o.over < $2 or o.over < m.ended_at + interval '1 second' then m.status
			when o.archived then 'archived' else 'held' end`
)

// The messages that runs k of evolve had consumed, be it that those were taken back since.
var consumedMessages = `insert into messages (` + copiedMessage + `, run_id, outcome) overriding system value
		select m.` + strings.ReplaceAll(copiedMessage, ", ", ", m.") + `, k.run_id, coalesce(case when m.run_id = k.run_id then m.outcome end, 'considered')
		from live.messages m
		left join (
			select distinct on (i.id) i.id, c.run_id
			from live.runs r join live.run_chunks c on c.group_id = $1 and c.run_id = r.run_id cross join unnest(c.message_ids) as i (id)
			where r.group_id = $1 and r.job = 'evolve' and r.started_at < $2 and r.undone_at >= $2 and c.status in ('applied', 'held')
			order by i.id, r.started_at desc) u on u.id = m.message_id
		join runs k on k.group_id = $1 and k.run_id = coalesce(u.run_id, m.run_id) and k.started_at < $2
		where m.group_id = $1 and m.filter = ''`

// CopyGroup copies a group of the live store as it was just before an instant: its
// versions with the status and values that they had, evidence, sources and changes, runs
// with their chunks, decisions and plans that were held, and the messages that evolve
// had consumed. Cached embeddings come as they are now, and so do settings of the group.
// A zero time is now. What was erased since was never there, and values that were changed
// before memory_values was kept are as they were then.
//
// A group that the live store does not have is reverie.ErrNotFound; one that the scratch
// has already is reverie.ErrConflict.
func (x *Scratch) CopyGroup(ctx context.Context, groupID string, at time.Time) error {
	return x.once(ctx, fmt.Sprintf("copy group %q as it was", groupID), func(ctx context.Context, t *pg.Tx) error {
		var known bool
		if err := t.Get(ctx, &known, `select exists (select 1 from groups where group_id = $1)`, groupID); err != nil {
			return err
		}
		if known {
			return fmt.Errorf("it is there already: %w", reverie.ErrConflict)
		}
		n, err := t.Exec(ctx, x.fromLive(`insert into groups select * from live.groups where group_id = $1`), groupID)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("there is no such group: %w", reverie.ErrNotFound)
		}
		for _, query := range copyGroupQueries {
			if _, err := t.Exec(ctx, x.fromLive(query), groupID, pg.OrInfinity(at)); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	copyMessagesQuery = `insert into messages (` + copiedMessage + `) overriding system value
		select ` + copiedMessage + ` from live.messages where group_id = $1 and message_id = any ($2::text[]) and pruned_at is null and filter = ''
		on conflict (group_id, message_id) do update set run_id = null, outcome = null, text = excluded.text`

	missingMessagesQuery = `select u.id from unnest($2::text[]) with ordinality as u (id, no)
		where not exists (select 1 from messages m where m.group_id = $1 and m.message_id = u.id and m.run_id is null and m.outcome is null)
		order by u.no`
)

// CopyMessages copies messages of the live group, pending, in their order of arrival. It
// returns the ids of those that are not there any more, or have no text.
func (x *Scratch) CopyMessages(ctx context.Context, groupID string, ids []string) (missing []string, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	err = x.db.Run(ctx, pg.Work{What: fmt.Sprintf("copy messages of group %q", groupID), Do: func(ctx context.Context, t *pg.Tx) error {
		missing = nil
		if _, err := t.Exec(ctx, x.fromLive(copyMessagesQuery), groupID, pq.StringArray(ids)); err != nil {
			return err
		}
		return t.Select(ctx, &missing, missingMessagesQuery, groupID, pq.StringArray(ids))
	}})
	return missing, err
}
