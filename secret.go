package reverie

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Finding is a secret in a text: which rule knows its shape, and the bytes
// [Start, End) that it takes.
type Finding struct {
	Rule       string
	Start, End int
}

// secretRule knows the shape of one sort of secret.
type secretRule struct {
	name     string
	keywords []string // lower case; the expression is tried where one of them occurs
	re       *regexp.Regexp
	group    int                     // the capturing group that is the secret, 0 for all
	valid    func(value string) bool // nil: the shape is proof enough
	trim     string                  // marks that end a sentence or quote, no part of the secret
}

// secretFinder is the table of rules, ready for use.
type secretFinder struct {
	rules []secretRule
	words *keywords
}

var secrets = sync.OnceValue(func() *secretFinder { return newSecretFinder(secretRules()) })

func newSecretFinder(rules []secretRule) *secretFinder {
	words := make([][]string, len(rules))
	for i, r := range rules {
		words[i] = r.keywords
	}
	return &secretFinder{rules: rules, words: newKeywords(words)}
}

// FindSecrets returns the well-known shapes of keys, tokens and passwords in
// text, by position, none overlapping another. What [MaskSecrets] has put into
// the text is none. It takes time linear in the text, and one pass over what
// holds no secret's keyword.
func FindSecrets(text string) []Finding {
	if !strings.Contains(text, maskOpen) {
		return secrets().find(text)
	}
	var found []Finding
	at := 0
	for _, m := range append(mask.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		for _, f := range secrets().find(text[at:m[0]]) {
			found = append(found, Finding{f.Rule, at + f.Start, at + f.End})
		}
		at = m[1]
	}
	return found
}

// MaskSecrets replaces each secret by its rule's name, as [secret:aws-key], so
// that a text may be logged, stored or sent to a model. It is idempotent.
func MaskSecrets(text string) string {
	// What a mask leaves beside it can read as a secret in its turn. Every round
	// leaves less that is not mask, so the loop ends.
	for found := FindSecrets(text); len(found) > 0; found = FindSecrets(text) {
		text = maskFindings(text, found)
	}
	return text
}

func maskFindings(text string, found []Finding) string {
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start])
		b.WriteString(maskOpen + f.Rule + "]")
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String()
}

const maskOpen = "[secret:"

var mask = regexp.MustCompile(`\[secret:[a-z0-9-]{1,40}\]`)

func (s *secretFinder) find(text string) []Finding {
	var found []Finding
	candidates := s.words.find(text)
	candidates.each(func(i int) bool {
		found = append(found, s.rules[i].find(text)...)
		return true
	})
	return withoutOverlaps(found)
}

func (r *secretRule) find(text string) []Finding {
	var found []Finding
	for _, m := range r.re.FindAllStringSubmatchIndex(text, -1) {
		value := strings.TrimRight(text[m[2*r.group]:m[2*r.group+1]], r.trim)
		if value != "" && (r.valid == nil || r.valid(value)) {
			start := m[2*r.group]
			found = append(found, Finding{r.name, start, start + len(value)})
		}
	}
	return found
}

// withoutOverlaps sorts the findings and joins those that overlap under the
// name of the first; of two that start together that is the earlier rule's,
// since the table has the specific ones first.
func withoutOverlaps(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Start, b.Start) })
	kept := found[:0]
	for _, f := range found {
		if n := len(kept); n > 0 && f.Start < kept[n-1].End {
			kept[n-1].End = max(kept[n-1].End, f.End)
			continue
		}
		kept = append(kept, f)
	}
	return kept
}
