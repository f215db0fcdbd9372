package offline

import (
	"strings"
	"unicode/utf8"

	"reverie/internal/text"
)

// citation is a message and the words of it that count.
type citation struct {
	Message int    `json:"message"`
	Quote   string `json:"quote"`
}

// cite quotes sentences, one a message and at most maxEvidence. Without a
// message of the new discussions there is no evidence.
func (p *proposer) cite(sentences []int) []citation {
	var out []citation
	fresh := false
	seen := make(map[int]bool)
	for _, i := range sentences {
		m := p.messages[p.sentences[i].message]
		quote := quoteOf(p.sentences[i].text)
		if seen[m.ID] || len(out) == maxEvidence || !text.VerifyQuote(quote, m.Text) {
			continue
		}
		seen[m.ID] = true
		fresh = fresh || !m.earlier
		out = append(out, citation{m.ID, quote})
	}
	if !fresh {
		return nil
	}
	return out
}

// quoteOf is the sentence itself, or its beginning when it is long.
func quoteOf(sentence string) string {
	if utf8.RuneCountInString(sentence) <= maxQuote {
		return sentence
	}
	runes := []rune(sentence)[:maxQuote]
	quote := string(runes)
	if i := strings.LastIndexAny(quote, " ，,、"); i > len(quote)/2 {
		quote = quote[:i]
	}
	return strings.TrimSpace(quote)
}
