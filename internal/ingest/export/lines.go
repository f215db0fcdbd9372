package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"reverie/internal/reverie"
)

// Line is one line of a text, without its end.
type Line struct {
	No   int // counting from 1
	Text []byte
}

// Place says for people which line it is.
func (l Line) Place() string { return "line " + strconv.Itoa(l.No) }

// Lines tells the lines of a text, blank ones too. One that is longer than maxLine is told
// as a [*Bad], and the next ones follow. Any other error is the last. A line is the
// listener's to keep.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := bufio.NewReader(r) // a small one: thousands of clients may have one each
		for no := 1; ; no++ {
			text, n, err := readLine(in)
			last := errors.Is(err, io.EOF)
			text = bytes.TrimPrefix(text, byteOrderMark) // of files that somebody put behind each other
			l := Line{No: no, Text: bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))}
			switch {
			case errors.Is(err, errLongLine):
				err = &Bad{Place: l.Place(), Reason: "too long", Err: errLongLine}
			case last && n == 0:
				return
			case last:
				err = nil
			case err != nil:
				yield(l, fmt.Errorf("read %s: %w", l.Place(), err))
				return
			}
			if !yield(l, err) || last {
				return
			}
		}
	}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// readLine returns the next line and how many bytes it took. One that is too
// long is passed over to its end, with errLongLine.
func readLine(in *bufio.Reader) (line []byte, n int, err error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		n += len(part)
		if !long {
			line = append(line, part...)
		}
		if len(line) > maxLine {
			line, long = nil, true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, n, errors.Join(errLongLine, err)
		}
		return line, n, err
	}
}

// maxLine is how long one line, or one record, is at most, in bytes.
const maxLine = 4 << 20

var errLongLine = fmt.Errorf("it is longer than %d bytes: %w", maxLine, reverie.ErrInvalid)
