package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
)

// jsonPart is one value from inside a large JSON document.
type jsonPart struct {
	Pattern string          // the pattern that it fits, such as "messages[]"
	Place   string          // for people, counting from 1: "messages 17", "chats.list 2, messages 17"
	Index   []int           // of each array on the way, outermost first, counting from 0
	Keys    []string        // what stood for each * of the pattern, outermost first
	Value   json.RawMessage // as it stands; whether it is sound JSON, reading it tells
	Offset  int64           // of its first byte, within the document
}

// jsonParts tells the values of a JSON document that fit one of the patterns, in the
// order of the document and whatever the order of keys. A pattern is a path: "meta",
// "data.messages[]" (each element of the array), "[]" (of the document itself),
// "rooms.*.events[]" (whatever the key). A value inside another one that fits is not told
// by itself. Everything else is passed over, and only the value at hand is held.
//
// A value longer than maxLine is told as a [*Bad], and the next ones follow. Any other
// error is the last: the document cannot be read on from there, because it ends too early
// (io.ErrUnexpectedEOF), is no JSON (errNoJSON), or its reader failed.
func jsonParts(r io.Reader, patterns ...string) iter.Seq2[jsonPart, error] {
	return func(yield func(jsonPart, error) bool) {
		s := &jsonScanner{in: r, buffer: make([]byte, 1<<16), yield: yield}
		live := make([]*jsonPattern, len(patterns))
		for i, p := range patterns {
			live[i] = &jsonPattern{name: p, steps: strings.FieldsFunc(strings.ReplaceAll(p, "[]", ".[]"), func(c rune) bool { return c == '.' })}
		}
		err := s.walk(0, live)
		if err == nil {
			err = s.end()
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(jsonPart{}, err)
		}
	}
}

// Why a JSON document is not read on.
var (
	errNoJSON  = errors.New("it is no JSON")
	errStopped = errors.New("nobody listens any more")
)

type jsonPattern struct {
	name  string
	steps []string // keys, "*" or "[]"
}

// jsonScanner finds where values begin and end; it does not look whether they are sound.
type jsonScanner struct {
	in     io.Reader
	buffer []byte
	at, to int   // what of the buffer is not consumed yet
	base   int64 // where the buffer stands in the document
	failed error

	keep, long bool
	kept       []byte

	yield func(jsonPart, error) bool
	path  []string // keys and the numbers of elements, for people
	index []int
	keys  []string
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
	case len(live) == 0:
		return s.skip()
	case c == '{':
		return s.object(depth, live)
	case c == '[':
		return s.array(depth, live)
	}
	return s.skip()
}

func (s *jsonScanner) object(depth int, live []*jsonPattern) error {
	return s.list('}', func(int) error {
		key, err := s.key()
		if err != nil {
			return err
		}
		within, star := following(live, depth, key)
		s.path = append(s.path, key)
		if star {
			s.keys = append(s.keys, key)
		}
		err = s.walk(depth+1, within)
		s.path = s.path[:len(s.path)-1]
		if star {
			s.keys = s.keys[:len(s.keys)-1]
		}
		return err
	})
}

func (s *jsonScanner) array(depth int, live []*jsonPattern) error {
	within, _ := following(live, depth, "[]")
	s.index = append(s.index, 0)
	s.path = append(s.path, "")
	err := s.list(']', func(n int) error {
		s.index[len(s.index)-1] = n
		s.path[len(s.path)-1] = "[]" + strconv.Itoa(n+1)
		return s.walk(depth+1, within)
	})
	s.index, s.path = s.index[:len(s.index)-1], s.path[:len(s.path)-1]
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

// tell tells the value at hand.
func (s *jsonScanner) tell(p *jsonPattern) error {
	part := jsonPart{Pattern: p.name, Place: s.place(), Offset: s.base + int64(s.at), Index: append([]int(nil), s.index...), Keys: append([]string(nil), s.keys...)}
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
		for i, c := range part {
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				s.consume(i + 1)
				return nil
			}
		}
		s.consume(len(part))
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

// next passes over white space and returns the byte behind it, which is not consumed.
func (s *jsonScanner) next() (byte, error) {
	for s.fill() {
		part := s.buffer[s.at:s.to]
		for i, c := range part {
			if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
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
	return fmt.Errorf("byte %d: %s: %w", s.base+int64(s.at), what, errNoJSON)
}

// orError returns the first error that there is.
func orError(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// line is one line of a text, without its end.
type line struct {
	No   int // counting from 1
	Text []byte
}

// Place says for people which line it is.
func (l line) Place() string { return "line " + strconv.Itoa(l.No) }

// lines tells the lines of a text, blank ones too. One that is longer than maxLine is told
// as a [*Bad], and the next ones follow. Any other error is the last. A line is the
// listener's to keep.
func lines(r io.Reader) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		for no := 1; ; no++ {
			text, n, err := readLine(in)
			last := errors.Is(err, io.EOF)
			l := line{No: no, Text: bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))}
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
