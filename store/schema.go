package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"reverie/internal/reverie"
	"reverie/store/migrations"
	"reverie/store/pg"
)

// MigrationStatus is one migration of the schema.
type MigrationStatus struct {
	Version   int64     `json:"version"`
	Name      string    `json:"name"`
	Applied   bool      `json:"applied"`
	AppliedAt time.Time `json:"applied_at,omitzero"`
}

// minServer is the oldest supported PostgreSQL, as server_version_num.
const minServer = 150000

// Migrate applies the missing migrations and returns them, none if the schema is up to date. Concurrent calls wait for
// each other under a session lock. So the URL must lead to the server itself, or to a pooler in session mode. A missing
// pgvector is reverie.ErrConfiguration. A newer schema is not changed: it is reverie.ErrOutdatedSchema if this binary
// does not work with it.
func Migrate(ctx context.Context, opts pg.Options) ([]MigrationStatus, error) {
	return migrate(ctx, opts, migrations.Files())
}

func migrate(ctx context.Context, opts pg.Options, files fs.FS) ([]MigrationStatus, error) {
	var applied []MigrationStatus
	err := withProvider(ctx, opts, files, func(db *sql.DB, p *goose.Provider) error {
		if err := checkServer(ctx, db); err != nil {
			return err
		}
		var results []*goose.MigrationResult
		up := func() (err error) {
			results, err = p.Up(ctx)
			return err
		}
		pending, err := p.HasPending(ctx)
		if err == nil && pending {
			err = pg.WithoutViews(ctx, db, up)
		}
		var partial *goose.PartialError
		if errors.As(err, &partial) {
			results = partial.Applied
		}
		for _, r := range results {
			applied = append(applied, MigrationStatus{Version: r.Source.Version, Name: path.Base(r.Source.Path),
				Applied: true, AppliedAt: opts.WithDefaults().Now().UTC()})
		}
		if err != nil {
			return pg.Translate(ctx, err, "migrate the schema")
		}
		var schema migrations.State
		if err := pg.ReadRow(ctx, db, &schema, migrations.StateQuery, migrations.Newest(files)); err != nil {
			return pg.Translate(ctx, err, "read the schema's version")
		}
		if err := schema.Fits(migrations.Newest(files)); err != nil {
			return err
		}
		return confineReader(ctx, db, opts.ReaderRole)
	})
	return applied, err
}

// MigrationStatuses lists all migrations that this binary knows, oldest first.
func MigrationStatuses(ctx context.Context, opts pg.Options) ([]MigrationStatus, error) {
	var all []MigrationStatus
	err := withProvider(ctx, opts, migrations.Files(), func(_ *sql.DB, p *goose.Provider) error {
		found, err := p.Status(ctx)
		if err != nil {
			return pg.Translate(ctx, err, "read the schema's status")
		}
		for _, m := range found {
			st := MigrationStatus{Version: m.Source.Version, Name: path.Base(m.Source.Path),
				Applied: m.State == goose.StateApplied}
			if st.Applied {
				st.AppliedAt = m.AppliedAt.UTC()
			}
			all = append(all, st)
		}
		return nil
	})
	return all, err
}

func withProvider(ctx context.Context, opts pg.Options, files fs.FS, do func(*sql.DB, *goose.Provider) error) error {
	opts.ReadTimeout = max(opts.ReadTimeout, 15*time.Minute) // building an index may take long
	db, err := pg.Connect(opts)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := pg.PingDB(ctx, db); err != nil {
		return err
	}
	if err := MaySee(ctx, db); err != nil {
		return pg.Translate(ctx, err, "look for the schema")
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300), lock.WithUnlockTimeout(1, 30))
	if err != nil {
		return fmt.Errorf("make the migration lock: %w", err)
	}
	table, err := migrations.NewVersionTable(files)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectCustom, db, files, goose.WithStore(table),
		goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	return do(db, provider)
}

