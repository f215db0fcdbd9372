// Package scratch makes a store beside the live one, for what is only tried: evaluations play in it.
package scratch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// Store is a store of its own beside the live one, in the same database: the same
// tables in a schema that nothing else reads or writes, for what is only tried.
type Store struct {
	*store.Store
	schema string
	live   *store.Store
}

// Prefix begins the names of schemas to try things in. An id follows, which begins with the time.
const Prefix = "reverie_scratch_"

// leftover is the age from which a schema is one that a process has left which died:
// nobody tries anything for so long.
const leftover = 7 * 24 * time.Hour

const (
	// A schema that has a comment is kept, as one of `replay --keep` of earlier versions, and one
	// that is another user's is left alone.
	leftoversQuery = `select nspname from pg_namespace where nspname ~ '^` + Prefix + `[0-9a-f]{32}$'
		and substr(nspname, 17, 12) collate "C" < $1 and pg_has_role(nspowner, 'usage')
		and obj_description(oid, 'pg_namespace') is null`

	vectorSchemaQuery = `select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
		where e.extname = 'vector'`
)

const poolerHint = "a pooler drops search_path, or refuses it; let the URL lead to the server itself (or to a pooler that tracks search_path)"

// New makes a schema with all tables, empty, and opens it with the settings of the live one.
// The caller ends it by [Store.Drop]. Its connections name the schema as they begin,
// so that the URL must lead to the server itself, or to a pooler that passes that on. A user
// who may not create schemas is a reverie.ErrConfiguration. What processes have left
// that died goes.
func New(ctx context.Context, live *store.Store) (*Store, error) {
	x := &Store{schema: Prefix + strings.ReplaceAll(reverie.NewID(), "-", ""), live: live}
	var vectors string
	err := live.DB().Run(ctx, pg.Work{What: "make a schema to try things in", Do: func(ctx context.Context, t *pg.Tx) error {
		if err := dropLeftovers(ctx, t, live.DB().Now().Add(-leftover)); err != nil {
			return err
		}
		if err := t.Get(ctx, &vectors, vectorSchemaQuery); err != nil {
			return pg.NotFoundIfEmpty(err, "the extension vector")
		}
		var may bool
		if err := t.Get(ctx, &may, `select has_database_privilege(current_database(), 'create')`); err != nil {
			return err
		}
		if !may {
			return fmt.Errorf("the user may not create schemas: %w: let an administrator `grant create on database` to it",
				reverie.ErrConfiguration)
		}
		return t.Exec(ctx, `create schema if not exists `+pq.QuoteIdentifier(x.schema))
	}})
	if err != nil {
		return nil, err
	}
	opts := live.DB().Options()
	opts.Schema, opts.ReaderRole = []string{x.schema, vectors}, ""
	if err := x.open(ctx, opts); err != nil {
		return nil, errors.Join(err, x.Drop(context.WithoutCancel(ctx)))
	}
	return x, nil
}

// dropLeftovers removes the schemas of processes that died: those that were made before an instant.
func dropLeftovers(ctx context.Context, t *pg.Tx, before time.Time) error {
	names, err := pg.Select[string](ctx, t, leftoversQuery, fmt.Sprintf("%012x", before.UnixMilli()))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := t.Exec(ctx, `drop schema if exists `+pq.QuoteIdentifier(name)+` cascade`); err != nil {
			return err
		}
	}
	return nil
}

// open connects, and makes the tables once it is certain that they come into the schema.
func (x *Store) open(ctx context.Context, opts pg.Options) (err error) {
	if x.Store, err = store.Open(ctx, opts); err != nil {
		if answer := pg.ServerError(err); answer != nil && strings.Contains(answer.Message, "search_path") {
			return fmt.Errorf("%w: %s (%w)", reverie.ErrConfiguration, poolerHint, answer)
		}
		return err
	}
	var current string
	if err := x.DB().QueryRow(ctx, "look where tables would be made", &current,
		`select coalesce(current_schema(), '')`); err != nil {
		return err
	}
	if current != x.schema {
		return fmt.Errorf("connections do not begin in the schema that they name, but in %q: %w: %s", current,
			reverie.ErrConfiguration, poolerHint)
	}
	_, err = store.Migrate(ctx, opts)
	return err
}

// SetNow gives the scratch store a clock of its own, for what is tried at other times
// than now. It is to be called before anything else uses the store.
func (x *Store) SetNow(now func() time.Time) { x.DB().SetNow(now) }

// Drop closes the scratch store and removes its schema with all that is in it.
func (x *Store) Drop(ctx context.Context) error {
	var closed error
	if x.Store != nil {
		closed = x.Close()
	}
	return errors.Join(closed, x.live.DB().Run(ctx, pg.Work{What: "remove the schema " + x.schema,
		Do: func(ctx context.Context, t *pg.Tx) error {
			return t.Exec(ctx, `drop schema if exists `+pq.QuoteIdentifier(x.schema)+` cascade`)
		}}))
}
