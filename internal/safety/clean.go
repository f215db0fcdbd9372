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
// are left out. One with its author whose number is wrong means the one message of that author
// which the quote stands in: small models miscount, but they copy well.
// Of a message that is cited several times, the first quote counts.
// quoted says whether any was quoted, and not only named.
func Cite(cited []reverie.Citation, messages []reverie.Message, loc *time.Location) (evidence []reverie.Evidence, quoted bool) {
	place, words := map[string]int{}, map[string]bool{} // of a message in evidence
	for _, c := range cited {
		quote := strings.TrimSpace(c.Quote)
		n, _ := strconv.Atoi(c.Message) // 0 is none
		said := func(m reverie.Message) bool {
			return m.Role == reverie.RoleUser && (quote == "" || text.VerifyQuote(quote, m.Text))
		}
		if n < 1 || n > len(messages) || !said(messages[n-1]) {
			if n = soleBy(c.Author, messages, said); n == 0 || quote == "" {
				continue
			}
		}
		m := messages[n-1]
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

// soleBy is the number of the one message of an author that has something said, 0 where there is
// none or another.
func soleBy(author string, messages []reverie.Message, said func(reverie.Message) bool) (n int) {
	for i, m := range messages {
		if author != "" && text.Visible(m.Author) == author && said(m) {
			if n > 0 {
				return 0
			}
			n = i + 1
		}
	}
	return n
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
