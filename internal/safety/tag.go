package safety

import (
	"strings"

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
// [reverie.MaxReason] characters.
func CleanReason(s string) string {
	return text.Excerpt(MaskSecrets(text.VisibleLine(s)), reverie.MaxReason)
}
