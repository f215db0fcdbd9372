package reverie

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanSummary(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"  One.\n\tTwo.  ", 100, "One. Two."},
		{"bi\u202edi \u200bzero\x00 ❤️", 100, "bidi zero ❤️"},
		{"key AKIA\u200bIOSFODNN7EXAMPLE given", 100, "key [secret:aws-key] given"},
		{"One is here. Two is there. Three", 27, "One is here. Two is there."},
		{"One is here. Two is there. Three", 26, "One is here. Two is there."},
		{"One is here. Two is there. Three", 25, "One is here. Two is there…"[:len("One is here. Two is")] + "…"},
		{"It costs 3.50 and 4.20 in all of them", 24, "It costs 3.50 and 4.20…"},
		{"第一句。第二句！第三句没有完", 10, "第一句。第二句！"},
		{"Hm. " + strings.Repeat("long ", 20), 30, "Hm. long long long long long…"},
		{"", 10, ""},
	} {
		got := CleanSummary(c.in, c.n)
		if got != c.want || utf8.RuneCountInString(got) > c.n {
			t.Errorf("%q, %d: %q, want %q", c.in, c.n, got, c.want)
		}
		if again := CleanSummary(got, c.n); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	}
}
