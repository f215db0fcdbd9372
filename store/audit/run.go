package audit

// runAudits hold the ledger of runs, what they hold, spend and lease to each other.
var runAudits = []audit{
	{
		name:    "runs end after they began",
		says:    "a run has an end exactly when it is not running, and no earlier than its beginning",
		checked: `select count(*) from runs x where ` + auditedGroups,
		broken: `select x.group_id, format('run %s of %s is %s, began %s and ended %s', x.run_id, x.job, x.status, x.started_at, coalesce(x.finished_at::text, 'never'))
			from runs x where ` + auditedGroups + ` and ((x.status = 'running') <> (x.finished_at is null) or x.finished_at < x.started_at)`,
	},
	{
		name:    "one run at a time",
		says:    "of a group, a job and a session one run at most is running",
		checked: `select count(*) from runs x where ` + auditedGroups + ` and x.status = 'running'`,
		broken: `select x.group_id, format('%s runs of %s are running: %s', count(*), x.job, string_agg(x.run_id::text, ', ' order by x.run_id))
			from runs x where ` + auditedGroups + ` and x.status = 'running'
			group by x.group_id, x.job, case when x.job = 'dream' then '' else x.session_id end having count(*) > 1`,
	},
	{
		name:    "chunks follow their run",
		says:    "a run that has ended well has no chunk that was not applied, and the chunks of a run count from 1 without a gap",
		checked: `select count(*) from run_chunks x where ` + auditedGroups,
		broken: `select x.group_id, format('chunk %s of run %s of %s is %s, and the run has %s', x.chunk_no, x.run_id, r.job, x.status, r.status)
			from run_chunks x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			where ` + auditedGroups + ` and r.status = 'succeeded' and x.status in ('open', 'answered')
			union all
			select x.group_id, format('run %s of %s has %s chunks, numbered %s to %s', x.run_id, r.job, count(*), min(x.chunk_no), max(x.chunk_no))
			from run_chunks x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			where ` + auditedGroups + ` and ` + askedHere + ` group by x.group_id, x.run_id, r.job having count(*) <> max(x.chunk_no)`,
	},
	{
		name:    "refusals are counted",
		says:    "a run counts as refused as many lines of answers as its chunks name",
		checked: `select count(*) from runs x where ` + auditedGroups + ` and x.job in ('evolve', 'extract', 'dream', 'impression')`,
		broken: `select x.group_id, format('run %s of %s counts %s refused lines, and its chunks name %s', x.run_id, x.job, n.counted, n.named)
			from runs x cross join lateral (select ` + countOf("x.stats", "refused") + ` as counted, (
				select coalesce(sum(` + lengthOf("c.refusals") + `), 0) from run_chunks c where c.group_id = x.group_id and c.run_id = x.run_id) as named) n
			where ` + auditedGroups + ` and x.job in ('evolve', 'extract', 'dream', 'impression') and n.counted <> n.named and ` + neverErased + ` and ` + madeHere + `
				and not exists (select 1 from held_plans h where h.group_id = x.group_id and h.run_id = x.run_id and h.status = 'approved')`,
	},
	{
		name: "what is held waits",
		says: "a run that is held has a plan that waits, a plan that waits is of a run that was not taken back, and what it would change is there",
		checked: `select (select count(*) from runs x where ` + auditedGroups + ` and x.status = 'held')
			+ (select count(*) from held_plans x where ` + auditedGroups + ` and x.status = 'waiting')`,
		broken: `select x.group_id, format('run %s of %s is held, and no plan of it waits', x.run_id, x.job)
			from runs x where ` + auditedGroups + ` and x.status = 'held'
				and not exists (select 1 from held_plans h where h.group_id = x.group_id and h.run_id = x.run_id and h.status = 'waiting')
			union all
			select x.group_id, format('a plan of chunk %s of run %s waits, which was taken back', x.chunk_no, x.run_id)
			from held_plans x join runs r on r.group_id = x.group_id and r.run_id = x.run_id
			where ` + auditedGroups + ` and x.status = 'waiting' and r.undone_at is not null
			union all
			select x.group_id, format('a plan of chunk %s of run %s waits to change memory %s, which is not there', x.chunk_no, x.run_id, coalesce(h->>'memory_id', h::text))
			from held_plans x cross join ` + listOf("x.heads") + ` h
			where ` + auditedGroups + ` and x.status = 'waiting' and not exists (
				select 1 from memories m where m.group_id = x.group_id and m.memory_id = ` + uuidOf("h->>'memory_id'") + `)`,
	},
	{
		name:    "the ledger is complete",
		says:    "a run keeps no more answers than there are calls in the ledger that were answered to it, or to one that came to no good end: whose session or window it shares, or, of a dream, any before it",
		checked: `select (select count(*) from run_chunks x where ` + auditedGroups + ` and x.answer <> '') + (select count(*) from answers x where ` + auditedGroups + `)`,
		broken: `with kept as (
				select k.group_id, k.run_id, count(*) as answers from (
					select x.group_id, x.run_id, x.input_sha256 from run_chunks x
					where ` + auditedGroups + ` and x.answer <> '' and x.status in ('answered', 'applied', 'held')
					union select x.group_id, x.run_id, x.input_sha256 from answers x where ` + auditedGroups + `) k group by 1, 2),
			paid as (
				select x.group_id, x.run_id, count(*) as calls from llm_calls x
				where ` + auditedGroups + ` and x.run_id is not null and x.outcome = 'ok' and x.purpose <> 'embed' group by 1, 2)
			select k.group_id, format('run %s of %s keeps %s answers, and %s calls were answered to it', k.run_id, r.job, k.answers, p.calls)
			from kept k join runs r on r.group_id = k.group_id and r.run_id = k.run_id
			-- a run that goes on for one that came to no good end takes its answers over, and they may leave the one that paid;
			-- a dream does so of whatever sessions the one before was, which may not have been ended yet
			cross join lateral (
				select coalesce(sum(p.calls), 0) as calls from paid p join runs o on o.group_id = p.group_id and o.run_id = p.run_id
				where p.group_id = k.group_id and (o.run_id = r.run_id or o.job = r.job and (r.job = 'dream' and o.status in ('running', 'deferred', 'failed') and o.started_at <= r.started_at
					or o.status in ('deferred', 'failed') and o.session_id = r.session_id
						and (r.session_id <> '' or o.window_since < r.window_until and r.window_since < o.window_until)))) p
			where r.undone_at is null and not r.stats ? 'plan' and k.answers > p.calls`,
	},
	{
		name:    "spend is counted",
		says:    "no call has tokens, cost or a duration below nothing, and one that was answered has tokens",
		checked: `select count(*) from llm_calls x where ` + auditedGroups,
		broken: `select x.group_id, format('call %s has %s and %s tokens, %s USD and %s ms', x.call_id, x.input_tokens, x.output_tokens, x.cost_usd, x.latency_ms)
			from llm_calls x where ` + auditedGroups + ` and (least(x.input_tokens, x.output_tokens) < 0 or x.cost_usd < 0 or x.latency_ms < 0
				or x.outcome = 'ok' and x.purpose <> 'embed' and greatest(x.input_tokens, x.output_tokens) = 0)`,
	},
	{
		name:    "leases are held or free",
		says:    "a lease that is free has no holder, and one that is held has one and a fence",
		checked: `select count(*) from leases x where ` + auditedGroups,
		broken: `select x.group_id, format('lease %s of holder %L, fence %s, lives until %s', x.lease_name, x.holder, x.fence, x.expires_at)
			from leases x where ` + auditedGroups + ` and (x.fence < 0 or (x.holder <> '') and x.fence < 1 or x.holder = '' and x.expires_at > clock_timestamp())`,
	},
}
