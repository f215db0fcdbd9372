package audit

import "reverie/internal/text"

// logAudits hold the change log to the memories whose history it is.
var logAudits = []audit{
	{
		name:    "each version is in the log",
		says:    "each version was made by exactly one row of the change log, which has its number, what it says and what was there before",
		checked: `select count(*) from memories x where ` + auditedGroups,
		broken: `with made as (
				select x.group_id, x.memory_id, count(*) as times, min(x.version) as version, min(x.old_id::text)::uuid as old_id, min(x.new_statement) as statement
				from memory_change_log x where ` + auditedGroups + ` and x.action in ('create', 'update', 'restore', 'undo', 'delete')
					and x.old_id is distinct from x.memory_id group by 1, 2)
			select x.group_id, case when coalesce(c.times, 0) <> 1
					then format('version %s of lineage %s (%s) was made by %s rows of the change log', x.version, x.lineage_id, x.memory_id, coalesce(c.times, 0))
					else format('version %s of lineage %s (%s) is not what the change log says of it', x.version, x.lineage_id, x.memory_id) end
			from memories x left join made c on c.group_id = x.group_id and c.memory_id = x.memory_id
			where ` + auditedGroups + ` and (coalesce(c.times, 0) <> 1 or c.version <> x.version or c.old_id is distinct from x.parent_id
				or c.statement <> x.statement and (c.statement <> '' or x.status <> 'deprecated'))`,
	},
	{
		name:    "the log tells the truth",
		says:    "a row of the change log says what the version said that it made or ended, and the one before, and is of the time when it made a version, or later",
		checked: `select count(*) from memory_change_log x where ` + auditedGroups,
		broken: `select x.group_id, format('change %s (%s) of memory %s, at %s, is not what versions %s and %s say, which began %s and %s', x.change_id, x.action, x.memory_id,
				x.created_at, x.memory_id, coalesce(x.old_id::text, 'none'), m.updated_at, coalesce(o.updated_at::text, 'never'))
			from memory_change_log x join memories m on m.group_id = x.group_id and m.memory_id = x.memory_id
			left join memories o on o.group_id = x.group_id and o.memory_id = x.old_id
			where ` + auditedGroups + ` and (x.new_statement <> '' and x.new_statement <> m.statement and '` + text.Erased + `' not in (x.new_statement, m.statement)
				or x.old_statement <> coalesce(o.statement, '') and '` + text.Erased + `' not in (x.old_statement, coalesce(o.statement, ''))
				or x.created_at < m.updated_at
				or x.created_at <> m.updated_at and x.old_id is distinct from x.memory_id and x.action in ('create', 'update', 'restore', 'undo', 'delete'))`,
	},
	{
		name:    "the log replays",
		says:    "the newest row of the change log that names a lineage names its newest version, and says of it what it is: told, ended, or, by its action, archived",
		checked: `select count(*) from memory_change_log x where ` + auditedGroups,
		broken: `with heads as (
				select distinct on (x.group_id, x.lineage_id) x.group_id, x.lineage_id, x.memory_id, x.version, x.status, x.statement, x.run_id from memories x
				where ` + auditedGroups + ` order by x.group_id, x.lineage_id, x.version desc),
			last as (
				select distinct on (x.group_id, m.lineage_id) x.group_id, m.lineage_id, x.memory_id, x.action, x.new_statement
				from memory_change_log x join memories m on m.group_id = x.group_id and m.memory_id = x.memory_id
				where ` + auditedGroups + ` and x.action not in ('strength', 'weight') order by x.group_id, m.lineage_id, x.created_at desc, x.version desc, x.change_id desc)
			select x.group_id, case when c.memory_id <> x.memory_id
					then format('the newest version of lineage %s is %s, and the change log ends with %s', x.lineage_id, x.memory_id, c.memory_id)
					else format('the newest version of lineage %s (%s) is %s, and the last the change log has of it is %s', x.lineage_id, x.memory_id, x.status, c.action) end
			from heads x join last c on c.group_id = x.group_id and c.lineage_id = x.lineage_id
			where c.memory_id <> x.memory_id
				or x.status = 'active' and c.new_statement <> x.statement
				or (x.status = 'archived') <> (c.action = 'archive')
				or x.status in ('deprecated', 'archived') and c.new_statement <> '' and ` + neverErased + ` and ` + madeHere,
	},
	{
		name:    "counts of changes add up",
		says:    "a run of evolve, extract or dream counts as created, updated and deleted, and one of maintain as archived, what the change log has of it",
		checked: `select count(*) from runs x where ` + auditedGroups + ` and x.job in ('evolve', 'extract', 'dream', 'maintain')`,
		broken: `with logged as (
				select x.group_id, x.run_id, count(*) filter (where x.action = 'create') as created, count(*) filter (where x.action = 'update') as updated,
					count(*) filter (where x.action = 'delete') as deleted, count(*) filter (where x.action = 'archive') as archived
				from memory_change_log x where ` + auditedGroups + ` and x.run_id is not null group by 1, 2)
			select x.group_id, format('run %s of %s counts %s created, %s updated, %s deleted and %s archived, and the change log %s, %s, %s and %s', x.run_id, x.job,
				s.created, s.updated, s.deleted, s.archived, coalesce(c.created, 0), coalesce(c.updated, 0), coalesce(c.deleted, 0), coalesce(c.archived, 0))
			from runs x left join logged c on c.group_id = x.group_id and c.run_id = x.run_id
			cross join lateral (select ` + countOf("x.stats", "created") + ` as created, ` + countOf("x.stats", "updated") + ` as updated,
				` + countOf("x.stats", "deleted") + ` as deleted, ` + countOf("x.stats", "archived") + ` as archived) s
			where ` + auditedGroups + ` and x.job in ('evolve', 'extract', 'dream', 'maintain') and ` + neverErased + `
				and (s.created, s.updated, s.deleted, s.archived)
					<> (coalesce(c.created, 0), coalesce(c.updated, 0), coalesce(c.deleted, 0), coalesce(c.archived, 0))
				and (` + madeHere + ` or x.job = 'maintain' and exists (
					select 1 from llm_calls l where l.group_id = x.group_id and l.created_at <= x.started_at))`,
	},
	{
		name:    "an undo names its run",
		says:    "a change that takes a run back names that run, which is marked as undone",
		checked: `select count(*) from memory_change_log x where ` + auditedGroups + ` and x.action = 'undo'`,
		broken: `select x.group_id, format('change %s (%s) is of run %s taken back, which is %s', x.change_id, x.action, coalesce(x.undone_run_id::text, 'none'),
				case when r.run_id is null then 'unknown' when r.undone_at is null then 'not undone' else 'undone' end)
			from memory_change_log x left join runs r on r.group_id = x.group_id and r.run_id = x.undone_run_id
			where ` + auditedGroups + ` and case when x.action = 'undo' then x.undone_run_id is null or r.run_id is not null and r.undone_at is null
				else x.undone_run_id is not null end`,
	},
}
