package erase

import (
	"context"
	"fmt"
	"strings"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// scanPage is how many rows are read at once.
const scanPage = 200

// Texts hands over all words that the database has of a group, in one snapshot and page by
// page: of messages, memories in all versions, quotes, logs, answers, summaries, claims and
// whatever a column that is added later holds. Of a list or a JSON document it hands over
// each string by itself. Ids, and words of Reverie's own, are left out. A group that does
// not exist is reverie.ErrNotFound; an error of take ends it, and is returned as it is.
func (s *Eraser) Texts(ctx context.Context, groupID string, take func(reverie.StoredText) error) error {
	what := fmt.Sprintf("read the texts of group %q", groupID)
	var refused error
	err := s.db.Stream(ctx, "", func(ctx context.Context, t *pg.Tx) error {
		r := textReader{t: t, group: groupID, take: take}
		err := r.all(ctx)
		refused = r.refused
		return err
	})
	if refused != nil {
		return refused
	}
	return pg.Translate(ctx, err, what)
}

// textReader is one reading of a group's texts under way.
type textReader struct {
	t       *pg.Tx
	group   string
	take    func(reverie.StoredText) error
	refused error // by take
}

func (r *textReader) all(ctx context.Context) error {
	if _, err := store.GetGroup(ctx, r.t, r.group); err != nil {
		return err
	}
	tables, err := textTables(ctx, r.t)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if table = table.of(words); len(table.text) == 0 {
			continue
		}
		if err := r.table(ctx, table); err != nil {
			return fmt.Errorf("%s: %w", table.name, err)
		}
	}
	return nil
}

// table hands over a table's rows from behind a cursor.
func (r *textReader) table(ctx context.Context, table textTable) error {
	columns, key := []string{}, []string{}
	order := "t.group_id"
	for _, c := range table.text {
		columns = append(columns, "coalesce("+c.read()+", '')")
	}
	for _, k := range table.key {
		key = append(key, "t."+k.Column+"::text")
		order += ", t." + k.Column
	}
	columns = append(columns, "concat_ws(' ', "+strings.Join(append(key, "null"), ", ")+")")
	if _, err := r.t.Exec(ctx, `declare texts no scroll cursor for select array[`+strings.Join(columns, ", ")+`]
		from `+table.name+
		` t where t.group_id = $1 order by `+order, r.group); err != nil {
		return err
	}
	for {
		var page []pq.StringArray
		if err := r.t.Select(ctx, &page, fmt.Sprintf("fetch %d from texts", scanPage)); err != nil {
			return err
		}
		for _, row := range page {
			if err := r.row(table, row); err != nil {
				return err
			}
		}
		if len(page) < scanPage {
			_, err := r.t.Exec(ctx, `close texts`)
			return err
		}
	}
}

// row hands over the texts of one row, whose key comes last.
func (r *textReader) row(table textTable, row []string) error {
	for i, c := range table.text {
		texts := []string{row[i]}
		if c.isJSON() && row[i] != "" {
			doc, err := readJSON(row[i])
			if err != nil {
				return fmt.Errorf("%s of %s: %w", c.Column, row[len(row)-1], err)
			}
			texts = stringsOf(nil, doc)
		}
		for _, text := range texts {
			if text == "" {
				continue
			}
			if r.refused = r.take(reverie.StoredText{Table: table.name, Column: c.Column, Key: row[len(row)-1],
				Text: text}); r.refused != nil {
				return r.refused
			}
		}
	}
	return nil
}

// stringsOf appends the strings that stand in a document, the keys of objects left out.
func stringsOf(list []string, doc any) []string {
	switch v := doc.(type) {
	case string:
		list = append(list, v)
	case []any:
		for _, item := range v {
			list = stringsOf(list, item)
		}
	case map[string]any:
		for _, item := range v {
			list = stringsOf(list, item)
		}
	}
	return list
}
