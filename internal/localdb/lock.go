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

// pollEvery is how often a lock that is held is tried again: flock cannot be
// waited for and given up at once.
const pollEvery = 15 * time.Millisecond

// The names of the locks in the cluster's directory.
const (
	usersLock  = "users.lock"
	startLock  = "start.lock"
	serverLock = "server.lock"
)

// lock takes one of the cluster's locks, shared or exclusive. It waits until ctx ends.
// Closing the file gives the lock up, unless another process inherited it. The file is
// closed on exec, so that no child keeps the lock of a dead parent.
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

// claimServer takes server.lock; it returns nil where somebody has it.
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

// wait waits until it is time to look again, or fails when ctx ends.
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

// tryLock takes an advisory lock on a file, shared or exclusive, if that is possible at
// once.
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
