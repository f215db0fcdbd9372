package reverie

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold brings texts that look or read alike to one form, for comparing: NFKC
// (which also folds width: Ｇｏ is go), case folded, invisible and control
// characters removed, each run of white space one space, trimmed. It is
// idempotent. Bytes that are not UTF-8 become U+FFFD.
func Fold(s string) string {
	if isFolded(s) {
		return s
	}
	s = cases.Fold().String(plain(s))
	// Folding case can undo the normal form, and the normal form can hold
	// characters that fold again; three rounds are the most that Unicode needs.
	for range 3 {
		next := cases.Fold().String(plain(s))
		if next == s {
			break
		}
		s = next
	}
	return s
}

// plain is [Fold] without the folding of case: NFKC, invisible and control
// characters removed, white space collapsed and trimmed.
func plain(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(keepVisible, norm.NFKC.String(s))
	s = norm.NFKC.String(s) // what was removed may have kept two characters apart
	return strings.Join(strings.Fields(s), " ")
}

// keepVisible drops what takes no room on the page. White space stays, line
// breaks included, since they separate words.
func keepVisible(r rune) rune {
	if r >= 0x20 && r < 0x7F {
		return r
	}
	if unicode.IsSpace(r) {
		return ' '
	}
	if unicode.IsControl(r) || isInvisible(r) {
		return -1
	}
	return r
}

// isInvisible tells whether r is a format character, a variation selector, a
// filler, or anything else that a renderer may ignore: bidirectional controls,
// zero-width characters, the soft hyphen, the tag block.
func isInvisible(r rune) bool {
	if r < 0xAD {
		return false
	}
	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
		return false // Arabic number signs, which are seen
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// isFolded recognises the common case, lower-case ASCII in good order, without
// allocating.
func isFolded(s string) bool {
	prev := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || c >= 0x7F || c >= 'A' && c <= 'Z' || c == ' ' && prev == ' ' {
			return false
		}
		prev = c
	}
	return s == "" || prev != ' '
}
