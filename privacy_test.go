package reverie

import (
	"errors"
	"testing"
)

func TestPrivacy(t *testing.T) {
	const mail, key = "Ada reads ada@example.org", "the deploy key is AKIA" + "Z7QK3W2NVYTL5RPX"
	for _, tt := range []struct {
		policy          PII
		text, statement string
		rule            Rule
		masked          string
	}{
		{"", mail, "Ada reads [pii:email]", "", "Ada reads [pii:email]"},
		{PIIMask, mail, "Ada reads [pii:email]", "", "Ada reads [pii:email]"},
		{PIIAllow, mail, mail, "", mail},
		{PIIRefuse, mail, "", RulePII, "Ada reads [secret:email]"},
		{PIIAllow, key, "", RuleSecret, "the deploy key is [secret:aws-key]"},
		{PIIMask, "Ada likes tea", "Ada likes tea", "", "Ada likes tea"},
	} {
		p := Privacy{PII: tt.policy}
		got, err := p.Statement(tt.text)
		broken := &StatementError{}
		if errors.As(err, &broken); broken.Rule != tt.rule || err == nil && got != tt.statement {
			t.Errorf("%q under %q: %q, %v", tt.text, tt.policy, got, err)
		}
		messages := []Message{{ID: "1", Text: tt.text}}
		once := p.Messages(messages)
		if once[0].Text != tt.masked || p.Messages(once)[0].Text != tt.masked || messages[0].Text != tt.text {
			t.Errorf("%q is shown to a model under %q as %q", tt.text, tt.policy, once[0].Text)
		}
		// What a model makes of a masked secret is refused as the secret would be.
		if _, err := p.Statement(tt.masked); (err != nil) != (tt.rule != "") {
			t.Errorf("%q as a statement under %q: %v", tt.masked, tt.policy, err)
		}
	}
}
