package localdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	// watchEvery is how often the supervisor looks at users and server.
	watchEvery = 100 * time.Millisecond
	// successionWait is how long a new supervisor waits for the one before to go.
	successionWait = 5 * time.Second
	// maxCrashes in a row, each within settled of its start, are enough.
	maxCrashes = 5
	settled    = 10 * time.Second
)

// Supervise runs the server of the cluster at dir (the one given to [Start])
// for as long as somebody uses it, and returns when it has stopped it. It is
// the whole work of the process that Start launches. When ctx ends it stops the
// server at once, users or not.
//
// It returns nil without doing anything when another supervisor is in charge,
// and an error, with the server's own words, when the server does not start or
// keeps crashing. What goes on is logged as text on standard error.
func Supervise(ctx context.Context, dir string) error {
	loc, err := Locate(dir)
	if err != nil {
		return err
	}
	s := &supervisor{loc: loc, log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if s.charge, err = openLock(loc.path(supervisorLock)); err != nil {
		return fmt.Errorf("supervise the private database: %w", err)
	}
	defer s.charge.close()
	wait, cancel := context.WithTimeout(ctx, successionWait)
	defer cancel()
	if err := s.charge.take(wait, syscall.LOCK_EX); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return err
	}
	if s.users, err = openLock(loc.path(usersLock)); err != nil {
		return fmt.Errorf("supervise the private database: %w", err)
	}
	defer s.users.close()
	if s.rules, err = readRecord(loc); err != nil {
		return err
	}
	err = s.run(ctx)
	// In this order: who is let in as a user must find that nobody is in charge.
	return errors.Join(err, s.charge.release())
}

// supervisor is the state of one [Supervise].
type supervisor struct {
	loc   Location
	rules record
	log   *slog.Logger

	charge *flock // supervisor.lock, held
	users  *flock

	server  *postmaster // nil while there is none that we know
	started time.Time   // of server
	logAt   int64       // where in its log the server's words begin
	crashes int         // in a row
	unused  time.Time   // since when nobody was seen; zero while somebody was
}

// run watches until nobody is left, ctx ends or the server is beyond hope.
func (s *supervisor) run(ctx context.Context) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if err := s.attend(); err != nil {
			return err
		}
		switch done, err := s.deserted(); {
		case err != nil:
			return errors.Join(err, s.stop())
		case done:
			s.log.Info("nobody uses the server any more")
			return s.stop()
		}
		select {
		case <-ctx.Done():
			s.log.Info("told to stop", "cause", context.Cause(ctx))
			return s.stop()
		case <-tick.C:
		}
	}
}

// attend sees to it that a server runs: adopts the one that it finds, and
// starts one when there is none. It is called again and again.
func (s *supervisor) attend() error {
	if s.server != nil && s.server.child {
		s.server.reap() // leaves no zombie; the lock below says the rest
	}
	lock, err := openLock(s.loc.path(serverLock))
	if err != nil {
		return fmt.Errorf("watch the private database: %w", err)
	}
	defer lock.close() // the server keeps its copy
	// Shared at first: to others it means a running server when it is exclusive.
	free, err := lock.try(syscall.LOCK_SH)
	switch {
	case err != nil:
		return err
	case free:
		if err := byHand(s.loc); err != nil {
			return err
		}
		if alone, err := lock.try(syscall.LOCK_EX); !alone {
			return err // somebody just looks; next time
		}
		return s.start(lock)
	case s.server == nil:
		if s.server, err = adopt(s.loc); s.server != nil {
			s.started = time.Now()
			s.log.Info("adopted the server", "pid", s.server.pid)
		}
		return err
	default:
		return nil
	}
}

// start starts a server, unless it only crashes.
func (s *supervisor) start(lock *flock) error {
	if s.server != nil {
		if s.crashes++; time.Since(s.started) > settled {
			s.crashes = 1
		}
		s.log.Warn("the server ended unexpectedly", "pid", s.server.pid, "in_a_row", s.crashes)
		if s.crashes >= maxCrashes || s.server.refused() && time.Since(s.started) < settled {
			return fmt.Errorf("PostgreSQL does not run on %s; its log, %s, ends with:\n%s",
				s.loc.data(), s.loc.path("server.log"), tail(s.loc.path("server.log"), s.logAt))
		}
	}
	s.logAt = size(s.loc.path("server.log"))
	server, err := serve(s.loc, s.rules, lock)
	if err != nil {
		return err
	}
	s.server, s.started = server, time.Now()
	s.log.Info("started the server", "pid", server.pid)
	return nil
}

// deserted tells whether nobody has used the server for the time that it
// lingers. If so it returns with users.lock held exclusively, so that nobody
// starts to use a server that is being stopped.
func (s *supervisor) deserted() (bool, error) {
	free, err := s.users.try(syscall.LOCK_EX)
	if err != nil || !free {
		s.unused = time.Time{}
		return false, err
	}
	now := time.Now()
	if s.unused.IsZero() {
		s.unused = now
	}
	if now.Sub(s.unused) >= s.rules.Linger {
		return true, nil
	}
	return false, s.users.release()
}

// stop stops the server, whoever started it, and waits for what is left of one
// that has died.
func (s *supervisor) stop() error {
	lock, err := openLock(s.loc.path(serverLock))
	if err != nil {
		return fmt.Errorf("stop the private database: %w", err)
	}
	defer lock.close()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for s.server == nil {
		if free, err := lock.try(syscall.LOCK_EX); free || err != nil {
			return err
		}
		if s.server, err = adopt(s.loc); err != nil {
			return err
		}
		<-tick.C
	}
	if err := s.server.stop(lock, s.log); err != nil {
		return err
	}
	s.log.Info("the server has stopped")
	return nil
}

// size of a file in bytes, 0 if there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// tail returns the last lines of a log from the given place on.
func tail(path string, from int64) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if from > int64(len(text)) { // started over since
		from = 0
	}
	lines := strings.Split(strings.TrimSpace(string(text[from:])), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
