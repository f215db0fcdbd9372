// Package events has the parts of SQL statements that write events for webhooks, together with the changes that they
// report.
package events

// Number is an SQL number that orders the rows of a statement after all earlier rows, as far as the database's clock
// does. It relies on writes to one group that follow one another, and take more than a microsecond each.
const Number = `(extract(epoch from statement_timestamp()) * 1000000)::bigint`

// Parts of statements that write events for changes, in order. Without a webhook they write nothing. Each defines the
// query told, and reads an earlier query with the columns named below.
const (
	insertEvents = `told as (
		insert into webhook_events (group_id, event_no, webhook_id, type, memory_id, lineage_id, run_id, detail, created_at)
		select $1, ` + Number + ` + row_number() over (order by e.place), w.webhook_id, e.type, e.memory_id, e.lineage_id, e.run_id, e.detail, e.at from webhooks w cross join lateral (`
	wanted = `) e where w.group_id = any (array['', $1]) and (w.events = '{}' or e.type = any (w.events)))`

	// OfChanges reports rows of the change log. The query logged has change_id, memory_id, run_id, action and
	// created_at.
	OfChanges = insertEvents + `select case when l.action = 'create' then 'memory.created'
			when m.status = 'deprecated' then 'memory.deleted' else 'memory.updated' end as type,
			l.memory_id, m.lineage_id, l.run_id, l.action as detail, l.created_at as at, l.change_id as place
		from logged l join memories m on m.group_id = $1 and m.memory_id = l.memory_id` + wanted

	// OfRuns reports runs. The query ended has run_id, status and at.
	OfRuns = insertEvents + `select 'run.' || r.status as type, null::uuid as memory_id, null::uuid as lineage_id,
			r.run_id, '' as detail, r.at, r.run_id as place from ended r where r.status is not null` + wanted

	// OfErased reports erased memories. The query erased has type, memory_id, lineage_id and at.
	OfErased = insertEvents + `select x.type, x.memory_id, x.lineage_id, null::uuid as run_id, 'erase' as detail, x.at,
			x.memory_id as place
		from erased x` + wanted

	// OfReviews reports decisions on held lines. The query plans has run_id, chunk_no, plan, verdict and at. The query
	// chosen has the lineages of the lines that were not refused.
	OfReviews = insertEvents + `select 'memory.reviewed' as type,
			coalesce(s ->> 'memory_id', s -> 'head' ->> 'memory_id')::uuid as memory_id, (s ->> 'lineage_id')::uuid as lineage_id,
			p.run_id, case when s ->> 'lineage_id' = any (p.chosen) then p.verdict else 'refused' end as detail, p.at,
			array[p.chunk_no, line.no] as place
		from plans p cross join lateral jsonb_array_elements(p.plan) with ordinality as line (s, no)` + wanted

	// RejectPlans rejects the plans that the runs $2 hold, at time $3, and returns their number.
	RejectPlans = `with plans as (
			update held_plans set status = 'rejected' where group_id = $1 and run_id = any ($2::uuid[]) and status = 'waiting'
			returning run_id, chunk_no, plan, status as verdict, $3::timestamptz as at,
				array(select s ->> 'lineage_id' from jsonb_array_elements(plan) s) as chosen),
		` + OfReviews + ` select count(*)::int from plans`
)
