package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// Scratch is a store of its own beside the live one, in the same database: the same
// tables in a schema that nothing else reads or writes, for what is only tried.
type Scratch struct {
	*Store
	Schema string
	live   *Store
	home   string // the live store's schema
}

const ScratchPrefix = "reverie_scratch_"

// Scratch makes a schema with all tables, empty, and opens it with the settings of s.
// The caller ends it by [Scratch.Drop]. Its connections name the schema as they begin,
// so that the URL must lead to the server itself, or to a pooler that passes that on. A user
// who may not create schemas is a reverie.ErrConfiguration. What processes have left
// that died goes: see dropLeftover.
//
// The schema is looked in before the one that pgvector is in, which may be the live one:
// a table that it lacked would be the live one's. Hence a schema with other tables than
// the live one has is refused.
func (s *Store) Scratch(ctx context.Context) (*Scratch, error) {
	if err := s.sweep(ctx); err != nil {
		return nil, err
	}
	x := &Scratch{Schema: ScratchPrefix + strings.ReplaceAll(reverie.NewID(), "-", ""), live: s}
	var vectors string
	err := s.db.Run(ctx, pg.Work{What: "make a schema to try things in", Do: func(ctx context.Context, t *pg.Tx) error {
		if err := t.Get(ctx, &vectors, `select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
			where e.extname = 'vector'`); err != nil {
			return pg.NotFoundIfEmpty(err, "the extension vector")
		}
		if err := t.Get(ctx, &x.home, `select current_schema()`); err != nil {
			return err
		}
		var may bool
		if err := t.Get(ctx, &may, `select has_database_privilege(current_database(), 'create')`); err != nil {
			return err
		}
		if !may {
			return fmt.Errorf("the user may not create schemas: %w: let an administrator `grant create on database` to it",
				reverie.ErrConfiguration)
		}
		_, err := t.Exec(ctx, `create schema if not exists `+pq.QuoteIdentifier(x.Schema))
		return err
	}})
	if err != nil {
		return nil, err
	}
	opts := s.db.Options()
	opts.Schema, opts.ReaderRole = []string{x.Schema, vectors}, ""
	if x.Store, err = Open(ctx, opts); err == nil {
		err = x.fill(ctx, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("%w%s", passedOn(err), andThen(x.Drop(context.WithoutCancel(ctx))))
	}
	return x, nil
}

// fill makes the tables, once it is certain that they come into the schema.
func (x *Scratch) fill(ctx context.Context, opts pg.Options) error {
	var current string
	err := x.db.Run(ctx, pg.Work{What: "look where tables would be made", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		return t.Get(ctx, &current, `select coalesce(current_schema(), '')`)
	}})
	if err != nil {
		return err
	}
	if current != x.Schema {
		return fmt.Errorf("connections do not begin in the schema that they name, but in %q: %w: %s", current,
			reverie.ErrConfiguration, poolerHint)
	}
	if _, err := Migrate(ctx, opts); err != nil {
		return err
	}
	return x.complete(ctx)
}

const poolerHint = "a pooler drops search_path, or refuses it; let the URL lead to the server itself (or to a pooler that tracks search_path)"

// passedOn says what to do where a pooler refuses what connections begin with.
func passedOn(err error) error {
	if answer := pg.ServerError(err); answer != nil && strings.Contains(answer.Message, "search_path") {
		return fmt.Errorf("%w: %s (%w)", reverie.ErrConfiguration, poolerHint, answer)
	}
	return err
}

// complete refuses a schema that lacks a table of the live one.
func (x *Scratch) complete(ctx context.Context) error {
	var missing []string
	err := x.live.db.Run(ctx, pg.Work{What: "compare the schemas", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		missing = nil
		return t.Select(ctx, &missing, `select tablename from pg_tables l where schemaname = current_schema()
			and not exists (select 1 from pg_tables s where s.schemaname = $1 and s.tablename = l.tablename)
				order by tablename`, x.Schema)
	}})
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("the live schema has tables that are none of Reverie's (%s), which could be written by mistake: %w: move them to another schema",
			strings.Join(missing, ", "), reverie.ErrConfiguration)
	}
	return err
}

// SetNow gives the scratch store a clock of its own, for what is tried at other times
// than now. It is to be called before anything else uses the store.
func (x *Scratch) SetNow(now func() time.Time) { x.db.SetNow(now) }

// Drop closes the scratch store and removes its schema with all that is in it.
func (x *Scratch) Drop(ctx context.Context) error {
	var closed error
	if x.Store != nil {
		closed = x.Store.Close()
	}
	err := x.live.db.Run(ctx, pg.Work{What: "remove the schema " + x.Schema, Do: func(ctx context.Context,
		t *pg.Tx) error {
		_, err := t.Exec(ctx, `drop schema if exists `+pq.QuoteIdentifier(x.Schema)+` cascade`)
		return err
	}})
	if err != nil {
		return err
	}
	return closed
}

func andThen(err error) string {
	if err == nil {
		return ""
	}
	return "; and then: " + err.Error()
}
