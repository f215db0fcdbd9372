//go:build unix

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

// pollEvery is the interval for trying a held lock again: flock cannot both wait and be cancelled.
const pollEvery = 15 * time.Millisecond

// The names of the locks in the cluster's directory.
const (
	usersLock  = "users.lock"
	startLock  = "start.lock"
	serverLock = "server.lock"
)

// lock acquires one of the cluster's locks, shared or exclusive. It waits until ctx ends. Closing the file releases
// the lock, unless another process inherited it. The file is closed on exec, so that no child keeps the lock of a
// dead parent.
func (l Location) lock(ctx context.Context, name string, how int) (*os.File, error) {
	f, err := openShared(l.path(name), os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for {
		if ok, err := tryLock(f, how); err != nil {
			return nil, errors.Join(err, f.Close())
		} else if ok {
			return f, nil
		}
		if err := wait(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("wait for lock %s: %w", f.Name(), err), f.Close())
		}
	}
}

// claimServer acquires server.lock; it returns nil if the lock is held.
func (l Location) claimServer() (*os.File, error) {
	f, err := openShared(l.path(serverLock), os.O_RDWR)
	if err != nil {
		return nil, err
	}
	free, err := tryLock(f, syscall.LOCK_EX)
	if err == nil && free {
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// wait waits for the next try, or fails when ctx ends.
func wait(ctx context.Context) error {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// tryLock acquires an advisory lock on a file, shared or exclusive, without waiting.
func tryLock(f *os.File, how int) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

// openShared opens or creates a file in the cluster's directory. A file that root creates there is given to the
// directory's owner, who may later use it without being root. A symbolic link is refused.
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
