package audit

import "reverie/internal/text"

// entityAudits hold what is known of people and things together.
var entityAudits = []audit{
	{
		name:    "one claim at a time",
		says:    "a lineage of claims has one active version at most, which is the newest, and an entity makes no claim twice",
		checked: `select count(*) from entity_claims x where ` + auditedGroups + ` and x.status = 'active'`,
		broken: `select x.group_id, format('version %s of claim %s (%s) is active, and version %s is there', x.version, x.lineage_id, x.claim_id, n.version)
			from entity_claims x join entity_claims n on n.group_id = x.group_id and n.lineage_id = x.lineage_id and n.claim_id <> x.claim_id
			where ` + auditedGroups + ` and x.status = 'active' and (n.version > x.version or n.status = 'active')
			union all
			select x.group_id, format('entity %s makes %s claims of %s %s with one content hash', x.entity_id, count(*), x.aspect, x.name_key)
			from entity_claims x where ` + auditedGroups + ` and x.status = 'active'
			group by x.group_id, x.entity_id, x.aspect, x.name_key, x.self, x.content_hash having count(*) > 1`,
	},
	{
		name:    "unbroken claims",
		says:    "the versions of a claim count from 1 without a gap, each names the one before as its parent, and their times follow each other",
		checked: `select count(*) from entity_claims x where ` + auditedGroups,
		broken: `select x.group_id, format('claim %s has %s versions, numbered %s to %s', x.lineage_id, count(*), min(x.version), max(x.version))
			from entity_claims x where ` + auditedGroups + ` group by x.group_id, x.lineage_id having count(*) <> max(x.version) or min(x.version) <> 1
			union all
			select x.group_id, format('version %s of claim %s (%s) follows version %s of claim %s', x.version, x.lineage_id, x.claim_id, p.version, p.lineage_id)
			from entity_claims x join entity_claims p on p.group_id = x.group_id and p.claim_id = x.parent_id
			where ` + auditedGroups + ` and (p.lineage_id <> x.lineage_id or p.version <> x.version - 1)
			union all
			select x.group_id, format('version %s of claim %s (%s) began %s and ended %s; the one before began %s and ended %s', x.version, x.lineage_id, x.claim_id,
				x.updated_at, coalesce(x.ended_at::text, 'never'), coalesce(p.updated_at::text, 'never'), coalesce(p.ended_at::text, 'never'))
			from entity_claims x left join entity_claims p on p.group_id = x.group_id and p.claim_id = x.parent_id
			where ` + auditedGroups + ` and (x.ended_at < x.updated_at or x.updated_at <= p.updated_at or x.updated_at < p.ended_at)`,
	},
	{
		name:    "entities are in their log",
		says:    "each entity and each version of a claim was made by a row of the change log of entities",
		checked: `select (select count(*) from entities x where ` + auditedGroups + `) + (select count(*) from entity_claims x where ` + auditedGroups + `)`,
		broken: `select x.group_id, format('entity %s was made by no row of the change log', x.entity_id) from entities x
			where ` + auditedGroups + ` and not exists (select 1 from entity_change_log c
				where c.group_id = x.group_id and c.entity_id = x.entity_id and c.action = 'create')
			union all
			select x.group_id, format('version %s of claim %s (%s) was made by no row of the change log', x.version, x.lineage_id, x.claim_id) from entity_claims x
			where ` + auditedGroups + ` and not exists (select 1 from entity_change_log c
				where c.group_id = x.group_id and c.entity_id = x.entity_id and c.claim_id = x.claim_id)`,
	},
	{
		name:    "an account is one entity's",
		says:    "an account belongs to one entity at most",
		checked: `select count(*) from entity_names x where ` + auditedGroups + ` and x.kind = 'id' and x.ended_at is null`,
		broken: `select x.group_id, format('account %s belongs to %s entities: %s', x.name_key, count(*), string_agg(x.entity_id::text, ', ' order by x.entity_id))
			from entity_names x where ` + auditedGroups + ` and x.kind = 'id' and x.ended_at is null group by x.group_id, x.name_key having count(*) > 1`,
	},
	{
		name:    "merged entities lead somewhere",
		says:    "an entity that is part of another leads to one that stands for itself, and nothing is said of or about one that was withdrawn",
		checked: `select count(*) from entities x where ` + auditedGroups,
		broken: `with recursive up as (
				select x.group_id, x.entity_id, x.merged_into as root, 1 as steps from entities x where ` + auditedGroups + ` and x.merged_into is not null
				union all select u.group_id, u.entity_id, e.merged_into, u.steps + 1 from up u
				join entities e on e.group_id = u.group_id and e.entity_id = u.root where e.merged_into is not null and u.steps < 100)
			select x.group_id, format('entity %s is merged in a circle', x.entity_id) from up x where x.steps = 100
			union all
			select x.group_id, format('entity %s is part of %s, which was withdrawn', x.entity_id, p.entity_id)
			from entities x join entities p on p.group_id = x.group_id and p.entity_id = x.merged_into
			where ` + auditedGroups + ` and p.status = 'withdrawn'
			union all
			select x.group_id, format('claim %s is active, and of or about entity %s, which was withdrawn', x.claim_id, e.entity_id)
			from entity_claims x join entities e on e.group_id = x.group_id and e.entity_id in (x.entity_id, x.target_id)
			where ` + auditedGroups + ` and x.status = 'active' and e.status = 'withdrawn'
			union all
			select x.group_id, format('name %s is used of entity %s, which was withdrawn', x.name_id, e.entity_id)
			from entity_names x join entities e on e.group_id = x.group_id and e.entity_id = x.entity_id
			where ` + auditedGroups + ` and x.ended_at is null and e.status = 'withdrawn'`,
	},
	{
		name:    "proof belongs to its claim",
		says:    "evidence of a claim names a version, its lineage and its entity",
		checked: `select count(*) from entity_evidence x where ` + auditedGroups,
		broken: `select x.group_id, format('evidence %s of lineage %s and entity %s is of claim %s of lineage %s and entity %s', x.evidence_no, x.lineage_id, x.entity_id,
				c.claim_id, c.lineage_id, c.entity_id)
			from entity_evidence x join entity_claims c on c.group_id = x.group_id and c.claim_id = x.claim_id
			where ` + auditedGroups + ` and (c.lineage_id, c.entity_id) <> (x.lineage_id, x.entity_id)`,
	},
	{
		name:    "active claims have evidence",
		says:    "an active claim rests on evidence that was not withdrawn",
		checked: `select count(*) from entity_claims x where ` + auditedGroups + ` and x.status = 'active'`,
		broken: `select x.group_id, format('claim %s of entity %s rests on nothing', x.claim_id, x.entity_id)
			from entity_claims x where ` + auditedGroups + ` and x.status = 'active' and not exists (select 1 from entity_evidence v
				where v.group_id = x.group_id and v.lineage_id = x.lineage_id and v.withdrawn_at is null)`,
	},
	{
		name: "quotes of claims are found",
		says: "a quote that proves a claim stands in the message that it names, while that has its text",
		checked: `select count(*) from entity_evidence x join messages m on m.group_id = x.group_id and m.message_id = x.message_id
			where ` + auditedGroups + ` and m.pruned_at is null`,
		broken: `select x.group_id, format('evidence %s of claim %s quotes of message %s what that does not say', x.evidence_no, x.claim_id, x.message_id), x.quote, m.text
			from entity_evidence x join messages m on m.group_id = x.group_id and m.message_id = x.message_id
			where ` + auditedGroups + ` and m.pruned_at is null and x.quote <> '' and position(x.quote in m.text) = 0`,
		sound: text.VerifyQuote,
	},
}
