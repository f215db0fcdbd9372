// Package erase erases a person from a group. It also erases deleted messages, and what edited messages no longer say.
// It deletes or rewrites every row that contains something of them. For a person, it then reads all columns again to
// prove it. The SQL and the list of columns are in erase.toml.
package erase

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/scratch"
)

// Eraser works on one database.
type Eraser struct{ db *pg.DB }

// New returns the eraser of a database.
func New(db *pg.DB) *Eraser { return &Eraser{db} }

// Accounts lists the authors in a group, or in all groups if groupID is "", with that id or exactly that name. If the
// id of an account matches, accounts that only match by name are left out. No match is no error. An unknown group is
// reverie.ErrNotFound.
func (s *Eraser) Accounts(ctx context.Context, groupID, author string) ([]reverie.Account, error) {
	return pg.Read(ctx, s.db, "look for an author", func(ctx context.Context, t *pg.Tx) ([]reverie.Account, error) {
		if groupID != "" {
			if _, err := store.GetGroup(ctx, t, groupID); err != nil {
				return nil, err
			}
		}
		list, err := ask[reverie.Account](ctx, t, "accounts", values{"group": groupID, "author": author})
		if slices.ContainsFunc(list, func(a reverie.Account) bool { return a.AuthorID == author }) {
			list = slices.DeleteFunc(list, func(a reverie.Account) bool { return a.AuthorID != author })
		}
		return list, err
	})
}

// Remembered returns what a group remembers now about an author, and the author's entity, "" for none. These are the
// memories with the author's words as evidence, and those that name the author. An unknown group is
// reverie.ErrNotFound.
func (s *Eraser) Remembered(ctx context.Context, groupID, authorID string) (reply reverie.AuthorMemoriesReply,
	entityID string, err error) {
	reply = reverie.AuthorMemoriesReply{GroupID: groupID, AuthorID: authorID, Memories: []reverie.Memory{}}
	_, err = pg.Read(ctx, s.db, "read what is remembered of an author", func(ctx context.Context, t *pg.Tx) (any, error) {
		if _, err := store.GetGroup(ctx, t, groupID); err != nil {
			return nil, err
		}
		of := values{"group": groupID, "author": authorID}
		account, err := ask[struct {
			Names    pq.StringArray
			Messages int
			Entity   string
		}](ctx, t, "remembered_account", of)
		if err != nil {
			return nil, err
		}
		reply.Names, reply.Messages, entityID = account[0].Names, account[0].Messages, account[0].Entity
		traces := text.NewTraces(authorID, reply.Names, nil, nil, func(string) bool { return false })
		list, err := ask[struct {
			reverie.Memory
			Theirs bool
		}](ctx, t, "remembered", of)
		for _, m := range list {
			if m.Theirs || traces.FindName(m.Statement) != "" {
				reply.Memories = append(reply.Memories, m.Memory)
			}
		}
		return nil, err
	})
	reply.Total = len(reply.Memories)
	return reply, entityID, err
}

