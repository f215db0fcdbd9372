// Package erase forgets a person in a group, messages that were deleted, and what edited ones no longer say: it deletes or rewrites every row that holds something of them,
// and of a person it reads all columns again to prove it. What is SQL of that, and which columns there are, is in erase.toml.
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

// Accounts lists who has written in a group, or in any if groupID is "", under that id
// or, exactly, under that name. Where somebody has that id, who only goes by it as a name
// is not among them. Nobody is no error; an unknown group is reverie.ErrNotFound.
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

// Remembered returns what a group remembers now of an author, and which entity they are, ""
// for none: the memories that rest on their words, or name them. An unknown group is
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

// Erase forgets an author in one group, in one transaction:
//
//   - Their messages are deleted, with the answers of assistants to them, or that name them, and
//     with all that is made of their messages alone: memories in all
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
			if err := store.Fence(ctx, t, lease); err != nil {
				return err
			}
			if _, err := store.LockGroup(ctx, t, q.GroupID); err != nil { // nothing is imported meanwhile
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

// eraser is one erasure under way.
type eraser struct {
	db     *pg.DB
	t      *pg.Tx
	query  reverie.EraseQuery
	only   []onlyMessage     // that are to go, and nothing else of their authors; nil: all of one author
	edited map[string]string // the newer texts of messages that stay; nil where something goes
	at     time.Time
	values values // of the script

	theirs map[string]bool // ids of the author's messages
	names  []string
	traces *text.Traces
	gone   map[string]bool // memories: lineages and versions
	marks  pq.StringArray  // of rows that were changed: see store.RowMark
	shared pq.StringArray  // the group's lineages among a team's, while those are worked on
	left   map[string]int  // what the final check has found, by where
	counts reverie.ErasureCounts
}

func newEraser(db *pg.DB, t *pg.Tx, q reverie.EraseQuery, id string, at time.Time) *eraser {
	return &eraser{db: db, t: t, query: q, at: at, theirs: map[string]bool{}, gone: map[string]bool{}, left: map[string]int{},
		counts: reverie.ErasureCounts{Deleted: map[string]int{}, Changed: map[string]int{}, Left: []reverie.ErasureLeft{}},
		values: values{"messages": pq.StringArray{}, "sessions": pq.StringArray{}, "group": q.GroupID, "home": q.GroupID, "author": q.AuthorID, "at": at, "erasure": id,
			"zero": store.ZeroID, "summary": reverie.TagSummary, "scratch": scratch.Prefix, "erased": text.Erased,
			"erased_hash": text.ContentHash(text.Erased), "erased_key": text.NameKey(text.Erased)}}
}

// group is the tenant that is worked on: the group, or a team of its memories.
func (e *eraser) group() string { return e.values["group"].(string) }

// ids is a list among the values.
func (e *eraser) ids(name string) pq.StringArray { return e.values[name].(pq.StringArray) }

// recount has sessions counted anew at the end.
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

// phases are phases of the script.
func (e *eraser) phases(names ...string) (list []func(context.Context) error) {
	for _, name := range names {
		list = append(list, func(ctx context.Context) error { return e.do(ctx, name) })
	}
	return list
}

// steps find out what there is, and delete it.
func (e *eraser) steps() []func(context.Context) error {
	return slices.Concat([]func(context.Context) error{e.know, e.divide}, e.phases("answers", "told", "memories"),
		[]func(context.Context) error{e.blank}, e.phases("evidence"), []func(context.Context) error{e.hold, e.forgetPlans},
		e.phases("plans"), []func(context.Context) error{e.forgetObservations}, e.phases("people"),
		[]func(context.Context) error{e.weaken, e.forgetTraffic}, e.phases("messages"))
}

// forgetTraffic deletes what was kept of questions to models, if anything was of the author.
func (e *eraser) forgetTraffic(ctx context.Context) error {
	if len(e.theirs) == 0 && len(e.counts.Deleted) == 0 {
		return nil
	}
	return e.do(ctx, "traffic")
}

// again has what mixed memories rest on else read once more, and sessions counted anew that wait for that.
func (e *eraser) again(ctx context.Context) error {
	if err := e.do(ctx, "again"); err != nil {
		return err
	}
	e.recount(e.ids("reread"))
	return nil
}

// receipt writes what was done, and what may not come back.
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

// What else than a trace a value may be.
const (
	ofMessage  = "an id"
	ofAuthorID = "the author's id"
)

// check counts by column the values of a row that hold something of the author.
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

// holds says what of the author a value holds, "" for nothing.
func (e *eraser) holds(c textColumn, value string) string {
	way := c.treatment()
	switch {
	case c.isJSON() || modelAnswers[c.name()]:
		return e.holdsJSON(c, value)
	case way == messages && e.theirs[value]:
		return ofMessage
	case way == authors && e.isAuthor(value):
		return ofAuthorID
	case way == words:
		return e.traces.Find(value)
	}
	return e.traces.FindName(value)
}

// verdict is an error that says where something is left of the author, and never what.
// What may stay is told in the receipt, which it completes.
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
	if e.counts.Nothing() && len(e.theirs) == 0 {
		return e.t.Exec(ctx, `delete from erasures where group_id = $1 and erasure_id = $2`, e.group(), e.values["erasure"])
	}
	copies, err := ask[int](ctx, e.t, "copies", e.values)
	if err != nil {
		return err
	}
	e.leave("schemas", copies[0], "replays and evaluations work in them, or were to keep them, and they may hold copies: drop "+scratch.Prefix+"...")
	return e.countReceipt(ctx)
}

// countReceipt writes into the receipt what was done.
func (e *eraser) countReceipt(ctx context.Context) error {
	return e.t.Exec(ctx, `update erasures set counts = $3 where group_id = $1
		and erasure_id = $2`, e.group(), e.values["erasure"], pg.JSON[reverie.ErasureCounts]{V: e.counts})
}

func (e *eraser) leave(what string, rows int, why string) {
	if rows > 0 {
		e.counts.Left = append(e.counts.Left, reverie.ErasureLeft{What: what, Rows: rows, Why: why})
	}
}

// distinct sorts a list and drops what is in it twice.
func distinct[S ~[]string](list S) S {
	slices.Sort(list)
	return slices.Compact(list)
}

// keysOf are the keys of a set, in order.
func keysOf(set map[string]bool) pq.StringArray { return slices.Sorted(maps.Keys(set)) }
