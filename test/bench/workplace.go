package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// workName begins the name of a directory in which revisions are compared.
const workName = "reverie-compare-"

// making is how long a directory may be there before its owner holds it.
const making = time.Minute

// workplace makes a directory that is its maker's for as long as it runs: whoever finds it
// unlocked may take it away.
func workplace(temp string) (dir string, done func() error, err error) {
	if dir, err = os.MkdirTemp(temp, workName); err != nil {
		return "", nil, err
	}
	held, err := hold(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() error { return errors.Join(os.RemoveAll(dir), held.Close()) }, nil
}

// hold locks a directory, until it is closed or the process ends.
func hold(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return f, nil
}

// prune removes what runs have left that were killed: their directories, and the worktrees
// in them. What cannot be removed is said, and left.
func prune(ctx context.Context, root, temp string, progress io.Writer) {
	dirs, _ := filepath.Glob(filepath.Join(temp, workName+"*")) // the pattern is a good one
	for _, dir := range dirs {
		if about, err := os.Stat(dir); err != nil || time.Since(about.ModTime()) < making {
			continue
		}
		held, err := hold(dir)
		if err != nil {
			continue // at work, or another's
		}
		if err = os.RemoveAll(dir); err != nil {
			fmt.Fprintf(progress, "bench: cannot remove what a run has left that was killed: %v\n", err)
		}
		_ = held.Close() // was opened to be read
	}
	if _, err := git(ctx, root, "worktree", "prune"); err != nil {
		fmt.Fprintf(progress, "bench: %v\n", err)
	}
}
