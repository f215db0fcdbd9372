package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// word reads text without quotes, up to punctuation or the end of the line: a key, a number, a literal, or text.
func (s *scan) word() {
	start := s.pos
	for s.pos < s.limit && structural(s.src[s.pos:]) == 0 && !s.atComment(s.pos) {
		c, size := utf8.DecodeRuneInString(s.src[s.pos:])
		if isBreak(c) || isQuote(c) && !betweenLetters(s.src, s.pos, size) || escapedBlank(s.src[s.pos:]) {
			break
		}
		if isSeparator(c) {
			if at, _ := s.ahead(s.pos + size); at < s.limit && s.afterComma(at) {
				break
			}
		}
		s.pos += size
		*s.work--
	}
	written := s.src[start:s.pos]
	text := strings.TrimFunc(written, isBlank)
	next, _ := utf8.DecodeRuneInString(s.src[s.pos:])
	switch {
	case s.want == wantValue && s.goesOn(next) && s.unopened(start):
	case isQuote(next) && text == strings.TrimLeftFunc(written, isBlank): // as in r"x" or x"
		s.reason = ReasonBroken
	case strings.Trim(text, ".…") == "": // dots for omitted text
		s.reason = ReasonBroken
	case strings.Contains(text, `\`) || strings.ContainsFunc(text, unicode.IsControl):
		s.reason = ReasonBroken
	case s.wantsKey():
		if !isName(text) {
			s.reason = ReasonBroken
			return
		}
		s.bare = true
		s.text(text, true)
	case isNumber(text):
		s.value(text)
	case isNumber(strings.TrimSuffix(strings.TrimPrefix(text, "+"), ".")): // +4 and 4.
		s.value(strings.TrimSuffix(strings.TrimPrefix(text, "+"), "."))
	case literals[text] != "":
		s.value(literals[text])
	default:
		s.text(text, false)
	}
}

// literals are the words that are not text, as JSON and Python spell them.
var literals = map[string]string{
	"true": "true", "false": "false", "null": "null",
	"True": "true", "False": "false", "None": "null",
	"TRUE": "true", "FALSE": "false", "NULL": "null", "undefined": "null",
}

// unopened reads the value at start as a string without an opening quote, as in "reason": she says so". It must end
// on its line, and contain neither another quote nor a known key.
func (s *scan) unopened(start int) bool {
	before := *s
	if s.pos = start; s.src[start] == '\\' && start+1 < s.limit && s.src[start+1] == '"' {
		s.pos += 2 // the quote is there, but escaped
	}
	s.string('"', false)
	read := s.src[start:s.pos]
	if s.reason == "" && !strings.Contains(strings.TrimSuffix(strings.ReplaceAll(read, `\"`, ""), `"`), `"`) &&
		!strings.ContainsAny(read, "\n\r") && !looseKey.MatchString(read) {
		return true
	}
	s.pos, s.want, s.out, s.reason, s.inString = before.pos, before.want, before.out, "", false
	return false
}

// goesOn reports whether a value without quotes cannot end before the mark at pos.
func (s *scan) goesOn(next rune) bool {
	if structural(s.src[s.pos:]) == ',' {
		at, _ := s.ahead(s.pos + width(s.src[s.pos:]))
		return at < s.limit && !s.afterComma(at)
	}
	return s.pos < s.limit && (isQuote(next) || strings.IndexByte("[]{:", structural(s.src[s.pos:])) >= 0)
}

func isName(s string) bool   { return wholeName.MatchString(s) }
func isNumber(s string) bool { return wholeNumber.MatchString(s) }
