package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// JSONParts tells the values of a JSON document that fit one of the patterns, in the
// order of the document and whatever the order of keys. A pattern is a path: "meta",
// "data.messages[]" (each element of the array), "[]" (of the document itself),
// "rooms.*.events[]" (whatever the key). A value inside another one that fits is not told
// by itself. Everything else is passed over, and only the value at hand is held.
//
// A value longer than maxLine is bad. After any other error the document cannot be read on: it
// ends too early (io.ErrUnexpectedEOF), is no JSON (ErrNoJSON), or its reader failed.
func JSONParts(r io.Reader, patterns ...string) Parts {
	return func(yield func(Part, error) bool) {
		s := newJSONScanner(r, yield)
		err := s.walk(0, jsonPatterns(patterns))
		if err == nil {
			err = s.end()
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(Part{}, err)
		}
	}
}

// JSONDocuments tells the JSON documents of a text, one behind the other with nothing but
// white space between them: a line each, or over several lines.
func JSONDocuments(r io.Reader) Parts {
	return func(yield func(Part, error) bool) {
		s := newJSONScanner(r, yield)
		for n := 1; ; n++ {
			if _, err := s.next(); errors.Is(err, io.ErrUnexpectedEOF) && s.failed == nil {
				return
			}
			s.path = []string{"[]" + strconv.Itoa(n)}
			if err := s.tell(&jsonPattern{}); err != nil {
				if !errors.Is(err, errStopped) {
					yield(Part{}, err)
				}
				return
			}
		}
	}
}

type jsonPattern struct {
	name  string
	steps []string // keys, "*" or "[]"
}

// jsonPatterns reads patterns.
func jsonPatterns(patterns []string) []*jsonPattern {
	list := make([]*jsonPattern, len(patterns))
	for i, p := range patterns {
		list[i] = &jsonPattern{name: p, steps: strings.FieldsFunc(strings.ReplaceAll(p, "[]", ".[]"),
			func(c rune) bool { return c == '.' })}
	}
	return list
}

// Why a JSON document is not read on.
var (
	ErrNoJSON  = errors.New("it is no JSON")
	errStopped = errors.New("nobody listens any more")
)

// jsonScanner finds where values begin and end; it does not look whether they are sound.
type jsonScanner struct {
	in     *bufio.Reader
	last   byte // that was read, and is not consumed where ahead is set
	ahead  bool
	at     int64 // bytes that were consumed
	failed error // the reader's

	keep, long bool
	kept       []byte

	yield func(Part, error) bool
	path  []string // keys and the numbers of elements, for people
	index []int
	keys  []string
}

func newJSONScanner(r io.Reader, yield func(Part, error) bool) *jsonScanner {
	return &jsonScanner{in: bufio.NewReaderSize(r, 1<<16), yield: yield}
}

// walk passes over the value at hand, whose path so far fits the live patterns up to the
// given depth, and tells what fits within it.
func (s *jsonScanner) walk(depth int, live []*jsonPattern) error {
	c, err := s.next()
	if err != nil {
		return err
	}
	for _, p := range live {
		if len(p.steps) == depth {
			return s.tell(p)
		}
	}
	switch {
	case len(live) > 0 && c == '{':
		return s.list('}', func(int) error { return s.member(depth, live) })
	case len(live) > 0 && c == '[':
		return s.array(depth, live)
	}
	return s.skip()
}

// member walks through a key and its value.
func (s *jsonScanner) member(depth int, live []*jsonPattern) error {
	key, err := s.key()
	if err != nil {
		return err
	}
	within, star := following(live, depth, key)
	path, keys := s.path, s.keys
	s.path = append(s.path, key)
	if star {
		s.keys = append(s.keys, key)
	}
	err = s.walk(depth+1, within)
	s.path, s.keys = path, keys
	return err
}

func (s *jsonScanner) array(depth int, live []*jsonPattern) error {
	within, _ := following(live, depth, "[]")
	path, index := s.path, s.index
	err := s.list(']', func(n int) error {
		s.index, s.path = append(index, n), append(path, "[]"+strconv.Itoa(n+1))
		return s.walk(depth+1, within)
	})
	s.path, s.index = path, index
	return err
}

// following returns the patterns whose step at depth is this one, and whether a * stood
// for it.
func following(live []*jsonPattern, depth int, step string) (fit []*jsonPattern, star bool) {
	for _, p := range live {
		switch want := p.steps[depth]; {
		case want == "*" && step != "[]":
			fit, star = append(fit, p), true
		case want == step:
			fit = append(fit, p)
		}
	}
	return fit, star
}

