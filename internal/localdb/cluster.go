// Package localdb runs a private PostgreSQL for the binary itself, for when no
// database is configured. It is started on demand, shared by all processes that run
// at the same time, and stopped when the last of them ends, however that one ended.
//
// [Start] joins a running server. Where none runs, it starts the process of
// [Supervise], which starts the server and stops it. Three locks in the cluster's
// directory say who is there. The kernel drops a lock when its holder dies.
//
//   - users.lock is held shared by every [Cluster]. Who gets it exclusively knows that
//     nobody uses the server.
//   - server.lock is inherited by PostgreSQL's processes. It is free when all of them are
//     gone. A process number in a file, left by a crash, proves nothing.
//   - start.lock makes starters wait for each other.
//
// On Linux the server ends with a supervisor that is killed. The next Start starts both.
package localdb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"runtime"
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

// join makes the cluster if it is new and starts its server if it does not run. It
// returns when the server takes connections. users.lock is held shared, so nobody stops
// the server from here on.
func (c *Cluster) join(ctx context.Context, o Options) error {
	if ok, err := c.isUp(ctx); ok || err != nil {
		return err
	}
	lock, err := openLock(c.loc.path(startLock))
	if err != nil {
		return fmt.Errorf("start the private database: %w", err)
	}
	defer lock.close()
	if err := lock.take(ctx, syscall.LOCK_EX); err != nil {
		return err
	}
	if ok, err := c.isUp(ctx); ok || err != nil { // another starter did it
		return err
	}
	in, err := c.create(ctx, o)
	if err != nil {
		return err
	}
	return c.launch(ctx, o, order{BinDir: in.bin, Settings: o.Settings, Linger: o.linger()})
}

// create makes the cluster if it is new. It touches nothing where PostgreSQL or pgvector
// is missing, or of the wrong version.
func (c *Cluster) create(ctx context.Context, o Options) (installation, error) {
	major, err := dataMajor(c.loc.data())
	if err != nil {
		return installation{}, err
	}
	in, err := findInstallation(ctx, o.BinDir, c.loc.data(), major)
	if err == nil && major == 0 {
		c.log.Info("making the private database", "dir", c.loc.Dir, "postgres", in.major, "user", c.loc.User)
		err = create(ctx, c.loc, in, o.Settings)
	}
	return in, err
}

const (
	supervisorLog    = "supervisor.log"
	maxSupervisorLog = 1 << 20 // bytes from which the log starts over
)

// launch starts a supervisor in a session of its own, which outlives this process, and
// waits until its server takes connections. Its words go to a log file.
func (c *Cluster) launch(ctx context.Context, o Options, how order) error {
	log, err := openShared(c.loc.path(supervisorLog), os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return fmt.Errorf("open the supervisor's log: %w", err)
	}
	defer log.Close()
	logStart := size(log.Name())
	if logStart > maxSupervisorLog {
		if err := log.Truncate(0); err != nil {
			return fmt.Errorf("clear the supervisor's log: %w", err)
		}
		logStart = 0
	}
	input, err := json.Marshal(how)
	if err != nil {
		return fmt.Errorf("say how to run the private database: %w", err)
	}
	command := o.supervisor(c.loc)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the private database's supervisor %q: %w", command, err)
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if ok, err := c.isUp(ctx); ok || err != nil {
			return errors.Join(err, cmd.Process.Release())
		}
		if ended, err := hasEnded(cmd.Process.Pid); ended || err != nil {
			return errors.Join(err, fmt.Errorf("the private database does not start: %s", tail(log.Name(), logStart)))
		}
		select {
		case <-ctx.Done():
			_ = cmd.Process.Release()
			return fmt.Errorf("wait for the private database in %s: %w; see %s and %s",
				c.loc.Dir, context.Cause(ctx), c.loc.path(serverLog), log.Name())
		case <-tick.C:
		}
	}
}

// hasEnded tells whether a child has ended. Nobody waits for one that has not.
func hasEnded(pid int) (bool, error) {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	if err != nil && !errors.Is(err, syscall.ECHILD) {
		return false, fmt.Errorf("watch the private database's supervisor: %w", err)
	}
	return got == pid || err != nil, nil
}

// isUp tells whether a supervised server takes connections. The error is one that
// waiting does not mend.
func (c *Cluster) isUp(ctx context.Context) (bool, error) {
	if held, err := isHeld(c.loc.path(serverLock)); err != nil || !held {
		return false, err
	}
	db, err := sqlx.Open("postgres", c.URL("postgres"))
	if err != nil {
		return false, fmt.Errorf("connect to the private database: %w", err)
	}
	defer db.Close()
	err = db.PingContext(ctx)
	if err == nil || isPassing(err) || ctx.Err() != nil {
		return err == nil, nil
	}
	return false, fmt.Errorf("connect to the private database: %w", err)
}

// isPassing tells an error of a server that is starting or stopping, or that is not
// there yet.
func isPassing(err error) bool {
	var pqErr *pq.Error
	if errors.As(err, &pqErr) {
		switch pqErr.Code {
		case "57P01", "57P02", "57P03", "53300": // shut down, crash, cannot connect now, too many
			return true
		}
		return false
	}
	return !errors.Is(err, fs.ErrPermission)
}

// self is this binary, also after it was replaced or removed.
func self() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
