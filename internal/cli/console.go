// Package cli prints the results of commands, for people or as JSON for programs.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Console is the input and output of a command, with the clock for what it prints.
type Console struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	JSON           bool     // print answers for programs
	Fields         []string // the fields that JSON contains; none: all
	Quiet          bool     // print only counts for runs
	Brief          bool     // print only counts and changes for runs, without what people said
	Env            []string
	Now            func() time.Time
	Columns        int // width of tables; 0: that of Stdout's terminal
}

// Say prints to standard output.
func (con *Console) Say(format string, args ...any) error {
	_, err := fmt.Fprintf(con.Stdout, format, args...)
	return err
}

// CanAsk reports whether a person reads the output and can answer.
func (con *Console) CanAsk() bool {
	in, ok := con.Stdin.(io.Writer) // a terminal is a file that is also writable
	return ok && Terminal(in) && Terminal(con.Stdout)
}

// Ask asks a question, and returns the trimmed answer; an empty one is byDefault. It fails if input ends without an
// answer.
func (con *Console) Ask(ctx context.Context, question, byDefault string) (string, error) {
	if byDefault != "" {
		question += " [" + Visible(byDefault) + "]"
	}
	if err := con.Say("%s: ", question); err != nil {
		return "", err
	}
	answer, err := con.line(ctx)
	return cmp.Or(answer, byDefault), err
}

// AskSecret is Ask for an answer that the terminal must not show. If the context ends first, the terminal's state
// is restored.
func (con *Console) AskSecret(ctx context.Context, question string) (string, error) {
	tty, is := con.Stdin.(*os.File)
	if !is || !term.IsTerminal(int(tty.Fd())) {
		return con.Ask(ctx, question, "")
	}
	before, err := term.GetState(int(tty.Fd()))
	if err != nil {
		return "", fmt.Errorf("ask for what is not shown: %w", err)
	}
	if err := con.Say("%s: ", question); err != nil {
		return "", err
	}
	typed := make(chan piece, 1)
	go func() {
		data, err := term.ReadPassword(int(tty.Fd()))
		typed <- piece{data, err}
	}()
	select {
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(int(tty.Fd()), before), con.Say("\n"))
	case p := <-typed:
		return strings.TrimSpace(string(p.data)), errors.Join(p.err, con.Say("\n"))
	}
}

// line reads a line from the keyboard, trimmed.
func (con *Console) line(ctx context.Context) (string, error) {
	typed, err := bufio.NewReader(&PatientReader{Ctx: ctx, From: con.Stdin}).ReadString('\n')
	if typed = strings.TrimSpace(typed); errors.Is(err, io.EOF) && typed != "" {
		err = nil
	}
	return typed, err
}