// checkServer reports what is missing, before a migration would fail with an error of SQL.
func checkServer(ctx context.Context, db *sql.DB) error {
	var server struct {
		Num    int    `db:"num"`
		Name   string `db:"name"`
		Vector bool   `db:"vector"`
	}
	err := pg.ReadRow(ctx, db, &server, `select current_setting('server_version_num')::int as num,
		current_setting('server_version') as name,
		exists (select 1 from pg_available_extensions where name = 'vector') as vector`)
	switch {
	case err != nil:
		return pg.Translate(ctx, err, "ask the server for its version")
	case server.Num < minServer:
		return fmt.Errorf("the server is PostgreSQL %s, Reverie needs 15 or later: %w", server.Name, reverie.ErrConfiguration)
	case !server.Vector:
		return fmt.Errorf("the server has no pgvector: %w: install its package for PostgreSQL %d (such as postgresql-%d-pgvector) and migrate again",
			reverie.ErrConfiguration, server.Num/10000, server.Num/10000)
	}
	return nil
}

// WantedVersion is the schema version of this binary.
func WantedVersion() int64 { return migrations.Newest(migrations.Files()) }

// CheckSchema returns reverie.ErrOutdatedSchema for a schema that is older than this binary, or newer and not
// compatible with it.
func (s *Store) CheckSchema(ctx context.Context) error {
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	return migrations.State{Version: info.SchemaVersion, Needs: info.SchemaNeeds}.Fits(WantedVersion())
}

// Info is what the doctor reads about the database.
type Info struct {
	Server        string    // PostgreSQL's version
	Vector        string    // pgvector's version, "" if the extension is not created
	SchemaVersion int64     // 0 before any migration
	SchemaNeeds   int64     // of a newer schema: the oldest version whose binaries work with it
	Clock         time.Time // the time of the server
	Skew          time.Duration
}

// hiddenQuery returns the role of a transaction, and the schemas in its search path with Reverie's tables that it may
// not use. To such a role the tables seem to be missing.
const hiddenQuery = `select quote_ident(current_user) as login, coalesce(string_agg(quote_ident(n.nspname), ', '),
	'') as hidden
	from pg_class c join pg_namespace n on n.oid = c.relnamespace
	where c.relname = 'goose_db_version' and not has_schema_privilege(n.oid, 'usage')
		and n.nspname in (select case name when '$user' then current_user::text else name end
			from regexp_split_to_table(replace(current_setting('search_path'), '"', ''), ' *, *') name)`

// MaySee returns an error if the role does not see the tables because it may not use their schema.
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

// Info reads the versions and the clock of the server. Skew is how far that clock is ahead of the store's. If the role
// may not use the schema, the error says so.
func (s *Store) Info(ctx context.Context) (Info, error) {
	what := "ask the database about itself"
	return pg.Read(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) (info Info, err error) {
		var row struct {
			Info
			Migrated bool
		}
		if err := t.Get(ctx, &row, `select current_setting('server_version') as server,
			coalesce((select extversion from pg_extension where extname = 'vector'), '') as vector,
			to_regclass('goose_db_version') is not null as migrated, clock_timestamp() as clock`); err != nil {
			return info, err
		}
		info = row.Info
		info.Skew = info.Clock.Sub(s.db.Now())
		if !row.Migrated {
			return info, MaySee(ctx, t)
		}
		var schema migrations.State
		err = t.Get(ctx, &schema, migrations.StateQuery, WantedVersion())
		info.SchemaVersion, info.SchemaNeeds = schema.Version, schema.Needs
		return info, err
	})
}

// Ready reports whether the server answers, accepts writes, and has the schema that this binary needs.
func (s *Store) Ready(ctx context.Context) error {
	const what = "see whether the database is ready"
	var standby bool
	if err := s.db.QueryRow(ctx, what, &standby, `select pg_is_in_recovery()
		or current_setting('default_transaction_read_only')::bool`); err != nil {
		return err
	}
	if standby {
		return fmt.Errorf("%s: %w: the server takes no writes now", what, reverie.ErrUnavailable)
	}
	return s.CheckSchema(ctx)
}
