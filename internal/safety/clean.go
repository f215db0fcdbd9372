package safety

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// CleanTags brings a model's tags into shape: white space folded, visible
// characters only, each once (whatever its case and width), none longer than
// [reverie.MaxTagLength] characters, none that would be refused as a statement, at most
// [reverie.MaxTags] of them, in the order given. It never returns nil.
func CleanTags(tags []string) []string {
	clean := []string{}
	seen := map[string]bool{}
	for _, tag := range tags {
		tag = strings.TrimSpace(strings.TrimLeft(text.Normalize(tag), "#"))
		key := text.Simplify(text.Fold(tag))
		if seen[key] || len([]rune(tag)) > reverie.MaxTagLength || !strings.ContainsFunc(tag, text.IsWord) || CheckStatement(tag) != nil {
			continue
		}
		seen[key] = true
		if clean = append(clean, tag); len(clean) == reverie.MaxTags {
			break
		}
	}
	return clean
}

// CleanReason makes a model's reason fit to be stored and shown: one line,
// invisible and control characters removed, secrets masked, at most
// [reverie.MaxReason] characters. One without a word is none: small models copy the dots of a prompt.
func CleanReason(s string) string {
	if !strings.ContainsFunc(s, text.IsWord) {
		return ""
	}
	return text.Excerpt(MaskSecrets(text.VisibleLine(s)), reverie.MaxReason)
}

// CleanSummary makes a text of several sentences that a model wrote fit to be
// stored and shown: one line, invisible and control characters removed, secrets
// masked, at most n characters, cut where a sentence ends if one does in the later
// half. Whether it may become a memory is for [CheckStatement] to say.
func CleanSummary(s string, n int) string {
	s = strings.Join(strings.Fields(MaskSecrets(text.VisibleLine(s))), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	end, count := 0, 0
	for i, r := range s {
		if count++; count > n {
			break
		}
		if after := i + utf8.RuneLen(r); endsSentence(r, s[after:]) && 2*count >= n {
			end = after
		}
	}
	if end > 0 {
		return s[:end]
	}
	return text.Excerpt(s, n)
}

// endsSentence tells whether a sentence ends with r, before rest. A point ends one
// only before a space: 3.5 goes on.
func endsSentence(r rune, rest string) bool {
	switch r {
	case '。', '！', '？', '；', '…':
		return true
	case '.', '!', '?', ';':
		return rest == "" || rest[0] == ' '
	}
	return false
}

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
