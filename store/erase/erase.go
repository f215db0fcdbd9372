// Package erase forgets a person in a group: it deletes or rewrites every row that holds something of them,
// and reads all columns again to prove it.
package erase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
)

// Eraser works on one database.
type Eraser struct{ db *pg.DB }

// New returns the eraser of a database.
func New(db *pg.DB) *Eraser { return &Eraser{db} }

// accountsQuery finds who has written under an id, or under a name. What was imported of
// a memory may have evidence of somebody of whom there are no messages.
const accountsQuery = `select group_id, author_id, array_agg(distinct author) filter (where author <> '') as names,
	sum(n)::int as messages
	from (select group_id, author_id, author, count(*) as n from messages
			where ($1 = '' or group_id = $1) and author_id <> '' and (author_id = $2 or author = $2) group by 1, 2, 3
		union all select distinct group_id, author_id, author, 0 from memory_evidence
			where ($1 = '' or group_id = $1) and author_id <> '' and (author_id = $2 or author = $2)
		union all select distinct group_id, author_id, author, 0 from entity_evidence
			where ($1 = '' or group_id = $1) and author_id <> '' and (author_id = $2 or author = $2)
		union all select distinct group_id, name, '', 0 from entity_names where ($1 = '' or group_id = $1) and kind = 'id'
			and name = $2) x
	group by group_id, author_id order by group_id, author_id`

// Accounts lists who has written in a group, or in any if groupID is "", under that id
// or, exactly, under that name. Where somebody has that id, who only goes by it as a name
// is not among them. Nobody is no error; an unknown group is reverie.ErrNotFound.
func (s *Eraser) Accounts(ctx context.Context, groupID, author string) ([]reverie.Account, error) {
	var list []reverie.Account
	err := s.db.Run(ctx, pg.Work{What: "look for an author", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		list = []reverie.Account{}
		if groupID != "" {
			if _, err := store.GetGroup(ctx, t, groupID); err != nil {
				return err
			}
		}
		var rows []struct {
			GroupID  string         `db:"group_id"`
			AuthorID string         `db:"author_id"`
			Names    pq.StringArray `db:"names"`
			Messages int            `db:"messages"`
		}
		if err := t.Select(ctx, &rows, accountsQuery, groupID, author); err != nil {
			return err
		}
		for _, r := range rows {
			list = append(list, reverie.Account{GroupID: r.GroupID, AuthorID: r.AuthorID, Names: append([]string{},
				r.Names...), Messages: r.Messages})
		}
		if slices.ContainsFunc(list, func(a reverie.Account) bool { return a.AuthorID == author }) {
			list = slices.DeleteFunc(list, func(a reverie.Account) bool { return a.AuthorID != author })
		}
		return nil
	}})
	return list, err
}

// Erase forgets an author in one group, in one transaction:
//
//   - Their messages are deleted, with all that is made of those alone: memories in all
//     versions, claims and entities, and what was kept of questions to a model that showed
//     them. That goes on into the team's memories that were made of such memories, which
//     end and say nothing any more.
//   - Memories that rest on others' messages as well lose their evidence, are held, and
//     wait to be judged again; what they rest on else is pending once more.
//   - In the words of others, text.Erased takes the place of the author's id and names
//     and of what they wrote.
//   - The ids of their messages, as hashes, and those of the memories that went keep them
//     from coming back. So do marks of the rows that were changed.
//
// At the end every text, array and JSON document that belongs to the group is read again.
// If anything of the author is left, the error is reverie.ErrConflict and says in which
// table and column, and nothing is changed. A dry run does all this and takes it back.
// Once another holder has taken the lease the error is reverie.ErrLeaseLost.
func (s *Eraser) Erase(ctx context.Context, lease reverie.Lease, q reverie.EraseQuery) (reverie.Erasure, error) {
	what := fmt.Sprintf("erase an author of group %q", q.GroupID) // whose name goes into no log
	if q.GroupID != lease.GroupID || q.AuthorID == "" {
		return reverie.Erasure{}, fmt.Errorf("%s: it needs the group's lease and an author's id: %w", what,
			reverie.ErrInvalid)
	}
	id := reverie.NewID()
	var e *eraser
	err := s.db.Run(ctx, pg.Work{
		What: what,
		Do: func(ctx context.Context, t *pg.Tx) error {
			e = &eraser{db: s.db, t: t, query: q, group: q.GroupID, id: id,
				counts: reverie.ErasureCounts{Deleted: map[string]int{},
					Changed: map[string]int{}, Left: []reverie.ErasureLeft{}}}
			if err := store.Fence(ctx, t, lease); err != nil {
				return err
			}
			if _, err := store.LockGroup(ctx, t, q.GroupID); err != nil { // nothing is imported meanwhile
				return err
			}
			var err error
			if e.at, err = store.NextTimestamp(ctx, s.db, t, q.GroupID); err != nil {
				return err
			}
			if err := e.erase(ctx); err != nil {
				return err
			}
			if q.DryRun {
				return store.ErrDryRun
			}
			return nil
		},
		Committed: store.CommittedUnder(lease, `select 1 from erasures where group_id = $1
			and erasure_id = $2`, q.GroupID, id),
	})
	if err != nil && !errors.Is(err, store.ErrDryRun) {
		return reverie.Erasure{}, err
	}
	receipt := reverie.Erasure{GroupID: q.GroupID, ID: id, DryRun: q.DryRun, CreatedAt: e.at, ErasureCounts: e.counts,
		Names: e.names}
	if q.DryRun || e.counts.Nothing() {
		receipt.ID = ""
	}
	return receipt, nil
}

