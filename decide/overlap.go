package decide

import (
	"slices"
	"strings"
	"unicode"

	"reverie"
)

// overlap is the share of a text's words that stand in another one, 0..1.
func overlap(text, other string) float64 {
	mine, theirs := vocabulary(text), vocabulary(other)
	found := 0
	for word := range mine {
		if theirs[word] {
			found++
		}
	}
	return float64(found) / float64(max(len(mine), 1))
}

// stem is how many characters of a word count: likes is liked.
const stem = 4

// vocabulary are the words of a text, and the characters of one without spaces.
func vocabulary(text string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsFuncSeq(reverie.Simplify(reverie.Fold(text)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune(word)
		if !slices.ContainsFunc(runes, isUnspaced) {
			words[string(runes[:min(len(runes), stem)])] = true
			continue
		}
		for _, r := range runes {
			words[string(r)] = true
		}
	}
	return words
}

func isUnspaced(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }
