// Command bench measures Reverie and writes docs/benchmarks.md: it runs the parts of
// the suite through go test, reads their lines, and renders tables, growth, what is
// asked and whether it holds, and the JSON of all of it. With -compare it holds a few
// benchmarks against another revision's instead.
//
//	make bench                                  # all parts but the large ones
//	make bench BENCH="-only nightly,beside"     # some; the others keep their figures
//	make bench BENCH="-only nightly -check"     # writes nothing, says what has moved
//	make bench-compare BASE=HEAD~3
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
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
	if err != nil && ctx.Err() != nil {
		err = interrupted{err}
	}
	stop() // a second signal ends at once
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// interrupted is what came of it where somebody ended it: what each command said as it
// was stopped tells nothing.
type interrupted struct{ error }

func (e interrupted) Error() string {
	var kept partial
	if errors.As(e.error, &kept) {
		return "interrupted; " + kept.kept
	}
	return "interrupted; nothing was written"
}

func (e interrupted) Unwrap() error { return e.error }

// options are the flags.
type options struct {
	only, out     string
	short, check  bool
	render        bool
	base          string
	pkg, bench    string
	count         int
	benchtime     string
	root, rawKept string
}

// page is where the figures are published.
const page = "docs/benchmarks.md"

func readOptions(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.only, "only", "", "the parts to run, divided by commas: nightly, beside, growth, peer, others, serve; all but serve by default")
	f.StringVar(&o.out, "out", "", "the document to write, "+page+" by default; the README is written along with that one alone")
	f.BoolVar(&o.short, "short", false, "run a sample of each part once: it shows that all works, and its figures say nothing; written to bin/bench/short.md")
	f.BoolVar(&o.check, "check", false, "write nothing: run the parts and say which figures of the document have moved beyond noise")
	f.BoolVar(&o.render, "render", false, "run nothing: write the document anew from the figures in it, after a change of its words")
	f.StringVar(&o.base, "compare", "", "compare with this revision, by benchstat; nothing else is run")
	f.StringVar(&o.pkg, "pkg", "", "with -compare: the package whose benchmarks are run, such as ./store")
	f.StringVar(&o.bench, "bench", "", "with -compare: which benchmarks of the package, all by default")
	f.IntVar(&o.count, "count", 6, "with -compare: how often each side runs")
	f.StringVar(&o.benchtime, "benchtime", "", "with -compare -pkg: how long or how often each benchmark runs, 0.5s by default")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("what is %q? See go run ./test/bench -help", f.Arg(0))
	case o.pkg == "" && (o.bench != "" || o.benchtime != ""):
		return o, errors.New("name the package of the benchmarks, too: -pkg ./store (make bench-compare BASE=rev PKG=./store BENCH=Search)")
	case o.count < 1:
		return o, fmt.Errorf("-count %d: run each side at least once; benchstat needs 6 to tell noise from change", o.count)
	}
	return o, nil
}

// command is the whole of it.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := readOptions(args, stderr)
	if err != nil {
		return err
	}
	if o.root, err = git(ctx, ".", "rev-parse", "--show-toplevel"); err != nil {
		return fmt.Errorf("find the checkout: %w", err)
	}
	o.rawKept = filepath.Join(o.root, "bin", "bench")
	if err := os.MkdirAll(o.rawKept, 0o755); err != nil {
		return err
	}
	if o.base != "" {
		return compare(ctx, o, stdout, stderr)
	}
	if o.render {
		d, err := readDocument(o.document())
		if err == nil && len(d.Parts) == 0 {
			err = fmt.Errorf("%s has no figures to write anew", o.document())
		}
		if err != nil {
			return err
		}
		return o.publish(o.document(), d, stdout)
	}
	parts, err := choose(o.only)
	if err != nil {
		return err
	}
	return report(ctx, o, parts, stdout, stderr)
}

// report measures the parts and writes, or checks, the document.
func report(ctx context.Context, o options, parts []part, stdout, stderr io.Writer) (err error) {
	file := o.document()
	before, err := readDocument(file)
	if err != nil {
		return err
	}
	openFiles()
	srv, err := startServer(ctx, o.rawKept)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.end()) }()
	about, err := srv.versions(ctx, o.root)
	if err != nil {
		return err
	}
	r := &runner{root: o.root, raw: o.rawKept, env: environment(os.Environ(), srv.url), short: o.short, watch: moment, progress: stderr}
	fresh, failed := r.all(ctx, parts, newMachine(srv.dir), about)
	switch {
	case len(fresh) == 0:
		return partial{failed, "nothing was written"}
	case o.check:
		err = check(stdout, file, before, fresh)
	default:
		err = o.publish(file, before.with(fresh), stdout)
	}
	if failed != nil {
		failed = partial{failed, fmt.Sprintf("the other parts are done: %s", names(fresh))}
	}
	return errors.Join(err, failed)
}

// partial is why parts failed, and what became of the others.
type partial struct {
	error
	kept string
}

func (p partial) Error() string { return p.error.Error() + "\n" + p.kept }
func (p partial) Unwrap() error { return p.error }

func names(all []measured) string {
	var list []string
	for _, m := range all {
		list = append(list, m.Part)
	}
	return strings.Join(list, ", ")
}

// all measures parts one after the other, on one machine: those that went well, and why
// the others did not. None is begun once it was told to stop.
func (r *runner) all(ctx context.Context, parts []part, m machine, v versions) (fresh []measured, failed error) {
	for _, p := range parts {
		one, err := r.measure(ctx, p)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("part %s failed: %w", p.name, err))
			if ctx.Err() != nil {
				break
			}
			continue
		}
		one.Machine, one.Versions = m, v
		fresh = append(fresh, one)
	}
	return fresh, failed
}

// document is the file that is written: never the published one from a sample.
func (o options) document() string {
	switch {
	case o.out != "":
		return o.out
	case o.short:
		return filepath.Join(o.rawKept, "short.md")
	default:
		return filepath.Join(o.root, page)
	}
}

// publish writes the document, its JSON, and, beside the published one, the README.
func (o options) publish(file string, d document, stdout io.Writer) error {
	if err := os.WriteFile(filepath.Join(o.rawKept, "results.json"), []byte(d.encode()+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(d.render()), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "bench: wrote %s\n", file)
	if file != filepath.Join(o.root, page) {
		return nil
	}
	return writeReadme(filepath.Join(o.root, "README.md"), d)
}
