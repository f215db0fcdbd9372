package store_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/migrations"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// newerMigrations are this binary's migrations and those of binaries that come after it. Each adds
// a column, and begins with the lines that are given.
func newerMigrations(t *testing.T, heads ...string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range must(fs.Glob(migrations.Files(), "*.sql"))(t) {
		files[name] = &fstest.MapFile{Data: must(fs.ReadFile(migrations.Files(), name))(t)}
	}
	for i, head := range heads {
		version := store.WantedVersion() + int64(i) + 1
		files[fmt.Sprintf("%05d_later.sql", version)] = &fstest.MapFile{Data: fmt.Appendf(nil,
			"%s\n-- +goose Up\nalter table groups add column later%d text;\n", head, i)}
	}
	return files
}

// A binary goes by what newer binaries have written beside each migration, whether the database
// was made by it, by them, or by one from before there was such a column.
func TestNewerSchema(t *testing.T) {
	mine := store.WantedVersion()
	with := func(version int64) string { return fmt.Sprintf("-- compatible with: %d", version) }
	for name, c := range map[string]struct {
		heads []string
		needs int64 // 0: it works
	}{
		"compatible":                         {[]string{with(mine)}, 0},
		"compatible with older ones, too":    {[]string{with(mine - 1)}, 0},
		"two that are compatible":            {[]string{with(mine), with(mine - 2)}, 0},
		"says nothing":                       {[]string{""}, mine + 1},
		"compatible with itself":             {[]string{with(mine + 1)}, mine + 1},
		"the second needs the first":         {[]string{with(mine), with(mine + 1)}, mine + 1},
		"the first is not, the second is":    {[]string{"", with(mine)}, mine + 1},
		"each is compatible with the latest": {[]string{with(mine + 1), with(mine + 2)}, mine + 2},
	} {
		for _, before := range []string{"empty", "migrated", "without the column"} {
			t.Run(name+", "+before, func(t *testing.T) {
				t.Parallel()
				ctx, opts := t.Context(), pg.Options{URL: pgtest.NewEmpty(t)}
				db := must(openRaw(opts.URL))(t)
				defer func() { _ = db.Close() }()
				if before != "empty" {
					must(store.Migrate(ctx, opts))(t)
				}
				if before == "without the column" {
					_, err := db.Exec(`alter table goose_db_version drop column compatible_with`)
					check(t, err)
				}
				must(store.MigrateTo(ctx, opts, newerMigrations(t, c.heads...)))(t)
				s := must(store.Open(ctx, opts))(t)
				defer func() { _ = s.Close() }()
				_, up := store.Migrate(ctx, opts)
				for what, err := range map[string]error{"start": s.CheckSchema(ctx), "ready": s.Ready(ctx), "migrate up": up} {
					if c.needs == 0 {
						if err != nil {
							t.Errorf("%s: %v", what, err)
						}
						continue
					}
					wantErr(t, err, reverie.ErrOutdatedSchema)
					if says := fmt.Sprintf("needs one of version %d", c.needs); !strings.Contains(fmt.Sprint(err), says) {
						t.Errorf("%s does not say that it %s: %v", what, says, err)
					}
				}
			})
		}
	}
}

// A row that nobody has marked is of a binary that this one knows nothing of.
func TestNewerSchemaUnmarked(t *testing.T) {
	ctx, opts := t.Context(), pg.Options{URL: pgtest.NewEmpty(t)}
	must(store.Migrate(ctx, opts))(t)
	db := must(openRaw(opts.URL))(t)
	defer func() { _ = db.Close() }()
	s := must(store.Open(ctx, opts))(t)
	defer func() { _ = s.Close() }()
	for _, column := range []string{"", "alter table goose_db_version drop column compatible_with; "} {
		_, err := db.Exec(column + `insert into goose_db_version (version_id, is_applied) values (99, true)`)
		check(t, err)
		wantErr(t, s.Ready(ctx), reverie.ErrOutdatedSchema)
	}
}

// firstMarked is the first migration that has to say with whom it is compatible: before it,
// binaries did not ask.
const firstMarked = 14

func TestMigrationsSayWithWhomTheyAreCompatible(t *testing.T) {
	oldest := must(migrations.Compatibilities(migrations.Files()))(t)
	files := must(fs.Glob(migrations.Files(), "*.sql"))(t)
	if len(oldest) != len(files) || oldest[store.WantedVersion()] == 0 {
		t.Errorf("%d migrations say it, of %d", len(oldest), len(files))
	}
	for _, name := range files {
		var version int64
		must(fmt.Sscanf(name, "%d", &version))(t)
		text := string(must(fs.ReadFile(migrations.Files(), name))(t))
		if version >= firstMarked && !strings.Contains(text, "-- compatible with: ") {
			t.Errorf("%s: say from which version of the schema on binaries work with it, "+
				"as in CONTRIBUTING.md: `-- compatible with: %d`, or `%d` if those before do not", name, version-1, version)
		}
	}
	for _, bad := range []string{"-- compatible with: 99", "-- compatible with: 0", "-- compatible with: all", "--compatible with: 13"} {
		if oldest, err := migrations.Compatibilities(newerMigrations(t, bad)); err == nil {
			t.Errorf("%q was accepted: %v", bad, oldest)
		}
	}
}
