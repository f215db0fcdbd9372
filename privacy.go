package reverie

import (
	"fmt"
	"slices"
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
// personal data. It is idempotent.
func (p Privacy) Mask(s string) string {
	switch p.PII {
	case PIIAllow:
	case PIIRefuse:
		s = maskFound(s, FindPII(s), maskOpen)
	default:
		s = MaskPII(s)
	}
	return MaskSecrets(s)
}

// Messages returns the messages with masked texts, as a model may be shown them and
// quotes are taken from. Those given are left as they are.
func (p Privacy) Messages(list []Message) []Message {
	list = slices.Clone(list)
	for i := range list {
		list[i].Text = p.Mask(list[i].Text)
	}
	return list
}

// Statement returns s as it may be remembered, its personal data masked where the policy
// says so, or why it may not: see [CheckStatement]. Its errors are *[StatementError].
func (p Privacy) Statement(s string) (string, error) {
	if p.PII != PIIAllow {
		if found := FindPII(s); len(found) > 0 {
			if p.PII == PIIRefuse {
				return "", &StatementError{RulePII, fmt.Sprintf("it holds personal data (%s): leave it out", found[0].Rule)}
			}
			s = maskFound(s, found, maskPII)
		}
	}
	return s, CheckStatement(s)
}
