package store

import (
	"context"

	"github.com/lib/pq"

	"reverie"
)

// evidenceErased is why a memory is judged again.
const evidenceErased = "evidence erased"

const (
	// The versions of mixed lineages that were written for the author's words alone, but
	// for the newest, which is judged again as it is.
	blankVersionsQuery = `select x.memory_id from memory_evidence x
		where x.group_id = $1 and x.lineage_id = any ($4::uuid[]) and x.action in ('create', 'update')
			and exists (select 1 from memories n join memories m on n.group_id = m.group_id and n.lineage_id = m.lineage_id and n.version > m.version
				where m.group_id = $1 and m.memory_id = x.memory_id)
			and not exists (select 1 from memory_sources s where s.group_id = $1 and s.memory_id = x.memory_id)
		group by x.memory_id having bool_and(` + byAuthor + `)`

	// What strength is made of, by what evidence is left: see touchedRow.strengthOf.
	mixedStrengthQuery = `with dates as (
			select lineage_id, local_date, min(created_at) as known_at, max(sent_at) as sent_at from memory_evidence
			where group_id = $1 and lineage_id = any ($2::uuid[]) and action <> 'delete' and withdrawn_at is null
			group by lineage_id, local_date),
		edits as (
			select m.lineage_id, max(c.created_at) as set_at,
				(array_agg(c.strength order by c.created_at desc, c.change_id desc))[1] as strength
			from memory_change_log c join memories m on m.group_id = c.group_id and m.memory_id = c.memory_id
			where c.group_id = $1 and m.lineage_id = any ($2::uuid[]) and c.strength is not null
			group by m.lineage_id)
		select m.memory_id as head_id, m.last_supported_at as base_supported_at, e.strength as set_strength, e.set_at,
			count(d.lineage_id) filter (where e.set_at is null or d.known_at > e.set_at) as dates, max(d.sent_at) as supported_at, 1 as withdrawn
		from memories m left join edits e using (lineage_id) left join dates d using (lineage_id)
		where m.group_id = $1 and m.lineage_id = any ($2::uuid[]) and m.status in ('active', 'held')
		group by m.memory_id, m.last_supported_at, e.strength, e.set_at`

	holdHeadsQuery = `update memories m set strength = u.strength, last_supported_at = u.supported_at, decayed_at = null,
			status = 'held', ended_at = coalesce(m.ended_at, $2::timestamptz)
		from unnest($3::uuid[], $4::float8[], $5::timestamptz[]) as u (id, strength, supported_at)
		where m.group_id = $1 and m.memory_id = u.id`
)

// blank empties the older versions of mixed memories that said what the author alone had
// said, wherever they stand.
func (e *eraser) blank(ctx context.Context, mixed pq.StringArray) error {
	var ids pq.StringArray
	if err := e.t.list(ctx, &ids, blankVersionsQuery, e.group, e.query.AuthorID, e.messages, mixed); err != nil || len(ids) == 0 {
		return err
	}
	for _, c := range []struct{ table, set string }{
		{"memories", `statement = $3, content_hash = $4, tags = '{}', change_summary = '', embedding = null, embedding_model = ''
			where group_id = $1 and memory_id = any ($2::uuid[])`},
		{"memory_change_log", `change_summary = '', old_statement = case when old_id = any ($2::uuid[]) then $3 else old_statement end,
				new_statement = case when memory_id = any ($2::uuid[]) and new_statement <> '' then $3 else new_statement end
			where group_id = $1 and $4 <> '' and (memory_id = any ($2::uuid[]) or old_id = any ($2::uuid[]))`},
		{"decisions", `statement = $3, content_hash = $4, reason = '', candidates = '[]'
			where group_id = $1 and (memory_id = any ($2::uuid[]) or planned_id = any ($2::uuid[]))`},
	} {
		if err := e.changed(ctx, c.table, c.set, ids, reverie.Erased, reverie.ContentHash(reverie.Erased)); err != nil {
			return err
		}
	}
	return nil
}

// hold keeps mixed memories from being told until they are judged again. Their strength
// is that of the evidence that is left.
func (e *eraser) hold(ctx context.Context, mixed pq.StringArray) error {
	var rows []touchedRow
	if err := e.t.list(ctx, &rows, mixedStrengthQuery, e.group, mixed); err != nil || len(rows) == 0 {
		return err
	}
	var ids, supported pq.StringArray
	var strengths pq.Float64Array
	for _, r := range rows {
		strength, at := r.strengthOf()
		ids, strengths, supported = append(ids, r.HeadID), append(strengths, strength), append(supported, timestamp(at))
	}
	n, err := e.t.exec(ctx, holdHeadsQuery, e.group, e.at, ids, strengths, supported)
	if err != nil {
		return err
	}
	e.counts.Held = n
	e.counts.Changed["memories"] += n
	_, err = queueJudgements(ctx, e.t, e.group, mixed, evidenceErased, e.at)
	return err
}

// again has the next run of evolve, which judges mixed memories, read what they rest on
// else, as far as it still has a text; and extraction the sessions whose summaries are gone.
func (e *eraser) again(ctx context.Context, m erasedMemories) error {
	if err := e.changed(ctx, "messages", `run_id = null, outcome = null where group_id = $1 and run_id is not null and filter = '' and pruned_at is null
		and message_id in (select v.message_id from memory_evidence v join rejudgements r on r.group_id = v.group_id and r.lineage_id = v.lineage_id
			where v.group_id = $1 and v.lineage_id = any ($2::uuid[]) and v.action <> 'delete' and v.withdrawn_at is null)`, m.mixed); err != nil {
		return err
	}
	var back pq.StringArray
	if err := e.t.list(ctx, &back, `update message_uses u set run_id = null from messages m
		where u.group_id = $1 and u.job = 'extract' and u.run_id is not null and m.group_id = u.group_id and m.message_id = u.message_id
			and m.pruned_at is null and m.session_id <> '' and m.session_id = any ($2::text[])
		returning m.session_id`, e.group, orEmpty(m.again)); err != nil {
		return err
	}
	if len(back) > 0 {
		e.counts.Changed["message_uses"] += len(back)
	}
	e.sessions = distinct(append(e.sessions, back...))
	return e.deleted(ctx, "memory_uses", `job = 'dream' and memory_id in (
		select s.source_id from memory_sources s join rejudgements r on r.group_id = s.group_id and r.memory_id = s.memory_id
		where s.group_id = $1 and r.lineage_id = any ($2::uuid[]))`, m.mixed)
}