// eraser is one erasure under way.
type eraser struct {
	db    *pg.DB
	t     *pg.Tx
	query reverie.EraseQuery
	group string // the tenant that is worked on: the group, or a team of its memories
	at    time.Time
	id    string

	messages pq.StringArray  // ids of the author's messages
	theirs   map[string]bool // the same
	names    []string
	traces   *text.Traces
	sessions pq.StringArray  // that they spoke in, or that are counted anew for another reason
	gone     map[string]bool // memories: lineages and versions
	marks    pq.StringArray  // of rows that were changed: see rowMark
	shared   pq.StringArray  // the group's lineages among a team's, while those are worked on
	left     map[string]int  // what the final check has found, by where
	counts   reverie.ErasureCounts
}

func (e *eraser) erase(ctx context.Context) error {
	if err := e.know(ctx); err != nil {
		return err
	}
	memories, err := e.memoriesOf(ctx)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return e.forgetAnswers(ctx, memories) },
		func(ctx context.Context) error { return e.forgetMemories(ctx, memories) },
		e.forgetPlans,
		e.forgetEntities,
		e.forgetTraffic,
		e.forgetMessages,
		func(ctx context.Context) error { return e.again(ctx, memories) },
		e.redactAll,
		e.countSessions,
		e.receipt,
		e.search,
		func(ctx context.Context) error { return e.forgetTeams(ctx, memories) },
		e.verdict,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// receipt writes what was done, and what may not come back.
func (e *eraser) receipt(ctx context.Context) error {
	if _, err := e.t.Exec(ctx, `insert into erasures (group_id, erasure_id, counts, created_at) values ($1, $2, '{}',
		$3)`,
		e.group, e.id, e.at); err != nil {
		return err
	}
	if _, err := e.t.Exec(ctx, `insert into erased_messages (group_id, message_sha256, erasure_id)
		select $1, `+store.ErasedMessageHash+`, $3::uuid from unnest($2::text[]) as k (id)
			on conflict do nothing`, e.group, e.messages, e.id); err != nil {
		return err
	}
	_, err := e.t.Exec(ctx, `insert into erased_memories (group_id, id, erasure_id)
		select $1, x.id, $3::uuid from unnest($2::uuid[]) as x (id)
			on conflict do nothing`, e.group, append(keysOf(e.gone), e.marks...), e.id)
	return err
}

// deleted runs a statement that deletes rows of a table, and counts them.
func (e *eraser) deleted(ctx context.Context, table, where string, args ...any) error {
	n, err := e.t.Exec(ctx, `delete from `+table+` x where group_id = $1 and `+where, append([]any{e.group}, args...)...)
	if n > 0 {
		e.counts.Deleted[table] += n
	}
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	return nil
}

// changed runs a statement that changes rows of a table, and counts them.
func (e *eraser) changed(ctx context.Context, table, set string, args ...any) error {
	n, marks, err := store.ChangeMarkedRows(ctx, e.t, table, set, append([]any{e.group}, args...)...)
	if n > 0 {
		e.counts.Changed[table] += n
	}
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	e.marks = append(e.marks, marks...)
	return nil
}

func (e *eraser) leave(what string, rows int, why string) {
	if rows > 0 {
		e.counts.Left = append(e.counts.Left, reverie.ErasureLeft{What: what, Rows: rows, Why: why})
	}
}

// keysOf are the keys of a set, in order.
func keysOf(set map[string]bool) pq.StringArray {
	list := make(pq.StringArray, 0, len(set))
	for k := range set {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
