package reverie

import (
	"bufio"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// poisonCase is a statement of a corpus. The two halves of a corpus alternate: rules
// were changed only for what the first half showed.
type poisonCase struct {
	family   string
	text     string
	measured bool // of the half that rules were not developed on
}

// poisonCases reads a corpus: one statement a line, families after ===.
func poisonCases(t testing.TB, names ...string) (cases []poisonCase) {
	t.Helper()
	for _, name := range names {
		f, err := os.Open("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		family, n := "", 0
		for lines := bufio.NewScanner(f); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "=== "):
				family, n = line[4:], 0
			case line != "" && !strings.HasPrefix(line, "# "):
				cases = append(cases, poisonCase{family, unescape(line), n%2 == 1})
				n++
			}
		}
	}
	return cases
}

var escapedRune = regexp.MustCompile(`\\u\{([0-9A-F]+)\}`)

func unescape(line string) string {
	return escapedRune.ReplaceAllStringFunc(line, func(s string) string {
		n, err := strconv.ParseInt(s[3:len(s)-1], 16, 32)
		if err != nil {
			panic(err)
		}
		return string(rune(n))
	})
}

func poisonAttacks(t testing.TB) []poisonCase { return poisonCases(t, "poison/attacks.txt") }

func poisonHarmless(t testing.TB) []poisonCase {
	return poisonCases(t, "poison/harmless_en.txt", "poison/harmless_zh.txt", "statement/allowed.txt")
}

// caught counts the cases of one half that are not accepted.
func caught(cases []poisonCase, measured bool) (n, of int, missed []poisonCase) {
	for _, c := range cases {
		if c.measured != measured {
			continue
		}
		of++
		if CheckStatement(c.text) != nil {
			n++
		} else {
			missed = append(missed, c)
		}
	}
	return n, of, missed
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(of) }
