package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsDense tells Han characters and kana, which are written without spaces.
func IsDense(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

// Joins tells a character that makes one word with one like it beside it: a letter,
// digit or mark of a script that puts spaces between words, or an underscore. Korean
// does, but lets particles follow a name at once.
func Joins(r rune) bool { return r == '_' || IsSpaced(r) && !unicode.Is(unicode.Hangul, r) }

// Places finds a word in a text: wherever it stands in Chinese, and between boundaries
// of words where it begins or ends in a script that is spaced. It returns the byte
// offsets where it begins and ends. Both are compared as they are.
func Places(s, word string) (list [][2]int) {
	for from := 0; word != ""; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			break
		}
		start, end := from+i, from+i+len(word)
		if isBoundary(s, start) && isBoundary(s, end) {
			list = append(list, [2]int{start, end})
		}
		_, size := utf8.DecodeRuneInString(s[start:])
		from = start + size
	}
	return list
}

// isBoundary tells whether a word may begin or end at byte i of a text.
func isBoundary(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	return i == 0 || i == len(s) || !Joins(before) || !Joins(after)
}
