package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// side is one of two trees whose benchmarks run in turns.
type side struct {
	name, root string
	out        string // file of its lines, for benchstat
}

// compare runs the same benchmarks of two revisions, in turns so that what drifts hits
// both, and hands their lines to benchstat.
func (r *runner) compare(ctx context.Context, o options, runs []run, stdout io.Writer) (err error) {
	commit, err := git(ctx, o.root, "rev-parse", "--verify", "--end-of-options", o.base+"^{commit}")
	if err != nil {
		return fmt.Errorf("there is no revision %q: write make bench-compare BASE=HEAD~1, or a tag or a commit (%w)",
			o.base, err)
	}
	tree := filepath.Join(o.output, "base")
	// A tree that is half made could not be removed: git is let finish.
	whole := context.WithoutCancel(ctx)
	_, _ = git(whole, o.root, "worktree", "remove", "--force", tree) // of a run that was killed
	if err := os.RemoveAll(tree); err != nil {
		return err
	}
	if _, err := git(whole, o.root, "worktree", "add", "--force", "--detach", tree, commit); err != nil {
		return err
	}
	defer func() {
		_, gone := git(whole, o.root, "worktree", "remove", "--force", tree)
		err = errors.Join(err, gone)
	}()
	sides := []side{
		{"base", tree, filepath.Join(o.output, "base.txt")},
		{"new", o.root, filepath.Join(o.output, "new.txt")},
	}
	if err := r.takeTurns(ctx, sides, runs, o.count); err != nil {
		return err
	}
	stat := r.command(ctx, o.root, "go", "tool", "benchstat", "base="+sides[0].out, "new="+sides[1].out)
	stat.Stdout, stat.Stderr = stdout, stdout
	return stat.Run()
}

func (r *runner) takeTurns(ctx context.Context, sides []side, runs []run, count int) error {
	for _, s := range sides {
		if err := os.WriteFile(s.out, nil, 0o644); err != nil {
			return err
		}
	}
	compared := false
	for _, one := range runs {
		done, err := r.turnsOf(ctx, sides, one, count)
		if err != nil {
			return err
		}
		compared = compared || done
	}
	if !compared {
		return errors.New("no benchmark was run on both sides: choose others with PKG=./store BENCH=Search")
	}
	return nil
}

// built is a side's test binary and the benchmarks in it.
type built struct {
	side
	dir, binary string
	names       []string
}

// turnsOf builds both sides' test binaries, and lets them take turns at what both have.
// It tells whether there was anything.
func (r *runner) turnsOf(ctx context.Context, sides []side, one run, count int) (bool, error) {
	var both []built
	for _, s := range sides {
		b, err := r.build(ctx, s, one)
		if err != nil {
			return false, err
		}
		if len(b.names) == 0 {
			fmt.Fprintf(r.progress, "bench: left out %s: %s does not have it\n", one.Package, s.name)
			return false, nil
		}
		both = append(both, b)
	}
	var names []string
	for _, name := range both[1].names {
		if slices.Contains(both[0].names, name) {
			names = append(names, name)
		} else {
			fmt.Fprintf(r.progress, "bench: left out %s of %s: base does not have it\n", name, one.Package)
		}
	}
	if len(names) == 0 {
		return false, nil
	}
	for turn := range count {
		fmt.Fprintf(r.progress, "bench: %s, turn %d of %d\n", one.Package, turn+1, count)
		for _, b := range both {
			if err := r.turn(ctx, b, one, narrow(one.Bench, names)); err != nil {
				return false, err
			}
		}
		slices.Reverse(both)
	}
	return true, nil
}

// build compiles a side's tests of a package; what it does not have has no benchmarks.
func (r *runner) build(ctx context.Context, s side, one run) (built, error) {
	b := built{side: s, dir: filepath.Join(s.root, one.Package), binary: filepath.Join(r.output, s.name+".test")}
	if tests, _ := filepath.Glob(filepath.Join(b.dir, "*_test.go")); len(tests) == 0 && one.Was != "" {
		b.dir = filepath.Join(s.root, one.Was)
	}
	if _, err := os.Stat(b.dir); err != nil && s.name == "base" {
		return b, nil
	}
	fmt.Fprintf(r.progress, "bench: building %s of %s\n", one.Package, s.name)
	if out, err := r.command(ctx, b.dir, "go", "test", "-c", "-o", b.binary, ".").CombinedOutput(); err != nil {
		return b, fmt.Errorf("build the tests of %s of %s: %w\n%s", one.Package, s.name, err, out)
	}
	top, _, _ := strings.Cut(one.Bench, "/")
	out, err := r.command(ctx, b.dir, b.binary, "-test.list", top).Output()
	if err != nil {
		return b, fmt.Errorf("list the benchmarks of %s of %s: %w", one.Package, s.name, err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(name, "Benchmark") {
			b.names = append(b.names, name)
		}
	}
	return b, nil
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

// turn runs one side once, and keeps its lines. The package is named as it is called now,
// so that benchstat puts both sides beside each other.
func (r *runner) turn(ctx context.Context, b built, one run, bench string) error {
	out, err := r.command(ctx, b.dir, b.binary, "-test.run", "^$", "-test.bench", bench,
		"-test.benchtime", one.Time, "-test.benchmem", "-test.timeout", runLimit.String()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s of %s: %w\n%s", one.Package, b.name, err, out)
	}
	kept := "pkg: " + one.Package + "\n"
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "Benchmark") || strings.HasPrefix(line, "goos: ") ||
			strings.HasPrefix(line, "goarch: ") || strings.HasPrefix(line, "cpu: ") {
			kept += line
		}
	}
	f, err := os.OpenFile(b.out, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(kept)
	return errors.Join(err, f.Close())
}
