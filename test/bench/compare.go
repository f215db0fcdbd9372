package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// side is one of two trees whose benchmarks run in turns.
type side struct {
	name, root string
	out        string // file of its lines
}

// compare runs the same benchmarks of two revisions, in turns so that what drifts hits
// both, and hands their lines to benchstat.
func compare(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	prune(ctx, o.root, os.TempDir(), stderr)
	work, done, err := workplace(os.TempDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	commit, err := git(ctx, o.root, "rev-parse", "--verify", "--end-of-options", o.base+"^{commit}")
	if err != nil {
		return fmt.Errorf("there is no revision %q: write make bench-compare BASE=HEAD~1, or a tag or a commit (%w)", o.base, err)
	}
	tree := filepath.Join(work, "base")
	// A tree that is half made could not be removed: git is let finish.
	whole := context.WithoutCancel(ctx)
	if _, err := git(whole, o.root, "worktree", "add", "--quiet", "--detach", tree, commit); err != nil {
		return err
	}
	defer func() {
		_, gone := git(whole, o.root, "worktree", "remove", "--force", tree)
		err = errors.Join(err, gone)
	}()
	srv, err := startServer(ctx, o.rawKept)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.end()) }()
	c := &comparison{work: work, count: o.count, env: environment(os.Environ(), srv.url), progress: stderr,
		sides: []side{{"base", tree, filepath.Join(o.rawKept, "base.txt")}, {"new", o.root, filepath.Join(o.rawKept, "new.txt")}}}
	if err := c.all(ctx, o.compared()); err != nil {
		return err
	}
	return c.benchstat(ctx, stdout)
}

// compared are the benchmarks that were chosen, or the list of the suite.
func (o options) compared() []run {
	if o.pkg == "" {
		return compared
	}
	one := run{pkg: o.pkg, bench: o.bench, time: o.benchtime}
	if one.bench == "" {
		one.bench = "."
	}
	if one.time == "" {
		one.time = "0.5s"
	}
	return []run{one}
}

// comparison is what two sides share.
type comparison struct {
	sides    []side
	work     string
	env      []string
	count    int
	progress io.Writer
	lines    int
}

func (c *comparison) all(ctx context.Context, runs []run) error {
	for _, s := range c.sides {
		if err := os.WriteFile(s.out, nil, 0o644); err != nil {
			return err
		}
	}
	for i, r := range runs {
		if err := c.run(ctx, i, r); err != nil {
			return err
		}
	}
	if c.lines == 0 {
		return errors.New("no benchmark was run on both sides: choose others with PKG=./store BENCH=Search")
	}
	return nil
}

// run builds both sides' test binaries, and lets them take turns at what both have.
func (c *comparison) run(ctx context.Context, no int, r run) error {
	var binaries []string
	var have [][]string
	for _, s := range c.sides {
		file := filepath.Join(c.work, fmt.Sprintf("%s-%d.test", s.name, no))
		fmt.Fprintf(c.progress, "bench: building %s of %s\n", r.pkg, s.name)
		if _, err := os.Stat(filepath.Join(s.root, r.pkg)); err != nil && s.name == "base" {
			fmt.Fprintf(c.progress, "bench: left out %s: base does not have it\n", r.pkg)
			return nil
		}
		if out, err := c.command(ctx, s.root, "go", "test", "-c", "-o", file, r.pkg).CombinedOutput(); err != nil {
			return fmt.Errorf("build the tests of %s of %s: %w\n%s", r.pkg, s.name, err, out)
		}
		names, err := c.list(ctx, s, file, r)
		if err != nil {
			return err
		}
		binaries, have = append(binaries, file), append(have, names)
	}
	both, missing := inBoth(have[0], have[1])
	for _, name := range missing {
		fmt.Fprintf(c.progress, "bench: left out %s of %s: base does not have it\n", name, r.pkg)
	}
	if len(both) == 0 {
		return nil
	}
	r.bench = narrow(r.bench, both)
	for turn := range c.count {
		order := []int{0, 1}
		if turn%2 == 1 {
			slices.Reverse(order)
		}
		fmt.Fprintf(c.progress, "bench: %s, turn %d of %d\n", r.pkg, turn+1, c.count)
		for _, i := range order {
			if err := c.turn(ctx, c.sides[i], binaries[i], r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *comparison) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, c.env
	together(cmd)
	return cmd
}

// list names the benchmarks of a binary that a run chooses, by the first part of the
// expression.
func (c *comparison) list(ctx context.Context, s side, binary string, r run) ([]string, error) {
	top, _, _ := strings.Cut(r.bench, "/")
	out, err := c.command(ctx, filepath.Join(s.root, r.pkg), binary, "-test.list", top).Output()
	if err != nil {
		return nil, fmt.Errorf("list the benchmarks of %s of %s: %w", r.pkg, s.name, err)
	}
	names := strings.Fields(string(out))
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, "Benchmark") }), nil
}

// inBoth divides what new has into what base has too, and what it has not.
func inBoth(base, now []string) (both, missing []string) {
	for _, n := range now {
		if slices.Contains(base, n) {
			both = append(both, n)
		} else {
			missing = append(missing, n)
		}
	}
	return both, missing
}

// narrow chooses these benchmarks, and of them what the expression does below the first
// level.
func narrow(bench string, names []string) string {
	_, below, deeper := strings.Cut(bench, "/")
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	top := "^(" + strings.Join(quoted, "|") + ")$"
	if deeper {
		return top + "/" + below
	}
	return top
}

// takenOn are the lines that benchstat groups results by.
var takenOn = regexp.MustCompile(`^(goos|goarch|pkg|cpu): `)

// turn runs one side once, and keeps its lines.
func (c *comparison) turn(ctx context.Context, s side, binary string, r run) error {
	dir := filepath.Join(s.root, r.pkg)
	out, err := c.command(ctx, dir, binary, "-test.run", "^$", "-test.bench", r.bench, "-test.benchtime", r.time, "-test.benchmem", "-test.timeout", "15m").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s of %s: %w\n%s", r.pkg, s.name, err, out)
	}
	f, err := os.OpenFile(s.out, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for line := range strings.Lines(string(out)) {
		switch {
		case resultLine.MatchString(line):
			c.lines++
		case !takenOn.MatchString(line):
			continue
		}
		if _, err := io.WriteString(f, line); err != nil {
			return err
		}
	}
	return nil
}

// benchstat shows both sides' lines.
func (c *comparison) benchstat(ctx context.Context, stdout io.Writer) error {
	cmd := c.command(ctx, c.sides[1].root, "go", "tool", "benchstat", "base="+c.sides[0].out, "new="+c.sides[1].out)
	cmd.Stdout, cmd.Stderr = stdout, stdout
	return cmd.Run()
}
