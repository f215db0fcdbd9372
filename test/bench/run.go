package main

import (
	"bytes"
	"context"
	"errors"
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

// runner runs benchmarks.
type runner struct {
	root     string // of the checkout
	output   string // where outputs are kept
	env      []string
	short    bool
	progress io.Writer
}

// runLimit bounds one call of go test.
const runLimit = 15 * time.Minute

// environment is the caller's without what would choose other cases, and with the
// server to use.
func environment(all []string, url string) []string {
	kept := slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		return strings.HasPrefix(v, "REVERIE_") || strings.HasPrefix(v, "GORACE=")
	})
	return append(kept, envURL+"="+url)
}

// report measures parts one after the other and writes those that went well into the page.
func (r *runner) report(ctx context.Context, file string, s suite, parts []part, about string) error {
	sections := map[string]string{}
	var failed error
	for _, p := range parts {
		section, err := r.measure(ctx, p, about)
		if ctx.Err() != nil {
			return errors.New("interrupted; nothing was written")
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("part %s failed: %w", p.Name, err))
			continue
		}
		sections[p.Title] = section
	}
	if len(sections) > 0 {
		if err := writePage(file, s, sections); err != nil {
			return errors.Join(failed, err)
		}
		fmt.Fprintf(r.progress, "bench: wrote %s\n", file)
	}
	return failed
}

// measure runs a part and returns its section of the page. It fails where a benchmark
// fails, and where one of its runs finds none.
func (r *runner) measure(ctx context.Context, p part, about string) (string, error) {
	began, load := time.Now(), loadAverage()
	var results []result
	var skipped []string
	for i, one := range p.Runs {
		out, err := r.goTest(ctx, one, filepath.Join(r.output, fmt.Sprintf("%s-%d.txt", p.Name, i+1)))
		if err != nil {
			return "", fmt.Errorf("%s: %w", one.command(), err)
		}
		found, skips := parse(out)
		if len(found)+len(skips) == 0 {
			return "", fmt.Errorf("%s: nothing was measured: no benchmark of %s matches", one.command(), one.Package)
		}
		results, skipped = append(results, found...), append(skipped, skips...)
	}
	measured := fmt.Sprintf("Measured %s in %s, after a minute with a load of %s, on %s.",
		began.UTC().Format("2006-01-02 15:04 UTC"), time.Since(began).Round(time.Second), load, about)
	return p.section(measured, results, skipped)
}

// goTest runs benchmarks, keeps what they print in a file, and shows results as they come.
func (r *runner) goTest(ctx context.Context, one run, file string) (string, error) {
	bench, benchtime := one.Bench, one.Time
	args := []string{"test", "-v", "-run", "^$", "-vet=off", "-benchmem", "-timeout", runLimit.String()}
	if r.short {
		bench, benchtime = one.Short, "1x"
		args = append(args, "-short")
	}
	args = append(args, "-bench", bench, "-benchtime", benchtime, one.Package)
	fmt.Fprintf(r.progress, "bench: %s of %s\n", bench, one.Package)
	kept, err := os.Create(file)
	if err != nil {
		return "", err
	}
	defer kept.Close()
	// go test's own limit is for tests alone.
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	var out bytes.Buffer
	cmd := r.command(ctx, r.root, "go", args...)
	cmd.Env = append(cmd.Env, one.Env...)
	cmd.Stdout = io.MultiWriter(kept, &out, r.progress)
	cmd.Stderr = cmd.Stdout
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w; see %s:\n%s", err, file, strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}

// command is one that ends, together with all that it starts, when its context does.
func (r *runner) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, slices.Clone(r.env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
