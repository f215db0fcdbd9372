// Command bench runs the parts of suite.toml through go test and writes their figures into
// docs/benchmarks.md, with the machine and the versions. With -compare it runs a few
// benchmarks of two revisions in turns instead, and hands them to benchstat.
//
//	make bench                                  # all parts but the large ones
//	make bench BENCH="-only nightly,beside"     # some; the others keep their figures
//	make bench-compare BASE=HEAD~3
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"reverie/internal/localdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if len(os.Args) == 3 && os.Args[1] == superviseArg {
		if err := localdb.Supervise(ctx, os.Args[2]); err != nil {
			fmt.Fprintf(os.Stderr, "supervise the benchmarks' cluster: %v\n", err)
			os.Exit(1)
		}
		return
	}
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop() // a second signal ends at once
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	only, out  string
	short      bool
	base       string // of a comparison
	pkg, bench string
	count      int
	benchtime  string

	root   string // of the checkout
	output string // where outputs of benchmarks are kept
}

func readOptions(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.only, "only", "", "the parts to run, divided by commas; all but the large ones by default")
	f.StringVar(&o.out, "out", "", "the page to write, docs/benchmarks.md by default")
	f.BoolVar(&o.short, "short", false,
		"run a sample of each part once: it shows that all works; written to bin/bench/short.md")
	f.StringVar(&o.base, "compare", "", "compare with this revision, by benchstat; nothing else is run")
	f.StringVar(&o.pkg, "pkg", "", "with -compare: the package whose benchmarks are run, such as ./store")
	f.StringVar(&o.bench, "bench", ".", "with -compare -pkg: which benchmarks of the package")
	f.IntVar(&o.count, "count", 6, "with -compare: how often each side runs")
	f.StringVar(&o.benchtime, "benchtime", "0.5s", "with -compare -pkg: how long or how often each benchmark runs")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	named := map[string]bool{}
	f.Visit(func(f *flag.Flag) { named[f.Name] = true })
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("what is %q? See go run ./test/bench -help", f.Arg(0))
	case o.pkg == "" && (named["bench"] || named["benchtime"]):
		return o, errors.New("name the package of the benchmarks, too: -pkg ./store " +
			"(make bench-compare BASE=rev PKG=./store BENCH=Search)")
	case o.count < 1:
		return o, fmt.Errorf("-count %d: run each side at least once; benchstat needs 6 to tell noise from change",
			o.count)
	}
	return o, nil
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := readOptions(args, stderr)
	if err != nil {
		return err
	}
	s, err := readSuite()
	if err != nil {
		return err
	}
	if o.root, err = git(ctx, ".", "rev-parse", "--show-toplevel"); err != nil {
		return fmt.Errorf("find the checkout: %w", err)
	}
	o.output = filepath.Join(o.root, "bin", "bench")
	if err := os.MkdirAll(o.output, 0o755); err != nil {
		return err
	}
	parts, err := s.choose(o.only)
	if err != nil {
		return err
	}
	openFiles()
	srv, err := startServer(ctx, o.output)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.end()) }()
	r := &runner{root: o.root, output: o.output, env: environment(os.Environ(), srv.url), short: o.short, progress: stderr}
	if o.base != "" {
		return r.compare(ctx, o, o.compared(s), stdout)
	}
	about, err := srv.about(ctx, o.root)
	if err != nil {
		return err
	}
	return r.report(ctx, o.page(), s, parts, about)
}

// page is the file that is written: never the published one from a sample.
func (o options) page() string {
	switch {
	case o.out != "":
		return o.out
	case o.short:
		return filepath.Join(o.output, "short.md")
	default:
		return filepath.Join(o.root, "docs", "benchmarks.md")
	}
}

// compared are the benchmarks that were chosen, or the list of the suite.
func (o options) compared(s suite) []run {
	if o.pkg == "" {
		return s.Compare
	}
	return []run{{Package: o.pkg, Bench: o.bench, Time: o.benchtime}}
}

// openFiles raises the limit on open files to the most that is allowed: benchmarks
// inherit it.
func openFiles() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		limit.Cur = limit.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // stays as it is
	}
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	case err != nil:
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
