package safety

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// PII says what becomes of personal data (see [FindPII]) in what becomes memory.
type PII string

// The policies, [privacy] pii in the configuration.
const (
	PIIAllow  PII = "allow"  // it is remembered like anything else
	PIIMask   PII = "mask"   // its rule's name stands in its place: [pii:email]
	PIIRefuse PII = "refuse" // it is treated like a secret
)

// Privacy is how texts are treated on their way into memory. The zero value masks personal
// data. Secrets never pass, whatever it says.
//
// It works at three places, so that no room needs rules of its own: messages are masked
// before a model is shown them ([Privacy.Messages]), answers before anything is made of
// them or they are kept (package llm), and what people hand in is held against it
// ([Privacy.Statement]). A mask of a secret in a statement is refused by [CheckStatement]
// like the secret itself.
type Privacy struct {
	PII PII
}

// Mask returns a text without its secrets and, unless the policy allows it, without
// personal data. Secrets come first: the end of a password and the host behind it read as
// an address. It is idempotent.
func (p Privacy) Mask(s string) string {
	s = MaskSecrets(s)
	if p.PII == PIIAllow {
		return s
	}
	open := maskPII
	if p.PII == PIIRefuse {
		open = maskOpen
	}
	// What is left beside a mask can read as something in its turn. Every round leaves less
	// that is not mask, so the loop ends.
	for round := 1; ; round++ {
		found := FindPII(s)
		if len(found) == 0 {
			return s
		}
		s = MaskSecrets(maskFound(s, widen(s, found, round), open))
	}
}

// Messages returns the messages with masked texts, as a model may be shown them and
// quotes are taken from: see [Privacy.Shown]. Those given are left as they are.
func (p Privacy) Messages(list []reverie.Message) []reverie.Message {
	list = slices.Clone(list)
	for i := range list {
		list[i].Text, list[i].Cut = p.Shown(list[i].Text), len(list[i].Text) > reverie.MaxMessageShown
	}
	return list
}

// Shown is what a model may be shown of a message: masked, and of a very long one the beginning.
func (p Privacy) Shown(s string) string {
	if len(s) <= reverie.MaxMessageShown {
		return p.Mask(s)
	}
	return p.Mask(s[:shownEnd(s)]) + "…"
}

// cutMargin is how many bytes behind a cut are looked at for what it would take apart, and
// cutWord how many of a word are given up before it: half a secret has no shape.
const (
	cutMargin = 4 << 10
	cutWord   = 256
)

// shownEnd is where a long text is cut: between words where one ends near, outside of what is
// masked.
func shownEnd(s string) int {
	end := runeStart(s, reverie.MaxMessageShown)
	if i := strings.LastIndexFunc(s[:end], unicode.IsSpace); i >= end-cutWord {
		end = i
	}
	for _, m := range markAll(s[:runeStart(s, min(len(s), reverie.MaxMessageShown+cutMargin))]) {
		if m.Start < end && end < m.End {
			return m.Start
		}
	}
	return end
}

// runeStart is the last byte up to i at which a character begins, or the end of the text.
func runeStart(s string, i int) int {
	for i < len(s) && i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// Statement returns s as it may be remembered, its personal data masked where the policy
// says so, or why it may not: see [CheckStatement]. Its errors are *[StatementError], whose
// details are without secrets and personal data.
func (p Privacy) Statement(s string) (string, error) {
	secret := FindSecrets(s)
	if len(secret) == 0 && p.PII != PIIAllow && len(FindSecrets(text.Normalize(s))) == 0 {
		if found := FindPII(s); len(found) > 0 {
			if p.PII == PIIRefuse {
				return "", &StatementError{RulePII, fmt.Sprintf("it holds personal data (%s): leave it out", found[0].Rule)}
			}
			s = maskFound(s, found, maskPII)
		}
	}
	err := CheckStatement(s)
	if err == nil && len(secret) > 0 {
		err = &StatementError{RuleSecret, fmt.Sprintf("it holds what looks like a secret (%s): leave it out", secret[0].Rule)}
	}
	if broken := (*StatementError)(nil); errors.As(err, &broken) {
		return s, &StatementError{broken.Rule, Privacy{}.Mask(broken.Detail)}
	}
	return s, err
}
