// Package cli prints for people what commands have done, and as JSON for programs.
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

// Console is what a command reads from and prints to, and the clock that it prints by.
type Console struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	JSON           bool     // answers are for programs
	Fields         []string // what JSON shall have of answers; none: all
	Quiet          bool     // of runs, counts alone are said
	Env            []string
	Now            func() time.Time
	Short          map[string]string // ids as tables show them, by the whole ones
	Columns        int               // of tables; 0: as many as the terminal of Stdout has
}

// Say prints to standard output.
func (con *Console) Say(format string, args ...any) error {
	_, err := fmt.Fprintf(con.Stdout, format, args...)
	return err
}

// CanAsk tells whether somebody reads what is printed and can answer.
func (con *Console) CanAsk() bool {
	in, ok := con.Stdin.(io.Writer) // a terminal is a file, which can be both
	return ok && Terminal(in) && Terminal(con.Stdout)
}

// Ask asks a question, and returns the answer without the space around it; an empty one is
// byDefault. It is an error where input ends without an answer.
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

// AskSecret is Ask for what a terminal must not show. Where the context ends first, the
// terminal is left as it was.
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

// line reads a line that somebody types, without the space around it.
func (con *Console) line(ctx context.Context) (string, error) {
	typed, err := bufio.NewReader(&PatientReader{Ctx: ctx, From: con.Stdin}).ReadString('\n')
	if typed = strings.TrimSpace(typed); errors.Is(err, io.EOF) && typed != "" {
		err = nil
	}
	return typed, err
}

// Confirm asks a question of yes or no. Anything but yes is no.
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

// PatientReader waits for input until the context ends, which a plain read from
// a terminal or a pipe would not notice. It is for one reader at a time.
type PatientReader struct {
	Ctx  context.Context
	From io.Reader
	read chan piece // the read under way, nil without one
	rest piece      // of the last read
}

// piece is what one read brought.
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

// WriteWhole writes a file that is there whole or, where writing failed, not at
// all; one that was there stays until then, and so does a link to it. Nobody else
// may read it. What is no file but a pipe or a device is written as it is.
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
	defer func() { _ = os.Remove(f.Name()) }() // renamed by then, or unfinished
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(f.Name(), place); err != nil {
		return fmt.Errorf("put %s in its place: %w", name, err)
	}
	return nil
}

// whereToWrite follows the links that a name may be, also to a file that is not
// there yet, and tells whether something is there that is no regular file.
func whereToWrite(name string) (place string, special bool, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return name, true, nil // by its name: what /dev/stdout leads to may have none
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
	return whereToWrite(target) // links in a circle are an error of Stat
}

// Seekable opens a file that is read several times. Standard input is copied to a
// temporary one, which goes when it is closed.
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

// Twice returns a channel that is closed at a second signal, and what ends the
// watch. The first signal ends the command's context: see main.
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

// Hurried is Twice for a process that stays.
func Hurried() (hurry <-chan struct{}, end func()) {
	signal.Ignore(syscall.SIGPIPE) // whoever read the log may go; the work goes on
	return Twice()
}

// Drained gives work a context that outlives the end of ctx by grace: what is
// under way may finish, while stop, the end of ctx, keeps more from being begun.
// A second signal ends it at once.
func (con *Console) Drained(ctx context.Context, grace time.Duration) (work context.Context, end func()) {
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone does not end the work
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
