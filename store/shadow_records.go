package store

// What goes with the changes of a stretch: $1 the group, $2 its end, $3 its beginning, $4
// the runs that are left out.
var carryRunsQueries = []string{
	`insert into runs (group_id, run_id, job, session_id, window_since, window_until, status, attempt, model, prompt_version, prompt_sha256,
			stats, error, started_at, finished_at, undone_at)
		select ` + runAt + ` from live.runs r where r.group_id = $1 and r.started_at < $2::timestamptz and r.started_at >= $3::timestamptz
			and r.run_id <> all ($4::uuid[]) and not exists (select 1 from runs k where k.group_id = $1 and k.run_id = r.run_id)`,

	`update runs k set undone_at = r.undone_at from live.runs r where k.group_id = $1 and r.group_id = $1 and r.run_id = k.run_id
		and k.undone_at is null and r.undone_at >= $3::timestamptz and r.undone_at < $2::timestamptz and $4::uuid[] is not null`,

	copyChunks + ` and c.created_at < $2::timestamptz and c.created_at >= $3::timestamptz and c.run_id <> all ($4::uuid[])`,

	copyHeldPlans + ` and $3::timestamptz is not null and $4::uuid[] is not null`,

	`update held_plans k set status = ` + heldAt + ` from live.held_plans h join live.runs r on r.group_id = $1 and r.run_id = h.run_id
		where k.group_id = $1 and h.group_id = $1 and h.run_id = k.run_id and h.chunk_no = k.chunk_no and k.status = 'waiting'
			and $2::timestamptz is not null and $3::timestamptz is not null and $4::uuid[] is not null`,

	// Messages that other runs of evolve consumed, or gave back.
	`update messages k set run_id = null, outcome = null from live.runs r, live.messages m
		where k.group_id = $1 and r.group_id = $1 and m.group_id = $1 and r.run_id = k.run_id and m.message_id = k.message_id
			and m.run_id is distinct from r.run_id and r.undone_at >= $3::timestamptz and r.undone_at < $2::timestamptz and $4::uuid[] is not null`,

	consumedMessages + ` and k.started_at >= $3::timestamptz and k.run_id <> all ($4::uuid[])
		on conflict (group_id, message_id) do update set run_id = excluded.run_id, outcome = excluded.outcome`,
}

// same joins live versions with what they are in the scratch: $5 and $6.
const sameVersions = `unnest($5::uuid[], $6::uuid[])`

