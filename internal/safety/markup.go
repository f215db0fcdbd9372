package safety

import (
	"slices"
	"strings"
	"sync"

	"reverie/internal/text"
)

// findLink returns the first address in plain text, "" if there is none. Addresses are anything with a scheme,
// www., Markdown links and images, data URIs, and domains followed by a path, port or query. Names with dots
// (Node.js, v1.2.3, main.go) and bare domains are not addresses.
func findLink(text string) string { return rulesOf()[RuleLink].find(text) }

// findMarkup returns the first piece of markup in plain text, "" if there is none: HTML and role tags, control
// words of chat templates, role prefixes, code fences and headings. Comparisons (a < b), hearts (<3), generic types
// (List<String>) and placeholders (install <package>) are not markup.
func findMarkup(s string) string {
	if m := rulesOf()[RuleMarkup].find(s); m != "" {
		return m
	}
	if !strings.Contains(s, "<") {
		return ""
	}
	closed := strings.Contains(s, "</")
	for _, m := range tags.FindAllStringSubmatchIndex(s, -1) {
		name, _, _ := strings.Cut(strings.ToLower(s[m[2]:m[3]]), "_")
		spaced := s[m[0]+1] == ' ' // a < b and b > c
		alone := !closed && s[m[3]] == '>' && s[m[0]+1] != '/'
		if spaced && len(name) == 1 || (spaced || alone) && !slices.Contains(dangerousTags(), name) {
			continue
		}
		return s[m[0]:m[1]]
	}
	return ""
}

var tags = text.NewPattern(`(?i)<\s?/?\s?([a-z\p{Han}][a-z0-9\p{Han}_:.-]{0,40})(?:\s[^<>]{0,200})?\s?/?\s?>`)

// dangerousTags are tags that are never placeholders.
var dangerousTags = sync.OnceValue(func() []string { return strings.Fields(plainFile().DangerousTags) })