// Confirm asks a yes-or-no question. Any answer but yes is no.
func (con *Console) Confirm(ctx context.Context, question string) (bool, error) {
	if err := con.Say("%s [y/N] ", question); err != nil {
		return false, err
	}
	answer, err := con.line(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

func (con *Console) Style() Style {
	return Style{Terminal(con.Stdout) && con.Getenv("NO_COLOR") == "" && con.Getenv("TERM") != "dumb"}
}

// Input opens a file or, for "-", standard input.
func (con *Console) Input(ctx context.Context, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(&PatientReader{Ctx: ctx, From: con.Stdin}), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, errors.Unwrap(err))
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder: name a file", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// PatientReader waits for input until the context ends, which a plain read from a terminal or a pipe would not
// notice. It is for one reader at a time.
type PatientReader struct {
	Ctx  context.Context
	From io.Reader
	read chan piece // the current read, nil if there is none
	rest piece      // rest of the last read
}

// piece is the result of one read.
type piece struct {
	data []byte
	err  error
}

func (r *PatientReader) Read(p []byte) (int, error) {
	if len(r.rest.data) == 0 && r.rest.err == nil {
		if r.read == nil {
			r.read = make(chan piece, 1)
			go func(into chan<- piece) {
				buffer := make([]byte, 1<<16)
				n, err := r.From.Read(buffer)
				into <- piece{buffer[:n], err}
			}(r.read)
		}
		select {
		case r.rest = <-r.read:
			r.read = nil
		case <-r.Ctx.Done():
			return 0, r.Ctx.Err()
		}
	}
	n := copy(p, r.rest.data)
	r.rest.data = r.rest.data[n:]
	if len(r.rest.data) > 0 {
		return n, nil
	}
	return n, r.rest.err
}

// Getenv looks a variable up in the environment that the app was given.
func (con *Console) Getenv(name string) string {
	for i := len(con.Env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(con.Env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// WriteWhole writes a file completely or, if writing fails, not at all. An existing file is replaced at the end,
// and a link to it stays. Only its owner may read it. A pipe or a device is written directly.
func WriteWhole(name string, write func(io.Writer) error) error {
	place, special, err := whereToWrite(name)
	if err != nil {
		return fmt.Errorf("find the place of the file %s: %w", name, err)
	}
	if special {
		f, err := os.OpenFile(place, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", name, err)
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(place), "."+filepath.Base(place)+".*")
	if err != nil {
		return fmt.Errorf("make the file %s: %w: choose a folder that can be written to, such as %s, or /dev/stdout", name, err,
			os.TempDir())
	}
	defer func() { _ = os.Remove(f.Name()) }() // renamed by then, or incomplete
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(f.Name(), place); err != nil {
		return fmt.Errorf("put %s in its place: %w", name, err)
	}
	return nil
}

// whereToWrite follows links in a name, also to a file that does not exist yet. special reports whether something
// other than a regular file exists there.
func whereToWrite(name string) (place string, special bool, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return name, true, nil // keeps the name: the target of /dev/stdout may have none
	case err == nil:
		place, err = filepath.EvalSymlinks(name)
		return place, false, err
	case !errors.Is(err, fs.ErrNotExist):
		return "", false, err
	}
	target, err := os.Readlink(name)
	if err != nil {
		return name, false, nil // no link, or nothing at all
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(name), target)
	}
	return whereToWrite(target) // for circular links Stat returns an error
}

// Seekable opens a file for several reads. It copies standard input to a temporary file, which is removed when it
// is closed.
func (con *Console) Seekable(ctx context.Context, name string) (io.ReadSeekCloser, error) {
	in, err := con.Input(ctx, name)
	if err != nil {
		return nil, err
	}
	if f, ok := in.(*os.File); ok && name != "-" {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return f, nil
		}
	}
	defer in.Close()
	f, err := os.CreateTemp("", "reverie-import-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file for what is imported: %w", err)
	}
	spool := spooled{f}
	if _, err := io.Copy(f, in); err != nil {
		return nil, errors.Join(fmt.Errorf("copy %s to the temporary file %s: %w", name, f.Name(), err), spool.Close())
	}
	return spool, nil
}

// spooled is a temporary file that is removed when it is closed.
type spooled struct{ *os.File }

func (s spooled) Close() error { return errors.Join(s.File.Close(), os.Remove(s.Name())) }

// Twice returns a channel that closes at a second signal, and a function that stops watching. The first signal ends
// the command's context: see main.
func Twice() (hurry <-chan struct{}, end func()) {
	signals, second, done := make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	var gone sync.WaitGroup
	gone.Go(func() {
		for range 2 {
			select {
			case <-signals:
			case <-done:
				return
			}
		}
		close(second)
	})
	return second, func() {
		signal.Stop(signals)
		close(done)
		gone.Wait()
	}
}

// Hurried is Twice for a long-running process.
func Hurried() (hurry <-chan struct{}, end func()) {
	signal.Ignore(syscall.SIGPIPE) // the reader of the log may end; the work continues
	return Twice()
}

// Drained returns a context for work that ends grace after ctx. Running work may finish, while the end of ctx keeps
// more from being started. A second signal ends it at once.
func (con *Console) Drained(ctx context.Context, grace time.Duration) (work context.Context, end func()) {
	signal.Ignore(syscall.SIGPIPE) // the work continues if its reader ends
	hurry, forget := Twice()
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	done := make(chan struct{})
	var gone sync.WaitGroup
	gone.Go(func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		fmt.Fprintf(con.Stderr, "reverie: stopping: what is under way has %s to finish; a second signal stops it at once\n",
			grace)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-done:
		case <-hurry:
			cancel(context.Canceled)
		case <-timer.C:
			cancel(context.Canceled)
		}
	})
	return work, func() {
		close(done)
		gone.Wait()
		cancel(nil)
		forget()
	}
}
