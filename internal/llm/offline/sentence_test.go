package offline

import (
	"strings"
	"testing"
)

func TestSplitSentences(t *testing.T) {
	for text, want := range map[string]string{
		"One. Two! Three? four":           "One.|Two!|Three?|four",
		"先这样。周四见！\n\n不见不散":                "先这样。|周四见！|不见不散",
		"v1.2.3 is out, e.g. for macs":    "v1.2.3 is out, e.g. for macs",
		"really?! yes...":                 "really?!|yes...",
		"（好的。）走":                          "（好的。）走",
		"a\u2028b":                        "a\u2028b",
		strings.Repeat("x. ", 100):        strings.TrimSuffix(strings.Repeat("x.|", maxSentences), "|"),
		strings.Repeat("周", 5000)[:14999]: strings.Repeat("周", 1333),
	} {
		if got := strings.Join(splitSentences(text, maxSentences), "|"); got != want {
			t.Errorf("%.40q: %.80q, want %.80q", text, got, want)
		}
	}
}
