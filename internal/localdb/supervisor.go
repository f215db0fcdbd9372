package localdb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

const (
	// watchEvery is how often the supervisor looks whether somebody uses the server.
	watchEvery = 100 * time.Millisecond
	// previousWait is how long the processes of a server before may take to end.
	previousWait = 15 * time.Second
)

// order says how to run a server. Start writes it to the supervisor's input.
type order struct {
	BinDir   string            `json:"bin_dir"`
	Settings map[string]string `json:"settings,omitempty"`
	Linger   time.Duration     `json:"linger_ns"`
}

// Supervise runs the server of the cluster at dir, the one given to [Start], and stops
// it when nobody uses it any more or when ctx ends. It is the whole work of the process
// that Start starts, and reads from its standard input how to run the server.
//
// The error has the server's own words where it does not start or ends by itself.
func Supervise(ctx context.Context, dir string) error {
	var how order
	if err := json.NewDecoder(io.LimitReader(os.Stdin, 1<<20)).Decode(&how); err != nil {
		return fmt.Errorf("read how to run the private database: %w; only reverie itself starts this process", err)
	}
	loc, err := Locate(dir)
	if err != nil {
		return err
	}
	users, err := openLock(loc.path(usersLock))
	if err != nil {
		return fmt.Errorf("run the private database: %w", err)
	}
	defer users.close()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	runtime.LockOSThread() // the kernel ends the server with the thread that started it
	defer runtime.UnlockOSThread()
	for {
		err := runServer(ctx, loc, how, users, log)
		if !wasKilled(err) {
			return err
		}
		log.Warn("the server was killed; starting it again", "error", err)
	}
}

// runServer starts a server and returns when it has ended, by itself or because nobody
// uses it.
func runServer(ctx context.Context, loc Location, how order, users *flock, log *slog.Logger) error {
	logStart := size(loc.path(serverLog))
	server, err := serve(ctx, loc, how)
	if err != nil {
		return err
	}
	log.Info("started the server", "pid", server.Process.Pid)
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	if err := awaitUnused(ctx, users, how.Linger, ended); err != nil {
		return fmt.Errorf("PostgreSQL ended on %s: %w; its log, %s, ends with:\n%s",
			loc.data(), err, loc.path(serverLog), tail(loc.path(serverLog), logStart))
	}
	log.Info("stopping the server", "cause", context.Cause(ctx))
	return stop(server.Process, ended)
}

// wasKilled tells whether a server's end was a signal's doing and not its own, as over a
// wrong setting.
func wasKilled(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// awaitUnused returns when nobody has used the server for the time that it lingers, or
// when ctx ends. It then holds users exclusively, so that nobody joins a server that is
// being stopped. It fails when the server ends by itself.
func awaitUnused(ctx context.Context, users *flock, linger time.Duration, ended <-chan error) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var unusedSince time.Time
	for {
		free, err := users.try(syscall.LOCK_EX)
		switch now := time.Now(); {
		case err != nil:
			return err
		case !free:
			unusedSince = time.Time{}
		case unusedSince.IsZero():
			unusedSince = now
		}
		if free && time.Since(unusedSince) >= linger {
			return nil
		}
		if free {
			if err := users.release(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return cmp.Or(err, errors.New("it was not told to"))
		case <-tick.C:
		}
	}
}

// serve starts the server, which inherits server.lock. It waits until the processes of
// the one before are gone.
func serve(ctx context.Context, loc Location, how order) (*exec.Cmd, error) {
	lock, err := openLock(loc.path(serverLock))
	if err != nil {
		return nil, fmt.Errorf("run the private database: %w", err)
	}
	defer lock.close() // the server keeps its copy
	wait, cancel := context.WithTimeout(ctx, previousWait)
	defer cancel()
	if err := lock.take(wait, syscall.LOCK_EX); err != nil {
		return nil, err
	}
	if err := checkStartedByHand(loc); err != nil {
		return nil, err
	}
	if err := removeStale(loc); err != nil {
		return nil, err
	}
	log, err := openServerLog(loc)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(how.BinDir, "postgres"), arguments(loc, how.Settings)...)
	cmd.Dir, cmd.Env = "/", environment()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock.file}
	// In a group of its own: a signal to the supervisor's group is not for the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: loc.account.credential()}
	endWithParent(cmd.SysProcAttr, syscall.SIGINT)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return cmd, nil
}

// The steps of stopping a server: the signal, and how long until the next one.
var stopping = []struct {
	signal syscall.Signal
	wait   time.Duration
}{
	{syscall.SIGINT, time.Minute}, // fast shutdown
	{syscall.SIGQUIT, 15 * time.Second},
	{syscall.SIGKILL, 15 * time.Second},
}

func stop(server *os.Process, ended <-chan error) error {
	for _, step := range stopping {
		if err := server.Signal(step.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop PostgreSQL (process %d): %w", server.Pid, err)
		}
		timeout := time.NewTimer(step.wait)
		select {
		case <-ended:
			timeout.Stop()
			return nil
		case <-timeout.C:
		}
	}
	return fmt.Errorf("stop PostgreSQL: process %d does not end", server.Pid)
}
