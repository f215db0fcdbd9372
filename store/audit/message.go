package audit

// messageAudits hold messages to their runs: each was read once.
var messageAudits = []audit{
	{
		name:    "messages consumed once",
		says:    "a message that was consumed is named by exactly one applied or held chunk of its run, which is one of evolve",
		checked: `select count(*) from messages x where ` + auditedGroups + ` and x.run_id is not null`,
		broken: `with named as (
				select x.group_id, x.run_id, u.id, count(*) as times from run_chunks x cross join unnest(x.message_ids) as u (id)
				where ` + auditedGroups + ` and x.status in ('applied', 'held') group by 1, 2, 3)
			select x.group_id, format('message %s is consumed by run %s of %s, of which %s chunks have it', x.message_id, x.run_id, r.job, coalesce(n.times, 0))
			from messages x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			left join named n on n.group_id = x.group_id and n.run_id = x.run_id and n.id = x.message_id
			where ` + auditedGroups + ` and (coalesce(n.times, 0) <> 1 or r.job <> 'evolve')`,
	},
	{
		name: "chunks consume what they name",
		says: "a message that an applied or held chunk of evolve names is consumed by that run, unless the run was taken back",
		checked: `select coalesce(sum(cardinality(x.message_ids)), 0) from run_chunks x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			where ` + auditedGroups + ` and x.status in ('applied', 'held') and r.job = 'evolve' and r.undone_at is null`,
		broken: `select x.group_id, format('message %s is named by chunk %s of run %s, and consumed by %s', m.message_id, x.chunk_no, x.run_id, coalesce('run ' || m.run_id, 'none'))
			from run_chunks x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			cross join unnest(x.message_ids) as u (id)
			join messages m on m.group_id = x.group_id and m.message_id = u.id
			where ` + auditedGroups + ` and x.status in ('applied', 'held') and r.job = 'evolve' and r.undone_at is null
				and m.run_id is distinct from x.run_id and ` + neverErased + ` and ` + askedHere,
	},
	{
		name: "messages used once a job",
		says: "a message that extraction or the impression job has used is named by exactly one applied or held chunk of its run, which is one of the job",
		checked: `select count(*) from message_uses x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			where ` + auditedGroups + ` and x.job in ('extract', 'impression') and r.job <> 'maintain'`,
		broken: `with named as (
				select x.group_id, x.run_id, u.id, count(*) as times from run_chunks x cross join unnest(x.message_ids) as u (id)
				where ` + auditedGroups + ` and x.status in ('applied', 'held') group by 1, 2, 3)
			select x.group_id, format('message %s is used for %s by run %s of %s, of which %s chunks have it', x.message_id, x.job, x.run_id, r.job, coalesce(n.times, 0))
			from message_uses x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			left join named n on n.group_id = x.group_id and n.run_id = x.run_id and n.id = x.message_id
			where ` + auditedGroups + ` and x.job in ('extract', 'impression') and r.job <> 'maintain' and (coalesce(n.times, 0) <> 1 or r.job <> x.job)`,
	},
	{
		name: "chunks use what they name",
		says: "a message that an applied or held chunk of extraction or of the impression job names is used by that run, unless the run was taken back",
		checked: `select coalesce(sum(cardinality(x.message_ids)), 0) from run_chunks x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			where ` + auditedGroups + ` and x.status in ('applied', 'held') and r.job in ('extract', 'impression') and r.undone_at is null`,
		broken: `select x.group_id, format('message %s is named by chunk %s of run %s of %s, and used for that by %s', m.message_id, x.chunk_no, x.run_id, r.job,
				coalesce('run ' || u.run_id, 'none'))
			from run_chunks x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			cross join unnest(x.message_ids) as n (id)
			join messages m on m.group_id = x.group_id and m.message_id = n.id
			left join message_uses u on u.group_id = x.group_id and u.message_id = n.id and u.job = r.job
			where ` + auditedGroups + ` and x.status in ('applied', 'held') and r.job in ('extract', 'impression') and r.undone_at is null
				and u.run_id is distinct from x.run_id and ` + neverErased + ` and ` + askedHere,
	},
	{
		name:    "messages are of their run's time",
		says:    "a message that was consumed was sent in the window of its run",
		checked: `select count(*) from messages x where ` + auditedGroups + ` and x.run_id is not null`,
		broken: `select x.group_id, format('message %s was sent %s, and consumed by run %s, of %s to %s', x.message_id, x.sent_at, x.run_id, r.window_since, r.window_until)
			from messages x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			where ` + auditedGroups + ` and (x.sent_at < r.window_since or x.sent_at >= r.window_until)`,
	},
	{
		name:    "counts of messages add up",
		says:    "a run of evolve counts as cited, considered and filtered as many messages as it has consumed",
		checked: `select count(distinct (x.group_id, x.run_id)) from messages x where ` + auditedGroups + ` and x.run_id is not null`,
		broken: `select x.group_id, format('run %s counts %s cited, %s considered and %s filtered messages, and there are %s, %s and %s', x.run_id,
				s.cited, s.considered, s.filtered, x.cited, x.considered, x.filtered)
			from (select x.group_id, x.run_id, count(*) filter (where outcome = 'cited') as cited, count(*) filter (where outcome = 'considered') as considered,
					count(*) filter (where outcome = 'filtered') as filtered
				from messages x where ` + auditedGroups + ` and x.run_id is not null group by 1, 2) x
			join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			cross join lateral (select ` + countOf("r.stats", "cited") + ` as cited, ` + countOf("r.stats", "considered") + ` as considered,
				` + countOf("r.stats", "filtered") + ` as filtered) s
			where r.undone_at is null and (x.cited, x.considered, x.filtered) <> (s.cited, s.considered, s.filtered) and ` + neverErased,
	},
	{
		name:    "what is cited is on record",
		says:    "a message that counts as cited is evidence of a memory, or of what waits or waited for a person; one that counts as considered is not, by its run",
		checked: `select count(*) from messages x where ` + auditedGroups + ` and x.run_id is not null and x.outcome in ('cited', 'considered')`,
		broken: `with recorded as (
				select x.group_id, x.message_id, x.run_id from memory_evidence x where ` + auditedGroups + `
				union all select x.group_id, e->>'message_id', x.run_id from held_plans x
				cross join ` + listOf("x.plan") + ` as s cross join ` + listOf("s->'evidence'") + ` as e
				where ` + auditedGroups + `),
			told as (select group_id, message_id, array_agg(distinct run_id) as runs from recorded group by 1, 2)
			select x.group_id, format('message %s counts as %s by run %s, and is evidence of %s', x.message_id, x.outcome, x.run_id,
				case x.outcome when 'cited' then 'nothing' else 'what that has written' end)
			from messages x left join told t on t.group_id = x.group_id and t.message_id = x.message_id
			where ` + auditedGroups + ` and x.run_id is not null and ` + neverErased + `
				and case x.outcome when 'cited' then t.message_id is null when 'considered' then coalesce(x.run_id = any (t.runs), false) end
				and exists (select 1 from runs r where r.group_id = x.group_id and r.run_id = x.run_id and ` + askedHere + `)`,
	},
}
