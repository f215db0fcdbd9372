package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Why a JSON document is not read on.
var (
	ErrNoJSON  = errors.New("it is no JSON")
	errStopped = errors.New("nobody listens any more")
)

// jsonScanner finds where values begin and end; it does not look whether they are sound.
type jsonScanner struct {
	in     io.Reader
	buffer []byte
	at, to int   // what of the buffer is not consumed yet
	base   int64 // where the buffer stands in the document
	failed error

	keep, long bool
	kept       []byte

	yield func(JSONPart, error) bool
	path  []string // keys and the numbers of elements, for people
	index []int
	keys  []string
}

func newJSONScanner(r io.Reader, yield func(JSONPart, error) bool) *jsonScanner {
	return &jsonScanner{in: r, buffer: make([]byte, 1<<16), yield: yield}
}

// list goes through what stands between brackets, separated by commas.
func (s *jsonScanner) list(end byte, each func(n int) error) error {
	s.consume(1)
	for n := 0; ; n++ {
		c, err := s.next()
		switch {
		case err != nil:
			return err
		case c == end:
			s.consume(1)
			return nil
		case n > 0 && c != ',':
			return s.noJSON(fmt.Sprintf("%q where a comma or %q should be", c, end))
		case n > 0:
			s.consume(1)
			if c, err = s.next(); err != nil {
				return err
			}
			if c == end { // a comma too many does no harm
				s.consume(1)
				return nil
			}
		}
		if err := each(n); err != nil {
			return err
		}
	}
}

// key reads a key and the colon behind it.
func (s *jsonScanner) key() (string, error) {
	if c, err := s.next(); err != nil || c != '"' {
		return "", orError(err, s.noJSON(fmt.Sprintf("%q where a key should be", c)))
	}
	raw, long, err := s.capture()
	if err != nil {
		return "", err
	}
	var key string
	if long || json.Unmarshal(raw, &key) != nil {
		return "", s.noJSON("a key that cannot be read")
	}
	if c, err := s.next(); err != nil || c != ':' {
		return "", orError(err, s.noJSON(fmt.Sprintf("%q where a colon should be", c)))
	}
	s.consume(1)
	return key, nil
}

// capture passes over the value at hand and returns it, or that it is too long.
func (s *jsonScanner) capture() (raw []byte, long bool, err error) {
	s.keep, s.long, s.kept = true, false, s.kept[:0]
	err = s.skip()
	s.keep = false
	if err != nil || s.long {
		return nil, s.long, err
	}
	return bytes.Clone(s.kept), false, nil
}

// skip passes over the value at hand, whatever its depth.
func (s *jsonScanner) skip() error {
	for depth := 0; ; {
		c, err := s.next()
		if err != nil {
			return err
		}
		switch c {
		case '"':
			err = s.text()
		case '{', '[':
			depth++
			s.consume(1)
		case '}', ']':
			depth--
			s.consume(1)
		case ',', ':':
			if depth == 0 {
				return s.noJSON(fmt.Sprintf("%q where a value should be", c))
			}
			s.consume(1)
		default:
			err = s.word()
		}
		switch {
		case err != nil:
			return err
		case depth < 0:
			return s.noJSON(fmt.Sprintf("%q where a value should be", c))
		case depth == 0:
			return nil
		}
	}
}

// text passes over a string.
func (s *jsonScanner) text() error {
	s.consume(1)
	for escaped := false; ; {
		if !s.fill() {
			return s.cut()
		}
		part := s.buffer[s.at:s.to]
		if escaped {
			s.consume(1)
			escaped = false
			continue
		}
		end := bytes.IndexByte(part, '"')
		if end >= 0 {
			part = part[:end]
		}
		switch escape := bytes.IndexByte(part, '\\'); {
		case escape >= 0:
			s.consume(escape + 1)
			escaped = true
		case end >= 0:
			s.consume(end + 1)
			return nil
		default:
			s.consume(len(part))
		}
	}
}

// word passes over a number, true, false or null.
func (s *jsonScanner) word() error {
	for s.fill() {
		part := s.buffer[s.at:s.to]
		if i := bytes.IndexAny(part, " \t\r\n,:[]{}\""); i >= 0 {
			s.consume(i)
			return nil
		}
		s.consume(len(part))
	}
	return s.failed // a document may end with a word
}

// next passes over white space, byte order marks in the middle included, and returns the
// byte behind it, which is not consumed.
func (s *jsonScanner) next() (byte, error) {
	for s.fill() {
		part := s.buffer[s.at:s.to]
		for i, c := range part {
			switch c {
			case ' ', '\n', '\r', '\t', 0xef, 0xbb, 0xbf:
			default:
				s.consume(i)
				return c, nil
			}
		}
		s.consume(len(part))
	}
	return 0, s.cut()
}

// end makes sure that nothing follows the document.
func (s *jsonScanner) end() error {
	c, err := s.next()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && s.failed == nil:
		return nil
	case err != nil:
		return err
	}
	return s.noJSON(fmt.Sprintf("%q behind the end of the document", c))
}

func (s *jsonScanner) consume(n int) {
	if s.keep && !s.long {
		if len(s.kept)+n > maxLine {
			s.long, s.kept = true, nil
		} else {
			s.kept = append(s.kept, s.buffer[s.at:s.at+n]...)
		}
	}
	s.at += n
}

// fill makes sure that the buffer holds something, and says whether it does.
func (s *jsonScanner) fill() bool {
	for empty := 0; s.at == s.to && s.failed == nil; empty++ {
		if empty == 100 {
			s.failed = io.ErrNoProgress
			break
		}
		s.base += int64(s.to)
		n, err := s.in.Read(s.buffer)
		s.at, s.to = 0, n
		if errors.Is(err, io.EOF) {
			s.in = strings.NewReader("") // ended for good
			if n == 0 {
				return false
			}
		} else if err != nil {
			s.failed = err
		}
	}
	return s.at < s.to
}

// cut says that the document ends where more should be.
func (s *jsonScanner) cut() error {
	where := ""
	if place := s.place(); place != "" {
		where = ", in " + place
	}
	if s.failed != nil {
		return fmt.Errorf("read byte %d%s: %w", s.base+int64(s.at), where, s.failed)
	}
	return fmt.Errorf("byte %d%s: it ends in the middle: %w", s.base+int64(s.at), where, io.ErrUnexpectedEOF)
}

func (s *jsonScanner) noJSON(what string) error {
	return fmt.Errorf("byte %d: %s: %w", s.base+int64(s.at), what, ErrNoJSON)
}

// orError returns the first error that there is.
func orError(first, second error) error {
	if first != nil {
		return first
	}
	return second
}
