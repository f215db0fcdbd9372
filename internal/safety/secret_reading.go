package safety

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"reverie/internal/text"
)

// reading is a text as a person reads it. Letters, digits and symbols of other widths and styles become ASCII, and
// invisible characters are removed.
type reading struct {
	text string
	from []int // byte of the reading -> byte of the text; one more for the end
}

// newReading returns the reading of a text, nil if it equals the text.
func newReading(s string) *reading {
	if strings.IndexFunc(s, readsOtherwise) < 0 {
		return nil
	}
	var b strings.Builder
	from := make([]int, 0, len(s)+1)
	for i, c := range s {
		as := ""
		switch {
		case text.IsInvisible(c) || c == 0xAD:
		case readsOtherwise(c):
			as = asRead(c)
		case c == utf8.RuneError:
			as = "\uFFFD"
		default:
			as = string(c)
		}
		b.WriteString(as)
		for range len(as) {
			from = append(from, i)
		}
	}
	return &reading{b.String(), append(from, len(s))}
}

// original returns the bytes of the text for a range of the reading.
func (r *reading) original(start, end int) (int, int) {
	return r.from[start], r.from[end]
}

// readsOtherwise reports whether a reading changes the character. Chinese punctuation is full-width too, but stays:
// it is never part of a secret.
func readsOtherwise(c rune) bool {
	switch {
	case c < 0xAD, c >= 0x3001 && c <= 0x9FFF, c >= 0xAC00 && c <= 0xD7A3:
		return false // ASCII, Han, Hangul
	case c >= 0xFF01 && c <= 0xFF5E:
		return !strings.ContainsRune("！，：；？（）", c)
	case c >= 0x1D400 && c <= 0x1D7FF, c >= 0x2460 && c <= 0x24FF, c >= 0x1F130 && c <= 0x1F149, c >= 0x2070 && c <= 0x209C:
		return true // mathematical, circled and squared letters and digits, superscripts and subscripts
	}
	return text.IsInvisible(c)
}

// asRead returns the ASCII form of a character, or the character itself.
func asRead(c rune) string {
	s := norm.NFKC.String(string(c))
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return string(c)
		}
	}
	return s
}
