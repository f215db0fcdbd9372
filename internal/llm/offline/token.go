package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold brings a text into the form that is compared: NFKC, lower case, without
// invisible characters. Text that is ASCII already takes a short way.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	s = norm.NFKC.String(strings.ToValidUTF8(s, " "))
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// script says how a token is cut into features.
type script uint8

const (
	scriptNone   script = iota
	scriptWord          // letters of a script that writes spaces between words
	scriptNumber        // starts with a digit: 7, 7:30, 3.5
	scriptDense         // Han, kana and others that write no spaces
)

func scriptOf(r rune) script {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		return scriptWord
	case r >= '0' && r <= '9':
		return scriptNumber
	case r < utf8.RuneSelf:
		return scriptNone
	case r >= 0x4E00 && r <= 0x9FFF:
		return scriptDense
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer):
		return scriptDense
	case unicode.IsLetter(r), unicode.IsMark(r):
		return scriptWord
	case unicode.IsDigit(r):
		return scriptNumber
	}
	return scriptNone
}

// tokens calls yield with each token of a folded text: a word with its inner
// apostrophes and trailing + or # (don't, c++), a number with its inner
// separators (7:30), or a run of characters of a dense script.
func tokens(folded string, yield func(kind script, token string)) {
	for i := 0; i < len(folded); {
		r, size := utf8.DecodeRuneInString(folded[i:])
		kind := scriptOf(r)
		if kind == scriptNone {
			i += size
			continue
		}
		end := tokenEnd(folded, i+size, kind)
		yield(kind, folded[i:end])
		i = end
	}
}

func tokenEnd(s string, i int, kind script) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		next := scriptOf(r)
		switch {
		case next == kind:
		case kind == scriptWord && next == scriptNumber: // v2, ipv6
		case kind == scriptWord && (r == '\'' || r == '’') && followedBy(s[i+size:], scriptWord):
		case kind == scriptWord && (r == '+' || r == '#') && !followedBy(s[i+size:], scriptWord):
		case kind == scriptNumber && strings.ContainsRune(".:,/", r) && followedBy(s[i+size:], scriptNumber):
		default:
			return i
		}
		i += size
	}
	return i
}

func followedBy(s string, kind script) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && scriptOf(r) == kind
}