var carryRecordsQueries = []string{
	`insert into memory_change_log (group_id, change_id, run_id, chunk_no, action, memory_id, old_id, old_statement, new_statement,
			change_summary, version, evidence, created_at, strength, undone_run_id)
		select c.group_id, c.change_id, r.run_id, case when r.run_id is not null then c.chunk_no end, c.action, s.to_id, o.to_id,
			c.old_statement, c.new_statement, c.change_summary, m.version, c.evidence, c.created_at, c.strength, c.undone_run_id
		from live.memory_change_log c
		join ` + sameVersions + ` as s (id, to_id) on s.id = c.memory_id
		join memories m on m.group_id = $1 and m.memory_id = s.to_id
		left join ` + sameVersions + ` as o (id, to_id) on o.id = c.old_id
		left join runs r on r.group_id = $1 and r.run_id = c.run_id
		where c.group_id = $1 and c.created_at >= $3::timestamptz and c.created_at < $2::timestamptz
			and not ` + ownRun + `c.run_id` + ownAt + `c.created_at` + ownEnd,

	`insert into memory_evidence (` + copiedEvidence + `, lineage_id, memory_id, run_id, withdrawn_at)
		select e.group_id, e.message_id, e.author_id, e.author, e.quote, e.sent_at, e.local_date, e.action, e.created_at,
			m.lineage_id, m.memory_id, r.run_id, case when e.withdrawn_at < $2::timestamptz then e.withdrawn_at end
		from live.memory_evidence e
		join ` + sameVersions + ` as s (id, to_id) on s.id = e.memory_id
		join memories m on m.group_id = $1 and m.memory_id = s.to_id
		left join runs r on r.group_id = $1 and r.run_id = e.run_id
		where e.group_id = $1 and e.created_at >= $3::timestamptz and e.created_at < $2
			and not ` + ownRun + `e.run_id` + ownAt + `e.created_at` + ownEnd + `
		order by e.evidence_no`,

	`update memory_evidence k set withdrawn_at = e.withdrawn_at from live.memory_evidence e
		where k.group_id = $1 and e.group_id = $1 and k.withdrawn_at is null and k.lineage_id = e.lineage_id and k.message_id = e.message_id
			and k.quote = e.quote and k.action = e.action and k.run_id is not distinct from e.run_id and k.created_at = e.created_at
			and e.withdrawn_at >= $3::timestamptz and e.withdrawn_at < $2::timestamptz and ($4::uuid[], $5::uuid[], $6::uuid[]) is not null`,

	`insert into memory_sources (group_id, memory_id, position, source_id, source_lineage_id, run_id)
		select $1, s.to_id, f.position, w.memory_id, w.lineage_id, f.run_id
		from live.memory_sources f
		join ` + sameVersions + ` as s (id, to_id) on s.id = f.memory_id
		join runs r on r.group_id = $1 and r.run_id = f.run_id
		left join ` + sameVersions + ` as o (id, to_id) on o.id = f.source_id
		join memories w on w.group_id = $1 and w.memory_id = coalesce(o.to_id, f.source_id)
		where f.group_id = $1 and w.memory_id <> s.to_id and $2::timestamptz is not null and $3::timestamptz is not null and $4::uuid[] is not null
		on conflict do nothing`,

	// What the runs that are left out queued, the shadow queues itself.
	`insert into rejudgements as k (group_id, lineage_id, memory_id, reason, created_at, change_id, held, run_id)
		select q.group_id, m.lineage_id, m.memory_id, q.reason, q.created_at, q.change_id, q.held and r.run_id is not null, r.run_id
		from (` + judgementsAt + `) q
		join ` + sameVersions + ` as s (id, to_id) on s.id = q.memory_id
		join memories m on m.group_id = $1 and m.memory_id = s.to_id
		left join runs r on r.group_id = $1 and r.run_id = q.run_id and r.finished_at < $2
		where q.created_at >= $3::timestamptz
			and not exists (select 1 from live.runs o where o.group_id = $1 and o.run_id = any ($4::uuid[])
				and q.created_at >= o.started_at` + ownAt + `q.created_at` + ownEnd + `
		on conflict (group_id, lineage_id) do update set memory_id = excluded.memory_id, reason = excluded.reason,
			created_at = excluded.created_at, change_id = excluded.change_id, run_id = excluded.run_id, held = excluded.held`,

	// What waits anew since a run was taken back, what other runs judged, and what waits no
	// longer.
	`update rejudgements k set run_id = null, held = false from live.past_rejudgements p
		where k.group_id = $1 and p.group_id = $1 and p.lineage_id = k.lineage_id and p.created_at = k.created_at and p.run_id = k.run_id
			and p.valid_until >= $3::timestamptz and p.valid_until < $2::timestamptz and ($4::uuid[], $5::uuid[], $6::uuid[]) is not null`,
	`update rejudgements k set run_id = r.run_id, held = q.held
		from (` + judgementsAt + `) q join runs r on r.group_id = $1 and r.run_id = q.run_id and r.finished_at < $2
		where k.group_id = $1 and k.lineage_id = q.lineage_id and k.created_at = q.created_at and k.run_id is null
			and r.run_id <> all ($4::uuid[]) and ($3::timestamptz, $5::uuid[], $6::uuid[]) is not null`,
	`delete from rejudgements k using live.past_rejudgements p
		where k.group_id = $1 and p.group_id = $1 and p.lineage_id = k.lineage_id and p.created_at = k.created_at
			and p.valid_until >= $3::timestamptz and p.valid_until < $2 and ($4::uuid[], $5::uuid[], $6::uuid[]) is not null
			and not exists (select 1 from (` + judgementsAt + `) q where q.lineage_id = k.lineage_id and q.created_at = k.created_at)`,

	// What a person has decided nobody judges again.
	`delete from rejudgements k using live.memory_change_log c
		join ` + sameVersions + ` as s (id, to_id) on s.id = c.memory_id
		join memories m on m.group_id = $1 and m.memory_id = s.to_id
		where k.group_id = $1 and k.lineage_id = m.lineage_id and k.created_at < c.created_at
			and c.group_id = $1 and c.run_id is null and c.action in ('delete', 'restore')
			and c.created_at >= $3::timestamptz and c.created_at < $2::timestamptz and $4::uuid[] is not null`,
}

// carryTouchedQuery finds the versions that evidence of the stretch supports, or that it
// has judged again.
const carryTouchedQuery = `select distinct m.memory_id, m.lineage_id, m.kind, m.content_hash
	from (
		select e.memory_id from live.memory_evidence e where e.group_id = $1 and e.created_at >= $3::timestamptz and e.created_at < $2::timestamptz
			and not ` + ownRun + `e.run_id` + ownAt + `e.created_at` + ownEnd + `
		union select q.memory_id from (` + judgementsAt + `) q where q.created_at >= $3
		union select c.memory_id from live.memory_change_log c where c.group_id = $1 and c.created_at >= $3 and c.created_at < $2
			and not ` + ownRun + `c.run_id` + ownAt + `c.created_at` + ownEnd + ` and c.old_id = c.memory_id and c.new_statement <> '') u
	join live.memories m on m.group_id = $1 and m.memory_id = u.memory_id`
