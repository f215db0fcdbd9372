package safety

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"reverie/internal/text"
)

// Finding is a secret or a piece of personal data in a text: the rule that found it, and its bytes [Start, End).
type Finding struct {
	Rule       string
	Start, End int
}

// Detector finds secrets for which this package has no rule. It must be safe for concurrent use; its result may be
// in any order.
type Detector func(text string) []Finding

// RegisterDetector adds a detector to [FindSecrets]. Only init functions may call it: importing package secret
// registers the rules of gitleaks.
func RegisterDetector(name string, d Detector) { detectors = append(detectors, namedDetector{name, d}) }

// Detectors returns the names of the registered detectors.
func Detectors() []string {
	names := make([]string, len(detectors))
	for i, d := range detectors {
		names[i] = d.name
	}
	return names
}

type namedDetector struct {
	name string
	find Detector
}

var detectors []namedDetector

// secretFinder is the table of rules, ready for use.
type secretFinder struct {
	rules []secretRule
	words *text.Keywords
}

var secrets = sync.OnceValue(func() *secretFinder { return newSecretFinder(secretRules()) })

func newSecretFinder(rules []secretRule) *secretFinder {
	words := make([][]string, len(rules))
	for i, r := range rules {
		words[i] = r.Keywords
	}
	return &secretFinder{rules: rules, words: text.NewKeywords(words)}
}

// FindSecrets returns the keys, tokens and passwords in text that have a well-known shape, by position and without
// overlaps. Masks by [MaskSecrets] and [MaskPII] are not secrets. The remains of a password beside a mask of an
// e-mail address are one. The time is linear in the text; a text without keywords takes one pass.
func FindSecrets(text string) []Finding {
	if !strings.Contains(text, maskOpen) && !strings.Contains(text, maskPII) {
		return secrets().find(text)
	}
	var found []Finding
	at := 0
	for _, m := range append(anyMask.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		piece := secrets().find(text[at:m[0]])
		if text[m[0]:m[1]] == maskPII+"email]" {
			piece = withRemains(piece, text[at:m[0]])
		}
		for _, f := range piece {
			found = append(found, Finding{f.Rule, at + f.Start, at + f.End})
		}
		at = m[1]
	}
	return found
}

// withRemains adds the beginning of a password at the end of a text. In postgres://app:s3 before a mask, the mask
// has replaced the rest of the password and the host, which looked like an e-mail address.
func withRemains(found []Finding, text string) []Finding {
	from := max(0, len(text)-anchoredReach)
	m := passwordRemains.FindStringSubmatchIndex(text[from:])
	if m == nil || len(found) > 0 && found[len(found)-1].End > from+m[2] {
		return found
	}
	return append(found, Finding{"url-password", from + m[2], from + m[3]})
}

var passwordRemains = text.NewPattern(`://[^\s:/?#@]*:([^\s/]+)$`)

// MaskSecrets replaces each secret by the name of its rule, as in [secret:aws-key]. The result may be logged,
// stored or sent to a model. It is idempotent.
func MaskSecrets(text string) string {
	// The text beside a mask can look like a secret again. Every round leaves less unmasked text, so the loop ends.
	for round := 1; ; round++ {
		found := FindSecrets(text)
		if len(found) == 0 {
			return text
		}
		text = maskFound(text, widen(text, found, round), maskOpen)
	}
}

// maxRounds is the number of rounds of masking after which a stretch that still holds a finding is masked as a
// whole. Only texts that attack the rules get there.
const maxRounds = 8

// widen extends findings of a late round to the whole stretch between two masks.
func widen(text string, found []Finding, round int) []Finding {
	if round < maxRounds {
		return found
	}
	masks := append(anyMask.FindAllStringIndex(text, -1), []int{len(text), len(text)})
	var wide []Finding
	at := 0
	for _, f := range found {
		for len(masks) > 1 && masks[0][1] <= f.Start {
			at, masks = masks[0][1], masks[1:]
		}
		if n := len(wide); n > 0 && wide[n-1].End > f.Start {
			continue
		}
		wide = append(wide, Finding{f.Rule, min(at, f.Start), max(masks[0][0], f.End)})
	}
	return wide
}

// maskFound replaces each finding by open, its rule and a bracket.
func maskFound(text string, found []Finding, open string) string {
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start])
		b.WriteString(open + f.Rule + "]")
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String()
}

const (
	maskOpen = "[secret:"
	maskPII  = "[pii:"
)

var (
	mask    = text.NewPattern(`\[secret:[a-z0-9-]{1,40}\]`)
	anyMask = text.NewPattern(`\[(?:secret|pii):[a-z0-9-]{1,40}\]`)
)

