package answer

import (
	"strings"
	"unicode"
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

// scan reads one object that is not JSON, and decides where its strings and the
// object itself end. It keeps tokens and no punctuation: an object is written
// anew from them, so that no repair can touch, add or lose a word.
type scan struct {
	src   string
	pos   int
	limit int // offset where the scan gives up

	stack  []byte // of '{' and '['
	want   want
	bare   bool // a key without quotes was seen
	tokens []token
	inner  int // offset of the first object in an array of the object

	work     *int
	reason   string // why there is no object; "" as long as there may be one
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

// next takes one element.
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
	case c == ':' && s.want == wantColon:
		s.want = wantValue
		s.pass()
	case c == ',' && s.want == wantComma:
		s.want = wantKey
		if s.top() == '[' {
			s.want = wantElement
		}
		s.pass()
	case c != 0 || s.want == wantColon:
		s.reason = ReasonBroken
	case isQuote(first):
		s.quoted()
	default:
		s.word()
	}
}

// spent tells whether the scan is at its end without an object.
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

// top is the bracket that is open, 0 for none.
func (s *scan) top() byte {
	if len(s.stack) == 0 {
		return 0
	}
	return s.stack[len(s.stack)-1]
}

// opens takes an opening bracket. Between the elements of an array a comma may
// be missing.
func (s *scan) opens(c byte) {
	if s.want != wantValue && s.want != wantElement && (s.want != wantComma || s.top() != '[') {
		s.reason = ReasonBroken
		return
	}
	if len(s.stack) >= MaxDepth {
		s.reason = ReasonTooDeep
		return
	}
	if c == '{' && s.inner == 0 && string(s.stack) == "{[" {
		s.inner = s.pos
	}
	s.open(c)
}

func (s *scan) open(c byte) {
	s.stack = append(s.stack, c)
	s.want = wantKey
	if c == '[' {
		s.want = wantElement
	}
	s.tokens = append(s.tokens, token{kind: c})
	s.pass()
}

// closes takes a closing bracket, which must be the one that is due: a missing
// bracket in between is not made up.
func (s *scan) closes(c byte) {
	fits := c == '}' && s.top() == '{' && (s.want == wantKey || s.want == wantComma) ||
		c == ']' && s.top() == '[' && (s.want == wantElement || s.want == wantComma)
	if !fits {
		s.reason = ReasonBroken
		return
	}
	s.stack = s.stack[:len(s.stack)-1]
	s.want = wantComma
	s.tokens = append(s.tokens, token{kind: c})
	s.pass()
}

// pass goes on behind the mark at pos, full width or not.
func (s *scan) pass() { s.pos += width(s.src[s.pos:]) }

// word takes what stands without quotes, up to punctuation or the end of the
// line: a key, a number, a literal, or text.
func (s *scan) word() {
	start := s.pos
	for s.pos < s.limit && structural(s.src[s.pos:]) == 0 && !s.atComment(s.pos) {
		c, size := utf8.DecodeRuneInString(s.src[s.pos:])
		if isBreak(c) || isQuote(c) && !betweenLetters(s.src, s.pos, size) {
			break
		}
		s.pos += size
		*s.work--
	}
	written := s.src[start:s.pos]
	text := strings.TrimFunc(written, isBlank)
	next, _ := utf8.DecodeRuneInString(s.src[s.pos:])
	switch {
	case isQuote(next) && text == strings.TrimLeftFunc(written, isBlank): // as in r"x" or x"
		s.reason = ReasonBroken
	case strings.Trim(text, ".…") == "": // dots stand for what was left out
		s.reason = ReasonBroken
	case strings.Contains(text, `\`) || strings.ContainsFunc(text, unicode.IsControl):
		s.reason = ReasonBroken
	case s.want == wantKey || s.want == wantComma && s.top() == '{':
		if !isName(text) {
			s.reason = ReasonBroken
			return
		}
		s.bare = true
		s.add(kindKey, text)
	case isNumber(text):
		s.add(kindWord, text)
	case literals[text] != "":
		s.add(kindWord, literals[text])
	default:
		s.add(kindString, text)
	}
}

// literals are the words that are not text, in JSON's spelling and Python's.
var literals = map[string]string{
	"true": "true", "false": "false", "null": "null",
	"True": "true", "False": "false", "None": "null",
}

// add takes a token.
func (s *scan) add(kind byte, text string) {
	s.tokens = append(s.tokens, token{kind, text})
	s.want = wantComma
	if kind == kindKey {
		s.want = wantColon
	}
}
