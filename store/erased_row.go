package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/lib/pq"

	"reverie/store/pg"
)

// A row that an erasure has changed is marked in erased_memories by a hash of its table
// and key, in the form of an id: what an older export has in its place is passed over.

// RowMark is the mark of a row whose key is those parts, in the order of its exportedKeys.
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
}

// ChangeMarkedRows runs an update of a table, x in it, and returns how many rows that changed,
// and, where they are exported, their marks.
func ChangeMarkedRows(ctx context.Context, t *pg.Tx, table, set string, args ...any) (int, pq.StringArray, error) {
	query := `update ` + table + ` x set ` + set
	key, ok := ExportedKeys[table]
	if !ok {
		n, err := t.Exec(ctx, query, args...)
		return n, nil, err
	}
	var marks pq.StringArray
	if err := t.Select(ctx, &marks, query+` returning concat_ws('/',
		`+"x."+strings.Join(key, ", x.")+`)`, args...); err != nil {
		return 0, nil, err
	}
	for i, of := range marks {
		marks[i] = RowMark(table, of)
	}
	return len(marks), marks, nil
}

// ErasedMessageHash is what is kept of the id of a message k of group $1 that was erased.
const ErasedMessageHash = `sha256(convert_to($1 || E'\n' || k.id, 'UTF8'))`

// EvidenceErased is why a memory is judged again.
const EvidenceErased = "evidence erased"
