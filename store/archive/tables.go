package archive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/store"
)

// recordTable says how rows of a table become records, and records rows.
type recordTable struct {
	kind    reverie.RecordType
	table   string
	from    string            // what is exported, as t; "" = the table
	beside  string            // what a record is compared with, as t; "" = the table
	columns []string          // all that is exported, the key included; group_id is not
	reads   map[string]string // of columns that are not exported as they are
	loose   []string          // columns that may differ from those of a row that is there
	before  string            // JSON: columns that records did not always have, as they are then; "" = none
	order   string            // parents before children
	rules   []recordRule      // that the table does not have
}

// recordRule is an expression over the columns that is true of every record.
type recordRule struct {
	Name string `db:"name"` // of what it is about
	Expr string `db:"expr"`
}

// The runs that anything exported came from. One that is under way, or was when its
// process died, comes as one that failed: nobody will go on with it elsewhere.
const exportedRuns = `(select r.* from runs r where r.group_id = $1 and r.run_id in (
		select run_id from memories where group_id = $1
		union select run_id from memory_evidence where group_id = $1
		union select run_id from memory_sources where group_id = $1
		union select run_id from memory_uses where group_id = $1
		union select run_id from memory_change_log where group_id = $1
		union select run_id from decisions where group_id = $1
		union select run_id from held_plans where group_id = $1))`

// The chunks that decisions and held plans hang on.
const exportedChunks = `(select c.* from run_chunks c where c.group_id = $1 and (
		exists (select 1 from decisions d where d.group_id = $1 and d.run_id = c.run_id and d.chunk_no = c.chunk_no)
		or exists (select 1 from held_plans h where h.group_id = $1 and h.run_id = c.run_id and h.chunk_no = c.chunk_no)))`

// Uses are exported as sums, be they in the log or pruned from it.
const exportedUsage = `(select lineage_id, sum(offered)::bigint as offered, sum(referenced)::bigint as referenced,
			sum(ignored)::bigint as ignored, max(last_offered_at) as last_offered_at
		from (select lineage_id, count(*) as offered, count(*) filter (where was_referenced) as referenced,
				count(*) filter (where not was_referenced) as ignored, max(created_at) as last_offered_at
			from memory_usage_log where group_id = $1 group by lineage_id
			union all select lineage_id, offered, referenced, ignored, last_offered_at from memory_usage_totals
				where group_id = $1) u
		group by lineage_id)`

