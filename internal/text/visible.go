package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible is [Visible] with every white space a blank.
func VisibleLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, Visible(s))
}

// Visible is s without what nobody sees: control characters other than white space, zero-width
// and bidirectional ones, the tag block. The joiners and selectors of emoji, and the joiners
// of scripts that are written with them, stay where they belong. A model reads what is
// hidden from people, so it is shown none of it.
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

// isPlaced tells whether an invisible rune is where writing needs it: in an emoji, a
// joiner between two of them or one selector after a base that has two styles; a joiner
// between letters of a script whose letters join.
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

// joining are the scripts that are written with joiners.
var joining = []*unicode.RangeTable{unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Tibetan}

// flagTags is how many runes at the beginning of s spell the region of a flag, as that of
// Scotland does: a black flag before them, two to six small letters and digits of the tag
// block, and its end.
func FlagTags(before rune, s string) (n int) {
	if before != 0x1F3F4 {
		return 0
	}
	for _, r := range s {
		switch n++; {
		case r == 0xE007F && n > 2 && n <= 7:
			return n
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

// isEmoji tells pictographs and their skin tones, and the older symbols and
// marks that have an emoji style.
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
