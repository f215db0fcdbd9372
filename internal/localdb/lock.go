package localdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// pollEvery is how often a lock that is held is tried again: flock cannot be
// waited for and given up at once.
const pollEvery = 15 * time.Millisecond

// The names of the locks in the cluster's directory.
const (
	usersLock  = "users.lock"
	startLock  = "start.lock"
	serverLock = "server.lock"
)

// flock is an advisory lock on a file. The descriptor is closed on exec, so
// that no child keeps the lock of a dead parent.
type flock struct{ file *os.File }

// openLock opens the lock file, making it if absent, without taking the lock.
func openLock(path string) (*flock, error) {
	f, err := openShared(path, os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	return &flock{f}, nil
}

// openShared opens or makes a file in the cluster's directory. What root makes
// there belongs to the directory's owner, who may come by without being root;
// a symbolic link in its place is refused.
func openShared(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil || os.Geteuid() != 0 {
		return f, err
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err == nil {
		owner := dir.Sys().(*syscall.Stat_t)
		err = f.Chown(int(owner.Uid), int(owner.Gid))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// try takes the lock, shared or exclusive, if that is possible at once.
func (l *flock) try(how int) (bool, error) {
	for {
		err := syscall.Flock(int(l.file.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, fmt.Errorf("lock %s: %w", l.file.Name(), err)
		}
	}
}

// take waits for the lock until ctx ends.
func (l *flock) take(ctx context.Context, how int) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if ok, err := l.try(how); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for lock %s: %w", l.file.Name(), context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// release gives the lock up and keeps the file open.
func (l *flock) release() error {
	return syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
}

// close gives the lock up, unless another process inherited the descriptor.
func (l *flock) close() error { return l.file.Close() }

// isHeld tells whether somebody holds the lock at path exclusively. A file that
// does not exist is held by nobody.
func isHeld(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open lock: %w", err)
	}
	l := &flock{f}
	defer l.close()
	free, err := l.try(syscall.LOCK_SH) // shared: two who look do not see each other
	return !free, err
}
