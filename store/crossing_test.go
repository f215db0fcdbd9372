package store_test

// crossing are the conditions of statements that are about no one group, with the reason: all other
// statements name theirs, see TestEveryStatementNamesItsGroup. In these, too, a table is held to the groups that
// are asked for, or is joined by its group_id, but for the tables that are named as free.
var crossing = []struct{ part, free, why string }{
	{"x.group_id between $1 and $2", "", "an audit goes through the groups by hundreds"},
	{"from groups where case when $1 <> '' then group_id = $1 and $2 = '' else group_id > $2", "", "an audit pages through groups"},

	{"$1 = '' or group_id = $1", "", "an operator asks for one group or for all"},
	{"$1 = '' or g.group_id = $1", "", "an operator asks for one group or for all"},
	{"$1 = '' or m.group_id = $1", "", "an operator asks for one group or for all"},
	{"$1 = '' or w.group_id = $1", "webhook_events", "an administrator asks for the webhooks of a group or of all; their events know them by id"},
	{"$1::text = '' or group_id = $1", "", "an operator asks for one group or for all"},
	{"$1 = '' or group_id in ('', $1)", "", "an administrator asks for the tokens of a group or of all"},
	{"$4 = '' or group_id = $4", "", "maintenance goes through all groups"},
	{"$2 = '' or group_id = $2", "", "groups are listed by pages"},

	{"group_id = any ($1::text[])", "", "what a page of groups shows besides them"},
	{"with page as materialized ( select group_id, run_id from runs", "runs", "a page of runs is of one group or of all"},
	{"x.entity_id) not in ( select o.group_id, o.entity_id", "entity_links", "the other end of a link stands in another group"},

	{"not g.paused order by g.group_id limit", "", "a page of groups that are due"},
	{"select distinct r.group_id from runs r where r.job = $1", "runs", "runs that ended without a word are looked for in all groups"},
	{"from runs where status = 'running') r", "runs", "who looks at what is under way sees all that they may"},
	{"from llm_calls where created_at >= $1", "llm_calls", "a budget is that of all groups, and a number"},
	{"from llm_calls where purpose = $1 and model = $2", "llm_calls", "how long a model's answers are is asked of all groups, and is a number"},
	{"select group_id from llm_calls where purpose = $1", "llm_calls", "where all groups' work goes on"},

	{"from memories where memory_id = $2::uuid) or exists", "memories", "an id of another team's memory is not taken again"},
	{"delete from entity_links where group_id = any (", "", "what other groups link with what is erased ends there, too"},
	{"using ends e where l.group_id = e.other_group_id", "", "a link ends on both sides"},
	{"select o.group_id as team", "", "what teams have made of what is erased is erased there, too"},
	{"as u (group_id, usage_id, memory_id", "memory_usage_log", "what many searches offered is written together, each for its group"},

	{"delete from setbacks where parked_at is not null", "setbacks", "an operator resumes all groups"},
	{"update sessions set failures = 0, failure = '', retry_at = null, parked_at = null", "sessions", "an operator resumes all groups"},
	{"from sessions where session_id = $1 order by group_id", "sessions", "an operator names a session without its group"},

	{"select exists (select 1 from api_tokens)", "api_tokens", "whether there is a token at all"},
	{"from api_tokens where token_id = $1", "api_tokens", "who asks is known by the token, whose group it tells"},
	{"update api_tokens set revoked_at = coalesce(revoked_at, $2::timestamptz) where token_id = $1", "api_tokens", "a token is revoked by its id"},
	{"from page_sessions s join api_tokens t", "", "who asks is known by the hash of a cookie, which nobody else has"},
	{"delete from page_sessions where sha256 = $1", "page_sessions", "who asks is known by the hash of a cookie, which nobody else has"},

	{"where group_id is not null and webhook_id = $1", "webhooks webhook_events", "a webhook of all groups is told of each, and is known by its id"},
	{"from webhooks w join webhook_events e on e.webhook_id = w.webhook_id", "webhooks webhook_events", "what is to be sent is looked for in all groups"},
	{"delete from webhook_events where group_id is not null and created_at < $1", "webhook_events", "old events of all groups go"},

	{"batch_id = $1", "batch_questions", "a batch has questions of all groups"},
	{"where batch_id = any ($1::uuid[])", "batch_questions", "a batch has questions of all groups"},
	{"from batch_questions where batch_id is not null and status in", "batch_questions", "what batches have out is a number"},
	{"delete from batch_questions q using runs r", "", "questions that no run waits for go, of all groups"},
	{"insert into batches (batch_id", "batches", "a batch is no group's: its group_id is empty by default"},
}
