package localdb

import (
	"context"
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

// join sees to it that the cluster exists, that a supervisor is in charge, and
// that the server takes connections. users.lock is held: from here on nobody
// stops the server.
func (c *Cluster) join(ctx context.Context, o Options) error {
	if ok, err := c.isUp(ctx); ok || err != nil {
		return err
	}
	turn, err := openLock(c.loc.path(startLock))
	if err != nil {
		return fmt.Errorf("start the private database: %w", err)
	}
	defer turn.close()
	if err := turn.take(ctx, syscall.LOCK_EX); err != nil {
		return err
	}
	if ok, err := c.isUp(ctx); ok || err != nil { // somebody else's turn did it
		return err
	}
	if err := c.provide(ctx, o); err != nil {
		return err
	}
	return c.awaitServer(ctx)
}

// provide makes the cluster if it is new and writes down how to run it. It
// touches nothing where PostgreSQL or pgvector is missing, or of the wrong
// version.
func (c *Cluster) provide(ctx context.Context, o Options) error {
	major, err := dataMajor(c.loc.data())
	if err != nil {
		return err
	}
	in, err := findInstallation(ctx, o.BinDir, c.loc.data(), major)
	if err != nil {
		return err
	}
	if major == 0 {
		c.log.Info("making the private database", "dir", c.loc.Dir, "postgres", in.major, "user", c.loc.User)
		if err := create(ctx, c.loc, in, o.Settings); err != nil {
			return err
		}
	}
	return record{BinDir: in.bin, Settings: o.Settings, Linger: o.linger()}.write(c.loc)
}

// maxLaunches is how many supervisors one Start launches.
const maxLaunches = 5

// awaitServer waits until a supervisor is in charge and the server takes
// connections, launching supervisors as needed: the one that was seen may just
// have been leaving.
func (c *Cluster) awaitServer(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var own *process
	launches := 0
	for {
		if own != nil {
			if over, err := own.over(); err != nil {
				return err
			} else if over {
				own = nil // it found another one in charge, or was killed
			}
		}
		supervised, err := isHeld(c.loc.path(supervisorLock))
		if err != nil {
			return err
		}
		if !supervised && own == nil {
			if launches++; launches > maxLaunches {
				return fmt.Errorf("the private database's supervisor is killed again and again; see %s", c.loc.path(supervisorLog))
			}
			if own, err = launch(c.loc, c.command); err != nil {
				return err
			}
		}
		if ok, err := c.isUp(ctx); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the private database in %s: %w; see %s and %s",
				c.loc.Dir, context.Cause(ctx), c.loc.path("server.log"), c.loc.path(supervisorLog))
		case <-tick.C:
		}
	}
}

// isUp tells whether a supervisor is in charge of a server that takes
// connections. The error is one that waiting does not mend.
func (c *Cluster) isUp(ctx context.Context) (bool, error) {
	for _, name := range []string{supervisorLock, serverLock} {
		if held, err := isHeld(c.loc.path(name)); err != nil || !held {
			return false, err
		}
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

// isPassing tells an error of a server that is starting or stopping, or that is
// not there yet.
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

const supervisorLog = "supervisor.log"

// process is a supervisor that was launched and may be over soon.
type process struct {
	loc Location
	pid int
	log int64 // where its words begin in supervisor.log
}

// launch starts a supervisor that outlives this process: in a session of its
// own, with its words in a log file.
func launch(loc Location, command []string) (*process, error) {
	log, err := openShared(loc.path(supervisorLog), os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("open the supervisor's log: %w", err)
	}
	defer log.Close()
	p := &process{loc: loc, log: size(log.Name())}
	if p.log > maxSupervisorLog {
		if err := log.Truncate(0); err != nil {
			return nil, fmt.Errorf("clear the supervisor's log: %w", err)
		}
		p.log = 0
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the private database's supervisor %q: %w", command, err)
	}
	p.pid = cmd.Process.Pid
	_ = cmd.Process.Release() // its end is asked for in over, without a goroutine that waits
	return p, nil
}

// maxSupervisorLog is the size, in bytes, from which the log starts over.
const maxSupervisorLog = 1 << 20

// over tells whether the process has ended, with its last words if it failed.
func (p *process) over() (bool, error) {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(p.pid, &status, syscall.WNOHANG, nil)
	switch {
	case err != nil && !errors.Is(err, syscall.ECHILD):
		return false, fmt.Errorf("watch the private database's supervisor: %w", err)
	case err == nil && pid != p.pid:
		return false, nil
	case err == nil && status.Exited() && status.ExitStatus() != 0:
		return true, fmt.Errorf("the private database does not start: %s", tail(p.loc.path(supervisorLog), p.log))
	default:
		return true, nil
	}
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
