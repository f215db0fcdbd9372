//go:build unix

// Package localdb runs a private PostgreSQL for the binary itself when no database is configured. It starts on
// demand, is shared by all processes that run at the same time, and stops when the last of them has ended, for
// whatever reason.
//
// [Start] joins a running server. If none runs, it starts a process that calls [Supervise], which starts and stops
// the server. The server needs this process: a killed command could not stop it, and the next command should find
// it running. Three lock files in the cluster's directory coordinate the processes. The kernel releases a lock when
// its holder dies.
//
//   - users.lock is held shared by every [Cluster]. A process that acquires it exclusively knows
//     that nobody uses the server.
//   - server.lock is inherited by the supervisor and by PostgreSQL's processes. It is free
//     when all of them have ended. A process number in a file proves nothing: a crash leaves it.
//   - start.lock serialises starters.
//
// On Linux, killing the supervisor stops the server. A killed server starts again only at the next Start.
package localdb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// startTimeout bounds how long [Start] waits for the server, unless the context ends sooner. Crash recovery takes
// seconds.
const startTimeout = 2 * time.Minute

// Options configure the cluster. BinDir, Settings and Linger describe the server: only the process that starts it
// applies them.
type Options struct {
	// Dir is the cluster's directory, see [DefaultDir]. It is created if it does not exist. For root another directory
	// may be used, see [Locate].
	Dir string
	// BinDir contains postgres and initdb. Empty: search for them.
	BinDir string
	// Settings are PostgreSQL settings, such as "fsync": "off" in tests.
	Settings map[string]string
	// Supervisor is the command line of a process that calls [Supervise] with
	// the same Dir. Empty: this binary with the arguments "local-server" and Dir.
	Supervisor []string
	// Linger is how long the server runs after its last user, so that the next command finds it running: 2 s if zero,
	// not at all if negative.
	Linger time.Duration
	// Log receives the events of the cluster.
	Log *slog.Logger `json:"-"`
}

// Cluster is a running private PostgreSQL. It runs until [Cluster.Close] or the end of this process. It is safe for
// concurrent use.
type Cluster struct {
	loc   Location
	close func() error
}

// Start creates the cluster if necessary, starts its server if it does not run, and joins it. It waits until the
// server accepts connections, two minutes at most.
//
// If PostgreSQL or pgvector is missing or has the wrong version, the error is a [reverie.ErrConfiguration] that
// names the command to run. Other errors come from the file system, initdb or PostgreSQL.
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
	// The process that stops the server holds this lock until the server has stopped.
	users, err := loc.lock(ctx, usersLock, syscall.LOCK_SH)
	if err != nil {
		return nil, fmt.Errorf("join the private database: %w; is %s another user's?", err, loc.Dir)
	}
	c := &Cluster{loc: loc, close: sync.OnceValue(users.Close)}
	if err := c.join(ctx, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Location returns where the cluster is and which account runs its server.
func (c *Cluster) Location() Location { return c.loc }

// URL returns the address of one of the cluster's databases, for lib/pq and psql. It does not create the database,
// see [Cluster.EnsureDatabase].
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

// EnsureDatabase creates the database unless it exists.
func (c *Cluster) EnsureDatabase(ctx context.Context, name string) error {
	db, err := sqlx.ConnectContext(ctx, "postgres", c.URL("postgres"))
	if err != nil {
		return fmt.Errorf("make database %q: %w", name, err)
	}
	defer db.Close()
	var exists bool // asked first: a refused creation is an error in the server's log
	err = db.GetContext(ctx, &exists, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name)
	if err == nil && !exists {
		_, err = db.ExecContext(ctx, `CREATE DATABASE `+pq.QuoteIdentifier(name))
	}
	var refused *pq.Error
	if errors.As(err, &refused) && (refused.Code == "42P04" || refused.Code == "23505") {
		return nil // another process created it at the same time
	}
	if err != nil {
		return fmt.Errorf("make database %q: %w", name, err)
	}
	return nil
}

// Close ends the use of the cluster at once. The server stops when nobody else uses it. Further calls do nothing.
func (c *Cluster) Close() error { return c.close() }

// AwaitStop waits until neither a supervisor nor a server runs in the cluster at dir, so that it may be moved,
// copied or removed. It stops nothing, and fails if ctx ends first.
func AwaitStop(ctx context.Context, dir string) error {
	loc, err := Locate(dir)
	if err != nil {
		return err
	}
	lock, err := loc.lock(ctx, serverLock, syscall.LOCK_SH)
	if errors.Is(err, os.ErrNotExist) { // there is no such cluster
		return nil
	}
	if err != nil {
		return fmt.Errorf("wait for the private database in %s to stop: %w", loc.Dir, err)
	}
	return lock.Close()
}

// join creates the cluster if necessary and starts its server if it does not run. It returns when the server
// accepts connections. The caller holds users.lock shared, so nobody stops the server from here on.
func (c *Cluster) join(ctx context.Context, o Options) error {
	start, err := c.loc.lock(ctx, startLock, syscall.LOCK_EX)
	if err != nil {
		return fmt.Errorf("start the private database: %w", err)
	}
	defer start.Close()
	db, err := sqlx.Open("postgres", c.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect to the private database: %w", err)
	}
	defer db.Close()
	logStart := int64(-1) // offset in the log at which our own launch begins; -1: none
	for {
		server, err := c.loc.claimServer()
		var down error
		switch {
		case err != nil:
			return fmt.Errorf("start the private database: %w", err)
		case server == nil: // it runs; it may be starting, or its supervisor may have been killed
			if down = db.PingContext(ctx); down == nil {
				return nil
			}
			if !passing(down) {
				return fmt.Errorf("connect to the private database in %s: %w", c.loc.Dir, down)
			}
		case logStart >= 0:
			_ = server.Close()
			return fmt.Errorf("the private database does not start: %s", tail(c.loc.path(serverLog), logStart))
		default:
			logStart, err = c.launch(ctx, o, server)
			_ = server.Close() // the supervisor keeps its copy
			if err != nil {
				return err
			}
		}
		if err := wait(ctx); err != nil {
			return fmt.Errorf("wait for the private database in %s: %w; see %s", c.loc.Dir, errors.Join(err, down),
				c.loc.path(serverLog))
		}
	}
}

// passing reports whether waiting may resolve a server's error: it is starting, stopping, or has no free
// connection.
func passing(err error) bool {
	var refused *pq.Error
	if errors.As(err, &refused) {
		return strings.HasPrefix(string(refused.Code), "57P0") || refused.Code == "53300"
	}
	return !errors.Is(err, os.ErrPermission)
}

const (
	serverLog    = "server.log"
	maxServerLog = 8 << 20 // size in bytes at which a new log begins; one old file is kept
)

// openLog opens the log of the supervisor and the server, and begins a new one if it is large. It returns the
// offset of the log's end.
func (l Location) openLog() (log *os.File, end int64, err error) {
	path := l.path(serverLog)
	if info, err := os.Stat(path); err == nil {
		end = info.Size()
	}
	if end > maxServerLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, fmt.Errorf("rotate the server's log: %w", err)
		}
		end = 0
	}
	if log, err = openShared(path, os.O_WRONLY|os.O_APPEND); err != nil {
		return nil, 0, fmt.Errorf("open the server's log: %w", err)
	}
	return log, end, nil
}

