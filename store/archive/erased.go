package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// erasedRecordsQuery says which of the ids of memories $2 and of messages $3 were erased.
const erasedRecordsQuery = `select id::text from erased_memories where group_id = $1 and id::text = any ($2::text[])
	union all select k.id from unnest($3::text[]) as k (id) where exists (
		select 1 from erased_messages e where e.group_id = $1 and e.message_sha256 = ` + store.ErasedMessageHash + `)`

// withoutErased drops the records of one type that are of a memory that was erased, or of
// a row that an erasure has changed, and takes the evidence of messages that were erased out of the others.
func withoutErased(ctx context.Context, t *pg.Tx, groupID string, records []reverie.Record) ([]reverie.Record, error) {
	var some bool
	if err := t.Get(ctx, &some, `select exists (select 1 from erasures
		where group_id = $1)`, groupID); err != nil || !some {
		return records, err
	}
	table, err := recordTableOf(records[0].Type)
	if err != nil {
		return nil, err
	}
	docs := make([]map[string]any, len(records))
	memories, messages := pq.StringArray{}, pq.StringArray{}
	for i, r := range records {
		dec := json.NewDecoder(bytes.NewReader(r.Row))
		dec.UseNumber()
		if err := dec.Decode(&docs[i]); err != nil {
			return records, nil // whoever checks the rows will say so
		}
		for _, name := range erasedKeys {
			if id, ok := docs[i][name].(string); ok {
				memories = append(memories, id)
			}
		}
		memories = append(memories, recordMark(table, docs[i]))
		citedIn(docs[i], &messages)
	}
	var ids []string
	if err := t.Select(ctx, &ids, erasedRecordsQuery, groupID, memories, messages); err != nil {
		return nil, err
	}
	erased := map[string]bool{}
	for _, id := range ids {
		erased[id] = true
	}
	var kept []reverie.Record
	for i, r := range records {
		if dropped(docs[i], erased) || erased[recordMark(table, docs[i])] {
			continue
		}
		if changed := false; strip(docs[i], erased, &changed) != nil && changed {
			row, err := json.Marshal(docs[i])
			if err != nil {
				return nil, err
			}
			r.Row = row
		}
		kept = append(kept, r)
	}
	return kept, nil
}

// erasedKeys name the memories that a record is of.
var erasedKeys = []string{"memory_id", "lineage_id", "old_id", "source_id", "source_lineage_id", "target_id"}

func dropped(row map[string]any, erased map[string]bool) bool {
	for _, name := range append([]string{"message_id"}, erasedKeys...) {
		if id, ok := row[name].(string); ok && erased[id] {
			return true
		}
	}
	return false
}

// citedIn collects the messages that are named anywhere in a document.
func citedIn(doc any, to *pq.StringArray) {
	switch v := doc.(type) {
	case []any:
		for _, item := range v {
			if id, ok := item.(string); ok {
				*to = append(*to, id)
			}
			citedIn(item, to)
		}
	case map[string]any:
		if id, ok := v["message_id"].(string); ok {
			*to = append(*to, id)
		}
		for _, item := range v {
			citedIn(item, to)
		}
	}
}

// strip takes out of a document's lists what is erased.
func strip(doc any, erased map[string]bool, changed *bool) any {
	switch v := doc.(type) {
	case []any:
		kept := []any{}
		for _, item := range v {
			id, _ := item.(string)
			o, _ := item.(map[string]any)
			if erased[id] || o != nil && dropped(o, erased) {
				*changed = true
				continue
			}
			kept = append(kept, strip(item, erased, changed))
		}
		return kept
	case map[string]any:
		for name, item := range v {
			v[name] = strip(item, erased, changed)
		}
	}
	return doc
}

// recordMark is the mark of the row that a record would be.
func recordMark(table recordTable, row map[string]any) string {
	key := make([]string, len(table.key()))
	for i, name := range table.key() {
		key[i] = fmt.Sprint(row[name])
		if n, ok := row[name].(json.Number); ok {
			key[i] = n.String()
		}
	}
	return store.RowMark(table.Name, key...)
}
