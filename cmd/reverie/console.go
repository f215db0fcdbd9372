package main

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

// console is what a command reads from and prints to, and the clock that it prints by.
type console struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            []string
	now            func() time.Time
	tick           func(every time.Duration) (ticks <-chan time.Time, stop func())
}

// say prints to standard output.
func (con *console) say(format string, args ...any) error {
	_, err := fmt.Fprintf(con.stdout, format, args...)
	return err
}

// canAsk tells whether somebody reads what is printed and can answer.
func (con *console) canAsk() bool {
	in, ok := con.stdin.(io.Writer) // a terminal is a file, which can be both
	return ok && terminal(in) && terminal(con.stdout)
}

// confirm asks a question of yes or no. Anything but yes is no.
func (con *console) confirm(ctx context.Context, question string) (bool, error) {
	if err := con.say("%s [y/N] ", question); err != nil {
		return false, err
	}
	answer, err := bufio.NewReader(&patientReader{ctx: ctx, from: con.stdin}).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

func (con *console) style() style {
	return style{terminal(con.stdout) && con.getenv("NO_COLOR") == "" && con.getenv("TERM") != "dumb"}
}

// input opens a file or, for "-", standard input. The size is 0 where it is not
// known.
func (con *console) input(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(&patientReader{ctx: ctx, from: con.stdin}), 0, nil
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

// patientReader waits for input until the context ends, which a plain read from
// a terminal or a pipe would not notice. It is for one reader at a time.
type patientReader struct {
	ctx  context.Context
	from io.Reader
	read chan piece // the read under way, nil without one
	rest piece      // of the last read
}

// piece is what one read brought.
type piece struct {
	data []byte
	err  error
}

func (r *patientReader) Read(p []byte) (int, error) {
	if len(r.rest.data) == 0 && r.rest.err == nil {
		if r.read == nil {
			r.read = make(chan piece, 1)
			go func(into chan<- piece) {
				buffer := make([]byte, 1<<16)
				n, err := r.from.Read(buffer)
				into <- piece{buffer[:n], err}
			}(r.read)
		}
		select {
		case r.rest = <-r.read:
			r.read = nil
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	n := copy(p, r.rest.data)
	r.rest.data = r.rest.data[n:]
	if len(r.rest.data) > 0 {
		return n, nil
	}
	return n, r.rest.err
}

// getenv looks a variable up in the environment that the app was given.
func (con *console) getenv(name string) string {
	for i := len(con.env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(con.env[i], name+"="); ok {
			return value
		}
	}
	return ""
}
