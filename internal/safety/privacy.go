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

// PII is the policy for personal data (see [FindPII]) in texts that become memory.
type PII string

// The policies: [privacy] pii in the configuration.
const (
	PIIAllow  PII = "allow"  // remembered like anything else
	PIIMask   PII = "mask"   // replaced by the name of its rule: [pii:email]
	PIIRefuse PII = "refuse" // treated like a secret
)

// Privacy is the treatment of texts that may become memory. The zero value masks personal data. It never lets
// secrets pass.
//
// It applies at three places, so that no other package needs such rules. Messages are masked before a model sees
// them ([Privacy.Messages]). Answers are masked before they are stored or used (package llm). Statements by people
// are checked ([Privacy.Statement]). [CheckStatement] refuses a masked secret like the secret itself.
type Privacy struct {
	PII PII
}

// Mask returns a text without secrets and, unless the policy allows them, without personal data. It masks secrets
// first: the end of a password and the host after it look like an address. It is idempotent.
func (p Privacy) Mask(s string) string {
	s = MaskSecrets(s)
	if p.PII == PIIAllow {
		return s
	}
	open := maskPII
	if p.PII == PIIRefuse {
		open = maskOpen
	}
	// The text beside a mask can look like personal data again. Every round leaves less unmasked text, so the loop
	// ends.
	for round := 1; ; round++ {
		found := FindPII(s)
		if len(found) == 0 {
			return s
		}
		s = MaskSecrets(maskFound(s, widen(s, found, round), open))
	}
}

// Messages returns copies of the messages with masked texts, for models and for quotes: see [Privacy.Shown].
func (p Privacy) Messages(list []reverie.Message) []reverie.Message {
	list = slices.Clone(list)
	for i := range list {
		list[i].Text, list[i].Cut = p.Shown(list[i].Text), len(list[i].Text) > reverie.MaxMessageShown
	}
	return list
}

// Shown returns the part of a message that a model may see: masked, and only the beginning of a very long one.
func (p Privacy) Shown(s string) string {
	if len(s) <= reverie.MaxMessageShown {
		return p.Mask(s)
	}
	return p.Mask(s[:shownEnd(s)]) + "…"
}

// A cut must not split a secret, since half a secret has no recognisable shape. cutMargin is the number of bytes
// after a cut that are searched for one. cutWord is the maximum number of bytes that are given up to cut between
// words.
const (
	cutMargin = 4 << 10
	cutWord   = 256
)

// shownEnd returns where a long text is cut: between words if possible, and outside of masked text.
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

// runeStart returns the last byte up to i at which a character begins, or the end of the text.
func runeStart(s string, i int) int {
	for i < len(s) && i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// Statement returns s as it may be stored, with personal data masked if the policy says so, or the reason why it
// may not: see [CheckStatement]. Its errors are *[StatementError], whose details hold no secrets or personal data.
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
