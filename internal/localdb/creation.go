package localdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// superuser owns the private cluster. There is no password: the socket's
// directory is closed to others.
const superuser = "reverie"

// create makes the data directory. It is built under another name and renamed
// when it is whole, so that a death half-way leaves nothing that looks like a
// cluster. The caller holds start.lock.
func create(ctx context.Context, loc Location, in installation, settings map[string]string) error {
	old, _ := filepath.Glob(loc.path("data.new-*")) // of starters that died; fails on a bad pattern only
	for _, dir := range old {
		_ = os.RemoveAll(dir) // in the way of nothing
	}
	draft, err := os.MkdirTemp(loc.Dir, "data.new-")
	if err != nil {
		return fmt.Errorf("make the private database: %w", err)
	}
	defer os.RemoveAll(draft)
	if err := loc.account.own(draft); err != nil {
		return err
	}
	out, err := initdb(ctx, loc, in, draft, "C.UTF-8", settings)
	if err != nil && strings.Contains(out, "locale") { // macOS before 15 has no C.UTF-8
		out, err = initdb(ctx, loc, in, draft, "C", settings)
	}
	if err != nil {
		return fmt.Errorf("make the private database in %s: initdb: %w\n%s", loc.Dir, err, strings.TrimSpace(out))
	}
	if err := os.Rename(draft, loc.data()); err != nil {
		return fmt.Errorf("make the private database: %w", err)
	}
	return nil
}

// initdb fills dir, and returns what it said.
func initdb(ctx context.Context, loc Location, in installation, dir, locale string, settings map[string]string) (string, error) {
	args := []string{
		"--pgdata=" + dir, "--username=" + superuser, "--encoding=UTF8", "--locale=" + locale,
		"--auth-local=trust", "--auth-host=reject", "--data-checksums",
	}
	if settings["fsync"] == "off" {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(in.bin, "initdb"), args...)
	cmd.Dir, cmd.Env = "/", environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: loc.account.credential()}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	endWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	runtime.LockOSThread() // the kernel ends initdb with the thread that started it
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return string(out), err
}

// environment is what PostgreSQL's programs see: nothing of the caller's PG*
// and locale variables.
func environment() []string {
	env := []string{"LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin"}
	for _, name := range []string{"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
