package safety

import (
	"strings"
	"unicode/utf8"

	"reverie/internal/text"
)

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
