package store

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// Info is what a check-up wants to know about the database.
type Info struct {
	Server        string    // PostgreSQL's version
	Vector        string    // pgvector's version, "" where the extension is not created
	SchemaVersion int64     // 0 where nothing was migrated yet
	Clock         time.Time // the server's
	Skew          time.Duration
}

// hiddenQuery names the role of a transaction, and the schemas of its search path that
// hold Reverie's tables and that it may not use: to it, their tables are not there.
const hiddenQuery = `select quote_ident(current_user) as login, coalesce(string_agg(quote_ident(n.nspname), ', '),
	'') as hidden
	from pg_class c join pg_namespace n on n.oid = c.relnamespace
	where c.relname = 'goose_db_version' and not has_schema_privilege(n.oid, 'usage')
		and n.nspname in (select case name when '$user' then current_user::text else name end
			from regexp_split_to_table(replace(current_setting('search_path'), '"', ''), ' *, *') name)`

// MaySee refuses a role to which the tables are not there because it may not look.
func MaySee(ctx context.Context, q pg.Querier) error {
	var is struct {
		Login  string `db:"login"`
		Hidden string `db:"hidden"`
	}
	if err := pg.ReadRow(ctx, q, &is, hiddenQuery); err != nil || is.Hidden == "" {
		return err
	}
	return fmt.Errorf("the role %[1]s may not use the schema %[2]s, in which the tables are: %[3]w: have its owner run `grant usage on schema %[2]s to %[1]s`",
		is.Login, is.Hidden, reverie.ErrConfiguration)
}

// Info asks the server for its versions and its clock. Skew is how far that
// clock is ahead of the store's. A role that may not look into the schema is told so.
func (s *Store) Info(ctx context.Context) (Info, error) {
	var info Info
	err := s.db.Run(ctx, pg.Work{What: "ask the database about itself", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		var row struct {
			Server   string    `db:"server"`
			Vector   string    `db:"vector"`
			Migrated bool      `db:"migrated"`
			Clock    time.Time `db:"clock"`
		}
		if err := t.Get(ctx, &row, `select current_setting('server_version') as server,
			coalesce((select extversion from pg_extension where extname = 'vector'), '') as vector,
			to_regclass('goose_db_version') is not null as migrated, clock_timestamp() as clock`); err != nil {
			return err
		}
		info = Info{Server: row.Server, Vector: row.Vector, Clock: row.Clock.UTC(), Skew: row.Clock.Sub(s.db.Now())}
		if !row.Migrated {
			return MaySee(ctx, t)
		}
		return t.Get(ctx, &info.SchemaVersion, `select coalesce(max(version_id), 0) from goose_db_version where is_applied`)
	}})
	return info, err
}

// Ready tells whether work can be done: the server answers, takes writes, and has
// the schema that this binary needs.
func (s *Store) Ready(ctx context.Context) error {
	err := s.db.Run(ctx, pg.Work{What: "see whether the database is ready", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		var standby bool
		if err := t.Get(ctx, &standby, `select pg_is_in_recovery()
			or current_setting('default_transaction_read_only')::bool`); err != nil {
			return err
		}
		if standby {
			return fmt.Errorf("%w: the server takes no writes now", reverie.ErrUnavailable)
		}
		return nil
	}})
	if err != nil {
		return err
	}
	return s.CheckSchema(ctx)
}
