package archive

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// CompareRecords reports which records of one group are new to it. It writes nothing. A record that exists with other
// content, or whose place another memory has, is reverie.ErrConflict. A record that the tables cannot hold is
// reverie.ErrInvalid; the error names it. An existing group may have other settings: it keeps its own, and the result
// lists the differences.
func (s *Archive) CompareRecords(ctx context.Context, groupID string, records []reverie.Record) (reverie.RecordResult,
	error) {
	return s.takeRecords(ctx, fmt.Sprintf("compare records of group %q", groupID), groupID, records, true)
}

// WriteRecords writes the records of one group that it does not have, in order and in one transaction. The record of a
// group comes before its content. See [Archive.CompareRecords] for the errors; after an error nothing is written.
func (s *Archive) WriteRecords(ctx context.Context, groupID string, records []reverie.Record) (reverie.RecordResult,
	error) {
	return s.takeRecords(ctx, fmt.Sprintf("write records of group %q", groupID), groupID, records, false)
}

func (s *Archive) takeRecords(ctx context.Context, what, groupID string, records []reverie.Record,
	compare bool) (reverie.RecordResult, error) {
	var res reverie.RecordResult
	err := s.db.Run(ctx, pg.Work{What: what, ReadOnly: compare, Do: func(ctx context.Context, t *pg.Tx) error {
		res = reverie.RecordResult{}
		for rest := records; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].Type == rest[0].Type {
				n++
			}
			part, err := s.takeAlike(ctx, t, groupID, rest[:n], compare)
			if err != nil {
				return err
			}
			res.Add(part)
			rest = rest[n:]
		}
		return nil
	}})
	return res, err
}

// takeAlike compares or writes records of one type.
func (s *Archive) takeAlike(ctx context.Context, t *pg.Tx, groupID string, records []reverie.Record,
	compare bool) (reverie.RecordResult, error) {
	var res reverie.RecordResult
	kind := records[0].Type
	if kind == reverie.RecordGroup {
		for _, r := range records {
			one, err := takeGroup(ctx, t, groupID, r, compare)
			if err != nil {
				return res, err
			}
			res.Add(one)
		}
		return res, nil
	}
	table, err := recordTableOf(kind)
	if err != nil {
		return res, err
	}
	kept, err := withoutErased(ctx, t, table, groupID, records)
	if err != nil {
		return res, err
	}
	count := reverie.RecordCount{Erased: len(records) - len(kept)}
	if len(kept) > 0 {
		count.Known, err = s.takeBatch(ctx, t, recordBatch{table: table, groupID: groupID, records: kept}, compare)
		count.New = len(kept) - count.Known
	}
	res.Counts = map[reverie.RecordType]reverie.RecordCount{kind: count}
	return res, err
}

// takeBatch compares or writes a batch. It returns how many of the records exist already.
func (s *Archive) takeBatch(ctx context.Context, t *pg.Tx, b recordBatch, compare bool) (known int, err error) {
	if err := b.check(); err != nil {
		return 0, err
	}
	if err := b.checkRules(ctx, t); err != nil {
		return 0, err
	}
	if compare {
		return b.compare(ctx, t)
	}
	args := []any{b.groupID, b.json()}
	if b.table.Kind == reverie.RecordMemory {
		ids, vectors := b.vectors()
		array, err := t.Vectors(ctx, vectors)
		if err != nil {
			return 0, err
		}
		args = append(args, ids, array)
	}
	n, err := t.ExecRows(ctx, b.table.insertQuery(), args...)
	if err != nil || n == len(b.records) {
		return len(b.records) - n, err
	}
	found, err := b.compare(ctx, t)
	if err == nil && found != len(b.records) {
		err = fmt.Errorf("%d of %d %s records are missing after they were written: %w", len(b.records)-found,
			len(b.records), b.table.Kind, reverie.ErrConflict)
	}
	return len(b.records) - n, err
}

// recordBatch is a batch of records of one type and one group.
type recordBatch struct {
	table   recordTable
	groupID string
	records []reverie.Record
}

