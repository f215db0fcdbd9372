package export

import (
	"strings"

	"reverie/internal/reverie"
)

// Forwarded marks a text that somebody else wrote; author is "" where it is not known.
func Forwarded(author, text string) string {
	if author == "" {
		return "[forwarded] " + text
	}
	return "[forwarded from " + author + "] " + text
}

// JoinLines puts lines below each other, without the empty ones.
func JoinLines(lines ...string) string {
	var out []string
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// PollText is what a poll asks, and the answers that it offers.
func PollText(question string, answers []string) string {
	lines := []string{question}
	for _, a := range answers {
		if a = strings.TrimSpace(a); a != "" {
			lines = append(lines, "- "+a)
		}
	}
	return JoinLines(lines...)
}

// Shortened cuts a name to what is stored of one.
func Shortened(s string) string {
	if len(s) <= reverie.MaxMessageIDLength {
		return s
	}
	return strings.ToValidUTF8(s[:reverie.MaxMessageIDLength], "")
}

// MaxNames bounds how many names are learned from messages.
const MaxNames = 100_000
