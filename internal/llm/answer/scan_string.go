package answer

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"reverie/internal/text"
)

const (
	doubleQuotes = "\"“”„‟＂"
	singleQuotes = "'‘’‚‛＇"
	otherQuotes  = "`«»「」『』"
)

// isQuote reports whether a character can delimit a string.
func isQuote(c rune) bool { return strings.ContainsRune(doubleQuotes+singleQuotes+otherQuotes, c) }

// closing maps opening quotes to the only quote that closes them.
var closing = map[rune]rune{'"': '"', '\'': '\'', '`': '`', '«': '»', '»': '«', '「': '」', '『': '』'}

// ends reports whether a quote can close a string that another one opened. An ASCII quote is closed only by itself,
// since other quotes are text inside it.
func ends(begin, c rune) bool {
	switch {
	case closing[begin] != 0:
		return c == closing[begin]
	case strings.ContainsRune(doubleQuotes, begin):
		return strings.ContainsRune(doubleQuotes, c)
	}
	return strings.ContainsRune(singleQuotes, c)
}

// betweenLetters reports whether the quote at pos is an apostrophe, as in don't.
func betweenLetters(src string, pos, size int) bool {
	if c := src[pos]; c == '"' {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(src[:pos])
	after, _ := utf8.DecodeRuneInString(src[pos+size:])
	quote, _ := utf8.DecodeRuneInString(src[pos:])
	return strings.ContainsRune(singleQuotes, quote) && unicode.IsLetter(before) && unicode.IsLetter(after)
}

// quoted reads the string at pos. It may contain raw line breaks, and unescaped quotes if only one reading is
// possible.
func (s *scan) quoted() {
	isKey := s.wantsKey()
	begin, size := utf8.DecodeRuneInString(s.src[s.pos:])
	s.pos += size
	s.string(begin, isKey)
}

// string reads the rest of a string, after its opening quote.
func (s *scan) string(begin rune, isKey bool) {
	var text strings.Builder
	inner := 0            // number of quotes that are text
	first, last := -1, -1 // their first and last offset in the text
	for !s.spent() {
		c, size := utf8.DecodeRuneInString(s.src[s.pos:])
		switch {
		case c != begin && s.endsOtherwise(text.String, begin):
			s.finish(text.String(), begin, inner, first, last)
			return
		case c == '\\':
			s.escape(&text)
			continue
		case ends(begin, c) && !betweenLetters(s.src, s.pos, size):
			if isKey || s.endsValue(s.pos+size) {
				s.pos += size
				if !isKey && inner > 0 && s.top() == '[' {
					s.reason = ReasonAmbiguous // ["a", "b"] could be one string or two
				}
				if isKey {
					s.text(text.String(), true)
				} else {
					s.finish(text.String(), begin, inner, first, last)
				}
				return
			}
			if inner++; inner == 1 {
				first = text.Len()
			}
			last = text.Len()
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

// finish adds a string with unescaped inner quotes. A superfluous quote at its end is a mistake. The string is
// ambiguous if the text may itself be in quotes, or end in a measure such as 27".
func (s *scan) finish(written string, begin rune, inner, first, last int) {
	atStart, atEnd := inner > 0 && first == 0, inner > 0 && last == len(written)-1
	if begin == '\'' && atStart && atEnd {
		s.reason = ReasonAmbiguous // ''two'' quotes instead of one
	}
	if begin == '"' && (atStart || atEnd) {
		switch odd := strings.Count(written, `"`)%2 == 1; {
		case atStart && atEnd && (odd && inner > 1 || inner == 2), odd && atEnd && inches.MatchString(written):
			s.reason = ReasonAmbiguous
		case odd && atEnd:
			written = written[:last]
		case odd:
			written = written[1:]
		}
	}
	next, _ := s.ahead(s.pos)
	if s.top() == '{' && structural(s.src[next:]) == 0 { // a comma is missing: it may be inside the text
		written = strings.TrimRight(written, ",，")
	}
	if swallows(written) {
		s.reason = ReasonAmbiguous
	}
	s.text(written, false)
}

// inches matches a text that ends in a measure.
var inches = text.NewPattern(`(?:^|\s)[0-9.]+"$`)

// endsOtherwise handles a quote at pos that ends a text although it is escaped, or of another kind than the opening
// one. A known key must follow, and the quote must not be the end of a quotation in the text.
func (s *scan) endsOtherwise(written func() string, begin rune) bool {
	size := 0
	switch rest := s.src[s.pos:]; {
	case begin != '"' || s.top() != '{':
		return false
	case strings.HasPrefix(rest, `\"`):
		size = 2
	case strings.HasPrefix(rest, "”"):
		size = len("”")
	default:
		return false
	}
	next, _ := s.ahead(s.pos + size)
	if first, _ := utf8.DecodeRuneInString(s.src[next:]); !isSeparator(first) {
		return false
	}
	next, _ = s.ahead(next + width(s.src[next:]))
	if rest := s.window(next); !startsBentKey(rest) {
		return false
	}
	text := written()
	if *s.work -= len(text); size == 2 && strings.Count(text, `"`)%2 == 1 || size == 3 && strings.ContainsAny(text, "“„") {
		return false
	}
	s.pos += size
	return true
}

// escape reads a backslash and what it escapes. A backslash that escapes nothing is text, as in C:\games or \alpha.
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

// unicodeEscape reads \uXXXX, or a surrogate pair, and returns its length, 0 if there is none. Half a pair becomes
// U+FFFD.
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

// hexUnit parses \uXXXX.
func hexUnit(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}