// check refuses rows with unknown or missing columns. It also refuses vectors of length zero or without a model.
func (b recordBatch) check() error {
	want := slices.Sorted(slices.Values(b.table.Columns))
	for _, r := range b.records {
		var row map[string]json.RawMessage
		if err := json.Unmarshal(r.Row, &row); err != nil {
			return fmt.Errorf("a %s record is not a row: %w: %w", r.Type, err, reverie.ErrInvalid)
		}
		if !slices.Equal(slices.Sorted(maps.Keys(row)), want) {
			return fmt.Errorf("its %s records are of the form of another version: import it with the binary that wrote it, "+
				"and export it again with this one: %w", r.Type, reverie.ErrInvalid)
		}
		if r.Type != reverie.RecordMemory {
			continue
		}
		var model string
		if err := json.Unmarshal(row["embedding_model"], &model); err != nil || (model == "") != (len(r.Vector) == 0) {
			return fmt.Errorf("memory %s: a vector and its model come together: %w", row["memory_id"], reverie.ErrInvalid)
		}
		if len(r.Vector) > 0 {
			if err := store.CheckVector(model, r.Vector); err != nil {
				return fmt.Errorf("memory %s: %w", row["memory_id"], err)
			}
		}
	}
	return nil
}

// checkRules refuses rows that break a rule of the table.
func (b recordBatch) checkRules(ctx context.Context, t *pg.Tx) error {
	var rules []recordRule
	if err := t.Select(ctx, &rules, queries["rules"], b.table.Name, pq.StringArray(b.table.Columns)); err != nil {
		return err
	}
	var broken struct{ Key, Differs string }
	err := t.Get(ctx, &broken, b.table.brokenQuery(append(rules, b.table.Rules...)), b.groupID, b.json())
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s %s cannot be kept as it is, for its %s: %w", b.table.Kind, broken.Key, broken.Differs,
			reverie.ErrInvalid)
	}
	return err
}

// json returns the rows as one JSON array.
func (b recordBatch) json() string {
	var text strings.Builder
	for i, r := range b.records {
		text.WriteByte("[,"[min(i, 1)])
		text.Write(r.Row)
	}
	text.WriteByte(']')
	return text.String()
}

// vectors returns the vectors of versions that have one, with their ids.
func (b recordBatch) vectors() (ids pq.StringArray, vectors [][]float32) {
	ids = pq.StringArray{}
	for _, r := range b.records {
		var m struct {
			ID string `json:"memory_id"`
		}
		if len(r.Vector) > 0 && json.Unmarshal(r.Row, &m) == nil {
			ids, vectors = append(ids, m.ID), append(vectors, r.Vector)
		}
	}
	return ids, vectors
}

// compare returns how many of the records exist already. Any that differs is an error.
func (b recordBatch) compare(ctx context.Context, t *pg.Tx) (int, error) {
	var rows []struct{ Key, Differs string }
	if err := t.Select(ctx, &rows, b.table.compareQuery(), b.groupID, b.json()); err != nil {
		return 0, err
	}
	for _, r := range rows {
		if r.Differs != "" {
			return 0, fmt.Errorf("%s %s is there with other content (%s); an import never overwrites what has changed since, or is of another origin: %w",
				b.table.Kind, r.Key, r.Differs, reverie.ErrConflict)
		}
	}
	if b.table.Kind != reverie.RecordMemory {
		return len(rows), nil
	}
	var taken struct {
		ID      string `db:"memory_id"`
		Other   string
		Lineage bool
	}
	err := t.Get(ctx, &taken, queries["taken"], b.groupID, b.json())
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return len(rows), nil
	case err != nil:
		return 0, err
	case taken.Lineage:
		return 0, fmt.Errorf("memory %s: it has a newer version here, %s; an import never overwrites what has changed since: %w", taken.ID, taken.Other, reverie.ErrConflict)
	}
	return 0, fmt.Errorf("memory %s: memory %s is active and says the same; delete that one first: %w", taken.ID,
		taken.Other, reverie.ErrConflict)
}

// groupRecord is the row of a group's record.
type groupRecord struct {
	reverie.Group
	CreatedAt time.Time              `json:"created_at"`
	Past      []reverie.PastCalendar `json:"past"`
}

