package audit

// dreamAudits hold what dreams have taken in to their chunks.
var dreamAudits = []audit{
	{
		name:    "memories dreamt of once",
		says:    "a memory version that a dream has taken in is of a lineage that its applied or held chunk names",
		checked: `select count(*) from memory_uses x where ` + auditedGroups + ` and x.job = 'dream'`,
		broken: `with named as (
				select distinct x.group_id, x.run_id, m.lineage_id from run_chunks x cross join unnest(x.memory_ids) as u (id)
				join memories m on m.group_id = x.group_id and m.memory_id = u.id
				where ` + auditedGroups + ` and x.status in ('applied', 'held'))
			select x.group_id, format('memory %s is taken in by run %s of %s, no chunk of which has it', x.memory_id, x.run_id, r.job)
			from memory_uses x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			join memories m on m.group_id = x.group_id and m.memory_id = x.memory_id
			where ` + auditedGroups + ` and x.job = 'dream' and (r.job <> 'dream' or ` + askedHere + `
				and not exists (select 1 from named n where n.group_id = x.group_id and n.run_id = x.run_id and n.lineage_id = m.lineage_id))`,
	},
	{
		name: "dreams take in what they name",
		says: "a memory version that an applied or held chunk of a dream names is taken in by that dream, unless it was taken back",
		checked: `select coalesce(sum(cardinality(x.memory_ids)), 0) from run_chunks x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			where ` + auditedGroups + ` and x.status in ('applied', 'held') and r.job = 'dream' and r.undone_at is null`,
		broken: `select x.group_id, format('memory %s is named by chunk %s of dream %s, and taken in by %s', m.memory_id, x.chunk_no, x.run_id, coalesce('run ' || u.run_id, 'none'))
			from run_chunks x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			cross join unnest(x.memory_ids) as n (id)
			join memories m on m.group_id = x.group_id and m.memory_id = n.id
			left join memory_uses u on u.group_id = x.group_id and u.memory_id = n.id and u.job = 'dream'
			where ` + auditedGroups + ` and x.status in ('applied', 'held') and r.job = 'dream' and r.undone_at is null
				and u.run_id is distinct from x.run_id and ` + neverErased + ` and ` + askedHere,
	},
	{
		name:    "a dream asks of each memory once",
		says:    "the questions of a dream hold each memory version of its chunk once",
		checked: `select count(*) from run_chunks x where ` + auditedGroups + ` and x.questions <> '{}'`,
		broken: `select x.group_id, format('chunk %s of run %s has %s memories, %s of them different, in questions of %s', x.chunk_no, x.run_id,
				cardinality(x.memory_ids), n.different, n.asked)
			from run_chunks x cross join lateral (select (select count(distinct id) from unnest(x.memory_ids) as u (id)) as different,
				(select sum(q) from unnest(x.questions) as q) as asked) n
			where ` + auditedGroups + ` and x.questions <> '{}' and (n.different <> cardinality(x.memory_ids) or n.asked <> cardinality(x.memory_ids))`,
	},
	{
		name:    "no session beyond its end",
		says:    "no session was dreamt of beyond its last message, and none was extracted beyond it",
		checked: `select count(*) from sessions x where ` + auditedGroups,
		broken: `select x.group_id, format('session %s reaches to %s, was dreamt of to %s and extracted to %s', x.session_id, x.last_at,
				coalesce(x.dreamt_until::text, 'nowhere'), coalesce(x.extracted_until::text, 'nowhere'))
			from sessions x where ` + auditedGroups + ` and (x.dreamt_until > x.last_at or x.extracted_until > x.last_at) and ` + neverErased,
	},
}
