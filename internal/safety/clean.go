package safety

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// CleanTags normalises a model's tags. It folds white space and removes invisible characters, duplicates (ignoring
// case and width), and tags that would be refused as a statement. A tag keeps at most [reverie.MaxTagLength]
// characters; the result keeps at most [reverie.MaxTags] tags in the given order. It never returns nil.
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

// CleanReason makes a model's reason fit to be stored and shown. It removes line breaks and invisible and control
// characters, masks secrets, and keeps at most [reverie.MaxReason] characters. A reason without a word becomes "":
// small models copy the dots of a prompt.
func CleanReason(s string) string {
	if !strings.ContainsFunc(s, text.IsWord) {
		return ""
	}
	return text.Excerpt(MaskSecrets(text.VisibleLine(s)), reverie.MaxReason)
}

// CleanSummary makes a model's text of several sentences fit to be stored and shown. It removes line breaks and
// invisible and control characters, and masks secrets. It keeps at most n characters, and cuts at the end of a
// sentence if one ends in the second half. [CheckStatement] decides whether the text may become a memory.
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

// endsSentence reports whether a sentence ends with r, before rest. A full stop ends one only before a space: 3.5
// is one word.
func endsSentence(r rune, rest string) bool {
	switch r {
	case '。', '！', '？', '；', '…':
		return true
	case '.', '!', '?', ';':
		return rest == "" || rest[0] == ' '
	}
	return false
}

// Cite verifies citations of messages, which are numbered from 1. A citation must name a message by a member, and
// its quote, if any, must occur in the message; others are dropped. If author and number disagree, Cite takes the
// only message of that author that contains the quote: small models miscount, but copy well. If a message is cited
// several times, its first quote is used. quoted reports whether any citation has a valid quote.
func Cite(cited []reverie.Citation, messages []reverie.Message, loc *time.Location) (evidence []reverie.Evidence, quoted bool) {
	place, words := map[string]int{}, map[string]bool{} // of a message in evidence
	for _, c := range cited {
		quote := strings.TrimSpace(c.Quote)
		n, _ := strconv.Atoi(c.Message) // 0 is invalid
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
		case quote != "" && !words[m.ID]: // a quote is better evidence than a bare number
			evidence[at], words[m.ID] = EvidenceOf(m, quote, loc), true
		}
	}
	return evidence, quoted
}

// soleBy returns the number of the only message of an author for which said is true; 0 if there is none or more
// than one.
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

// EvidenceOf makes evidence of a message and a quote from it. If the quote is "", it uses the beginning of the
// message. Secrets are masked.
func EvidenceOf(m reverie.Message, quote string, loc *time.Location) reverie.Evidence {
	if quote == "" {
		quote = m.Text
	}
	return reverie.Evidence{MessageID: m.ID, AuthorID: m.AuthorID, Author: m.Author, Quote: text.Excerpt(MaskSecrets(quote), reverie.MaxQuote),
		SentAt: m.SentAt, LocalDate: text.LocalDate(m.SentAt, loc)}
}
