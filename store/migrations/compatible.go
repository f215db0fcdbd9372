package migrations

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// compatibleLine is the line of a migration that says which binaries work after it: those made for this version of the
// schema, and later ones. Without the line, only binaries made for the migration's own version work.
var compatibleLine = text.NewPattern(`(?m)^-- compatible with: ([0-9]+)$`)

// Compatibilities returns, by the version of each migration, the oldest version of the schema whose binaries work after
// it.
func Compatibilities(files fs.FS) (map[int64]int64, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	oldest := map[int64]int64{}
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		said := compatibleLine.FindSubmatch(text)
		if said == nil {
			if strings.Contains(string(text), "compatible with:") {
				return nil, fmt.Errorf("migration %s: write the line as `-- compatible with: %d`", path.Base(name), version-1)
			}
			oldest[version] = version
			continue
		}
		from, err := strconv.ParseInt(string(said[1]), 10, 64)
		if err != nil || from < 1 || from > version {
			return nil, fmt.Errorf("migration %s is compatible with %s: write a version from 1 to its own", name, said[1])
		}
		oldest[version] = from
	}
	return oldest, nil
}

// VersionTable is goose's table of versions with one more column. Each row says with which binaries its migration is
// compatible, and commits with the migration. So a binary that does not know the migration can read it there.
type VersionTable struct {
	database.StoreExtender
	oldest map[int64]int64
}

// NewVersionTable returns the table for the migrations of files.
func NewVersionTable(files fs.FS) (*VersionTable, error) {
	oldest, err := Compatibilities(files)
	if err != nil {
		return nil, err
	}
	inner, err := database.NewStore(database.DialectPostgres, goose.DefaultTablename)
	if err != nil {
		return nil, err
	}
	extended, ok := inner.(database.StoreExtender)
	if !ok {
		return nil, fmt.Errorf("goose's store %T cannot tell whether its table exists", inner)
	}
	return &VersionTable{extended, oldest}, nil
}

// Databases of earlier binaries do not have this column.
const addCompatible = `do $$ begin
	if not exists (select from pg_attribute
			where attrelid = 'goose_db_version'::regclass and attname = 'compatible_with' and not attisdropped) then
		alter table goose_db_version add column compatible_with bigint;
	end if;
end $$`

// Insert stores a version that was applied.
func (v *VersionTable) Insert(ctx context.Context, db database.DBTxConn, req database.InsertRequest) error {
	if _, err := db.ExecContext(ctx, addCompatible); err != nil {
		return fmt.Errorf("add the column compatible_with: %w", err)
	}
	_, err := db.ExecContext(ctx, `insert into goose_db_version (version_id, is_applied, compatible_with) values ($1, true, $2)`,
		req.Version, v.oldest[req.Version])
	return err
}

// State is the schema's version, 0 for none. It also has the oldest version whose binaries work with all migrations
// after the given version.
type State struct {
	Version int64 `db:"version"`
	Needs   int64 `db:"needs"`
}

// StateQuery reads a [State]; $1 is the given version. Tables of earlier binaries do not have the column for Needs.
const StateQuery = `select coalesce(max(version_id), 0) as version,
	coalesce(max(coalesce((to_jsonb(v) ->> 'compatible_with')::bigint, version_id)) filter (where version_id > $1), 0) as needs
	from goose_db_version v where is_applied`

// Fits returns reverie.ErrOutdatedSchema for a schema that a binary made for version wanted cannot work with.
func (s State) Fits(wanted int64) error {
	switch {
	case s.Version < wanted:
		return fmt.Errorf("the schema is at version %d and this binary needs %d: %w: run `reverie migrate up`",
			s.Version, wanted, reverie.ErrOutdatedSchema)
	case s.Needs > wanted:
		return fmt.Errorf("the schema is at version %d, newer than the %d that this binary knows, and needs one of version "+
			"%d or later: %w: update reverie", s.Version, wanted, s.Needs, reverie.ErrOutdatedSchema)
	}
	return nil
}
