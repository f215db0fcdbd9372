package answer

import (
	"strings"
	"unicode/utf8"

	"reverie/internal/text"
)

// maxAhead is the number of bytes that a scan looks ahead in a comment or for the end of a key.
const maxAhead = 256

// blank skips white space and comments, and reports whether a line ended.
func (s *scan) blank() (newLine bool) {
	for s.pos < s.limit {
		start := s.pos
		s.pos = skipEscaped(s.src[:s.limit], s.pos)
		if lineEnd(s.src[:s.pos], start) < s.pos {
			newLine = true
		}
		if s.pos >= s.limit || !s.atComment(s.pos) {
			break
		}
		s.pos = min(commentEnd(s.src, s.pos, s.limit), s.limit)
		*s.work -= s.pos - start
	}
	return newLine
}

// atComment reports whether a comment starts at pos, outside strings.
func (s *scan) atComment(pos int) bool {
	rest := s.src[pos:]
	return strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") ||
		rest[0] == '#' && (pos == 0 || strings.IndexByte(" \t\n\r,{[", s.src[pos-1]) >= 0)
}

// commentEnd returns the offset after the comment at pos; limit if it has no end before that.
func commentEnd(src string, pos, limit int) int {
	if !strings.HasPrefix(src[pos:], "/*") {
		return lineEnd(src[:limit], pos)
	}
	end := strings.Index(src[pos+2:limit], "*/")
	if end < 0 {
		return limit
	}
	return pos + 2 + end + 2
}

// atNewObject reports whether a separate object starts at pos, at the start of a line or later in it.
func (s *scan) atNewObject(pos int) bool { return opensObject(s.src, skipIndent(s.src, pos)) }

// endsValue reports whether a quote before pos ends a value: the due punctuation follows, and after a comma the due
// element.
func (s *scan) endsValue(pos int) bool {
	next, remark := s.ahead(pos)
	if next >= s.limit {
		return !remark
	}
	first, _ := utf8.DecodeRuneInString(s.src[next:])
	switch c := structural(s.src[next:]); {
	case c == '}' || c == ']':
		return c == s.top()+2 // in ASCII, the closing bracket is two characters after the opening one
	case isSeparator(first):
		for next < s.limit && isSeparator(first) {
			next, _ = s.ahead(next + width(s.src[next:]))
			first, _ = utf8.DecodeRuneInString(s.src[next:])
		}
		return next >= s.limit || s.afterComma(next)
	case c != 0:
		return false
	case !remark && strings.ContainsAny(s.src[pos:next], "\n\r") && s.atNewObject(next):
		return true // the object is cut off here, which the scan detects next
	}
	return s.top() == '{' && quotedKey.MatchString(s.window(next))
}

// afterComma reports whether the element that is due after a comma starts at pos.
func (s *scan) afterComma(pos int) bool {
	rest := s.window(pos)
	if s.top() == '[' {
		c := structural(rest)
		return c == '{' || c == '[' || c == ']' || elementStart.MatchString(rest)
	}
	return structural(rest) == '}' || quotedKey.MatchString(rest) || bareKey.MatchString(rest) ||
		s.bare && bareName.MatchString(rest) || startsBentKey(rest)
}

const (
	quotes = "[\"“”„‟＂'‘’‚‛＇`«»「」『』]"
	blanks = `[\s\x{3000}]*`
	name   = `[A-Za-z_$][A-Za-z0-9_$-]{0,63}`
)

var (
	// QuotedKey matches a short string without quotes or punctuation, and a colon.
	quotedKey = text.NewPattern(`^` + quotes + "[^\"“”„‟＂'‘’‚‛＇`«»「」『』:：,，{}\\[\\]\\\\\n\r]{0,64}" + quotes + blanks + `[:：]`)
	// BareKey matches a name, a colon, and what can only start a value.
	bareKey = text.NewPattern(`^` + name + blanks + `[:：]` + blanks + `(?:` + quotes +
		`|[\[{［｛0-9-]|(?:true|false|null|True|False|None)\b)`)
	bareName     = text.NewPattern(`^` + name + blanks + `[:：]`)
	elementStart = text.NewPattern(`^(?:` + quotes + `|-?[0-9]|(?:true|false|null|True|False|None)\b)`)
	joined       = text.NewPattern(`^\+` + blanks + quotes)
	wholeName    = text.NewPattern(`^[\p{L}_$][\p{L}\p{N}_$-]{0,63}$`)
	wholeNumber  = text.NewPattern(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)
)

// endsElse reports whether a quote before pos, which does not end its value, may end something else: a key inside
// the value's text, or the first of two joined strings.
func (s *scan) endsElse(pos int) bool {
	next, _ := s.ahead(pos)
	return structural(s.src[next:]) == ':' || joined.MatchString(s.window(next))
}

// ahead skips white space and comments, and reports whether there was a comment.
func (s *scan) ahead(pos int) (next int, remark bool) {
	for next = pos; next < s.limit; {
		next = skipEscaped(s.src[:s.limit], next)
		if next >= s.limit || !s.atComment(next) {
			break
		}
		remark = true
		bound := min(s.limit, next+maxAhead)
		next = commentEnd(s.src, next, bound)
		if next == bound {
			break
		}
	}
	*s.work -= next - pos
	return next, remark
}

// window returns the text at pos that the scan may look at.
func (s *scan) window(pos int) string {
	*s.work -= 16
	return s.src[pos:min(s.limit, pos+maxAhead)]
}
