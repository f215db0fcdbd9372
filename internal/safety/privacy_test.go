package safety

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"reverie/internal/reverie"
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
		{PIIMask, "db: postgres://app:S3cr#tP!x9@db.example.com:5432/app", "", RuleSecret, "db: postgres://app:[secret:url-password]@db.example.com:5432/app"},
		{PIIRefuse, "密码是Kx#88&zq@mail.com", "", RuleSecret, "密码是[secret:password]"},
		{PIIMask, "Ada likes tea", "Ada likes tea", "", "Ada likes tea"},
	} {
		p := Privacy{PII: tt.policy}
		got, err := p.Statement(tt.text)
		broken := &StatementError{}
		if errors.As(err, &broken); broken.Rule != tt.rule || err == nil && got != tt.statement {
			t.Errorf("%q under %q: %q, %v", tt.text, tt.policy, got, err)
		}
		messages := []reverie.Message{{ID: "1", Text: tt.text}}
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

// What is a secret in a text is in nothing that becomes of it, whatever else stands there
// that is masked too, and no refusal repeats it.
func TestSecretsComeFirst(t *testing.T) {
	texts := []string{
		"postgres://app:S3cr#tPass!x9@db.example.com:5432/app", "redis://:ab@cache.example.com", "密码是Kx#88&zq@mail.com", "password: anna.b2@example.org",
		"mail ada@example.org, password hunter2!x, call 13812345678", "sqlplus scott/Tig#er9@db.example.org", "https://ada:13812345678x@example.org/",
		"amqp://a:p4ss[pii:phone]x@h", "see https://example.org/a ![x](https://example.org/p?q=ada@example.org)",
	}
	for i, s := range secretSamples() {
		texts = append(texts, [...]string{s.text + " or ada@example.org", "ada@example.org," + s.text, s.text + "@example.org"}[i%3])
	}
	for _, text := range texts {
		found := FindSecrets(text)
		for _, policy := range []PII{PIIAllow, PIIMask, PIIRefuse} {
			p := Privacy{policy}
			masked := p.Mask(text)
			statement, err := p.Statement(text)
			if err != nil {
				statement = err.Error()
			}
			if again := p.Mask(masked); again != masked {
				t.Errorf("%q under %q is %q, and then %q", text, policy, masked, again)
			}
			for _, f := range found {
				half := f.Start + (f.End-f.Start+1)/2
				if left := masked + statement; err == nil || strings.Contains(left, text[f.Start:half]) && half > f.Start+3 || strings.Contains(left, text[f.Start:f.End]) {
					t.Errorf("%q under %q is masked as %q, and as a statement %q", text, policy, masked, statement)
				}
			}
			if (err != nil || policy != PIIAllow) && strings.Contains(statement, "ada@") {
				t.Errorf("%q under %q: %q", text, policy, statement)
			}
		}
	}
}

// Of a very long message the beginning is shown. No cut leaves half a secret, half an address
// or half a character, and nothing behind it can be cited.
func TestLongMessagesAreCut(t *testing.T) {
	word := strings.Repeat("中文 and words, ", reverie.MaxMessageShown/18-10)
	for _, secret := range []string{"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "4111 1111 1111 1111", "password: hunter2horse", "ann.lee@example.com", "😀"} {
		for at := reverie.MaxMessageShown - len(secret) - 3; at <= reverie.MaxMessageShown+1; at += 4 {
			whole := word + strings.Repeat("-", at-len(word)-1) + " " + secret + " the end of it. " + strings.Repeat("more ", 9000)
			shown := Privacy{}.Shown(whole)
			if len(shown) > reverie.MaxMessageShown+len("…")+2*len("[secret:github-token]") || !utf8.ValidString(shown) || !strings.HasSuffix(shown, "…") {
				t.Fatalf("%d bytes with %s at %d: …%q", len(shown), secret, at, shown[len(shown)-60:])
			}
			rest := strings.TrimLeft(shown[len(word):], "-")
			for _, r := range []string{secret[:len(secret)/2], secret[len(secret)/2:]} {
				if secret != "😀" && strings.Contains(rest, r) {
					t.Fatalf("half of %s at %d is shown: %q", secret, at, rest)
				}
			}
		}
	}
	m := reverie.Message{ID: "m", AuthorID: "a", Role: reverie.RoleUser, Text: word + word + "Maya lives in Lisbon."}
	for quote, cites := range map[string]int{"Maya lives in Lisbon.": 0, "中文 and words": 1} {
		list := Privacy{}.Messages([]reverie.Message{m})
		if got, _ := Cite([]reverie.Citation{{Message: "1", Quote: quote}}, list, time.UTC); len(got) != cites {
			t.Errorf("%q is cited %d times", quote, len(got))
		}
	}
	if short := strings.Repeat("a ", 100); (Privacy{}).Shown(short) != short {
		t.Error("a short message was changed")
	}
}
