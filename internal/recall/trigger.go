package recall

import (
	"cmp"
	"strings"
	"unicode"

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
	SkippedFirstRound = "first_round"
	SkippedQueryShort = "query_too_short"
	SkippedNoKeyword  = "no_keyword"
	SkippedNotSimilar = "not_similar"
	SkippedNever      = "trigger_never"
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
		if k = foldNames(k); k != "" && len(text.Places(folded, k)) > 0 {
			return true
		}
	}
	return false
}

// foldNames is the form in which names and keywords are looked for: that of
// [text.NameKey], with what surrounds a name.
func foldNames(s string) string { return text.Simplify(text.Fold(s)) }

// maxQueryForm is how much of a query is embedded, in characters.
const maxQueryForm = 2000

// queryForm is the text of a query that is embedded. Ways to write one question that differ in case, width and
// spaces share one form, and so one cached vector.
func queryForm(query string) string {
	return firstCharacters(cmp.Or(text.Fold(query), query), maxQueryForm) // of invisible characters alone folding leaves nothing
}

// firstCharacters is the beginning of a text, n characters at most.
func firstCharacters(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