// find searches the text as it is. If its reading differs (full-width letters as ASCII, no invisible characters),
// it searches that too.
func (s *secretFinder) find(text string) []Finding {
	found := s.look(nil, text)
	if r := newReading(text); r != nil {
		for _, f := range s.look(nil, r.text) {
			f.Start, f.End = r.original(f.Start, f.End)
			found = append(found, f)
		}
	}
	return withoutOverlaps(found)
}

func (s *secretFinder) look(found []located, text string) []located {
	var done []int // rule -> end of its last match; nil until a keyword is found
	s.words.Each(text, func(i, start, end int) {
		if done == nil {
			done = make([]int, len(s.rules))
		}
		switch r := &s.rules[i]; {
		case r.gate != nil && !r.gate(r.surroundings(text, start, end)):
		case r.Next != "" && !strings.HasPrefix(strings.TrimLeft(text[end:], "\t\n\f\r "), r.Next):
		case r.Back > 0:
			if end > done[i] {
				found, done[i] = r.around(found, text, max(start-r.Back, done[i]), end, i)
			}
		case start >= done[i] && (beginsWord(text, start) || r.Inside && end-start >= 5 && !denied(text[:start])):
			m := r.match(text[start:])
			done[i] = start + m[1]
			found = r.add(found, text, start, m, i)
		}
	})
	found = findNumbers(found, text)
	found = findSeedPhrases(found, text)
	for i, d := range detectors {
		for _, f := range d.find(text) {
			found = append(found, located{f, len(s.rules) + i})
		}
	}
	return found
}

// denied reports whether a word begins with no-, as NOPASSWD does: it says that there is no password.
func denied(before string) bool {
	n := len(before)
	return n >= 2 && strings.EqualFold(before[n-2:], "no") && (n == 2 || !isASCIIWord(before[n-3]))
}

// surroundings returns the text that the gate of a rule sees: after the keyword, or before it if the secret comes
// first.
func (r *secretRule) surroundings(text string, start, end int) string {
	if r.Back > 0 {
		return text[max(0, start-r.Back):start]
	}
	return text[end:min(len(text), end+gateReach)]
}

// gateReach is the number of bytes after a keyword that its gate sees.
const gateReach = 160

// match tries an anchored rule at the beginning of text. The next try begins after the match, even if the value is
// not valid.
func (r *secretRule) match(text string) []int {
	for reach := anchoredReach; ; reach *= 16 {
		m := r.re.FindStringSubmatchIndex(text[:min(len(text), reach)])
		switch {
		case m == nil:
			return noMatch
		case m[1] < reach || reach >= len(text):
			return m
		}
	}
}

var noMatch = []int{-1, 0}

// anchoredReach is the number of bytes that an anchored rule sees at first, so that a text of nothing but keywords
// still takes linear time. A match that reaches the end of them is tried again with more.
const anchoredReach = 256

// around tries a rule that begins before its keyword, and returns where its search ended.
func (r *secretRule) around(found []located, text string, from, end, rule int) ([]located, int) {
	to := min(len(text), end+anchoredReach)
	if r.gate != nil {
		to = min(len(text), end+16) // the keyword comes last
	}
	last := end
	for _, m := range r.re.FindAllStringSubmatchIndex(text[from:to], -1) {
		if n := len(found); from > 0 && m[0] == 0 && isASCIIWord(text[from-1]) {
			continue // the middle of a word
		} else if found = r.add(found, text, from, m, rule); len(found) > n {
			last = max(last, from+m[1])
		}
	}
	return found, last
}

// located is a finding with the number of its rule.
type located struct {
	Finding
	rule int
}

// add appends the secret in match m of text[at:] if it is valid.
func (r *secretRule) add(found []located, text string, at int, m []int, rule int) []located {
	if m[0] < 0 || m[2*r.Group] < 0 || r.vetoed(text, at, m) {
		return found
	}
	start, end := at+m[2*r.Group], at+m[2*r.Group+1]
	value := strings.TrimRight(text[start:end], r.Trim)
	if value == "" || r.valid != nil && !r.valid(value) {
		return found
	}
	return append(found, located{Finding{r.Name, start, start + len(value)}, rule})
}

// beginsWord reports whether a word of ASCII letters or digits begins at byte i, or none is there. Underscores
// separate words: DB_PASSWORD.
func beginsWord(text string, i int) bool {
	return i == 0 || !isASCIIWord(text[i-1]) || !isASCIIWord(text[i])
}

func isASCIIWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// withoutOverlaps sorts the findings and joins overlapping ones under the name of the first. If two begin together,
// the earlier rule wins: the table lists specific rules first.
func withoutOverlaps(found []located) []Finding {
	slices.SortFunc(found, func(a, b located) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.rule, b.rule))
	})
	var kept []Finding
	for _, f := range found {
		if n := len(kept); n > 0 && f.Start < kept[n-1].End {
			kept[n-1].End = max(kept[n-1].End, f.End)
			continue
		}
		kept = append(kept, f.Finding)
	}
	return kept
}
