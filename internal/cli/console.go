// Package cli prints for people what commands have done, and as JSON for programs.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Console is what a command reads from and prints to, and the clock that it prints by.
type Console struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            []string
	Now            func() time.Time
	Tick           func(every time.Duration) (ticks <-chan time.Time, stop func())
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

// Confirm asks a question of yes or no. Anything but yes is no.
func (con *Console) Confirm(ctx context.Context, question string) (bool, error) {
	if err := con.Say("%s [y/N] ", question); err != nil {
		return false, err
	}
	answer, err := bufio.NewReader(&PatientReader{Ctx: ctx, From: con.Stdin}).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

func (con *Console) Style() Style {
	return Style{Terminal(con.Stdout) && con.Getenv("NO_COLOR") == "" && con.Getenv("TERM") != "dumb"}
}

// Input opens a file or, for "-", standard input. The size is 0 where it is not
// known.
func (con *Console) Input(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(&PatientReader{Ctx: ctx, From: con.Stdin}), 0, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("open the file: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s: it is a folder; name a file", name)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
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
