package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

// input opens a file or, for "-", standard input. The size is 0 where it is not
// known.
func (a *app) input(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(&patientReader{ctx: ctx, from: a.stdin}), 0, nil
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
