package recall

import (
	"cmp"
	"strings"
	"unicode"

	"reverie/internal/text"
)

// Trigger says when memories are searched.
type Trigger string

// The triggers.
const (
	TriggerAlways   Trigger = "always"
	TriggerKeywords Trigger = "keywords" // the query contains a keyword
	TriggerSemantic Trigger = "semantic" // some memory is similar enough
	TriggerNever    Trigger = "never"
)

// Why no memories were searched.
const (
	SkippedFirstRound = "first_round"
	SkippedQueryShort = "query_too_short"
	SkippedNoKeyword  = "no_keyword"
	SkippedNotSimilar = "not_similar"
	SkippedNever      = "trigger_never"
)

// skip returns why no memories are searched for a query, "" if they are.
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

// QueryLength is the number of letters and digits in a query; a Chinese character counts as one. Spaces,
// punctuation and emoji give nothing to search for.
func QueryLength(query string) int {
	n := 0
	for _, r := range query {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			n++
		}
	}
	return n
}

// hasKeyword reports whether a query contains one of the keywords, as whole words in scripts with spaces. It
// ignores case, width and traditional characters.
func hasKeyword(query string, keywords []string) bool {
	folded := foldNames(query)
	for _, k := range keywords {
		if k = foldNames(k); k != "" && len(text.Places(folded, k)) > 0 {
			return true
		}
	}
	return false
}

// foldNames returns the form in which names and keywords are searched: that of [text.NameKey], without trimming
// what surrounds a name.
func foldNames(s string) string { return text.Simplify(text.Fold(s)) }

// maxQueryForm is the number of characters of a query that are embedded.
const maxQueryForm = 2000

// queryForm returns the text of a query that is embedded. Questions that differ only in case, width and spaces
// share one form, and so one cached vector.
func queryForm(query string) string {
	// Folding a query of only invisible characters leaves nothing.
	return firstCharacters(cmp.Or(text.Fold(query), query), maxQueryForm)
}

// firstCharacters returns the first n characters of a text.
func firstCharacters(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
