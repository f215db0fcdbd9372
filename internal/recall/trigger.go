package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"reverie/internal/text"
)

// Trigger says when memories are looked up.
type Trigger string

// The triggers.
const (
	TriggerAlways   Trigger = "always"
	TriggerKeywords Trigger = "keywords" // the query has one of the keywords
	TriggerSemantic Trigger = "semantic" // some memory comes near enough
	TriggerNever    Trigger = "never"
)

// Why no memories were looked up.
const (
	SkippedFirstRound   = "first_round"
	SkippedQueryShort   = "query_too_short"
	SkippedNoKeyword    = "no_keyword"
	SkippedNotSimilar   = "not_similar"
	SkippedNever        = "trigger_never"
	SkippedNoEmbeddings = "no_embeddings"
)

// skip says why no memories are looked up for a query, "" where they are.
func (o Options) skip(query string) string {
	switch {
	case o.Trigger == TriggerNever, o.MaxReturn == 0:
		return SkippedNever
	case strings.TrimSpace(query) == "", QueryLength(query) < o.MinQueryLength:
		return SkippedQueryShort
	case o.Trigger == TriggerKeywords && !hasKeyword(query, o.Keywords):
		return SkippedNoKeyword
	}
	return ""
}

// QueryLength is how much a query says: its letters and digits, of which a Chinese
// character is one. Spaces, punctuation and emoji say nothing to look up.
func QueryLength(query string) int {
	n := 0
	for _, r := range query {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			n++
		}
	}
	return n
}

// hasKeyword tells whether a query has one of the keywords, as whole words where
// words are spaced. Case, width and traditional characters make no difference.
func hasKeyword(query string, keywords []string) bool {
	folded := foldNames(query)
	for _, k := range keywords {
		if k = foldNames(k); k != "" && len(spans(folded, k)) > 0 {
			return true
		}
	}
	return false
}

// foldNames is the form in which names and keywords are looked for: that of
// [text.NameKey], with what surrounds a name.
func foldNames(s string) string { return text.Simplify(text.Fold(s)) }

// span is a place in a text, in bytes.
type span struct{ start, end int }

// spans finds a word in a text: wherever it stands in Chinese, and between
// boundaries of words where it begins or ends in a script that is spaced.
func spans(text, word string) []span {
	var found []span
	first, _ := utf8.DecodeRuneInString(word)
	last, _ := utf8.DecodeLastRuneInString(word)
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return found
		}
		s := span{at + i, at + i + len(word)}
		before, _ := utf8.DecodeLastRuneInString(text[:s.start])
		after, size := utf8.DecodeRuneInString(text[s.end:])
		if !(isSpaced(first) && isSpaced(before)) && !(isSpaced(last) && isSpaced(after) && size > 0) {
			found = append(found, s)
		}
		_, size = utf8.DecodeRuneInString(text[s.start:])
		at = s.start + size
	}
}

// isSpaced tells the letters, digits and marks of scripts that put spaces between
// words. Korean does, but lets particles follow a name at once.
func isSpaced(r rune) bool {
	if r == utf8.RuneError || r != '_' && !unicode.In(r, unicode.L, unicode.N, unicode.M) {
		return false
	}
	return !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