// tell tells the value at hand.
func (s *jsonScanner) tell(p *jsonPattern) error {
	part := Part{Pattern: p.name, Place: s.place(), Index: slices.Clone(s.index), Keys: slices.Clone(s.keys)}
	raw, long, err := s.capture()
	if err != nil {
		return err
	}
	part.Value = raw
	var bad error
	if long {
		bad = &Bad{Place: part.Place, Reason: "too long", Err: errLongLine}
	}
	if !s.yield(part, bad) {
		return errStopped
	}
	return nil
}

// place says for people where the scanner stands.
func (s *jsonScanner) place() string {
	var b strings.Builder
	for i, step := range s.path {
		number, element := strings.CutPrefix(step, "[]")
		switch {
		case element && i == 0:
			b.WriteString("element " + number)
		case element:
			b.WriteString(" " + number)
		case i > 0 && strings.HasPrefix(s.path[i-1], "[]"):
			b.WriteString(", " + step)
		case i > 0:
			b.WriteString("." + step)
		default:
			b.WriteString(step)
		}
	}
	return b.String()
}

// list goes through what stands between brackets, separated by commas.
func (s *jsonScanner) list(end byte, each func(n int) error) error {
	s.read()
	for n := 0; ; n++ {
		c, err := s.next()
		if err == nil && n > 0 && c == ',' {
			s.read()
			c, err = s.next() // a comma too many does no harm
		} else if err == nil && n > 0 && c != end {
			err = s.noJSON(fmt.Sprintf("%q where a comma or %q should be", c, end))
		}
		if err != nil {
			return err
		}
		if c == end {
			s.read()
			return nil
		}
		if err := each(n); err != nil {
			return err
		}
	}
}

// key reads a key and the colon behind it.
func (s *jsonScanner) key() (key string, err error) {
	c, err := s.next()
	if err == nil && c != '"' {
		err = s.noJSON(fmt.Sprintf("%q where a key should be", c))
	}
	if err != nil {
		return "", err
	}
	raw, long, err := s.capture()
	if err == nil && (long || json.Unmarshal(raw, &key) != nil) {
		err = s.noJSON("a key that cannot be read")
	}
	if err == nil {
		c, err = s.next()
	}
	if err == nil && c != ':' {
		err = s.noJSON(fmt.Sprintf("%q where a colon should be", c))
	}
	s.read()
	return key, err
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
			s.read()
		case '}', ']':
			depth--
			s.read()
		case ',', ':':
			if depth == 0 {
				depth = -1
			}
			s.read()
		default:
			s.word()
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
	s.read()
	for {
		c, ok := s.read()
		if c == '\\' {
			_, ok = s.read()
		}
		switch {
		case !ok:
			return s.cut()
		case c == '"':
			return nil
		}
	}
}

// word passes over a number, true, false or null, with which a document may end.
func (s *jsonScanner) word() {
	for {
		if c, ok := s.peek(); !ok || strings.IndexByte(" \t\r\n,:[]{}\"", c) >= 0 {
			return
		}
		s.read()
	}
}

// next passes over white space, byte order marks in the middle included, and returns the
// byte behind it, which is not consumed.
func (s *jsonScanner) next() (byte, error) {
	for {
		c, ok := s.peek()
		if !ok {
			return 0, s.cut()
		}
		switch c {
		case ' ', '\n', '\r', '\t', 0xef, 0xbb, 0xbf:
			s.read()
		default:
			return c, nil
		}
	}
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

// peek is the next byte; false is at the end, or where the reader failed.
func (s *jsonScanner) peek() (byte, bool) {
	if s.ahead {
		return s.last, true
	}
	c, err := s.in.ReadByte()
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	s.last, s.ahead = c, err == nil
	return c, err == nil
}

// read consumes the next byte, which is kept where somebody wants the value.
func (s *jsonScanner) read() (byte, bool) {
	c, ok := s.peek()
	if !ok {
		return 0, false
	}
	s.ahead = false
	s.at++
	if s.keep && !s.long {
		if s.kept = append(s.kept, c); len(s.kept) > maxLine {
			s.long, s.kept = true, nil
		}
	}
	return c, true
}

// cut says that the document ends where more should be.
func (s *jsonScanner) cut() error {
	where := ""
	if place := s.place(); place != "" {
		where = ", in " + place
	}
	if s.failed != nil {
		return fmt.Errorf("read byte %d%s: %w", s.at, where, s.failed)
	}
	return fmt.Errorf("byte %d%s: it ends in the middle: %w", s.at, where, io.ErrUnexpectedEOF)
}

func (s *jsonScanner) noJSON(what string) error {
	return fmt.Errorf("byte %d: %s: %w", s.at, what, ErrNoJSON)
}
