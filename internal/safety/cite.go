package safety

import (
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Cite verifies citations of messages, which are numbered from 1. Each must name
// one that a member wrote, and a quote that is given must stand in it; the others
// are left out. Of a message that is cited several times, the first quote counts.
// quoted says whether any was quoted, and not only named.
func Cite(cited []reverie.Citation, messages []reverie.Message, loc *time.Location) (evidence []reverie.Evidence, quoted bool) {
	place, words := map[string]int{}, map[string]bool{} // of a message in evidence
	for _, c := range cited {
		n, err := strconv.Atoi(c.Message)
		if err != nil || n < 1 || n > len(messages) || messages[n-1].Role != reverie.RoleUser {
			continue
		}
		m, quote := messages[n-1], strings.TrimSpace(c.Quote)
		if quote != "" && !text.VerifyQuote(quote, m.Text) {
			continue
		}
		quoted = quoted || quote != ""
		at, again := place[m.ID]
		switch {
		case !again:
			place[m.ID], words[m.ID] = len(evidence), quote != ""
			evidence = append(evidence, EvidenceOf(m, quote, loc))
		case quote != "" && !words[m.ID]: // the words say more than the number did
			evidence[at], words[m.ID] = EvidenceOf(m, quote, loc), true
		}
	}
	return evidence, quoted
}

// EvidenceOf is a message as evidence, by a quote that stands in it or, where that
// is "", by its beginning. Secrets in it are masked.
func EvidenceOf(m reverie.Message, quote string, loc *time.Location) reverie.Evidence {
	if quote == "" {
		quote = m.Text
	}
	return reverie.Evidence{MessageID: m.ID, AuthorID: m.AuthorID, Author: m.Author, Quote: text.Excerpt(MaskSecrets(quote), reverie.MaxQuote),
		SentAt: m.SentAt, LocalDate: text.LocalDate(m.SentAt, loc)}
}
