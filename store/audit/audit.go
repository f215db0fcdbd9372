package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/lazyregexp"
	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// audit is an invariant in SQL. Both of its queries are about the groups from $1 to $2,
// by their ids, both included.
type audit struct {
	name    string
	says    string
	checked string // how many rows there are to check
	broken  string // group_id and what, of each row that is not as it should be
	// sound tells of a row that broken has found whether it is as it should be all the same:
	// what SQL cannot tell. It is handed the columns said and text. nil: none is.
	sound func(said, text string) bool
}

// audits are all invariants, in the order in which they are told of.
func audits() []audit {
	return slices.Concat(messageAudits, versionAudits, supportAudits, logAudits, runAudits, sessionAudits, dreamAudits, entityAudits, jsonAudits)
}

// auditGroups is how many groups one statement is about: enough to be worth a round
// trip, and few enough to stay far from the time that a statement may take.
const auditGroups = 100

const auditGroupsQuery = `select group_id from groups where case when $1 <> '' then group_id = $1 and $2 = '' else group_id > $2 end
	order by group_id limit $3::int`

// Audit holds a group, or all groups where none is named, to what must hold at every
// instant, whatever was killed, cut or restarted before, and while others work: in one
// snapshot, and without writing. It goes through the groups by hundreds, so that it takes
// time in proportion to what is stored and memory for what it finds. An unknown group is
// reverie.ErrNotFound, a table that may not be read reverie.ErrConfiguration.
func Run(ctx context.Context, db *pg.DB, groupID string) ([]reverie.Invariant, error) {
	var list []reverie.Invariant
	var name string // of the invariant that is looked at
	err := db.Run(ctx, pg.Work{What: "audit the database", ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		list, name = nil, ""
		if err := mayAudit(ctx, t); err != nil {
			return err
		}
		if groupID != "" {
			if _, err := store.GetGroup(ctx, t, groupID); err != nil {
				return err
			}
		}
		all := audits()
		for _, a := range all {
			list = append(list, reverie.Invariant{Name: a.name, Says: a.says, Violations: []reverie.Violation{}})
		}
		for after := ""; ; {
			var ids []string
			if err := t.Select(ctx, &ids, auditGroupsQuery, groupID, after, auditGroups); err != nil || len(ids) == 0 {
				return err
			}
			after = ids[len(ids)-1]
			for i, a := range all {
				name = a.name
				if err := a.look(ctx, t, ids[0], after, &list[i]); err != nil {
					return err
				}
			}
		}
	}})
	if err != nil && name != "" {
		err = fmt.Errorf("look whether %q holds: %w", name, err)
	}
	return list, err
}

// auditTables finds the tables that a query reads, and names of what it calls its own.
var auditTables = lazyregexp.New(`(?:from|join) ([a-z_]+)`)

// mayAuditQuery names the role of a transaction, and those of the tables $1 that it may not read.
const mayAuditQuery = `select quote_ident(current_user) as login, coalesce(string_agg(c.oid::regclass::text, ', ' order by c.relname), '') as hidden
	from pg_class c where c.oid in (select to_regclass(name) from unnest($1::text[]) as name) and not has_table_privilege(c.oid, 'select')`

// mayAudit tells of all tables at once that an audit cannot read, for a person who can grant it.
func mayAudit(ctx context.Context, t *pg.Tx) error {
	if err := store.MaySee(ctx, t); err != nil {
		return err
	}
	var names pq.StringArray
	if !store.IsConfined(ctx) {
		names = append(names, "goose_db_version") // by which a binary tells whether it knows the schema
	}
	text := auditGroupsQuery
	for _, a := range audits() {
		text += " " + a.checked + " " + a.broken
	}
	for _, m := range auditTables.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	var may struct {
		Login  string `db:"login"`
		Hidden string `db:"hidden"`
	}
	if err := t.Get(ctx, &may, mayAuditQuery, names); err != nil || may.Hidden == "" {
		return err
	}
	return fmt.Errorf("the role %[1]s may not read %[2]s, which an audit reads: %[3]w: have the owner of the tables run `grant select on %[2]s to %[1]s`",
		may.Login, may.Hidden, reverie.ErrConfiguration)
}

// look adds what is found of an invariant in some groups.
func (a audit) look(ctx context.Context, t *pg.Tx, first, last string, to *reverie.Invariant) error {
	var checked int
	if err := t.Get(ctx, &checked, a.checked, first, last); err != nil {
		return err
	}
	to.Checked += checked
	rows, err := t.QueryxContext(ctx, `select * from (`+a.broken+`) v order by 1, 2`, first, last)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	group, told := "", 0 // of it
	for rows.Next() {
		var v reverie.Violation
		var said, text string
		into := []any{&v.GroupID, &v.What}
		if a.sound != nil {
			into = append(into, &said, &text)
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if a.sound != nil && a.sound(said, text) {
			continue
		}
		if v.GroupID != group {
			group, told = v.GroupID, 0
		}
		to.Violated++
		if told++; told <= reverie.MaxGroupViolations && len(to.Violations) < reverie.MaxViolations {
			to.Violations = append(to.Violations, v)
		}
	}
	return rows.Err()
}

const (
	// auditedGroups is true of rows x of the groups that are audited.
	auditedGroups = `x.group_id between $1 and $2`

	// neverErased is true of rows x of a group in which nothing was erased: what is
	// counted there was not taken away since.
	neverErased = `not exists (select 1 from erasures e where e.group_id = x.group_id)`

	// askedHere is true of runs r that have asked a model in this database: those that came
	// with an export have not.
	askedHere = `exists (select 1 from llm_calls l where l.group_id = r.group_id and l.run_id = r.run_id)`

	// madeHere is askedHere of the run of rows x.
	madeHere = `exists (select 1 from llm_calls l where l.group_id = x.group_id and l.run_id = x.run_id)`
)
