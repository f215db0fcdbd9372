package localdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// startTimeout bounds how long [Start] waits for the server, unless the context
// ends sooner. Recovery after a crash takes seconds.
const startTimeout = 2 * time.Minute

// defaultLinger is how long an unused server waits for the next user: a command
// that follows another at once finds it running.
const defaultLinger = 2 * time.Second

// Options says where the cluster lives and how it is run. What describes the
// server (BinDir, Settings, Linger) counts for who starts it; who joins a
// running one takes it as it is.
type Options struct {
	// Dir is the cluster's directory, see [DefaultDir]. It is made if absent.
	// For root it may be another one that is used, see [Locate].
	Dir string
	// BinDir holds postgres and initdb. Empty: look for them.
	BinDir string
	// Settings are PostgreSQL settings, such as "fsync": "off" in tests.
	Settings map[string]string
	// Supervisor is the command line of a process that calls [Supervise] with
	// the same Dir. Empty: this binary with the arguments "local-server" and Dir.
	Supervisor []string
	// Linger is how long the server outlives its last user: 2 s if zero, not at
	// all if negative.
	Linger time.Duration
	// Log takes what happens; nil discards it.
	Log *slog.Logger
}

// Cluster is a running private PostgreSQL, kept running until [Cluster.Close]
// or the end of this process. It is safe for concurrent use.
type Cluster struct {
	loc   Location
	log   *slog.Logger
	users *flock // held shared

	closing sync.Mutex
	closed  bool
}

// Start makes the cluster if it is new, starts its server if it does not run,
// and joins it. It waits until the server takes connections, two minutes at
// most.
//
// The errors are [ErrNoPostgres], [ErrNoVector] and [ErrVersion], which name
// the command to run, those of the file system, and what initdb or PostgreSQL
// itself says.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	loc, err := Locate(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := loc.prepare(); err != nil {
		return nil, err
	}
	users, err := openLock(loc.path(usersLock))
	if err != nil {
		return nil, fmt.Errorf("join the private database: %w; is %s another user's?", err, loc.Dir)
	}
	c := &Cluster{loc: loc, log: o.logger(), users: users}
	// Whoever stops the server holds this lock until it is stopped.
	err = users.take(ctx, syscall.LOCK_SH)
	if err == nil {
		err = c.join(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(err, users.close())
	}
	return c, nil
}

func (o Options) supervisor(loc Location) []string {
	if len(o.Supervisor) > 0 {
		return o.Supervisor
	}
	return []string{self(), "local-server", loc.Asked}
}

func (o Options) logger() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

func (o Options) linger() time.Duration {
	if o.Linger == 0 {
		return defaultLinger
	}
	return max(0, o.Linger)
}

// Location says where the cluster lives and as whom its server runs.
func (c *Cluster) Location() Location { return c.loc }

// URL is the address of one of the cluster's databases, for lib/pq and for
// psql. It makes nothing, see [Cluster.EnsureDatabase].
func (c *Cluster) URL(database string) string { return c.loc.url(database) }

func (l Location) url(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.User(superuser),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {l.Socket}, "port": {port}, "sslmode": {"disable"}}.Encode(),
	}
	return u.String()
}

// EnsureDatabase makes the database unless it exists.
func (c *Cluster) EnsureDatabase(ctx context.Context, name string) error {
	db, err := sqlx.ConnectContext(ctx, "postgres", c.URL("postgres"))
	if err != nil {
		return fmt.Errorf("make database %q: %w", name, err)
	}
	defer db.Close()
	var exists bool
	if err := db.GetContext(ctx, &exists, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name); err != nil {
		return fmt.Errorf("make database %q: %w", name, err)
	}
	if exists {
		return nil
	}
	// Outside a transaction, as PostgreSQL demands; repeating it is harmless.
	_, err = db.ExecContext(ctx, `CREATE DATABASE `+pq.QuoteIdentifier(name))
	if already(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make database %q: %w", name, err)
	}
	return nil
}

// already tells that somebody else made the database at the same time.
func already(err error) bool {
	var pqErr *pq.Error
	return errors.As(err, &pqErr) && (pqErr.Code == "42P04" || pqErr.Code == "23505")
}

// Close ends the use of the cluster, at once. The server stops by itself when
// nobody else uses it. Closing again does nothing.
func (c *Cluster) Close() error {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.users.close()
}

// AwaitStop waits until neither a supervisor nor a server runs on the cluster at dir:
// until it may be moved, copied or removed. It stops nothing, and fails when ctx ends
// first.
func AwaitStop(ctx context.Context, dir string) error {
	loc, err := Locate(dir)
	if err != nil {
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		running, err := isHeld(loc.path(serverLock))
		if err != nil || !running {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the private database in %s to stop: %w", loc.Dir, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
