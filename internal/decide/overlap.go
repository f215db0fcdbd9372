package decide

import (
	"slices"
	"strings"
	"unicode"

	"reverie/internal/text"
)

// overlap is the share of a text's words that stand in another one, 0..1.
func overlap(text, other string) float64 {
	mine, theirs := vocabulary(text), vocabulary(other)
	slices.Sort(mine)
	mine = slices.Compact(mine)
	found := 0
	for _, word := range mine {
		if slices.Contains(theirs, word) {
			found++
		}
	}
	return float64(found) / float64(max(len(mine), 1))
}

// stem is how many characters of a word count: likes is liked.
const stem = 4

// vocabulary is the words of a text, and the characters of one without spaces, in
// order.
func vocabulary(s string) (words []string) {
	for word := range strings.FieldsFuncSeq(text.Simplify(text.Fold(s)),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune(word)
		if !slices.ContainsFunc(runes, text.IsDense) {
			words = append(words, string(runes[:min(len(runes), stem)]))
			continue
		}
		words = append(words, strings.Split(word, "")...)
	}
	return words
}
