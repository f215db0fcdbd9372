package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen. It is only ever spent
// by a test that fails.
const patience = 2 * time.Minute

// process is an invocation in a process of its own.
type process struct {
	t        testing.TB
	cmd      *exec.Cmd
	name     string // by which PostgreSQL knows it
	out, err words
	done     chan struct{}
}

var processes atomic.Int64 // that there were

// words is what a process says, to be read while it still runs.
type words struct {
	mu   sync.Mutex
	said bytes.Buffer
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.Write(p)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.String()
}

// start begins an invocation of the binary.
func start(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startBinary(t, self, env, args...)
}

// startBinary begins an invocation of a binary.
func startBinary(t testing.TB, binary string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, args...), name: fmt.Sprint("process ", processes.Add(1)), done: make(chan struct{})}
	p.cmd.Env = append(slices.Clone(env), envMain+"=1", "PGAPPNAME="+p.name, "GORACE=atexit_sleep_ms=0") // else each exit waits a second
	if testing.CoverMode() != "" {
		p.cmd.Env = append(p.cmd.Env, "GOCOVERDIR="+os.TempDir()) // else each process complains on standard error
	}
	p.cmd.Dir = t.TempDir()
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	input, output, err := os.Pipe() // nothing comes, and it does not end
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = output.Close() })
	defer input.Close()
	p.cmd.Stdin = input
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its exit code is asked for below
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	return p
}

// signal sends one; a process that has ended already does not mind.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// end waits for the process and says what it left behind. The code of a killed
// one is -1.
func (p *process) end() outcome {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.signal(syscall.SIGABRT) // shows where it hangs
		<-p.done
		p.t.Fatalf("reverie %s does not end:\n%s", strings.Join(p.cmd.Args[1:], " "), p.err.String())
	}
	return outcome{p.cmd.Args[1:], p.cmd.ProcessState.ExitCode(), p.out.String(), p.err.String()}
}

// launch starts an invocation with the stage's environment.
func (s *stage) launch(args ...string) *process {
	s.t.Helper()
	return start(s.t, s.env, args...)
}

// await waits for something that another goroutine says.
func await[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case v := <-from:
		return v
	case <-ctx.Done():
		t.Fatalf("%s has not happened", what)
		panic("unreachable")
	}
}
