package audit

import (
	"slices"
	"strings"

	"reverie/internal/text"
)

// versionAudits hold the versions of memories to each other.
var versionAudits = []audit{
	{
		name:    "one active head",
		says:    "a lineage has one version at most that is active or held, and it is the newest",
		checked: `select count(*) from memories x where ` + auditedGroups + ` and x.status in ('active', 'held')`,
		broken: `select x.group_id, format('version %s of lineage %s (%s) is %s, and version %s is there', x.version, x.lineage_id, x.memory_id, x.status, n.version)
			from memories x join memories n on n.group_id = x.group_id and n.lineage_id = x.lineage_id and n.memory_id <> x.memory_id
			where ` + auditedGroups + ` and x.status in ('active', 'held') and (n.version > x.version or n.status in ('active', 'held'))`,
	},
	{
		name:    "nothing said twice",
		says:    "no two active memories of a group and kind have the same content hash",
		checked: `select count(*) from memories x where ` + auditedGroups + ` and x.status = 'active'`,
		broken: `select x.group_id, format('%s active memories of kind %s have the content hash %s: %s', count(*), x.kind, x.content_hash,
				string_agg(x.memory_id::text, ', ' order by x.memory_id))
			from memories x where ` + auditedGroups + ` and x.status = 'active' group by x.group_id, x.kind, x.content_hash having count(*) > 1`,
	},
	{
		name:    "a hash is that of its words",
		says:    "the content hash of a version is that of what it says, or of that as the summary of its session, or of a dream",
		checked: `select count(*) from memories x where ` + auditedGroups,
		broken: `select x.group_id, format('memory %s has the content hash %s, and says something else', x.memory_id, x.content_hash), concat_ws(' ', x.content_hash, x.session_id), x.statement
			from memories x where ` + auditedGroups,
		sound: hashed,
	},
	{
		name:    "unbroken versions",
		says:    "the versions of a lineage are of one kind and count from 1 without a gap, and each but the first names the one before as its parent",
		checked: `select count(*) from memories x where ` + auditedGroups,
		broken: `select x.group_id, format('lineage %s has %s versions, numbered %s to %s', x.lineage_id, count(*), min(x.version), max(x.version))
			from memories x where ` + auditedGroups + ` group by x.group_id, x.lineage_id having count(*) <> max(x.version) or min(x.version) <> 1
			union all
			select x.group_id, format('lineage %s has versions of the kinds %s', x.lineage_id, string_agg(distinct x.kind, ', '))
			from memories x where ` + auditedGroups + ` group by x.group_id, x.lineage_id having count(distinct x.kind) > 1
			union all
			select x.group_id, format('version %s of lineage %s (%s) names as its parent version %s of lineage %s', x.version, x.lineage_id, x.memory_id,
				p.version, p.lineage_id)
			from memories x join memories p on p.group_id = x.group_id and p.memory_id = x.parent_id
			where ` + auditedGroups + ` and (p.lineage_id <> x.lineage_id or p.version <> x.version - 1)`,
	},
	{
		name:    "times in order",
		says:    "each version begins after the one before it began and not before that one ended, ends no earlier than it began, and has no end exactly while it is active",
		checked: `select count(*) from memories x where ` + auditedGroups,
		broken: `select x.group_id, format('version %s of lineage %s (%s, %s) began %s and ended %s', x.version, x.lineage_id, x.memory_id, x.status,
				x.updated_at, coalesce(x.ended_at::text, 'never'))
			from memories x where ` + auditedGroups + ` and (x.ended_at < x.updated_at or (x.ended_at is null) <> (x.status = 'active'))
			union all
			select x.group_id, format('version %s of lineage %s (%s) began %s; the one before began %s and ended %s', x.version, x.lineage_id, x.memory_id,
				x.updated_at, p.updated_at, coalesce(p.ended_at::text, 'never'))
			from memories x join memories p on p.group_id = x.group_id and p.memory_id = x.parent_id
			where ` + auditedGroups + ` and (x.updated_at <= p.updated_at or x.updated_at < p.ended_at)
			union all
			select x.group_id, format('version %s of lineage %s (%s) has the lineage born %s, and itself %s', x.version, x.lineage_id, x.memory_id,
				x.created_at, x.updated_at)
			from memories x where ` + auditedGroups + ` and x.created_at > x.updated_at`,
	},
	{
		name:    "values in order",
		says:    "what strength and weight were is kept in the order in which they changed, and of no time before their version",
		checked: `select count(*) from memory_values x where ` + auditedGroups,
		broken: `select x.group_id, format('values of memory %s held until %s; the ones before until %s, and the version began %s', x.memory_id, x.valid_until,
				coalesce(x.before::text, 'never'), m.updated_at)
			from (select x.*, lag(x.valid_until) over (partition by x.group_id, x.memory_id order by x.value_no) as before
				from memory_values x where ` + auditedGroups + `) x
			join memories m on m.group_id = x.group_id and m.memory_id = x.memory_id
			where x.valid_until < x.before or x.valid_until < m.updated_at`,
	},
	{
		name:    "held memories wait",
		says:    "a memory that is held waits to be judged again, where it was made",
		checked: `select count(*) from memories x where ` + auditedGroups + ` and x.status = 'held'`,
		broken: `select x.group_id, format('memory %s is held, and nothing says that it is to be judged again', x.memory_id)
			from memories x where ` + auditedGroups + ` and x.status = 'held' and ` + madeHere + ` and not exists (
				select 1 from rejudgements q where q.group_id = x.group_id and q.lineage_id = x.lineage_id and q.run_id is null)`,
	},
}

// hashed tells whether the content hash of a version, which its session follows, is that
// of what it says.
func hashed(of, statement string) bool {
	hash, session, _ := strings.Cut(of, " ")
	return slices.Contains([]string{text.ContentHash(statement), text.SummaryHash(session, statement), text.SummaryHash("", statement)}, hash)
}
