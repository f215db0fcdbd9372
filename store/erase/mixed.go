package erase

import (
	"context"

	"github.com/lib/pq"

	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
)

const (
	// The versions of mixed lineages that were written for the author's words alone, but
	// for the newest, which is judged again as it is; and all versions of those that have
	// ended, which nobody judges any more.
	blankVersionsQuery = `select x.memory_id from memory_evidence x
		where x.group_id = $1 and x.lineage_id = any ($4::uuid[]) and x.action in ('create', 'update')
			and exists (select 1 from memories n join memories m on n.group_id = m.group_id and n.lineage_id = m.lineage_id
				and n.version > m.version
				where m.group_id = $1 and m.memory_id = x.memory_id)
			and not exists (select 1 from memory_sources s where s.group_id = $1 and s.memory_id = x.memory_id)
		group by x.memory_id having bool_and(` + byAuthor + `)
		union select m.memory_id from memories m where m.group_id = $1 and m.lineage_id = any ($4::uuid[])
			and m.statement <> '` + text.Erased + `'
			and not exists (select 1 from memories h where h.group_id = m.group_id and h.lineage_id = m.lineage_id
				and ` + mixedHead + `)`

	// mixedHead is true of the version h that is to be judged again. What is archived is not
	// told, but a person, or a run that is taken back, may bring it back.
	mixedHead = `(h.status in ('active', 'held') or h.status = 'archived' and not exists (
		select 1 from memories n where n.group_id = h.group_id and n.lineage_id = h.lineage_id and n.version > h.version))`

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
		select h.memory_id as head_id, h.last_supported_at as base_supported_at, e.strength as set_strength, e.set_at,
			count(d.lineage_id) filter (where e.set_at is null or d.known_at > e.set_at) as dates,
				max(d.sent_at) as supported_at, 1 as withdrawn
		from memories h left join edits e using (lineage_id) left join dates d using (lineage_id)
		where h.group_id = $1 and h.lineage_id = any ($2::uuid[]) and ` + mixedHead + `
		group by h.memory_id, h.last_supported_at, e.strength, e.set_at`

	holdHeads = `strength = u.strength, last_supported_at = u.supported_at, decayed_at = null,
			status = 'held', ended_at = coalesce(x.ended_at, $2::timestamptz)
		from unnest($3::uuid[], $4::float8[], $5::timestamptz[]) as u (id, strength, supported_at)
		where x.group_id = $1 and x.memory_id = u.id`

	// What is kept of the messages that held memories rest on.
	quotesLeft = `(select v.message_id, max(v.author_id) as author_id, max(v.author) as author,
		max(v.sent_at) as sent_at,
				string_agg(distinct v.quote, E'\n') as quote
			from memory_evidence v join rejudgements r on r.group_id = v.group_id and r.lineage_id = v.lineage_id
				and r.run_id is null
			where v.group_id = $1 and v.lineage_id = any ($2::uuid[]) and v.action <> 'delete' and v.withdrawn_at is null
				and v.quote <> ''
			group by v.message_id) v`

	quotesOfPruned = `text = v.quote, pruned_at = null, run_id = null, outcome = null from ` + quotesLeft + `
		where x.group_id = $1 and x.message_id = v.message_id and x.pruned_at is not null and x.filter = ''`

	quotesOfUnknown = `insert into messages (group_id, message_id, author_id, author, role, text, sent_at)
		select $1, v.message_id, v.author_id, v.author, 'user', v.quote, v.sent_at from ` + quotesLeft + `
		where not exists (select 1 from messages x where x.group_id = $1 and x.message_id = v.message_id)
		order by v.sent_at, v.message_id`
)

// blank empties the older versions of mixed memories that said what the author alone had
// said, and those of mixed memories that have ended, wherever they stand.
func (e *eraser) blank(ctx context.Context, mixed pq.StringArray) error {
	var ids pq.StringArray
	if err := e.t.Select(ctx, &ids, blankVersionsQuery, e.group, e.query.AuthorID, e.messages, mixed); err != nil ||
		len(ids) == 0 {
		return err
	}
	rows, marks, err := store.BlankVersions(ctx, e.t, e.group, ids, "")
	if err != nil {
		return err
	}
	for table, n := range rows {
		e.counts.Changed[table] += n
	}
	e.marks = append(e.marks, marks...)
	return nil
}

// hold keeps mixed memories from being told until they are judged again. Their strength
// is that of the evidence that is left.
func (e *eraser) hold(ctx context.Context, mixed pq.StringArray) error {
	var rows []store.TouchedRow
	if err := e.t.Select(ctx, &rows, mixedStrengthQuery, e.group, mixed); err != nil || len(rows) == 0 {
		return err
	}
	var ids, supported pq.StringArray
	var strengths pq.Float64Array
	for _, r := range rows {
		strength, at := r.StrengthOf()
		ids, strengths, supported = append(ids, r.HeadID), append(strengths, strength), append(supported, pg.Timestamp(at))
	}
	if err := e.changed(ctx, "memories", holdHeads, e.at, ids, strengths, supported); err != nil {
		return err
	}
	e.counts.Held = len(ids)
	_, err := store.QueueJudgements(ctx, e.t, e.group, mixed, store.EvidenceErased, e.at)
	return err
}

// again has the next run of evolve, which judges mixed memories, read what they rest on
// else, as far as it still has a text; and extraction the sessions whose summaries are gone.
func (e *eraser) again(ctx context.Context, m erasedMemories) error {
	if err := e.changed(ctx, "messages", `run_id = null, outcome = null where group_id = $1 and run_id is not null and
		filter = '' and pruned_at is null
		and message_id in (select v.message_id from memory_evidence v join rejudgements r on r.group_id = v.group_id
			and r.lineage_id = v.lineage_id
			where v.group_id = $1 and v.lineage_id = any ($2::uuid[]) and v.action <> 'delete'
				and v.withdrawn_at is null)`, m.mixed); err != nil {
		return err
	}
	var back pq.StringArray
	if err := e.t.Select(ctx, &back, `update message_uses u set run_id = null from messages m
		where u.group_id = $1 and u.job = 'extract' and u.run_id is not null and m.group_id = u.group_id
			and m.message_id = u.message_id
			and m.pruned_at is null and m.session_id <> '' and m.session_id = any ($2::text[])
		returning m.session_id`, e.group, store.OrEmpty(m.again)); err != nil {
		return err
	}
	if len(back) > 0 {
		e.counts.Changed["message_uses"] += len(back)
	}
	e.sessions = distinct(append(e.sessions, back...))
	if err := e.quotesInstead(ctx, m.mixed); err != nil {
		return err
	}
	return e.deleted(ctx, "memory_uses", `job = 'dream' and memory_id in (
		select s.source_id from memory_sources s join rejudgements r on r.group_id = s.group_id
			and r.memory_id = s.memory_id
		where s.group_id = $1 and r.lineage_id = any ($2::uuid[]))`, m.mixed)
}

// quotesInstead gives held memories that which their evidence quotes to be judged by,
// where the message has no text any more, or came with an import of memories alone: the
// quote is the message's text until it is pruned again.
func (e *eraser) quotesInstead(ctx context.Context, mixed pq.StringArray) error {
	if err := e.changed(ctx, "messages", quotesOfPruned, mixed); err != nil {
		return err
	}
	n, err := e.t.Exec(ctx, quotesOfUnknown, e.group, mixed)
	if n > 0 {
		e.counts.Changed["messages"] += n
	}
	return err
}