// recordTables are those of all types but the group itself, in the order of
// reverie.RecordTypes. A vector is beside its row.
var recordTables = []recordTable{
	{
		kind: reverie.RecordRun, table: "runs", from: exportedRuns, order: "t.run_id",
		columns: []string{"run_id", "job", "session_id", "window_since", "window_until", "status", "attempt", "model",
			"prompt_version",
			"prompt_sha256", "stats", "error", "started_at", "finished_at", "undone_at"},
		reads: map[string]string{
			"status":      "case when t.status = 'running' then 'failed' else t.status end",
			"error":       "case when t.status = 'running' then 'it was under way when it was exported' else t.error end",
			"finished_at": "coalesce(t.finished_at, t.started_at)",
		},
		loose: []string{"status", "stats", "error", "finished_at"},
	},
	{
		kind: reverie.RecordChunk, table: "run_chunks", from: exportedChunks, order: "t.run_id, t.chunk_no",
		columns: []string{"run_id", "chunk_no", "input_sha256", "message_ids", "memory_ids", "status", "refusals",
			"created_at"},
		before: `{"memory_ids": []}`,
		loose:  []string{"status", "refusals"},
	},
	{
		kind: reverie.RecordHeld, table: "held_plans", order: "t.run_id, t.chunk_no",
		columns: []string{"run_id", "chunk_no", "kind", "plan", "heads", "whole", "reason", "status", "created_at"},
	},
	{
		kind: reverie.RecordMemory, table: "memories", order: "t.lineage_id, t.version",
		columns: []string{"memory_id", "lineage_id", "parent_id", "kind", "session_id", "statement", "version", "status",
			"tags",
			"strength", "weight", "content_hash", "embedding_model", "change_summary", "run_id", "created_at", "updated_at",
			"ended_at",
			"last_supported_at", "decayed_at"},
		reads: map[string]string{"embedding_model": "case when $2::bool then t.embedding_model else '' end"},
		loose: []string{"embedding_model"},
	},
	{
		kind: reverie.RecordSource, table: "memory_sources", order: "t.memory_id, t.position, t.source_id",
		columns: []string{"memory_id", "position", "source_id", "source_lineage_id", "run_id"},
	},
	{
		kind: reverie.RecordTaken, table: "memory_uses", order: "t.job, t.memory_id",
		columns: []string{"job", "memory_id", "run_id"},
		loose:   []string{"run_id"}, // it was given back, and taken in anew
	},
	{
		kind: reverie.RecordEvidence, table: "memory_evidence", order: "t.evidence_no",
		columns: []string{"evidence_no", "lineage_id", "memory_id", "message_id", "author_id", "author", "quote", "sent_at",
			"local_date", "action", "run_id", "created_at", "withdrawn_at"},
		rules: []recordRule{{"evidence_no", "evidence_no between 1 and 1::bigint << 53"}},
		// what JSON keeps, with room to count on
	},
	{
		kind: reverie.RecordChange, table: "memory_change_log", order: "t.created_at, t.change_id",
		columns: []string{"change_id", "run_id", "chunk_no", "action", "memory_id", "old_id", "old_statement",
			"new_statement",
			"change_summary", "version", "evidence", "created_at", "strength", "undone_run_id"},
		before: `{"undone_run_id": null}`,
	},
	{
		kind: reverie.RecordDecision, table: "decisions",
		order: "t.run_id, t.chunk_no, t.decision_no",
		columns: []string{"run_id", "chunk_no", "decision_no", "kind", "statement", "content_hash", "action", "basis",
			"target_id",
			"memory_id", "planned_id", "reason", "candidates", "model", "prompt_version", "prompt_sha256", "calls",
			"created_at"},
	},
	{
		kind: reverie.RecordUsage, table: "memory_usage_totals", from: exportedUsage, beside: exportedUsage,
		order:   "t.lineage_id",
		columns: []string{"lineage_id", "offered", "referenced", "ignored", "last_offered_at"},
		loose:   []string{"offered", "referenced", "ignored", "last_offered_at"}, // they count on
		rules:   []recordRule{{"counts", "least(offered, referenced, ignored) >= 0 and referenced + ignored <= offered"}},
	},
}

// key is the primary key after group_id.
func (r recordTable) key() []string { return store.ExportedKeys[r.table] }

// recordTableOf is the table of a type.
func recordTableOf(kind reverie.RecordType) (recordTable, error) {
	i := slices.IndexFunc(recordTables, func(r recordTable) bool { return r.kind == kind })
	if i < 0 {
		return recordTable{}, fmt.Errorf("%q is no type of record: %w", kind, reverie.ErrInvalid)
	}
	return recordTables[i], nil
}

// columnNames are the columns of q, each with its prefix.
func columnNames(prefix string, columns []string) string {
	return prefix + strings.Join(columns, ", "+prefix)
}

// source is what, or, where that is empty, the rows of group $1 in the table.
func (r recordTable) source(what string) string {
	return cmp.Or(what, "(select * from "+r.table+" where group_id = $1)")
}

// exportQuery reads all records of group $1, with vectors where $2 is true.
func (r recordTable) exportQuery() string {
	columns := make([]string, len(r.columns))
	for i, c := range r.columns {
		columns[i] = "t." + c
		if read, ok := r.reads[c]; ok {
			columns[i] = read + " as " + c
		}
	}
	vector := "null::bytea"
	if r.kind == reverie.RecordMemory {
		vector = "vector_send(t.embedding)"
	}
	return `select (select row_to_json(c)::text from (select ` + strings.Join(columns, ", ") + `) c) as record,
		case when $2::bool then ` + vector + ` end as vector from ` + r.source(r.from) + ` t order by ` + r.order
}

