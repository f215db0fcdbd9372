package export

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

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
		s.walk(0, jsonPatterns(patterns))
		if s.err == nil && !s.atEnd() {
			s.wrong("the end of the document")
		}
		s.tellError()
	}
}

// JSONDocuments tells the JSON documents of a text, one behind the other with nothing but
// white space between them: a line each, or over several lines.
func JSONDocuments(r io.Reader) Parts {
	return func(yield func(Part, error) bool) {
		s := newJSONScanner(r, yield)
		for n := 1; s.err == nil && !s.atEnd(); n++ {
			s.path = []string{"[]" + strconv.Itoa(n)}
			s.tell(&jsonPattern{})
		}
		s.tellError()
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

// jsonScanner finds where values begin and end; it does not look whether they are sound. After an error
// nothing more is read.
type jsonScanner struct {
	in   *bufio.Reader
	at   int64 // bytes that were consumed
	last byte  // the one behind them, where ahead is set
	err  error

	ahead, keep, long bool
	kept              []byte

	yield func(Part, error) bool
	path  []string // keys and the numbers of elements, for people
	index []int
	keys  []string
}

func newJSONScanner(r io.Reader, yield func(Part, error) bool) *jsonScanner {
	return &jsonScanner{in: bufio.NewReaderSize(r, 1<<16), yield: yield}
}

// tellError tells why the document is not read on, if anybody still listens.
func (s *jsonScanner) tellError() {
	if s.err != nil && !errors.Is(s.err, errStopped) {
		s.yield(Part{}, s.err)
	}
}

// walk passes over the value at hand, whose path so far fits the live patterns up to the
// given depth, and tells what fits within it.
func (s *jsonScanner) walk(depth int, live []*jsonPattern) {
	c := s.next()
	for _, p := range live {
		if len(p.steps) == depth {
			s.tell(p)
			return
		}
	}
	path, keys, index := s.path, s.keys, s.index
	switch {
	case len(live) > 0 && c == '{':
		s.list('}', func(int) {
			key := s.key()
			within, star := following(live, depth, key)
			if s.path = append(path, key); star {
				s.keys = append(keys, key)
			}
			s.walk(depth+1, within)
			s.keys = keys
		})
	case len(live) > 0 && c == '[':
		within, _ := following(live, depth, "[]")
		s.list(']', func(n int) {
			s.index, s.path = append(index, n), append(path, "[]"+strconv.Itoa(n+1))
			s.walk(depth+1, within)
		})
	default:
		s.skip()
	}
	if s.err == nil {
		s.path, s.index = path, index
	}
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
func (s *jsonScanner) tell(p *jsonPattern) {
	part := Part{Pattern: p.name, Place: s.place(), Index: slices.Clone(s.index), Keys: slices.Clone(s.keys)}
	s.capture()
	if s.err != nil {
		return
	}
	part.Value = bytes.Clone(s.kept)
	var bad error
	if s.long {
		bad = &Bad{Place: part.Place, Reason: "too long", Err: errLongLine}
	}
	if !s.yield(part, bad) {
		s.err = errStopped
	}
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
func (s *jsonScanner) list(end byte, each func(n int)) {
	s.read()
	for n := 0; s.err == nil; n++ {
		c := s.next()
		if n > 0 && c == ',' {
			s.read()
			c = s.next() // a comma too many does no harm
		} else if n > 0 && c != end {
			s.wrong(fmt.Sprintf("a comma or %q", end))
			return
		}
		if c == end {
			s.read()
			return
		}
		each(n)
	}
}

// key reads a key and the colon behind it.
func (s *jsonScanner) key() (key string) {
	if s.next() != '"' {
		s.wrong("a key")
		return ""
	}
	s.capture()
	if s.err == nil && (s.long || json.Unmarshal(s.kept, &key) != nil) {
		s.wrong("the end of a key that can be read")
	}
	if s.next() != ':' {
		s.wrong("a colon")
	}
	s.read()
	return key
}

// capture passes over the value at hand and keeps it, unless it is too long.
func (s *jsonScanner) capture() {
	s.keep, s.long, s.kept = true, false, s.kept[:0]
	s.skip()
	s.keep = false
}

// skip passes over the value at hand, whatever its depth.
func (s *jsonScanner) skip() {
	for depth := 0; s.err == nil; {
		switch c := s.next(); {
		case c == '"':
			s.text()
		case c == '{' || c == '[':
			depth++
			s.read()
		case depth == 0 && strings.IndexByte(",:}]", c) >= 0:
			s.wrong("a value")
		case c == '}' || c == ']':
			depth--
			s.read()
		case c == ',' || c == ':':
			s.read()
		default: // a number, true, false or null, with which a document may end
			for c, ok := s.peek(); ok && strings.IndexByte(" \t\r\n,:[]{}\"", c) < 0; c, ok = s.peek() {
				s.read()
			}
		}
		if depth == 0 {
			return
		}
	}
}

// text passes over a string.
func (s *jsonScanner) text() {
	s.read()
	for {
		plain, _ := s.in.Peek(s.in.Buffered()) // most of it, at once
		if end := bytes.IndexAny(plain, `"\`); end >= 0 {
			plain = plain[:end]
		}
		s.consume(plain)
		_, _ = s.in.Discard(len(plain))
		c, ok := s.read()
		if c == '\\' {
			_, ok = s.read()
		}
		if !ok {
			s.cut()
		}
		if !ok || c == '"' {
			return
		}
	}
}

// atEnd passes over white space, byte order marks in the middle included, and tells whether nothing
// is behind it.
func (s *jsonScanner) atEnd() bool {
	for {
		c, ok := s.peek()
		if !ok || strings.IndexByte(" \n\r\t\xef\xbb\xbf", c) < 0 {
			return !ok && s.err == nil
		}
		s.read()
	}
}

// next is the next byte that is no white space, which is not consumed; 0 after an error.
func (s *jsonScanner) next() byte {
	if s.atEnd() {
		s.cut()
	}
	if s.err != nil {
		return 0
	}
	return s.last
}

// peek is the next byte; false is at the end, or after an error.
func (s *jsonScanner) peek() (byte, bool) {
	if s.ahead || s.err != nil {
		return s.last, s.err == nil
	}
	c, err := s.in.ReadByte()
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = fmt.Errorf("read byte %d%s: %w", s.at, s.where(), err)
	}
	s.last, s.ahead = c, err == nil
	return c, err == nil
}

// read consumes the next byte.
func (s *jsonScanner) read() (byte, bool) {
	c, ok := s.peek()
	if !ok {
		return 0, false
	}
	s.ahead = false
	s.consume([]byte{c})
	return c, true
}

// consume counts bytes, and keeps them where somebody wants the value.
func (s *jsonScanner) consume(text []byte) {
	s.at += int64(len(text))
	if s.keep && !s.long {
		if s.kept = append(s.kept, text...); len(s.kept) > maxLine {
			s.long, s.kept = true, nil
		}
	}
}

func (s *jsonScanner) where() string {
	if place := s.place(); place != "" {
		return ", in " + place
	}
	return ""
}

// cut says that the document ends where more should be.
func (s *jsonScanner) cut() {
	s.fail(fmt.Errorf("byte %d%s: it ends in the middle: %w", s.at, s.where(), io.ErrUnexpectedEOF))
}

// wrong says that something else should be where the next byte is.
func (s *jsonScanner) wrong(what string) {
	s.fail(fmt.Errorf("byte %d: %q where %s should be: %w", s.at, s.last, what, ErrNoJSON))
}

// fail keeps the first error.
func (s *jsonScanner) fail(err error) { s.err = cmp.Or(s.err, err) }
