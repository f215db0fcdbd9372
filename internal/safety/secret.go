package safety

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"reverie/internal/text"
)

// Finding is a secret or a piece of personal data in a text: which rule knows its
// shape, and the bytes [Start, End) that it takes.
type Finding struct {
	Rule       string
	Start, End int
}

// Detector finds secrets that this package has no rule for. It is safe for concurrent
// use, and what it returns need be in no order.
type Detector func(text string) []Finding

// RegisterDetector adds a detector to [FindSecrets]. It is for init functions: package
// secret registers the rules of gitleaks, for whoever imports it.
func RegisterDetector(name string, d Detector) { detectors = append(detectors, namedDetector{name, d}) }

// Detectors are the names of those that are registered.
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

// FindSecrets returns the well-known shapes of keys, tokens and passwords in
// text, by position, none overlapping another. What [MaskSecrets] has put into
// the text is none, nor what [MaskPII] has; what such a mask of an e-mail address has left
// of a password in an address is one. It takes time linear in the text, and one pass over
// what holds no secret's keyword.
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

// withRemains adds the beginning of a password at the end of a text, as in postgres://app:s3
// before a mask that has taken the rest of it and the host for an e-mail address.
func withRemains(found []Finding, text string) []Finding {
	from := max(0, len(text)-anchoredReach)
	m := passwordRemains.FindStringSubmatchIndex(text[from:])
	if m == nil || len(found) > 0 && found[len(found)-1].End > from+m[2] {
		return found
	}
	return append(found, Finding{"url-password", from + m[2], from + m[3]})
}

var passwordRemains = text.NewPattern(`://[^\s:/?#@]*:([^\s/]+)$`)

// MaskSecrets replaces each secret by its rule's name, as [secret:aws-key], so
// that a text may be logged, stored or sent to a model. It is idempotent.
func MaskSecrets(text string) string {
	// What a mask leaves beside it can read as a secret in its turn. Every round
	// leaves less that is not mask, so the loop ends.
	for round := 1; ; round++ {
		found := FindSecrets(text)
		if len(found) == 0 {
			return text
		}
		text = maskFound(text, widen(text, found, round), maskOpen)
	}
}

// maxRounds is after how many rounds of masking a stretch that still holds something is
// masked whole. Nobody writes such a text but to keep the rules busy.
const maxRounds = 8

// widen makes findings of a late round the stretches between masks that they stand in.
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

// maskFound replaces findings by open, their rule and a bracket.
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

// find looks at the text as it is and, where that differs, as it reads: with full-width
// letters as ASCII ones, and without characters that are not seen.
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
	var done []int // rule -> where its last match ended; nil while there was no keyword
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

// denied tells whether a word begins with no-, as NOPASSWD does: it says that there is none.
func denied(before string) bool {
	n := len(before)
	return n >= 2 && strings.EqualFold(before[n-2:], "no") && (n == 2 || !isASCIIWord(before[n-3]))
}

// surroundings are what the gate of a rule sees: what stands behind a keyword or, where the
// secret comes first, before it.
func (r *secretRule) surroundings(text string, start, end int) string {
	if r.Back > 0 {
		return text[max(0, start-r.Back):start]
	}
	return text[end:min(len(text), end+gateReach)]
}

// gateReach is how many bytes behind a keyword its gate sees.
const gateReach = 160

// match tries an anchored rule at the beginning of text. Where the next try may
// begin is behind the match, whether or not its value is good.
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

// anchoredReach is how many bytes an anchored rule sees at first, so that a text made of
// nothing but keywords still takes linear time. What runs into its end may go on.
const anchoredReach = 256

// around tries a rule that begins before its keyword, and returns up to where it has
// looked.
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

// add appends the secret in match m of text[at:], if it is one.
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

// beginsWord tells whether no ASCII letter or digit stands before byte i, or
// none at it. Underscores part words here: DB_PASSWORD.
func beginsWord(text string, i int) bool {
	return i == 0 || !isASCIIWord(text[i-1]) || !isASCIIWord(text[i])
}

func isASCIIWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// withoutOverlaps sorts the findings and joins those that overlap under the
// name of the first; of two that start together that is the earlier rule's,
// since the table has the specific ones first.
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
