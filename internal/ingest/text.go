package ingest

import "strings"

// forwarded marks a text that somebody else wrote; author is "" where it is not known.
func forwarded(author, text string) string {
	if author == "" {
		return "[forwarded] " + text
	}
	return "[forwarded from " + author + "] " + text
}

// joinLines puts lines below each other, without the empty ones.
func joinLines(lines ...string) string {
	var out []string
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// pollText is what a poll asks, and the answers that it offers.
func pollText(question string, answers []string) string {
	lines := []string{question}
	for _, a := range answers {
		if a = strings.TrimSpace(a); a != "" {
			lines = append(lines, "- "+a)
		}
	}
	return joinLines(lines...)
}
