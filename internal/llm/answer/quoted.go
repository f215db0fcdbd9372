package answer

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	doubleQuotes = "\"“”„‟＂"
	singleQuotes = "'‘’‚‛＇"
)

// isQuote tells whether a character can delimit a string.
func isQuote(c rune) bool { return strings.ContainsRune(doubleQuotes+singleQuotes, c) }

// ends tells whether a quote can end what another one began. An ASCII quote
// ends with itself alone, since other quotes are text in it.
func ends(begin, c rune) bool {
	switch {
	case begin == '"' || begin == '\'':
		return c == begin
	case strings.ContainsRune(doubleQuotes, begin):
		return strings.ContainsRune(doubleQuotes, c)
	}
	return strings.ContainsRune(singleQuotes, c)
}

// betweenLetters tells whether the quote at pos is an apostrophe, as in don't.
func betweenLetters(src string, pos, size int) bool {
	if c := src[pos]; c == '"' {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(src[:pos])
	after, _ := utf8.DecodeRuneInString(src[pos+size:])
	quote, _ := utf8.DecodeRuneInString(src[pos:])
	return strings.ContainsRune(singleQuotes, quote) && unicode.IsLetter(before) && unicode.IsLetter(after)
}

// quoted takes the string at pos. Raw line breaks may stand in it, and quotes
// that were not escaped, where only one reading is possible.
func (s *scan) quoted() {
	isKey := s.want == wantKey || s.want == wantComma && s.top() == '{'
	begin, size := utf8.DecodeRuneInString(s.src[s.pos:])
	s.pos += size
	var text strings.Builder
	inner := 0 // quotes that turned out to be text
	for !s.spent() {
		c, size := utf8.DecodeRuneInString(s.src[s.pos:])
		switch {
		case c == '\\':
			s.escape(&text)
			continue
		case ends(begin, c) && !betweenLetters(s.src, s.pos, size):
			if isKey || s.endsValue(s.pos+size) {
				s.pos += size
				s.finish(isKey, inner, text.String())
				return
			}
			inner++
			if c != '“' && c != '‘' && s.endsElse(s.pos+size) {
				s.reason = ReasonAmbiguous
				return
			}
		case isBreak(c):
			if s.atNewObject(s.pos+size) || isTag(s.src[skipIndent(s.src, s.pos+size):]) {
				s.reason, s.inString = ReasonCutOff, true
				return
			}
		}
		text.WriteRune(c)
		s.pos += size
	}
	s.inString = true
}

// finish takes the text of a string whose end is found.
func (s *scan) finish(isKey bool, inner int, text string) {
	switch {
	case isKey:
		s.add(kindKey, text)
	case inner > 0 && s.top() == '[':
		s.reason = ReasonAmbiguous // ["a", "b"] could be one string or two
	default:
		s.add(kindString, text)
	}
}

// escape takes a backslash and what it escapes. A backslash that escapes nothing
// is text, as in C:\games or \alpha.
func (s *scan) escape(text *strings.Builder) {
	rest := s.src[s.pos:min(s.limit, s.pos+12)]
	c, size := utf8.DecodeRuneInString(rest[1:])
	switch {
	case c == 'u':
		if n := unicodeEscape(rest, text); n > 0 {
			s.pos += n
			return
		}
	case size > 0 && (isQuote(c) || c == '\\' || c == '/'):
		text.WriteRune(c)
		s.pos += 1 + size
		return
	case size > 0 && escapes[c] != 0:
		text.WriteByte(escapes[c])
		s.pos += 1 + size
		return
	}
	text.WriteByte('\\')
	s.pos++
}

var escapes = map[rune]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unicodeEscape takes \uXXXX, or two of them where they make one character, and
// returns their length, 0 if it is none. Half a pair becomes U+FFFD.
func unicodeEscape(rest string, text *strings.Builder) int {
	high, ok := hexUnit(rest)
	if !ok {
		return 0
	}
	if low, ok := hexUnit(rest[6:]); ok {
		if c := utf16.DecodeRune(high, low); c != unicode.ReplacementChar {
			text.WriteRune(c)
			return 12
		}
	}
	text.WriteRune(high)
	return 6
}

// hexUnit reads \uXXXX.
func hexUnit(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}
