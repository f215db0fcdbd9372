package text

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold converts texts that look or read alike to one form for comparing. It applies NFKC (which also folds width:
// Ｇｏ is go), folds case, removes invisible and control characters, collapses white space to single spaces, and
// trims. It is idempotent. Bytes that are not UTF-8 become U+FFFD.
func Fold(s string) string {
	if isFolded(s) {
		return s
	}
	s = FoldCase(Normalize(s))
	// Folding case can undo the normal form, and the normal form can contain characters that fold again. Unicode needs
	// at most three rounds.
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

// FoldCase folds only case. The usual text, Chinese with some English, takes a fast path.
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

// isUncommon reports whether a rune needs Unicode's tables. ASCII, Han, kana and Hangul syllables do not: they have
// no other case and are visible.
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

// Normalize is [Fold] without folding case: NFKC, invisible and control characters removed, white space collapsed
// and trimmed.
func Normalize(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = norm.NFKC.String(s)
	if strings.ContainsFunc(s, isUncommon) {
		s = strings.Map(keepVisible, s)
		s = norm.NFKC.String(s) // a removed character may have separated two that combine
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

// keepVisible drops characters without width. White space stays, including line breaks, since it separates words.
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

// IsInvisible reports whether r is a format character, a variation selector, a filler, or another character that a
// renderer may ignore. Such are bidirectional controls, zero-width characters, the soft hyphen and the tag block.
func IsInvisible(r rune) bool {
	if r < 0xAD || !isUncommon(r) {
		return false
	}
	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
		return false // Arabic number signs, which are visible
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// isFolded recognises the common case, normalised lower-case ASCII, without allocating.
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

// VisibleLine is [Visible] with all white space turned into spaces.
func VisibleLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, Visible(s))
}

// Visible returns s without invisible characters: control characters other than white space, zero-width and
// bidirectional ones, the tag block. Joiners and selectors stay where emoji and some scripts need them. A model
// would read text that is hidden from people, so it gets none of it.
func Visible(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, isHidden) {
		return s
	}
	var b strings.Builder
	before, flag := rune(0), 0
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		if flag == 0 && r > 0xE0000 {
			flag = FlagTags(before, s[i:])
		}
		switch {
		case flag > 0:
			flag--
		case isHidden(r) && !IsPlaced(before, r, after):
			continue
		}
		before = r
		b.WriteRune(r)
	}
	return b.String()
}

func isHidden(r rune) bool { return !unicode.IsSpace(r) && (unicode.IsControl(r) || IsInvisible(r)) }

// IsPlaced reports whether an invisible rune is where writing needs it. In an emoji, that is a joiner between two
// of them, or one selector after a base with two styles. In scripts whose letters join, it is a joiner between
// letters.
func IsPlaced(before, r, after rune) bool {
	switch r {
	case zeroWidthJoiner:
		return (isEmoji(before) || before == emojiStyle) && isEmoji(after) || unicode.In(before, joining...) && unicode.In(after, joining...)
	case zeroWidthNonJoiner:
		return unicode.In(before, joining...) && unicode.In(after, joining...)
	case emojiStyle, textStyle:
		return isEmoji(before) || before < 0x80 && strings.ContainsRune("0123456789#*", before) && after == 0x20E3
	default:
		return false
	}
}

// joining are the scripts that need joiners.
var joining = []*unicode.RangeTable{unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Tibetan}

// FlagTags returns the number of runes at the beginning of s that spell the region of a flag, such as Scotland's.
// Before them is a black flag; they are two to six lower-case letters and digits of the tag block, and an end tag.
func FlagTags(before rune, s string) (n int) {
	if before != 0x1F3F4 {
		return 0
	}
	for _, r := range s {
		switch n++; {
		case r == 0xE007F && n > 2:
			return n
		case n == 7:
			return 0
		case r >= 0xE0061 && r <= 0xE007A, r >= 0xE0030 && r <= 0xE0039:
		default:
			return 0
		}
	}
	return 0
}

const (
	textStyle          = 0xFE0E // variation selector 15
	emojiStyle         = 0xFE0F // variation selector 16
	zeroWidthNonJoiner = 0x200C
)

// isEmoji reports whether r is a pictograph, a skin tone, or an older symbol or mark with an emoji style.
func isEmoji(r rune) bool {
	switch {
	case r >= 0x1F000 && r <= 0x1FAFF, r >= 0x2190 && r <= 0x2BFF:
		return true
	case r == 0xA9, r == 0xAE, r == 0x203C, r == 0x2049, r == 0x2122, r == 0x2139, r == 0x3030, r == 0x303D, r == 0x3297, r == 0x3299:
		return true
	default:
		return false
	}
}

//go:generate python3 ../../scripts/simplified.py

// simplifiedText is ICU's one-to-one mapping of traditional Chinese characters; its head names its source and
// licence.
//
//go:embed simplified.txt
var simplifiedText string

// The block of code points that the table covers: every character that ICU maps
// lies in it.
const (
	FirstHan = 0x3400
	LastHan  = 0x9FFF
)

// simplifiedTable maps each code point of the block to its simplified form, 0 if it has no other.
var simplifiedTable = sync.OnceValue(func() *[LastHan - FirstHan + 1]uint16 {
	table := new([LastHan - FirstHan + 1]uint16)
	for line := range strings.Lines(simplifiedText) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		var to rune
		for i, r := range line {
			if i == 0 {
				to = r
				continue
			}
			table[r-FirstHan] = uint16(to)
		}
	}
	return table
})

// Simplify replaces traditional Chinese characters by simplified ones, one by one and without looking at the word
// (乾 always becomes 干). It is for comparing texts, where both sides are simplified, not for reading. It is
// idempotent, and leaves other UTF-8 unchanged.
func Simplify(s string) string {
	table := simplifiedTable()
	for _, r := range s {
		if simplifyRune(table, r) != r {
			return strings.Map(func(r rune) rune { return simplifyRune(table, r) }, s)
		}
	}
	return s
}

// traditionalTable maps each simplified character to its first traditional character in the table.
var traditionalTable = sync.OnceValue(func() map[rune]rune {
	table := map[rune]rune{}
	for line := range strings.Lines(simplifiedText) {
		if r := []rune(line); r[0] != '#' && len(r) > 1 {
			table[r[0]] = r[1]
		}
	}
	return table
})

// Scripts returns the forms in which a text may have been written: unchanged, and in simplified and traditional
// Chinese characters if they differ. Traditional characters are chosen without looking at the word, so the result
// is only for searching.
func Scripts(s string) []string {
	forms, simple, table := []string{s}, Simplify(s), traditionalTable()
	traditional := strings.Map(func(r rune) rune { return cmp.Or(table[r], r) }, simple)
	for _, form := range []string{simple, traditional} {
		if !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

func simplifyRune(table *[LastHan - FirstHan + 1]uint16, r rune) rune {
	if r >= FirstHan && r <= LastHan {
		if to := table[r-FirstHan]; to != 0 {
			return rune(to)
		}
	}
	return r
}

// NameKey is the form in which names are looked up. It is folded and simplified, without surrounding space or
// quotation marks, and without signs such as @ at its beginning.
func NameKey(name string) string {
	return strings.TrimRight(strings.TrimLeft(Simplify(Fold(name)), "@"+nameQuotes), nameQuotes)
}

const nameQuotes = "\"'`“”‘’「」『』《》〈〉 "

// Storable reports whether PostgreSQL can store a text: valid UTF-8 without a NUL.
func Storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
