// Package pgtest gives tests databases of their own: real PostgreSQL with
// pgvector, each cloned from one migrated template, in an odd time zone.
//
// The server is the one that REVERIE_TEST_DATABASE_URL names (a URL with the
// right to create databases, such as of Citus's coordinator), else a private cluster that is started on demand
// and shared by all packages under test. A package that uses databases hands its
// TestMain to [Main].
package pgtest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/lib/pq" // database/sql finds the driver by its name

	"reverie/store"
	"reverie/store/migrations"
	"reverie/store/pg"
)

// EnvURL names the server to use instead of a private cluster.
const EnvURL = "REVERIE_TEST_DATABASE_URL"

// TimeZone is what sessions of test databases run in. Half an hour off the full
// hour and behind UTC, it shows whoever takes a session's date for a group's.
const TimeZone = "Canada/Newfoundland"

// New returns a store on the test's own migrated database, closed and dropped
// with the test. A test that calls it twice gets two stores on one database.
func New(t testing.TB) *store.Store {
	t.Helper()
	return Open(t, pg.Options{})
}

// Dial, if a package sets it, wraps what opens the connections of the stores of [Open].
var Dial = func(dial pg.DialFunc) pg.DialFunc { return dial }

// Open is [New] with options, whose URL and reader's role it fills.
func Open(t testing.TB, opts pg.Options) *store.Store {
	t.Helper()
	opts.URL, opts.ReaderRole, opts.Dial = cmp.Or(opts.URL, URL(t)), store.DefaultReaderRole, Dial(opts.Dial)
	s, err := store.Open(context.Background(), opts)
	if err != nil {
		t.Fatalf("open the test database: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

var databases = struct {
	sync.Mutex
	urls map[testing.TB]string
}{urls: map[testing.TB]string{}}

// URL returns the URL of the test's own migrated database.
func URL(t testing.TB) string {
	t.Helper()
	databases.Lock()
	defer databases.Unlock()
	if u := databases.urls[t]; u != "" {
		return u
	}
	u := create(t, template(t))
	databases.urls[t] = u
	t.Cleanup(func() {
		databases.Lock()
		defer databases.Unlock()
		delete(databases.urls, t)
	})
	return u
}

// NewEmpty returns the URL of a further database without a schema.
func NewEmpty(t testing.TB) string {
	t.Helper()
	return create(t, "template0")
}

// Copy returns the URL of a further database, a copy of the one of a URL that was given
// out before, to which nobody may be connected meanwhile.
func Copy(t testing.TB, of string) string {
	t.Helper()
	_, name, _ := strings.Cut(of, prefix)
	name, _, _ = strings.Cut(prefix+name, "?")
	if connect(t); len(server.workers) == 0 {
		return create(t, name)
	}
	copying.Lock() // Citus has nobody connect meanwhile, and PostgreSQL has no two alter one database at once
	defer copying.Unlock()
	if err := disconnect(name); err != nil {
		t.Fatalf("disconnect from the database that is copied: %v", err)
	}
	u := create(t, name)
	if err := onServers(`alter database ` + name + ` with allow_connections true`); err != nil {
		t.Fatalf("go on with the database that was copied: %v", err)
	}
	return u
}

var copying sync.Mutex

const prefix = "reverie_test_"

// create clones a database, of Citus on each server, and drops it with the test. The servers know each other by
// addresses and the shards by numbers, so that a clone is a Citus of its own.
func create(t testing.TB, from string) string {
	t.Helper()
	connect(t)
	name := prefix + strconv.FormatInt(time.Now().Unix(), 10) + "_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:12]
	t.Cleanup(func() {
		if err := onServers(`drop database if exists ` + name + ` with (force)`); err != nil {
			t.Logf("drop the test database: %v", err)
		}
	})
	// Copying files takes two thirds of what writing them through the log does, where
	// nothing syncs.
	if err := onServers(`create database ` + name + ` template ` + from + ` strategy file_copy`); err != nil {
		t.Fatalf("create a test database: %v", err)
	}
	if err := onServers(`alter database ` + name + ` set timezone = '` + TimeZone + `'`); err != nil {
		t.Fatalf("set the time zone of a test database: %v", err)
	}
	u, err := withDatabase(server.url, name)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// server is the cluster that this process uses, found once.
var server struct {
	once     sync.Once
	url      string
	admin    *sql.DB
	workers  []worker // of Citus; none without it
	join     []string // statements that add them to a database
	close    func() error
	err      error
	template sync.Once
	name     string
}

func connect(t testing.TB) *sql.DB {
	t.Helper()
	server.once.Do(func() {
		server.url, server.close = os.Getenv(EnvURL), func() error { return nil }
		if server.url == "" {
			server.url, server.close, server.err = startCluster()
		}
		if server.err == nil {
			server.admin, server.err = sql.Open("postgres", server.url)
		}
		if server.err == nil {
			server.admin.SetMaxOpenConns(4)
			server.workers, server.join, server.err = findWorkers(server.admin, server.url)
		}
	})
	if server.err != nil {
		t.Fatalf("no PostgreSQL to test against (install it with scripts/setup.sh, or set %s): %v", EnvURL, server.err)
	}
	return server.admin
}

// template makes the migrated database that tests are cloned from, once for each
// state of the migrations.
func template(t testing.TB) string {
	t.Helper()
	admin := connect(t)
	server.template.Do(func() { server.name, server.err = makeTemplate(admin, server.url) })
	if server.err != nil {
		t.Fatalf("make the template of test databases: %v", server.err)
	}
	return server.name
}

func makeTemplate(admin *sql.DB, adminURL string) (string, error) {
	hash, err := migrationsHash()
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	conn, err := admin.Conn(ctx) // the lock belongs to a session
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, `select pg_advisory_lock(hashtext('reverie pgtest'))`); err != nil {
		return "", err
	}
	defer func() { _, _ = conn.ExecContext(ctx, `select pg_advisory_unlock(hashtext('reverie pgtest'))`) }()
	sweep(ctx, conn)
	name, draft := "reverie_template_"+hash, "reverie_draft_"+hash
	var exists bool
	if err := conn.QueryRowContext(ctx, `select exists (select 1 from pg_database
		where datname = $1)`, name).Scan(&exists); err != nil || exists {
		return name, err
	}
	if err := onServers(`drop database if exists `+draft+` with (force)`,
		`create database `+draft+` template template0 encoding 'UTF8'`); err != nil {
		return "", err
	}
	draftURL, err := withDatabase(adminURL, draft)
	if err != nil {
		return "", err
	}
	if err := spread(draft); err != nil {
		return "", err
	}
	if _, err := store.Migrate(ctx, pg.Options{URL: draftURL}); err != nil {
		return "", err
	}
	if err := distribute(ctx, pg.Options{URL: draftURL}); err != nil {
		return "", err
	}
	if err := disconnect(draft); err != nil {
		return "", err
	}
	// Only a finished one bears the name.
	return name, onServers(`drop database if exists `+name, `alter database `+draft+` rename to `+name)
}

// sweep drops databases that killed tests left behind an hour ago or more.
func sweep(ctx context.Context, conn *sql.Conn) {
	rows, err := conn.QueryContext(ctx, `select datname from pg_database d where datname like 'reverie\_test\_%'
		and not exists (select 1 from pg_stat_activity a where a.datname = d.datname)`)
	if err != nil {
		return
	}
	var old []string
	for rows.Next() {
		var name string
		if rows.Scan(&name) != nil {
			break
		}
		born, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "_")
		if sec, err := strconv.ParseInt(born, 10, 64); err == nil && time.Since(time.Unix(sec, 0)) > time.Hour {
			old = append(old, name)
		}
	}
	if rows.Err() != nil || rows.Close() != nil {
		return
	}
	for _, name := range old {
		_ = onServers(`drop database if exists ` + name)
	}
}

func migrationsHash() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(migrations.Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(migrations.Files(), path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(b), b)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

// withDatabase names another database in a URL or key=value string.
func withDatabase(dsn, name string) (string, error) {
	if !strings.Contains(dsn, "://") {
		return dsn + " dbname=" + name, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("%s is not a URL", EnvURL) // its text may hold a password
	}
	u.Path = "/" + name
	return u.String(), nil
}
