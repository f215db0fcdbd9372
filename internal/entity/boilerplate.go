package entity

import (
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// isBoilerplate tells a claim that says nothing of its subject which is not true of
// whoever writes in a chat, or that only repeats one of the subject's names. The model
// is asked to write none; the list in words.toml is of those that it writes most.
func isBoilerplate(c reverie.ObservedClaim, names []string) bool {
	if c.Aspect == reverie.AspectRelation {
		return false
	}
	key := text.NameKey(c.Value)
	said := textForm(c.Value)
	for _, name := range names {
		own := text.NameKey(name)
		if key == own {
			return true
		}
		said = strings.TrimPrefix(said, own)
	}
	parts := strings.FieldsFunc(strings.ReplaceAll(said, " and ", ","), func(r rune) bool {
		return strings.ContainsRune(".。!！,，;；…~", r)
	})
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(part string) bool {
		return !words().boilerplate[strings.TrimSpace(part)]
	})
}
