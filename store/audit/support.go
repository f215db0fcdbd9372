package audit

import (
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// supportAudits hold memories to what they rest on.
var supportAudits = []audit{
	{
		name:    "active memories have support",
		says:    "an active memory rests on evidence, on other memories, on the whole of a session, or on a person's word",
		checked: `select count(*) from memories x where ` + auditedGroups + ` and x.status = 'active'`,
		broken: `select x.group_id, format('memory %s (%s, version %s) rests on nothing', x.memory_id, x.kind, x.version)
			from memories x where ` + auditedGroups + ` and x.status = 'active' and x.kind <> 'team' and not x.tags @> array['` + reverie.TagSummary + `']
				and not exists (select 1 from memory_evidence v where v.group_id = x.group_id and v.lineage_id = x.lineage_id
					and v.action <> 'delete' and v.withdrawn_at is null)
				and not exists (select 1 from memory_sources s where s.group_id = x.group_id and s.memory_id = x.memory_id)
				and not exists (select 1 from memory_change_log c join memories m on m.group_id = c.group_id and m.memory_id = c.memory_id
					where m.group_id = x.group_id and m.lineage_id = x.lineage_id and c.action = 'restore')
				and not exists (select 1 from runs r where r.group_id = x.group_id and r.run_id = x.run_id
					and (r.job = 'propose' or r.stats ? 'plan' or r.stats ? 'edited'))`,
	},
	{
		name:    "evidence belongs to its version",
		says:    "evidence names a version and the lineage of that version",
		checked: `select count(*) from memory_evidence x where ` + auditedGroups,
		broken: `select x.group_id, format('evidence %s is of lineage %s, and of version %s of lineage %s', x.evidence_no, x.lineage_id, m.memory_id, m.lineage_id)
			from memory_evidence x join memories m on m.group_id = x.group_id and m.memory_id = x.memory_id
			where ` + auditedGroups + ` and m.lineage_id <> x.lineage_id`,
	},
	{
		name: "quotes are found",
		says: "a quote stands in the message that it names, while that has its text",
		checked: `select count(*) from memory_evidence x join messages m on m.group_id = x.group_id and m.message_id = x.message_id
			where ` + auditedGroups + ` and m.pruned_at is null`,
		broken: `select x.group_id, format('evidence %s of memory %s quotes of message %s what that does not say', x.evidence_no, x.memory_id, x.message_id), x.quote, m.text
			from memory_evidence x join messages m on m.group_id = x.group_id and m.message_id = x.message_id
			where ` + auditedGroups + ` and m.pruned_at is null and x.quote <> '' and position(x.quote in m.text) = 0`,
		sound: text.VerifyQuote,
	},
	{
		name:    "evidence is of its message",
		says:    "a message is evidence once of a version and a run, in the same words, and its author, time and date are those of the message, which is there where it was read",
		checked: `select count(*) from memory_evidence x where ` + auditedGroups,
		broken: `select x.group_id, format('memory %s has %s times the same evidence of message %s by run %s', x.memory_id, count(*), x.message_id, x.run_id)
			from memory_evidence x where ` + auditedGroups + ` and x.run_id is not null
			group by x.group_id, x.memory_id, x.message_id, x.quote, x.run_id having count(*) > 1
			union all
			select x.group_id, format('evidence %s of memory %s is of message %s, which is not there', x.evidence_no, x.memory_id, x.message_id)
			from memory_evidence x left join messages m on m.group_id = x.group_id and m.message_id = x.message_id
			where ` + auditedGroups + ` and m.message_id is null and ` + neverErased + ` and ` + madeHere + `
			union all
			select x.group_id, format('evidence %s of memory %s says that message %s is by %s (%s), of %s, on %s, and it is by %s (%s), of %s', x.evidence_no, x.memory_id,
				x.message_id, x.author, x.author_id, x.sent_at, x.local_date, m.author, m.author_id, m.sent_at)
			from memory_evidence x join messages m on m.group_id = x.group_id and m.message_id = x.message_id
			where ` + auditedGroups + ` and ((x.author_id, x.author, x.sent_at) <> (m.author_id, m.author, m.sent_at)
				or case when isfinite(x.local_date) and isfinite(x.sent_at) then x.local_date - (x.sent_at at time zone 'UTC')::date not between -2 and 1 else true end)`,
	},
	{
		name:    "evidence is withdrawn with its run",
		says:    "evidence that supports nothing any more is of a run that was taken back",
		checked: `select count(*) from memory_evidence x where ` + auditedGroups + ` and x.withdrawn_at is not null`,
		broken: `select x.group_id, format('evidence %s of memory %s was withdrawn, and run %s was not taken back', x.evidence_no, x.memory_id, x.run_id)
			from memory_evidence x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			where ` + auditedGroups + ` and x.withdrawn_at is not null and r.undone_at is null`,
	},
	{
		name:    "evidence of undone runs is withdrawn",
		says:    "what a run was told that was taken back supports nothing, but where another has changed the memory since",
		checked: `select count(*) from memory_evidence x join runs r on r.group_id = x.group_id and r.run_id = x.run_id where ` + auditedGroups + ` and r.undone_at is not null`,
		broken: `select x.group_id, format('evidence %s of memory %s is of run %s, which was taken back', x.evidence_no, x.memory_id, x.run_id)
			from memory_evidence x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			where ` + auditedGroups + ` and r.undone_at is not null and x.withdrawn_at is null and not exists (
				select 1 from memory_change_log c join memories m on m.group_id = c.group_id and m.memory_id = c.memory_id
				where m.group_id = x.group_id and m.lineage_id = x.lineage_id and c.created_at > x.created_at
					and c.run_id is distinct from x.run_id and c.undone_run_id is distinct from x.run_id)`,
	},
	{
		name:    "sources belong to their lineage",
		says:    "a memory that rests on another names a version of it and the lineage of that version",
		checked: `select count(*) from memory_sources x where ` + auditedGroups,
		broken: `select x.group_id, format('memory %s rests on version %s as of lineage %s, which is of lineage %s', x.memory_id, x.source_id, x.source_lineage_id, m.lineage_id)
			from memory_sources x join memories m on m.group_id = x.group_id and m.memory_id = x.source_id
			where ` + auditedGroups + ` and m.lineage_id <> x.source_lineage_id`,
	},
}
