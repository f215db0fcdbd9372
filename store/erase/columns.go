package erase

import (
	"context"
	"strings"

	"reverie/store/pg"
)

// treatment says what an erasure makes of a column of text.
type treatment int

const (
	// words are anybody's: what is found of the author is taken out of them. So are those of
	// a column that is not known here.
	words treatment = iota
	// names are ids that others refer to by: they stay as they are, and those that hold
	// the author's id or a name are told of.
	names
	// authors are ids of authors, and messages ids of messages: none is the author's.
	authors
	messages
	// fixed are words of our own: kinds, states, models, hashes.
	fixed
)

// Columns are all columns that can hold text. A test compares them with the schema.
var Columns = columnTreatments(map[treatment]string{
	words: `groups.name runs.error runs.stats run_chunks.answer run_chunks.refusals messages.author messages.text
		memories.statement memories.tags memories.change_summary memory_evidence.author memory_evidence.quote
		memory_change_log.old_statement memory_change_log.new_statement memory_change_log.change_summary
			memory_change_log.evidence
		held_plans.plan held_plans.heads held_plans.reason setbacks.error answers.answer decisions.statement
			decisions.reason decisions.candidates
		entities.subject entity_names.name entity_claims.name entity_claims.value entity_evidence.author
			entity_evidence.quote
		entity_change_log.old_text entity_change_log.new_text entity_change_log.change_reason entity_change_log.evidence
		entity_observations.subject entity_observations.body sessions.failure session_summaries.summary
			memory_usage_log.query
		pulls.error api_tokens.name memory_origins.body memory_origins.versions team_conflicts.theirs
			team_conflicts.resolution
		team_requests.answer`,
	names: `groups.group_id groups.team runs.session_id messages.session_id memories.session_id message_uses.session_id
		sessions.session_id
		session_summaries.session_id memory_usage_log.session_id pulls.source pulls.chat_id team_links.remote
			team_conflicts.remote
		team_requests.request_key memory_origins.deployment memory_origins.origin_group_id`,
	authors: `messages.author_id memory_evidence.author_id entity_evidence.author_id`,
	messages: `run_chunks.message_ids messages.message_id messages.reply_to memory_evidence.message_id
		message_uses.message_id
		entity_evidence.message_id session_summaries.first_message_id session_summaries.last_message_id`,
	fixed: `groups.time_zone groups.language groups.day_boundary groups.impressions groups.session_silence
		groups.dream_idle groups.dream_sessions
		groups.dream_interval leases.lease_name leases.holder runs.job runs.status runs.model runs.prompt_version
			runs.prompt_sha256
		run_chunks.input_sha256 run_chunks.status messages.role messages.outcome messages.filter memories.kind
			memories.status memories.content_hash
		memories.embedding_model memory_evidence.action memory_change_log.action held_plans.kind held_plans.status
			llm_calls.purpose
		llm_calls.provider llm_calls.model llm_calls.outcome embedding_cache.model embedding_cache.content_hash
			past_calendars.time_zone
		past_calendars.day_boundary setbacks.job answers.input_sha256 answers.purpose decisions.kind decisions.content_hash
			decisions.action
		decisions.basis decisions.model decisions.prompt_version decisions.prompt_sha256 message_uses.job entities.kind
			entities.status
		entity_names.kind entity_names.name_key entity_claims.aspect entity_claims.name_key entity_claims.content_hash
			entity_claims.status
		entity_change_log.action entity_observations.reason entity_observations.status memory_uses.job api_tokens.token_id
			api_tokens.scope
		page_sessions.token_id team_links.body_sha256 team_conflicts.status team_requests.body_sha256 erasures.counts
			rejudgements.reason past_rejudgements.reason`,
})

func columnTreatments(lists map[treatment]string) map[string]treatment {
	all := map[string]treatment{}
	for t, list := range lists {
		for _, name := range strings.Fields(list) {
			all[name] = t
		}
	}
	return all
}

// textColumnsQuery lists the columns of all tables with groups in them that can hold
// text, and the keys by which their rows are found.
const textColumnsQuery = `select c.relname as "table", a.attname as "column", format_type(a.atttypid, null) as "type",
		a.attnum = any (coalesce(i.indkey::int2[], '{}')) as key,
		a.atttypid in ('json'::regtype, 'jsonb'::regtype) or y.typcategory = 'S' or y.typelem <> 0
			and e.typcategory = 'S' as text,
		coalesce(y.typcategory = 'A', false) as list
	from pg_class c
	join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
	join pg_type y on y.oid = a.atttypid
	left join pg_type e on e.oid = y.typelem
	left join pg_index i on i.indrelid = c.oid and i.indisprimary
	where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
		and exists (select 1 from pg_attribute g where g.attrelid = c.oid and g.attname = 'group_id' and not g.attisdropped)
	order by c.relname, a.attnum`

// textColumn is a column that can hold text, or one of its table's key.
type textColumn struct {
	Table, Column, Type string
	Key, Text, List     bool
}

func (c textColumn) name() string { return c.Table + "." + c.Column }

func (c textColumn) isJSON() bool { return c.List || strings.HasPrefix(c.Type, "json") }

// authorNames are the names that messages were written under: of another account one is
// its own, and stays.
var authorNames = map[string]bool{"messages.author": true, "memory_evidence.author": true,
	"entity_evidence.author": true}

// read is an expression that reads the column as text: a list or a document as JSON.
func (c textColumn) read() string {
	if authorNames[c.name()] {
		return "case when t.author_id = '' then t." + c.Column + " end"
	}
	if c.isJSON() {
		return "to_jsonb(t." + c.Column + ")::text"
	}
	return "t." + c.Column + "::text"
}

// write is an expression that makes the column's value of such text.
func (c textColumn) write(from string) string {
	switch {
	case c.List:
		return "array(select x from jsonb_array_elements_text(" + from + "::jsonb) with ordinality as l (x, no) order by no)"
	case c.isJSON():
		return from + "::" + c.Type
	case authorNames[c.name()]:
		return "case when t.author_id = '' then " + from + " else t." + c.Column + " end"
	}
	return from
}

// textTable is a table with its columns that can hold text.
type textTable struct {
	name string
	key  []textColumn // of the primary key, group_id left out
	text []textColumn
}

// textTables reads them from the catalogue, so that a column that is added later is
// searched, too.
func textTables(ctx context.Context, t *pg.Tx) ([]textTable, error) {
	var rows []textColumn
	if err := t.Select(ctx, &rows, textColumnsQuery); err != nil {
		return nil, err
	}
	var list []textTable
	for _, r := range rows {
		if len(list) == 0 || list[len(list)-1].name != r.Table {
			list = append(list, textTable{name: r.Table})
		}
		of := &list[len(list)-1]
		if r.Key && r.Column != "group_id" {
			of.key = append(of.key, r)
		}
		if r.Text && (r.Column != "group_id" || r.Table == "groups") {
			of.text = append(of.text, r)
		}
	}
	return list, nil
}

// of are the columns that are treated in one of these ways.
func (t textTable) of(ways ...treatment) textTable {
	some := textTable{name: t.name, key: t.key}
	for _, c := range t.text {
		for _, way := range ways {
			if Columns[c.name()] == way {
				some.text = append(some.text, c)
			}
		}
	}
	return some
}
