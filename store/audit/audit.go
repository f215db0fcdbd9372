// Package audit checks the invariants of the database.
package audit

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
)

//go:embed invariants.toml
var invariantsFile string

// invariant is an entry of invariants.toml, which explains its fields.
type invariant struct{ Name, Says, Checked, Broken, Sound string }

// invariants returns all of them, in the order of the report.
var invariants = sync.OnceValue(func() []invariant {
	return text.ReadTOML[struct{ Invariant []invariant }](invariantsFile).Invariant
})

// sounds are functions that check what SQL cannot, by their name in invariants.toml. They report whether a row that the
// query broken has found is correct after all.
var sounds = map[string]func(said, text string) bool{
	"quote": stands,
	"content hash": func(of, statement string) bool {
		hash, session, _ := strings.Cut(of, " ")
		return slices.Contains([]string{text.ContentHash(statement), text.SummaryHash(session, statement),
			text.SummaryHash("", statement)}, hash)
	},
}

// stands reports whether a message contains a quote, as stored or as a model was shown it. It may have been masked by
// any policy of [privacy] pii.
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

// groupsAtOnce is how many groups one statement checks: enough to be worth a round trip, and few enough to stay far
// from the statement timeout.
const groupsAtOnce = 100

const groupsQuery = `select group_id from groups where case when $1 <> '' then group_id = $1 and $2 = ''
	else group_id > $2 end
	order by group_id limit $3::int`

// Run checks the invariants of one group, or of all groups if none is named. They hold at every instant, also after
// kills and restarts, and while other processes write. It reads in one snapshot and writes nothing. It checks the
// groups in pages. So its time grows with the stored rows, and its memory only with the violations. An unknown group is
// reverie.ErrNotFound; a table that it may not read is reverie.ErrConfiguration.
func Run(ctx context.Context, db *pg.DB, groupID string) ([]reverie.Invariant, error) {
	var list []reverie.Invariant
	var login, name string // the role that reads, and the invariant that is checked
	err := db.Run(ctx, pg.Work{What: "audit the database", ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		list, name = nil, ""
		if err := store.MaySee(ctx, t); err != nil {
			return err
		}
		if err := t.Get(ctx, &login, `select quote_ident(current_user)`); err != nil {
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
	if answer := pg.ServerError(err); answer != nil {
		if table, denied := strings.CutPrefix(answer.Message, "permission denied for table "); denied {
			err = fmt.Errorf("%w: have the owner of the table run `grant select on %s to %s`", err, table, login)
		}
	}
	switch {
	case err != nil && name != "":
		return nil, fmt.Errorf("look whether %q holds: %w", name, err)
	case err != nil:
		return nil, err
	}
	return list, nil
}

// check adds the violations of an invariant in some groups.
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
	group, told := "", 0 // the last group, and its violations so far
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