// tail returns the last ten lines of a log after an offset.
func tail(path string, from int64) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text[min(from, int64(len(text))):])), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// launch creates the cluster if necessary, and starts a supervisor in its own session. The supervisor outlives this
// process and inherits server.lock. launch returns the log offset at which the supervisor's output begins. It
// changes nothing if PostgreSQL or pgvector is missing or has the wrong version.
func (c *Cluster) launch(ctx context.Context, o Options, server *os.File) (logStart int64, err error) {
	if o.BinDir, err = c.create(ctx, o); err != nil {
		return 0, err
	}
	if err := checkStartedByHand(c.loc); err != nil {
		return 0, err
	}
	if err := removeStale(c.loc); err != nil {
		return 0, err
	}
	input, err := json.Marshal(o)
	if err != nil {
		return 0, fmt.Errorf("say how to run the private database: %w", err)
	}
	command := o.Supervisor
	if len(command) == 0 {
		self, err := os.Executable()
		if runtime.GOOS == "linux" {
			self, err = "/proc/self/exe", nil // works also if a newer file has replaced the binary
		}
		if err != nil {
			return 0, fmt.Errorf("start the private database's supervisor: %w", err)
		}
		command = []string{self, "local-server", c.loc.Asked}
	}
	log, logStart, err := c.loc.openLog()
	if err != nil {
		return 0, err
	}
	defer log.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), log, log
	cmd.ExtraFiles = []*os.File{server}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the private database's supervisor %q: %w", command, err)
	}
	return logStart, cmd.Process.Release()
}

// create creates the cluster if necessary, and returns the directory of its PostgreSQL programs.
func (c *Cluster) create(ctx context.Context, o Options) (binDir string, err error) {
	major, err := dataMajor(c.loc.data())
	if err != nil {
		return "", err
	}
	in, err := findInstallation(ctx, o.BinDir, c.loc.data(), major)
	if err != nil || major > 0 {
		return in.bin, err
	}
	if o.Log != nil {
		o.Log.Info("making the private database", "dir", c.loc.Dir, "postgres", in.major, "user", c.loc.User)
	}
	return in.bin, create(ctx, c.loc, in, o.Settings)
}
