package answer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// structural returns the ASCII form of the punctuation, full-width or not, at the start of s; 0 if s starts with
// anything else.
func structural(s string) byte {
	const wideFrom = '！' - '!' // distance of the full-width forms from ASCII
	c, _ := utf8.DecodeRuneInString(s)
	if c > wideFrom {
		c -= wideFrom
	}
	switch c {
	case '{', '}', '[', ']', ':', ',':
		return byte(c)
	}
	return 0
}

// isSeparator reports whether a character may separate pairs and elements.
func isSeparator(c rune) bool { return strings.ContainsRune(",，;；、", c) }

// escapedBlank reports whether s starts with escaped white space.
func escapedBlank(s string) bool {
	return len(s) > 1 && s[0] == '\\' && strings.IndexByte("nrt", s[1]) >= 0
}

// skipEscaped is skipBlank, and also skips escaped white space.
func skipEscaped(src string, pos int) int {
	for pos = skipBlank(src, pos); pos < len(src) && escapedBlank(src[pos:]); {
		pos = skipBlank(src, pos+2)
	}
	return pos
}

// width returns the length in bytes of the first character of s.
func width(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	return size
}

// isBreak reports whether a character ends a line.
func isBreak(c rune) bool { return c == '\n' || c == '\r' || c == '\u2028' || c == '\u2029' }

// isBlank reports whether a character is white space outside strings, including invisible marks such as the byte
// order mark.
func isBlank(c rune) bool { return unicode.IsSpace(c) || c == '\uFEFF' || c == '\u200B' || isBreak(c) }

// lineEnd returns the offset of the next line break at or after pos, or the end.
func lineEnd(src string, pos int) int {
	return skip(src, pos, func(c rune) bool { return !isBreak(c) })
}

// lineStart returns the offset after the last line break before pos.
func lineStart(src string, pos int) int {
	at := strings.LastIndexFunc(src[:pos], isBreak)
	if at < 0 {
		return 0
	}
	return at + width(src[at:])
}

// skipIndent returns the offset of the first character of the line that is not white space.
func skipIndent(src string, pos int) int {
	return skip(src, pos, func(c rune) bool { return isBlank(c) && !isBreak(c) })
}

// skipBlank returns the offset of the next character that is not white space, on any line.
func skipBlank(src string, pos int) int { return skip(src, pos, isBlank) }

// skip returns the offset of the first character at or after pos for which sort is false, or the end.
func skip(src string, pos int, sort func(rune) bool) int {
	if pos > len(src) {
		return pos
	}
	n := strings.IndexFunc(src[pos:], func(c rune) bool { return !sort(c) })
	if n < 0 {
		return len(src)
	}
	return pos + n
}

// maxExcerpt is in characters, after escaping.
const maxExcerpt = 120

// excerpt shows the beginning of a text on one line, with non-printing characters escaped.
func excerpt(text string) string {
	var b strings.Builder
	room := maxExcerpt
	for i, c := range text {
		shown := string(c)
		switch {
		case c == '\n':
			shown = `\n`
		case c == '\r':
			shown = `\r`
		case c == '\t':
			shown = `\t`
		case !unicode.IsPrint(c):
			shown = fmt.Sprintf(`\u%04x`, c)
		}
		n := utf8.RuneCountInString(shown)
		if n > room || n == room && i+utf8.RuneLen(c) < len(text) {
			b.WriteString("…")
			break
		}
		room -= n
		b.WriteString(shown)
	}
	return b.String()
}
