// Package archive exports groups as records, and takes them back in.
package archive

import (
	"context"
	"encoding/json"
	"fmt"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// Archive reads and writes the records of groups.
type Archive struct{ db *pg.DB }

// New returns the archive of a database.
func New(db *pg.DB) *Archive { return &Archive{db} }

// RecordWriter takes an export as it comes: first of how many groups, then their
// records, group by group.
type RecordWriter interface {
	Begin(groups int) error
	Write(reverie.Record) error
}

const (
	// exportPage is how many rows are read at once.
	exportPage = 200

	exportGroupsQuery = `select group_id from groups where ($1 = '' or group_id = $1) and group_id > $2 order by group_id
		limit $3::int`

	exportGroupQuery = `select row_to_json(g)::text from (
		select ` + store.GroupColumns + `, created_at, (
			select coalesce(json_agg(json_build_object('valid_until', p.valid_until, 'time_zone', p.time_zone, 'day_boundary',
				p.day_boundary)
				order by p.valid_until), '[]') from past_calendars p where p.group_id = $1) as past
		from groups where group_id = $1) g`
)

// Export hands over all that is remembered, in one snapshot and in bounded memory:
// the groups by id, of each the records by type in the order of
// reverie.RecordTypes. Two exports of one state are the same. A group that does not
// exist is reverie.ErrNotFound. Errors of the writer are returned as they are.
func (s *Archive) Export(ctx context.Context, q reverie.ExportQuery, to RecordWriter) error {
	what := "export all groups"
	if q.GroupID != "" {
		what = fmt.Sprintf("export group %q", q.GroupID)
	}
	var refused error
	err := s.db.Stream(ctx, "; set local timezone = 'UTC'; set local extra_float_digits = 1", func(ctx context.Context,
		t *pg.Tx) error {
		e := exporter{t: t, query: q, to: to}
		err := e.all(ctx)
		refused = e.refused
		return err
	})
	if refused != nil {
		return refused
	}
	return pg.Translate(ctx, err, what)
}

// exporter is one export under way.
type exporter struct {
	t       *pg.Tx
	query   reverie.ExportQuery
	to      RecordWriter
	refused error // by the writer
}

func (e *exporter) all(ctx context.Context) error {
	var groups int
	if err := e.t.Get(ctx, &groups, `select count(*) from groups where ($1 = ''
		or group_id = $1)`, e.query.GroupID); err != nil {
		return err
	}
	if groups == 0 && e.query.GroupID != "" {
		return fmt.Errorf("group %q: %w", e.query.GroupID, reverie.ErrNotFound)
	}
	if e.refused = e.to.Begin(groups); e.refused != nil {
		return e.refused
	}
	for after := ""; ; {
		var ids []string
		if err := e.t.Select(ctx, &ids, exportGroupsQuery, e.query.GroupID, after, exportPage); err != nil {
			return err
		}
		for _, id := range ids {
			if err := e.group(ctx, id); err != nil {
				return err
			}
		}
		if len(ids) < exportPage {
			return nil
		}
		after = ids[len(ids)-1]
	}
}

func (e *exporter) group(ctx context.Context, id string) error {
	var row string
	if err := e.t.Get(ctx, &row, exportGroupQuery, id); err != nil {
		return err
	}
	if err := e.write(reverie.Record{GroupID: id, Type: reverie.RecordGroup, Row: json.RawMessage(row)}); err != nil {
		return err
	}
	for _, table := range recordTables {
		if err := e.table(ctx, id, table); err != nil {
			return fmt.Errorf("%s: %w", table.Name, err)
		}
	}
	return nil
}

// table hands over a group's rows of a table, page by page behind a cursor.
func (e *exporter) table(ctx context.Context, id string, table recordTable) error {
	if _, err := e.t.Exec(ctx, `declare records no scroll cursor for
		`+table.exportQuery(), id, !e.query.NoVectors); err != nil {
		return err
	}
	for {
		var rows []struct {
			Record string    `db:"record"`
			Vector pg.Vector `db:"vector"`
		}
		if err := e.t.Select(ctx, &rows, fmt.Sprintf("fetch %d from records", exportPage)); err != nil {
			return err
		}
		for _, r := range rows {
			if err := e.write(reverie.Record{GroupID: id, Type: table.Kind, Row: json.RawMessage(r.Record),
				Vector: r.Vector}); err != nil {
				return err
			}
		}
		if len(rows) < exportPage {
			_, err := e.t.Exec(ctx, `close records`)
			return err
		}
	}
}

func (e *exporter) write(r reverie.Record) error {
	e.refused = e.to.Write(r)
	return e.refused
}
