package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"reverie/internal/reverie"
)

// Part is a piece of a file: a line of a text, or one value from inside a large JSON document.
type Part struct {
	Place   string          // for people, counting from 1: "line 3", "messages 17", "chats.list 2, messages 17"
	Value   json.RawMessage // as it stands; whether it is sound JSON, reading it tells
	Pattern string          // the pattern that it fits, such as "messages[]"
	Index   []int           // of each array on the way, outermost first, counting from 0
	Keys    []string        // what stood for each * of the pattern, outermost first
}

// Parts are the pieces of a file. Of what is wrong with one of them a [*Bad] tells, and the next ones
// follow. Any other error is the last.
type Parts = iter.Seq2[Part, error]

// Decode reads the part as JSON. Where it is of other types it is a bad record of that reason.
func (p Part) Decode(into any, reason string) error {
	if err := json.Unmarshal(p.Value, into); err != nil {
		return &Bad{Place: p.Place, Reason: reason, Err: Readable(err)}
	}
	return nil
}

// Need reads the part as JSON where nothing can be read without it.
func (p Part) Need(into any) error {
	if err := json.Unmarshal(p.Value, into); err != nil {
		return fmt.Errorf("%s: %w", p.Place, Readable(err))
	}
	return nil
}

// Lines tells the lines of a text without their ends, blank ones too. One that is longer than maxLine
// is bad. A line is the listener's to keep.
func Lines(r io.Reader) Parts {
	return func(yield func(Part, error) bool) {
		in := bufio.NewReader(r) // a small one: thousands of clients may have one each
		for no := 1; ; no++ {
			text, n, err := readLine(in)
			last := errors.Is(err, io.EOF)
			text = bytes.TrimPrefix(text, byteOrderMark) // of files that somebody put behind each other
			l := Part{Place: "line " + strconv.Itoa(no),
				Value: bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))}
			switch {
			case errors.Is(err, errLongLine):
				err = &Bad{Place: l.Place, Reason: "too long", Err: errLongLine}
			case last && n == 0:
				return
			case last:
				err = nil
			case err != nil:
				yield(l, fmt.Errorf("read %s: %w", l.Place, err))
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

// TextLines tells the lines of a text that are not blank, without white space around them.
func TextLines(r io.Reader) Parts {
	return func(yield func(Part, error) bool) {
		for l, err := range Lines(r) {
			l.Value = bytes.TrimSpace(l.Value)
			if (err != nil || len(l.Value) > 0) && !yield(l, err) {
				return
			}
		}
	}
}

// JSONLines tells the lines of a text that are not blank. A last line that ends in the middle of its
// JSON is the last error, an io.ErrUnexpectedEOF: there the text was cut off.
func JSONLines(r io.Reader) Parts {
	return func(yield func(Part, error) bool) {
		var held *Part // one that ends in the middle: cut off, unless more follows
		for l, err := range TextLines(r) {
			if held != nil && !yield(*held, nil) {
				return
			}
			held = nil
			if err == nil && EndsEarly(l.Value) {
				held = &l
			} else if !yield(l, err) {
				return
			}
		}
		if held != nil {
			yield(Part{}, fmt.Errorf("%s: it ends in the middle: %w", held.Place, io.ErrUnexpectedEOF))
		}
	}
}

// EndsEarly tells whether a text is the beginning of a JSON value, and not all of it.
func EndsEarly(text []byte) bool {
	if last := text[len(text)-1]; last == '}' && json.Valid(text) {
		return false
	}
	var value json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&value), io.ErrUnexpectedEOF)
}

// Seen has, of the values at the beginning of a JSON document that fit the patterns, the last one of each.
func Seen(head []byte, patterns ...string) map[string]json.RawMessage {
	seen := map[string]json.RawMessage{}
	for part, err := range JSONParts(bytes.NewReader(head), patterns...) {
		if err != nil { // the head ends in the middle
			break
		}
		seen[part.Pattern] = part.Value
	}
	return seen
}

// Numbered tells parts as the messages of a file, by their number.
func Numbered(parts Parts) Parts {
	return func(yield func(Part, error) bool) {
		n := 0
		for part, err := range parts {
			n++
			part.Place = fmt.Sprintf("message %d", n)
			if bad := (*Bad)(nil); errors.As(err, &bad) {
				err = &Bad{Place: part.Place, Reason: bad.Reason, Err: bad.Err}
			}
			if !yield(part, err) {
				return
			}
		}
	}
}
