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

// What may stand at the ends of a query without saying anything.
const (
	formHead = " ,，、。!?;:¿¡~…\"'“”‘’「」『』"
	formTail = formHead + "."
)

// courtesies open or close a query and change nothing about what is asked.
var courtesies = text.NewPattern(`^(?:(?:麻烦|想)?(?:请问(?:一下)?|问一下|问下[ ,])|(?:(?:can|could) you tell me|` +
	`tell me|please|pls|hey|hi|hello|你好|您好|大家好)[ ,!])[ ,]*` +
	`|(?:[,!?] ?thank you|[ ,!?]+(?:thanks|please|pls|谢谢[你您啦了]?|多谢)|谢谢啦|[吗呢啊呀])$`)

// queryForm is the text of a query that is embedded. Ways to write one question that differ
// in case, width, spaces, courtesies and what stands at its ends share one form, and so one
// cached vector. A query of nothing else stays as it is.
func queryForm(query string) string {
	folded := text.Fold(query)
	form := trimForm(courtesies.ReplaceAllString(trimForm(folded), ""))
	form = cmp.Or(form, folded, query) // of invisible characters alone nothing is left by folding
	return firstCharacters(closeHan(form), maxQueryForm)
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

// trimForm takes marks and emoji off the ends.
func trimForm(s string) string {
	s = strings.TrimLeftFunc(s, func(r rune) bool { return strings.ContainsRune(formHead, r) || isEmoji(r) })
	return strings.TrimRightFunc(s, func(r rune) bool { return strings.ContainsRune(formTail, r) || isEmoji(r) })
}

// isEmoji tells pictographs and their skin tones from symbols that say something (C++, 30°).
func isEmoji(r rune) bool { return r >= 0x2190 && unicode.In(r, unicode.So, unicode.Sk) }

// closeHan drops spaces beside Chinese characters and kana, which have none.
func closeHan(s string) string {
	if !strings.Contains(s, " ") {
		return s
	}
	in := []rune(s)
	out := make([]rune, 0, len(in))
	for i, r := range in {
		if r == ' ' && (i > 0 && text.IsDense(in[i-1]) || i+1 < len(in) && text.IsDense(in[i+1])) {
			continue
		}
		out = append(out, r)
	}
	return string(out)
}
