package export

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// JSONPart is one value from inside a large JSON document.
type JSONPart struct {
	Pattern string          // the pattern that it fits, such as "messages[]"
	Place   string          // for people, counting from 1: "messages 17", "chats.list 2, messages 17"
	Index   []int           // of each array on the way, outermost first, counting from 0
	Keys    []string        // what stood for each * of the pattern, outermost first
	Value   json.RawMessage // as it stands; whether it is sound JSON, reading it tells
	Offset  int64           // of its first byte, within the document
}

// JSONParts tells the values of a JSON document that fit one of the patterns, in the
// order of the document and whatever the order of keys. A pattern is a path: "meta",
// "data.messages[]" (each element of the array), "[]" (of the document itself),
// "rooms.*.events[]" (whatever the key). A value inside another one that fits is not told
// by itself. Everything else is passed over, and only the value at hand is held.
//
// A value longer than maxLine is told as a [*Bad], and the next ones follow. Any other
// error is the last: the document cannot be read on from there, because it ends too early
// (io.ErrUnexpectedEOF), is no JSON (ErrNoJSON), or its reader failed.
func JSONParts(r io.Reader, patterns ...string) iter.Seq2[JSONPart, error] {
	return func(yield func(JSONPart, error) bool) {
		s := newJSONScanner(r, yield)
		err := s.walk(0, jsonPatterns(patterns))
		if err == nil {
			err = s.end()
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(JSONPart{}, err)
		}
	}
}

// JSONDocuments tells the JSON documents of a text, one behind the other with nothing but
// white space between them: a line each, or over several lines.
func JSONDocuments(r io.Reader) iter.Seq2[JSONPart, error] {
	return func(yield func(JSONPart, error) bool) {
		s := newJSONScanner(r, yield)
		for n := 1; ; n++ {
			if _, err := s.next(); errors.Is(err, io.ErrUnexpectedEOF) && s.failed == nil {
				return
			}
			s.path = []string{"[]" + strconv.Itoa(n)}
			if err := s.tell(&jsonPattern{}); err != nil {
				if !errors.Is(err, errStopped) {
					yield(JSONPart{}, err)
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

// tell tells the value at hand.
func (s *jsonScanner) tell(p *jsonPattern) error {
	part := JSONPart{Pattern: p.name, Place: s.place(), Offset: s.base + int64(s.at), Index: slices.Clone(s.index),
		Keys: slices.Clone(s.keys)}
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
