package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/lib/pq"

	"reverie/internal/text"
	"reverie/store/pg"
)

// A row that an erasure has changed is marked in erased_memories by a hash of its table and key, in the form of an id.
// The import of an older export skips such a row.

// RowMark returns the mark of a row with this primary key, in the order of its ExportedKeys.
func RowMark(table string, key ...string) string {
	s := sha256.Sum256([]byte(table + "\n" + strings.Join(key, "/")))
	return fmt.Sprintf("%x-%x-%x-%x-%x", s[:4], s[4:6], s[6:8], s[8:10], s[10:16])
}

// ExportedKeys are the tables whose rows are exported, with their primary keys after group_id.
var ExportedKeys = map[string][]string{
	"runs":                {"run_id"},
	"run_chunks":          {"run_id", "chunk_no"},
	"held_plans":          {"run_id", "chunk_no"},
	"memories":            {"memory_id"},
	"memory_sources":      {"memory_id", "source_id"},
	"memory_uses":         {"job", "memory_id"},
	"memory_evidence":     {"evidence_no"},
	"memory_change_log":   {"change_id"},
	"decisions":           {"run_id", "chunk_no", "decision_no"},
	"memory_usage_totals": {"lineage_id"},
	"active_nights":       {"night"},
}

// ChangeMarkedRows runs an update of table x. It returns the number of changed rows and, for exported tables, their
// marks.
func ChangeMarkedRows(ctx context.Context, t *pg.Tx, table, set string, args ...any) (int, pq.StringArray, error) {
	query := `update ` + table + ` x set ` + set
	key, ok := ExportedKeys[table]
	if !ok {
		n, err := t.ExecRows(ctx, query, args...)
		return n, nil, err
	}
	var marks pq.StringArray
	if err := t.Select(ctx, &marks, query+` returning x.`+strings.Join(key, `::text || '/' || x.`)+`::text`, args...); err != nil {
		return 0, nil, err
	}
	for i, of := range marks {
		marks[i] = RowMark(table, of)
	}
	return len(marks), marks, nil
}

// ErasedMessageHash is the stored hash of the id of an erased message k of group $1.
const ErasedMessageHash = `sha256(convert_to($1 || E'\n' || k.id, 'UTF8'))`

// EvidenceErased is the reason for which a memory is judged again.
const EvidenceErased = "evidence erased"

const (
	// The versions of held memories that this settles. A version stays if an active one has exactly its text, for which
	// there is other evidence or a person's word.
	judgedVersionsQuery = `select m.memory_id from memories m
		join rejudgements q on q.group_id = $1 and q.lineage_id = m.lineage_id and q.reason = $3
		where m.group_id = $1 and m.lineage_id = any ($2::uuid[]) and m.status not in ('active', 'held')
			and m.statement <> $4
			and not exists (select 1 from memories n where n.group_id = $1 and n.lineage_id = m.lineage_id
				and n.status = 'active' and n.content_hash = m.content_hash)`

	// In a group without erasures, no row is marked.
	markRowsQuery = `insert into erased_memories (group_id, id, erasure_id)
		select r.group_id, x.id, r.erasure_id from unnest($2::uuid[]) as x (id)
		cross join (select group_id, erasure_id from erasures where group_id = $1 order by created_at desc, erasure_id
			limit 1) r
		on conflict do nothing`
)

// blankings remove the texts of versions $2 from memories and all copies. $3 replaces the text, $4 its hash, and $5 the
// reason of the change.
var blankings = []struct{ table, set string }{
	{"memories", `change_summary = $5 where group_id = $1 and parent_id = any ($2::uuid[]) and $3 <> $4`},
	{"memories", `statement = $3, content_hash = $4, tags = '{}', change_summary = $5, embedding = null,
		embedding_model = ''
		where group_id = $1 and memory_id = any ($2::uuid[])`},
	{"memory_change_log", `change_summary = $5, old_statement = case when old_id = any ($2::uuid[]) then $3
		else old_statement end,
			new_statement = case when memory_id = any ($2::uuid[]) and new_statement <> '' then $3 else new_statement end
		where group_id = $1 and $4 <> '' and (memory_id = any ($2::uuid[]) or old_id = any ($2::uuid[]))`},
	{"decisions", `statement = $3, content_hash = $4, reason = $5, candidates = '[]'
		where group_id = $1 and (memory_id = any ($2::uuid[]) or planned_id = any ($2::uuid[]))`},
	{"decisions", `candidates = (select jsonb_agg(case when (c->>'memory_id')::uuid = any ($2::uuid[])
				then c - 'reason' - 'merged' || jsonb_object(array['statement', $3::text]) else c end order by no)
			from jsonb_array_elements(candidates) with ordinality as l (c, no))
		where group_id = $1 and $4 <> $5 and exists (select 1 from jsonb_array_elements(candidates) c
			where (c->>'memory_id')::uuid = any ($2::uuid[]))`},
	{"held_plans", `plan = (select jsonb_agg(s
				|| case when (s->>'memory_id')::uuid = any ($2::uuid[]) then jsonb_object(array['statement', $3::text,
					'content_hash', $4::text, 'reason', $5::text]) else '{}' end
				|| case when (s#>>'{head,memory_id}')::uuid = any ($2::uuid[]) then jsonb_object(array['old_statement', $3::text,
					'reason', $5::text]) else '{}' end order by no)
			from jsonb_array_elements(plan) with ordinality as l (s, no))
		where group_id = $1 and exists (select 1 from jsonb_array_elements(plan) s
			where (s->>'memory_id')::uuid = any ($2::uuid[]) or (s#>>'{head,memory_id}')::uuid = any ($2::uuid[]))`},
}

// BlankVersions removes the texts of versions. It returns the number of changed rows by table, and their marks.
func BlankVersions(ctx context.Context, t *pg.Tx, groupID string, ids pq.StringArray, why string) (map[string]int,
	pq.StringArray, error) {
	rows := map[string]int{}
	var marks pq.StringArray
	for _, b := range blankings {
		n, some, err := ChangeMarkedRows(ctx, t, b.table, b.set, groupID, ids, text.Erased, text.ContentHash(text.Erased),
			why)
		if err != nil {
			return nil, nil, err
		}
		if marks = append(marks, some...); n > 0 {
			rows[b.table] += n
		}
	}
	return rows, marks, nil
}

// settleErased removes the texts of held memories whose evidence was erased, after they were judged or a person has
// decided on them.
func settleErased(ctx context.Context, t *pg.Tx, groupID string, lineages pq.StringArray) error {
	var ids pq.StringArray
	if err := t.Select(ctx, &ids, judgedVersionsQuery, groupID, lineages, EvidenceErased, text.Erased); err != nil ||
		len(ids) == 0 {
		return err
	}
	if err := t.Exec(ctx, `delete from embedding_cache where group_id = $1
		and content_hash in (select content_hash from memories where group_id = $1
			and memory_id = any ($2::uuid[]))`, groupID, ids); err != nil {
		return err
	}
	_, marks, err := BlankVersions(ctx, t, groupID, ids, "judged again: "+EvidenceErased)
	if err != nil {
		return err
	}
	return t.Exec(ctx, markRowsQuery, groupID, marks)
}
