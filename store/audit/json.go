package audit

import "fmt"

// What is kept as JSON may be of any shape in a database that is broken, which is when an
// audit is asked for. The invariants read it by these, which fail at nothing; that it has
// the shape that it should have is an invariant of its own.

// listOf is the elements of a list, none where it is something else.
func listOf(json string) string {
	return fmt.Sprintf(`jsonb_array_elements(case jsonb_typeof(%[1]s) when 'array' then %[1]s else '[]' end)`, json)
}

// lengthOf is how long a list is, 0 where it is something else.
func lengthOf(json string) string {
	return fmt.Sprintf(`case jsonb_typeof(%[1]s) when 'array' then jsonb_array_length(%[1]s) else 0 end`, json)
}

// fieldsOf is the key and value of each field of an object, none where it is something else.
func fieldsOf(json string) string {
	return fmt.Sprintf(`jsonb_each(case jsonb_typeof(%[1]s) when 'object' then %[1]s else '{}' end)`, json)
}

// countOf is a number in an object, 0 where there is none.
func countOf(json, name string) string {
	return fmt.Sprintf(`case jsonb_typeof(%[1]s->'%[2]s') when 'number' then (%[1]s->'%[2]s')::numeric else 0 end`, json, name)
}

// uuidOf is the id that a text is, null where it is none.
func uuidOf(text string) string {
	return fmt.Sprintf(`case when (%[1]s) ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (%[1]s)::uuid end`, text)
}

// readCounts are the stats of a run that invariants hold against rows.
const readCounts = `('cited', 'considered', 'filtered', 'created', 'updated', 'deleted', 'archived', 'refused')`

// jsonAudits hold what is kept as JSON to its shape.
var jsonAudits = []audit{
	{
		name: "what is kept as JSON can be read",
		says: "the stats of a run are an object whose counts are numbers, and the refusals of a chunk, the steps of a held plan, their evidence and the versions that it rests on are lists of objects",
		checked: `select (select count(*) from runs x where ` + auditedGroups + `) + (select count(*) from run_chunks x where ` + auditedGroups + `)
			+ 2 * (select count(*) from held_plans x where ` + auditedGroups + `)`,
		broken: `with kept as (
				select x.group_id, 'stats' as what, format('run %s', x.run_id) as of, x.stats as json, 'object' as shape from runs x where ` + auditedGroups + `
				union all select x.group_id, 'refusals', format('chunk %s of run %s', x.chunk_no, x.run_id), x.refusals, 'array' from run_chunks x where ` + auditedGroups + `
				union all select x.group_id, 'steps', format('plan of chunk %s of run %s', x.chunk_no, x.run_id), x.plan, 'array' from held_plans x where ` + auditedGroups + `
				union all select x.group_id, 'heads', format('plan of chunk %s of run %s', x.chunk_no, x.run_id), x.heads, 'array' from held_plans x where ` + auditedGroups + `),
			listed as (select x.group_id, x.what, x.of, l.json from kept x cross join ` + listOf("x.json") + ` l (json) where x.shape = 'array'),
			parts as (
				select * from kept
				union all select x.group_id, f.key, x.of, f.value, 'number' from kept x cross join ` + fieldsOf("x.json") + ` f where x.what = 'stats' and f.key in ` + readCounts + `
				union all select x.group_id, 'one of the ' || x.what, x.of, x.json, 'object' from listed x
				union all select x.group_id, 'evidence of a step', x.of, x.json->'evidence', 'array' from listed x where x.what = 'steps' and x.json ? 'evidence'
				union all select x.group_id, 'one of the evidence', x.of, l.json, 'object' from listed x cross join ` + listOf("x.json->'evidence'") + ` l (json) where x.what = 'steps')
			select x.group_id, format('%s cannot be read: %s: %s, which should be %s', x.of, x.what, coalesce(jsonb_typeof(x.json), 'nothing'), x.shape)
			from parts x where jsonb_typeof(x.json) is distinct from x.shape`,
	},
}
