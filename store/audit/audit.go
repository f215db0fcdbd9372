// Package audit holds the database to its invariants.
package audit

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
)

//go:embed invariants.toml
var invariantsFile string

// invariant is one of invariants.toml, which says what its fields are.
type invariant struct{ Name, Says, Checked, Broken, Sound string }

// invariants are all of them, in the order in which they are told of.
var invariants = sync.OnceValue(func() []invariant {
	return text.ReadTOML[struct{ Invariant []invariant }](invariantsFile).Invariant
})

// sounds are the functions that clear rows which SQL cannot judge, by the name that
// invariants.toml calls them: is a row that broken has found as it should be all the same?
var sounds = map[string]func(said, text string) bool{
	"quote": stands,
	"content hash": func(of, statement string) bool {
		hash, session, _ := strings.Cut(of, " ")
		return slices.Contains([]string{text.ContentHash(statement), text.SummaryHash(session, statement),
			text.SummaryHash("", statement)}, hash)
	},
}

// stands tells whether a quote stands in a message, as that is stored or as a model was shown it: masked, by
// whichever policy of [privacy] pii there was.
func stands(quote, message string) bool {
	if text.VerifyQuote(quote, message) {
		return true
	}
	for _, policy := range []safety.PII{safety.PIIMask, safety.PIIRefuse, safety.PIIAllow} {
		if shown := (safety.Privacy{PII: policy}).Mask(message); shown != message && text.VerifyQuote(quote, shown) {
			return true
		}
	}
	return false
}

// groupsAtOnce is how many groups one statement is about: enough to be worth a round
// trip, and few enough to stay far from the time that a statement may take.
const groupsAtOnce = 100

const groupsQuery = `select group_id from groups where case when $1 <> '' then group_id = $1 and $2 = ''
	else group_id > $2 end
	order by group_id limit $3::int`

// Run holds a group, or all groups where none is named, to what must hold at every
// instant, whatever was killed, cut or restarted before, and while others work: in one
// snapshot, and without writing. It goes through the groups by hundreds, so that it takes
// time in proportion to what is stored and memory for what it finds. An unknown group is
// reverie.ErrNotFound, a table that may not be read reverie.ErrConfiguration.
func Run(ctx context.Context, db *pg.DB, groupID string) ([]reverie.Invariant, error) {
	var list []reverie.Invariant
	var name string // of the invariant that is looked at
	err := db.Run(ctx, pg.Work{What: "audit the database", ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		list, name = nil, ""
		if err := mayRead(ctx, t); err != nil {
			return err
		}
		if groupID != "" {
			if _, err := store.GetGroup(ctx, t, groupID); err != nil {
				return err
			}
		}
		for _, a := range invariants() {
			list = append(list, reverie.Invariant{Name: a.Name, Says: a.Says, Violations: []reverie.Violation{}})
		}
		for after := ""; ; {
			var ids []string
			if err := t.Select(ctx, &ids, groupsQuery, groupID, after, groupsAtOnce); err != nil || len(ids) == 0 {
				return err
			}
			after = ids[len(ids)-1]
			for i, a := range invariants() {
				name = a.Name
				if err := a.check(ctx, t, ids[0], after, &list[i]); err != nil {
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

// tableNames finds the tables that a query reads, and names of what it calls its own.
var tableNames = text.NewPattern(`(?:from|join) ([a-z_]+)`)

// mayReadQuery names the role of a transaction, and those of the tables $1 that it may not read.
const mayReadQuery = `select quote_ident(current_user) as login, coalesce(string_agg(c.oid::regclass::text, ', '
	order by c.relname), '') as hidden
	from pg_class c where c.oid in (select to_regclass(name) from unnest($1::text[]) as name)
		and not has_table_privilege(c.oid, 'select')`

// mayRead tells of all tables at once that an audit cannot read, for a person who can grant it.
func mayRead(ctx context.Context, t *pg.Tx) error {
	if err := store.MaySee(ctx, t); err != nil {
		return err
	}
	var names pq.StringArray
	if !store.IsConfined(ctx) {
		names = append(names, "goose_db_version") // by which a binary tells whether it knows the schema
	}
	text := groupsQuery
	for _, a := range invariants() {
		text += " " + a.Checked + " " + a.Broken
	}
	for _, m := range tableNames.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	var may struct {
		Login  string `db:"login"`
		Hidden string `db:"hidden"`
	}
	if err := t.Get(ctx, &may, mayReadQuery, names); err != nil || may.Hidden == "" {
		return err
	}
	return fmt.Errorf("the role %[1]s may not read %[2]s, which an audit reads: %[3]w: have the owner of the tables run `grant select on %[2]s to %[1]s`",
		may.Login, may.Hidden, reverie.ErrConfiguration)
}

// check adds what is found of an invariant in some groups.
func (a invariant) check(ctx context.Context, t *pg.Tx, first, last string, to *reverie.Invariant) error {
	var checked int
	if err := t.Get(ctx, &checked, a.Checked, first, last); err != nil {
		return err
	}
	to.Checked += checked
	rows, err := t.QueryContext(ctx, `select * from (`+a.Broken+`) v order by 1, 2`, first, last)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	group, told := "", 0 // of it
	for rows.Next() {
		var v reverie.Violation
		var said, quoted string
		into := []any{&v.GroupID, &v.What}
		sound := sounds[a.Sound]
		if sound != nil {
			into = append(into, &said, &quoted)
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if sound != nil && sound(said, quoted) {
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