// Erase erases an author from one group, in one transaction:
//
//   - The author's messages are deleted. So are the answers of assistants to them, and
//     messages of assistants that name the author.
//   - Everything derived from these messages alone is deleted: memories in all versions,
//     claims and entities, and stored questions to a model that showed them. Team memories
//     made of such memories end, and their texts are removed.
//   - Memories that also have other evidence lose the author's, are held, and must be
//     judged again. The messages of the other evidence are pending once more.
//   - In the words of others, text.Erased replaces the author's id, names and words.
//   - Hashes of the ids of the messages, the ids of the erased memories, and marks of the
//     changed rows are stored. They prevent a later import from restoring them.
//
// At the end, every text, array and JSON document of the group is read again. If anything of the author is left,
// nothing is changed, and the error is reverie.ErrConflict with the table and the column. A dry run does all this and
// rolls it back. A lost lease is reverie.ErrLeaseLost.
func (s *Eraser) Erase(ctx context.Context, lease reverie.Lease, q reverie.EraseQuery) (reverie.Erasure, error) {
	what := fmt.Sprintf("erase an author of group %q", q.GroupID) // the author's id must not be logged
	if q.GroupID != lease.GroupID || q.AuthorID == "" {
		return reverie.Erasure{}, fmt.Errorf("%s: it needs the group's lease and an author's id: %w", what,
			reverie.ErrInvalid)
	}
	id := reverie.NewID()
	var e *eraser
	err := s.db.Run(ctx, pg.Work{
		What: what,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := store.Fence(ctx, t, lease); err != nil {
				return err
			}
			if _, err := store.LockGroup(ctx, t, q.GroupID); err != nil { // no message can be imported meanwhile
				return err
			}
			at, err := store.NextTimestamp(ctx, s.db, t, q.GroupID)
			if err != nil {
				return err
			}
			e = newEraser(s.db, t, q, id, at)
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

// eraser is one erasure in progress.
type eraser struct {
	db     *pg.DB
	t      *pg.Tx
	query  reverie.EraseQuery
	only   []onlyMessage     // erase only these messages; nil: erase an author
	edited map[string]string // newer texts of edited messages; nil for an erasure
	at     time.Time
	values values // for the script

	erased map[string]bool // ids of the erased messages
	names  []string
	traces *text.Traces
	gone   map[string]bool // ids of erased memories: lineages and versions
	marks  pq.StringArray  // marks of changed rows: see store.RowMark
	shared pq.StringArray  // the group's lineages in the team that is worked on
	left   map[string]int  // what the final check has found, by place
	counts reverie.ErasureCounts
}

func newEraser(db *pg.DB, t *pg.Tx, q reverie.EraseQuery, id string, at time.Time) *eraser {
	return &eraser{db: db, t: t, query: q, at: at, erased: map[string]bool{}, gone: map[string]bool{}, left: map[string]int{},
		counts: reverie.ErasureCounts{Deleted: map[string]int{}, Changed: map[string]int{}, Left: []reverie.ErasureLeft{}},
		values: values{"messages": pq.StringArray{}, "sessions": pq.StringArray{}, "group": q.GroupID, "home": q.GroupID, "author": q.AuthorID, "at": at, "erasure": id,
			"zero": store.ZeroID, "summary": reverie.TagSummary, "scratch": scratch.Prefix, "erased": text.Erased,
			"erased_hash": text.ContentHash(text.Erased), "erased_key": text.NameKey(text.Erased)}}
}

// group returns the tenant that is worked on: the group, or a team with its memories.
func (e *eraser) group() string { return e.values["group"].(string) }

// ids returns the list with a name among the values.
func (e *eraser) ids(name string) pq.StringArray { return e.values[name].(pq.StringArray) }

// recount marks sessions whose counts are renewed at the end.
func (e *eraser) recount(sessions []string) {
	e.values["sessions"] = distinct(append(e.ids("sessions"), sessions...))
}

func (e *eraser) erase(ctx context.Context) error {
	steps := append(e.steps(), e.again, e.dropAliases, e.redact)
	steps = append(append(steps, e.phases("sessions")...), e.receipt, e.search, e.forgetTeams, e.verdict)
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// phases returns functions that run phases of the script.
func (e *eraser) phases(names ...string) (list []func(context.Context) error) {
	for _, name := range names {
		list = append(list, func(ctx context.Context) error { return e.do(ctx, name) })
	}
	return list
}

// steps returns the steps that find and delete the rows.
func (e *eraser) steps() []func(context.Context) error {
	return slices.Concat([]func(context.Context) error{e.findTraces, e.divide}, e.phases("answers", "told", "memories"),
		[]func(context.Context) error{e.blank}, e.phases("evidence"), []func(context.Context) error{e.hold, e.forgetPlans},
		e.phases("plans"), []func(context.Context) error{e.forgetObservations}, e.phases("people"),
		[]func(context.Context) error{e.weaken, e.forgetTraffic}, e.phases("messages"))
}

// forgetTraffic deletes the stored questions to models, if anything of the author was erased.
func (e *eraser) forgetTraffic(ctx context.Context) error {
	if len(e.erased) == 0 && len(e.counts.Deleted) == 0 {
		return nil
	}
	return e.do(ctx, "traffic")
}

// again makes the other messages of mixed memories pending, and renews the counts of their sessions.
func (e *eraser) again(ctx context.Context) error {
	if err := e.do(ctx, "again"); err != nil {
		return err
	}
	e.recount(e.ids("reread"))
	return nil
}

// receipt writes the receipt of the erasure, and what may not be restored.
func (e *eraser) receipt(ctx context.Context) error {
	e.counts.Messages = e.counts.Deleted["messages"]
	e.values["stay_away"] = append(keysOf(e.gone), e.marks...)
	return e.do(ctx, "receipt")
}

// search reads every column that can hold text again, and counts what is left of the author.
func (e *eraser) search(ctx context.Context) error {
	return e.eachTable(ctx, func(table textTable) error {
		return e.rows(ctx, table.of(words, names, authors, messages), func(page []pq.StringArray) error {
			for _, row := range page {
				e.check(table.of(words, names, authors, messages), row)
			}
			return nil
		})
	})
}

// What a value may contain besides a trace of the author's words.
const (
	ofMessage  = "an id"
	ofAuthorID = "the author's id"
)

// check counts, by column, the values of a row that contain something of the author.
func (e *eraser) check(table textTable, row []string) {
	for i, c := range table.text {
		value := row[len(table.key)+i]
		if value == "" {
			continue
		}
		e.counts.Searched++
		switch what := e.holds(c, value); {
		case what == "":
		case c.treatment() == words, what == ofMessage, what == ofAuthorID:
			e.left[c.name()+": "+what]++
		default:
			e.left["id "+c.name()]++
		}
	}
}

// holds returns what a value contains of the author, "" for nothing.
func (e *eraser) holds(c textColumn, value string) string {
	way := c.treatment()
	switch {
	case c.isJSON() || modelAnswers[c.name()]:
		return e.holdsJSON(c, value)
	case way == messages && e.erased[value]:
		return ofMessage
	case way == authors && e.isAuthor(value):
		return ofAuthorID
	case way == words:
		return e.traces.Find(value)
	}
	return e.traces.FindName(value)
}

// verdict returns an error with the places where something of the author is left, and never its text. It completes the
// receipt with what may stay.
func (e *eraser) verdict(ctx context.Context) error {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(e.left)) {
		if column, id := strings.CutPrefix(name, "id "); id {
			e.leave(column, e.left[name], "an id that other things are referred to by is the author's id or a name, or has it in it")
			continue
		}
		found = append(found, fmt.Sprintf("%s (%d)", name, e.left[name]))
	}
	if len(found) > 0 {
		return fmt.Errorf("the final check still found something of the author in %s, so nothing is erased; please report this: %w",
			strings.Join(found, ", "), reverie.ErrConflict)
	}
	if e.counts.Nothing() && len(e.erased) == 0 {
		return e.t.Exec(ctx, `delete from erasures where group_id = $1 and erasure_id = $2`, e.group(), e.values["erasure"])
	}
	copies, err := ask[int](ctx, e.t, "copies", e.values)
	if err != nil {
		return err
	}
	e.leave("schemas", copies[0], "replays and evaluations work in them, or were to keep them, and they may hold copies: drop "+scratch.Prefix+"...")
	return e.countReceipt(ctx)
}

// countReceipt writes the counts to the receipt.
func (e *eraser) countReceipt(ctx context.Context) error {
	return e.t.Exec(ctx, `update erasures set counts = $3 where group_id = $1
		and erasure_id = $2`, e.group(), e.values["erasure"], pg.JSON[reverie.ErasureCounts]{V: e.counts})
}

func (e *eraser) leave(what string, rows int, why string) {
	if rows > 0 {
		e.counts.Left = append(e.counts.Left, reverie.ErasureLeft{What: what, Rows: rows, Why: why})
	}
}

// distinct sorts a list and removes duplicates.
func distinct[S ~[]string](list S) S {
	slices.Sort(list)
	return slices.Compact(list)
}

// keysOf returns the keys of a set, sorted.
func keysOf(set map[string]bool) pq.StringArray { return slices.Sorted(maps.Keys(set)) }
