package answer

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// want is what a scan expects next.
type want int

const (
	wantKey     want = iota // or the end of the object
	wantColon               //
	wantValue               // after a colon
	wantElement             // of an array, or its end
	wantComma               // or the end of the object or array
)

// scan reads one object that is not valid JSON, and decides where its strings and the object end. It writes a new
// object, so that no repair changes, adds or loses a word.
type scan struct {
	src   string
	pos   int
	limit int // offset at which the scan gives up

	stack []byte // of '{' and '['
	want  want
	bare  bool            // a key without quotes was found
	out   json.RawMessage // the object, compact

	work     *int
	reason   string // why there is no object; "" while there may be one
	inString bool
}

// scan scans the object at offset at, up to its closing brace.
func (r *reader) scan(at int) *scan {
	s := &scan{src: r.src, pos: at, limit: min(len(r.src), at+MaxObject), work: &r.work}
	s.open('{')
	for s.reason == "" && len(s.stack) > 0 {
		s.next()
	}
	return s
}

// next reads one element.
func (s *scan) next() {
	newLine := s.blank()
	if s.spent() {
		return
	}
	c := structural(s.src[s.pos:])
	if newLine && s.atNewObject(s.pos) && !((c == '{' || c == '[') && (s.want == wantValue || s.want == wantElement)) {
		s.reason = ReasonCutOff
		return
	}
	first, _ := utf8.DecodeRuneInString(s.src[s.pos:])
	switch {
	case c == '{' || c == '[':
		s.opens(c)
	case c == '}' || c == ']':
		s.closes(c)
	case s.want == wantColon:
		s.colon()
	case isSeparator(first) && s.want != wantValue:
		s.want = wantKey // superfluous commas have no meaning
		if s.top() == '[' {
			s.want = wantElement
		}
		s.pass()
	case s.wantsKey() && s.bentKey():
	case c != 0:
		s.reason = ReasonBroken
	case isQuote(first):
		s.quoted()
	default:
		s.word()
	}
}

// spent reports whether the scan has reached its limit without an object.
func (s *scan) spent() bool {
	*s.work--
	switch {
	case *s.work < 0:
		s.reason = ReasonTangled
	case s.pos < s.limit:
		return false
	case s.limit < len(s.src):
		s.reason = ReasonTooLong
	default:
		s.reason = ReasonCutOff
	}
	return true
}

// top returns the innermost open bracket, 0 for none.
func (s *scan) top() byte {
	if len(s.stack) == 0 {
		return 0
	}
	return s.stack[len(s.stack)-1]
}

// opens handles an opening bracket. Between the elements of an array a comma may be missing.
func (s *scan) opens(c byte) {
	if s.want != wantValue && s.want != wantElement && (s.want != wantComma || s.top() != '[') {
		s.reason = ReasonBroken
		return
	}
	if len(s.stack) >= MaxDepth {
		s.reason = ReasonTooDeep
		return
	}
	s.open(c)
}

func (s *scan) open(c byte) {
	s.stack = append(s.stack, c)
	s.want = wantKey
	if c == '[' {
		s.want = wantElement
	}
	s.write(string(c))
	s.pass()
}

// closes handles a closing bracket, which must match the innermost open one: a missing bracket is not added.
func (s *scan) closes(c byte) {
	fits := c == '}' && s.top() == '{' && (s.want == wantKey || s.want == wantComma) ||
		c == ']' && s.top() == '[' && (s.want == wantElement || s.want == wantComma)
	if !fits {
		s.reason = ReasonBroken
		return
	}
	s.stack = s.stack[:len(s.stack)-1]
	s.want = wantComma
	s.out = append(s.out, c)
	s.pass()
}

// pass moves behind the mark at pos, which may be full-width.
func (s *scan) pass() { s.pos += width(s.src[s.pos:]) }

// wantsKey reports whether a key may follow; the comma before it may be missing.
func (s *scan) wantsKey() bool { return s.want == wantKey || s.want == wantComma && s.top() == '{' }

// write adds an element to the object, after a comma if one is due.
func (s *scan) write(element string) {
	if n := len(s.out); n > 0 && strings.IndexByte("{[:", s.out[n-1]) < 0 {
		s.out = append(s.out, ',')
	}
	s.out = append(s.out, element...)
}

// value adds JSON that is neither object nor array.
func (s *scan) value(element string) {
	s.write(element)
	s.want = wantComma
}

// text adds a string, or a key.
func (s *scan) text(text string, isKey bool) {
	if isKey {
		text = strings.TrimFunc(text, isBlank)
	}
	s.value(string(quote(nil, text)))
	if isKey {
		s.out, s.want = append(s.out, ':'), wantColon
	}
}
