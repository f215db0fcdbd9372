package reverie

import "fmt"

// PII says what becomes of personal data (see [FindPII]) in what becomes memory.
type PII string

// The policies, [privacy] pii in the configuration.
const (
	PIIAllow  PII = "allow"  // it is remembered like anything else
	PIIMask   PII = "mask"   // its rule's name stands in its place: [pii:email]
	PIIRefuse PII = "refuse" // the statement is refused
)

// Privacy is how texts are treated that become memory: statements, quotes, reasons. The
// zero value masks personal data. Secrets are refused or masked whatever it says.
type Privacy struct {
	PII PII
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

// Mask returns a text without its secrets and, unless the policy allows it, without
// personal data. It is idempotent.
func (p Privacy) Mask(s string) string {
	if p.PII != PIIAllow {
		s = MaskPII(s)
	}
	return MaskSecrets(s)
}