// takeGroup creates a group that does not exist, with its past calendars.
func takeGroup(ctx context.Context, t *pg.Tx, groupID string, r reverie.Record, compare bool) (reverie.RecordResult,
	error) {
	count := func(c reverie.RecordCount) reverie.RecordResult {
		return reverie.RecordResult{Counts: map[reverie.RecordType]reverie.RecordCount{reverie.RecordGroup: c}}
	}
	var g groupRecord
	dec := json.NewDecoder(strings.NewReader(string(r.Row)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&g); err != nil || g.ID != groupID || g.CreatedAt.IsZero() {
		return reverie.RecordResult{}, fmt.Errorf("the record of group %q cannot be read (%v): %w", groupID, err,
			reverie.ErrInvalid)
	}
	if err := g.Normalize(); err != nil {
		return reverie.RecordResult{}, err
	}
	var row string
	err := t.Get(ctx, &row, exportGroupQuery, groupID)
	if err == nil {
		var has groupRecord
		if err := json.Unmarshal([]byte(row), &has); err != nil {
			return reverie.RecordResult{}, err
		}
		res := count(reverie.RecordCount{Known: 1})
		if differs := differences(has.Group, g.Group); differs != "" {
			res.Kept = []string{fmt.Sprintf("group %q is there and keeps its own %s", groupID, differs)}
		}
		return res, nil
	}
	if !errors.Is(err, sql.ErrNoRows) || compare {
		return count(reverie.RecordCount{New: 1}), store.IgnoreNoRows(err)
	}
	if err := t.Exec(ctx, store.InsertGroupQuery, store.NewGroup(g.Group, g.CreatedAt)...); err != nil {
		return reverie.RecordResult{}, err
	}
	for _, p := range g.Past {
		if err := t.Exec(ctx, `insert into past_calendars (group_id, valid_until, time_zone, day_boundary) values ($1,
			$2, $3, $4)`,
			g.ID, p.ValidUntil, p.TimeZone, p.DayBoundary); err != nil {
			return reverie.RecordResult{}, err
		}
	}
	return count(reverie.RecordCount{New: 1}), nil
}

// differences names the settings that differ between two groups.
func differences(has, other reverie.Group) string {
	var names []string
	a, b := reflect.ValueOf(has), reflect.ValueOf(other)
	for i := range a.NumField() {
		name := a.Type().Field(i).Tag.Get("json")
		if name != "-" && !a.Field(i).Equal(b.Field(i)) {
			names = append(names, strings.ReplaceAll(name, "_", " "))
		}
	}
	return strings.Join(names, ", ")
}

// withoutErased removes the records of erased memories, and of rows that an erasure has changed. It removes the
// evidence of erased messages from the others.
func withoutErased(ctx context.Context, t *pg.Tx, table recordTable, groupID string,
	records []reverie.Record) ([]reverie.Record, error) {
	var some bool
	if err := t.Get(ctx, &some, `select exists (select 1 from erasures
		where group_id = $1)`, groupID); err != nil || !some {
		return records, err
	}
	docs := make([]map[string]any, len(records))
	memories, messages := pq.StringArray{}, pq.StringArray{}
	for i, r := range records {
		dec := json.NewDecoder(bytes.NewReader(r.Row))
		dec.UseNumber()
		if err := dec.Decode(&docs[i]); err != nil {
			return records, nil // the check of the rows reports it
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
	if err := t.Select(ctx, &ids, strings.ReplaceAll(queries["erased"], "{message_hash}", store.ErasedMessageHash), groupID, memories, messages); err != nil {
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

// erasedKeys are the keys that may name an erased memory.
var erasedKeys = []string{"memory_id", "lineage_id", "old_id", "source_id", "source_lineage_id", "target_id"}

func dropped(row map[string]any, erased map[string]bool) bool {
	for _, name := range append([]string{"message_id"}, erasedKeys...) {
		if id, ok := row[name].(string); ok && erased[id] {
			return true
		}
	}
	return false
}

// citedIn collects the ids of all messages in a document.
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

// strip removes erased items from the lists of a document.
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

// recordMark returns the mark of the row that a record would become.
func recordMark(table recordTable, row map[string]any) string {
	key := make([]string, len(table.key()))
	for i, name := range table.key() {
		key[i] = fmt.Sprint(row[name])
	}
	return store.RowMark(table.Name, key...)
}
