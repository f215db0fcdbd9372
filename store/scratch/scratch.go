// Package scratch makes temporary stores, in which evaluations run.
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

// Store is a temporary store in the database of the live one: the same tables, in a schema that nothing else reads or
// writes.
type Store struct {
	*store.Store
	schema string
	live   *store.Store
}

// Prefix begins the names of temporary schemas. An id follows, which begins with the time.
const Prefix = "reverie_scratch_"

// leftover is the age from which a schema belongs to a process that has died: no evaluation takes so long.
const leftover = 7 * 24 * time.Hour

const (
	// A schema with a comment is kept, since `replay --keep` of earlier versions has made it. The schemas of other
	// users are not touched.
	leftoversQuery = `select nspname from pg_namespace where nspname ~ '^` + Prefix + `[0-9a-f]{32}$'
		and substr(nspname, 17, 12) collate "C" < $1 and pg_has_role(nspowner, 'usage')
		and obj_description(oid, 'pg_namespace') is null`

	vectorSchemaQuery = `select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
		where e.extname = 'vector'`
)

const poolerHint = "a pooler drops search_path, or refuses it; let the URL lead to the server itself (or to a pooler that tracks search_path)"

// New makes a schema with all tables, empty, and opens it with the settings of the live store. The caller must call
// [Store.Drop]. The connections set the schema when they begin, so the URL must lead to the server itself, or to a
// pooler that passes that setting on. A user who may not create schemas is reverie.ErrConfiguration. New also drops the
// schemas of processes that have died.
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

// dropLeftovers drops the schemas of processes that have died: those made before a time.
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

// open connects, and creates the tables after it has checked that they are created in the schema.
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

// SetNow gives the store its own clock, to try things at other times. Call it before any other use of the store.
func (x *Store) SetNow(now func() time.Time) { x.DB().SetNow(now) }

// Drop closes the store and drops its schema.
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
