package text

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
	s = FoldCase(Normalize(s))
	// Folding case can undo the normal form, and the normal form can hold
	// characters that fold again; three rounds are the most that Unicode needs.
	for range 3 {
		if !strings.ContainsFunc(s, isUncommon) {
			break
		}
		next := FoldCase(Normalize(s))
		if next == s {
			break
		}
		s = next
	}
	return s
}

// foldCase folds case alone. Chinese with a little English, the usual text,
// takes the short way.
func FoldCase(s string) string {
	if !strings.ContainsFunc(s, isUncommon) {
		return strings.Map(func(r rune) rune {
			if r >= 'A' && r <= 'Z' {
				return r + 'a' - 'A'
			}
			return r
		}, s)
	}
	return cases.Fold().String(s)
}

// isUncommon tells what needs a look into Unicode's tables: all but ASCII and
// the blocks of Han, kana and Hangul syllables, which have no case and nothing
// invisible.
func isUncommon(r rune) bool {
	switch {
	case r < 0x7F:
		return r < 0x20
	case r >= 0x3001 && r <= 0x3130, r >= 0x3190 && r <= 0x9FFF, r >= 0xAC00 && r <= 0xD7A3:
		return false
	default:
		return true
	}
}

// plain is [Fold] without the folding of case: NFKC, invisible and control
// characters removed, white space collapsed and trimmed.
func Normalize(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = norm.NFKC.String(s)
	if strings.ContainsFunc(s, isUncommon) {
		s = strings.Map(keepVisible, s)
		s = norm.NFKC.String(s) // what was removed may have kept two characters apart
	}
	return collapse(s)
}

// collapse makes every run of white space one space, and trims.
func collapse(s string) string {
	prev := ' '
	for _, r := range s {
		if unicode.IsSpace(r) && (r != ' ' || prev == ' ') {
			return strings.Join(strings.Fields(s), " ")
		}
		prev = r
	}
	return strings.TrimSuffix(s, " ")
}

// keepVisible drops what takes no room on the page. White space stays, line
// breaks included, since they separate words.
func keepVisible(r rune) rune {
	switch {
	case !isUncommon(r):
		return r
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r), IsInvisible(r):
		return -1
	default:
		return r
	}
}

// isInvisible tells whether r is a format character, a variation selector, a
// filler, or anything else that a renderer may ignore: bidirectional controls,
// zero-width characters, the soft hyphen, the tag block.
func IsInvisible(r rune) bool {
	if r < 0xAD || !isUncommon(r) {
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
