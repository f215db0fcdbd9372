package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// runner does the parts of the suite.
type runner struct {
	root     string // of the checkout
	raw      string // where outputs are kept
	env      []string
	short    bool
	watch    time.Duration // before each part
	progress io.Writer
}

// environment is the caller's without what would choose other cases, and with the
// server to use.
func environment(all []string, url string) []string {
	kept := slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		return strings.HasPrefix(v, "REVERIE_") || strings.HasPrefix(v, "GORACE=")
	})
	return append(kept, envURL+"="+url)
}

// measure runs a part. It fails where a benchmark fails, where none is found, and
// where none gave a figure or a reason.
func (r *runner) measure(ctx context.Context, p part) (m measured, err error) {
	m = measured{Part: p.name, Load: load(), Busy: busy(ctx, r.watch), Date: time.Now().UTC().Truncate(time.Second)}
	if m.noisy() {
		fmt.Fprintf(r.progress, "bench: %s processors do other things: the figures of %s will be noise\n", figure(m.Busy), p.name)
	}
	for i, one := range p.runs {
		file := filepath.Join(r.raw, fmt.Sprintf("%s-%d.txt", p.name, i+1))
		out, err := r.goTest(ctx, p, one, file)
		if err != nil {
			return m, err
		}
		results, skips, err := parse(out)
		if err == nil && len(results)+len(skips) == 0 {
			err = fmt.Errorf("nothing was measured: no benchmark of %s matches", one.pkg)
		}
		if err != nil {
			return m, fmt.Errorf("%s: %w; see %s", one.command(p.timeout), err, file)
		}
		m.Results, m.Skipped = append(m.Results, results...), append(m.Skipped, skips...)
	}
	m.Seconds = time.Since(m.Date).Round(100 * time.Millisecond).Seconds()
	return m, nil
}

// goTest runs benchmarks and keeps what they print.
func (r *runner) goTest(ctx context.Context, p part, one run, file string) (string, error) {
	bench, benchtime := one.bench, one.time
	if r.short {
		bench, benchtime = one.short, "1x"
	}
	args := []string{"test", "-v", "-run", "^$", "-vet=off", "-bench", bench, "-benchtime", benchtime, "-benchmem", "-timeout", p.timeout.String()}
	if r.short {
		args = append(args, "-short")
	}
	fmt.Fprintf(r.progress, "bench: %s: %s of %s\n", p.name, bench, one.pkg)
	kept, err := os.Create(file)
	if err != nil {
		return "", fmt.Errorf("keep the output of %s: %w", one.pkg, err)
	}
	defer kept.Close()
	// go test's own limit is for tests alone.
	ctx, cancel := context.WithTimeoutCause(ctx, p.timeout, fmt.Errorf("it took more than %s", p.timeout))
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", append(args, one.pkg)...)
	cmd.Dir, cmd.Env = r.root, append(slices.Clone(r.env), one.env...)
	cmd.Stdout = io.MultiWriter(kept, &out, &passing{to: r.progress})
	cmd.Stderr = cmd.Stdout
	together(cmd)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("%s: %w:\n%s", one.command(p.timeout), err, strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}

// passing shows lines of results as they come.
type passing struct {
	to   io.Writer
	rest []byte
}

func (p *passing) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		line, rest, whole := bytes.Cut(p.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		if resultLine.Match(line) || skipLine.Match(line) {
			fmt.Fprintf(p.to, "%s\n", line)
		}
		p.rest = rest
	}
}

// together has a command and all that it starts end together when its context does.
func together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
}
