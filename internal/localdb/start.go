package localdb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

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
