package safety

import (
	"strings"
	"testing"

	"reverie/internal/reverie"
)

func TestScanTellsNoSecret(t *testing.T) {
	const password = "hunter22x"
	text := strings.Repeat("很久以前，", 20) + "mail anna@example.com, the password is " + password + ", and pwd=Tr0ub4dor&3 works too\x1b[31m"
	found := Scan(text)
	if len(found) != 3 || found[0].Class != reverie.ClassPII || found[0].Rule != "email" || found[1].Class != reverie.ClassSecret || found[1].Rule != "password" {
		t.Fatalf("found %+v", found)
	}
	for _, f := range found {
		for _, secret := range []string{password, "Tr0ub4dor", "anna@", "\x1b"} {
			if strings.Contains(f.Excerpt, secret) {
				t.Errorf("%q stands in the excerpt %q", secret, f.Excerpt)
			}
		}
	}
	const want = "[pii:email], the password is [secret:password], and pwd=[secret:password] wo"
	if got := found[1].Excerpt; got != want {
		t.Errorf("excerpt %q, want %q", got, want)
	}
}
