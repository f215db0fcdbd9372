package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a killed run has left goes, with its worktree; what another is at work in stays.
func TestPrune(t *testing.T) {
	root, temp := t.TempDir(), t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "--allow-empty", "--message", "m"}} {
		if _, err := git(t.Context(), root, args...); err != nil {
			t.Fatal(err)
		}
	}
	live, done, err := workplace(temp)
	must(t, err)
	dead, left, fresh := filepath.Join(temp, workName+"dead"), filepath.Join(temp, "else"), filepath.Join(temp, workName+"fresh")
	for _, dir := range []string{dead, left, fresh} {
		must(t, os.Mkdir(dir, 0o755))
	}
	if _, err := git(t.Context(), root, "worktree", "add", "--quiet", "--detach", filepath.Join(dead, "base")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * making)
	for _, dir := range []string{live, dead, left} {
		must(t, os.Chtimes(dir, old, old))
	}
	prune(t.Context(), root, temp, io.Discard)
	for dir, stays := range map[string]bool{live: true, dead: false, left: true, fresh: true} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v, and should stay: %v", filepath.Base(dir), err, stays)
		}
	}
	if _, err := os.Stat(filepath.Join(root, ".git", "worktrees", "base")); err == nil {
		t.Error("Git still knows of the worktree")
	}
	must(t, done())
	if _, err := os.Stat(live); err == nil {
		t.Error("its maker did not remove it")
	}
}
