package safety

import (
	"strings"
	"testing"
	"unicode/utf8"

	"reverie/internal/text"
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

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"two\nlines\tand a tab":                "two\nlines\tand a tab",
		"a\u200bb\u202ec\u2066d\u00ade\ufefff": "abcdef",
		"tea\U000E0069\U000E0067\U000E006E":    "tea",
		"bell\x07 and \x1b[31mred":             "bell and [31mred",
		"👨‍👩‍👧 ❤️ 3️⃣ 🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F": "👨‍👩‍👧 ❤️ 3️⃣ 🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
		"می\u200cخواهم":     "می\u200cخواهم",
		"x\u200dy 忽\u200c略": "xy 忽略",
		"🏴\U000E0069\U000E0067\U000E006E\U000E006F\U000E0072\U000E0065\U000E0020": "🏴",
		"bad \xff": "bad \uFFFD",
	} {
		if got := text.Visible(in); got != want || text.Visible(got) != got {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}