// rows are the records of parameter $2, a JSON array, as r, completed where they
// are of an earlier version of the form.
func (r recordTable) rows() string {
	otherwise := `null::` + r.table
	if r.before != "" {
		otherwise = `json_populate_record(` + otherwise + `, '` + r.before + `')`
	}
	return `json_populate_recordset(` + otherwise + `, $2::json) r`
}

// same joins a row that is there, t, with its record, r.
func (r recordTable) same() string {
	var on []string
	for _, k := range r.key() {
		on = append(on, "t."+k+" = r."+k)
	}
	return strings.Join(on, " and ")
}

// compareQuery finds the records of $2 that group $1 has, and says in which columns
// those differ.
func (r recordTable) compareQuery() string {
	var key, differs []string
	for _, c := range r.columns {
		switch {
		case slices.Contains(r.key(), c):
			key = append(key, "r."+c+"::text")
		case !slices.Contains(r.loose, c):
			differs = append(differs, `case when t.`+c+` is distinct from r.`+c+` then '`+c+`' end`)
		}
	}
	return `select concat_ws(', ', ` + strings.Join(key, ", ") + `) as key,
			array_to_string(array[` + strings.Join(append(differs, "null"), ", ") + `]::text[], ', ') as differs
		from ` + r.rows() + ` join ` + r.source(r.beside) + ` t on ` + r.same() + ` order by 1`
}

// insertQuery writes the records of $2 that group $1 does not have, those of
// versions with the vectors of $3 and $4.
func (r recordTable) insertQuery() string {
	columns, values, from := "group_id, "+columnNames("", r.columns), "$1, "+columnNames("r.", r.columns), r.rows()
	if r.kind == reverie.RecordMemory {
		columns, values = columns+", embedding", values+", v.embedding"
		from += ` left join unnest($3::uuid[], $4::vector[]) as v (id, embedding) on v.id = r.memory_id`
	}
	return `insert into ` + r.table + ` (` + columns + `) overriding system value select ` + values + ` from ` + from + `
		where not exists (select 1 from ` + r.source(r.beside) + ` t where ` + r.same() + `)
		on conflict (group_id, ` + columnNames("", r.key()) + `) do nothing`
}

// The rules of a table's rows, but those of a vector, which is beside its row.
const rulesQuery = `
	select substr(conname, length($1) + 2) as name, pg_get_expr(conbin, conrelid) as expr from pg_constraint c
	where conrelid = $1::regclass and contype = 'c'
		and not exists (select 1 from pg_attribute a where a.attrelid = c.conrelid and a.attnum = any (c.conkey)
			and a.attname = 'embedding')
	union all
	select attname, quote_ident(attname) || ' is not null' from pg_attribute
	where attrelid = $1::regclass and attnum > 0 and attnotnull and not attisdropped and attname = any ($2::text[])
	order by 1, 2`

// brokenQuery names the first of the records of $2 that does not hold to the rules,
// and which ones.
func (r recordTable) brokenQuery(rules []recordRule) string {
	breaks := make([]string, len(rules))
	for i, rule := range rules {
		breaks[i] = `case when not (` + rule.Expr + `) then '` + rule.Name + `' end`
	}
	return `select * from (select concat_ws(', ', ` + columnNames("r.", r.key()) + `) as key,
			array_to_string(array[` + strings.Join(breaks, ", ") + `]::text[], ', ') as differs
		from ` + r.rows() + `) x where $1 <> '' and differs <> '' limit 1`
}

// Another memory may stand where a version of the file would: its place in the
// lineage, the lineage's head, or its text among the active ones.
const takenQuery = `with r as materialized (
		select memory_id, lineage_id, version, status, kind, content_hash from json_populate_recordset(null::memories,
			$2::json)),
	t as not materialized (select * from memories where group_id = $1)
	select r.memory_id, t.memory_id as other, true as lineage from r join t using (lineage_id, version)
		where t.memory_id <> r.memory_id
	union all select r.memory_id, t.memory_id, true from r join t using (lineage_id, status)
		where t.memory_id <> r.memory_id and t.status = 'active'
	union all select r.memory_id, t.memory_id, false from r join t using (kind, content_hash, status)
		where t.memory_id <> r.memory_id and t.status = 'active'
	order by lineage desc, memory_id, other limit 1`
