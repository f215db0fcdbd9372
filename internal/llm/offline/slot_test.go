package offline

import (
	"fmt"
	"strings"
	"testing"
)

func TestSlots(t *testing.T) {
	for _, c := range []struct{ text, slots, rest string }{
		{"每周四晚上七点半", "weekday=thurs time=7:30", "每 晚上"},
		{"周四 7:30", "weekday=thurs time=7:30", ""},
		{"thursdays at 7:30pm", "weekday=thurs time=7:30", "at"},
		{"at 9 pm on tuesday", "time=9:0 weekday=tues", "at on"},
		{"21点开会", "time=9:0", "开会"},
		{"两个人 review", "number people=2", "review"},
		{"one person, two people", "number people=2", "one person,"},
		{"一个人 review 就行", "number people=1", "review 就行"},
		{"有一点难", "", "有一点难"},
		{"费用是每人三十五块", "number yuan=35", "费用是每人"},
		{"35 yuan each", "number yuan=35", "each"},
		{"3.5% of it", "number %=3.5", "of it"},
		{"ipv6 and c200 stay words", "", "ipv6 and c200 stay words"},
		{"february 20", "number =20", "february"},
		{"", "", ""},
	} {
		slots, rest := cutSlots(fold(c.text))
		var got []string
		for _, s := range slots {
			got = append(got, fmt.Sprintf("%s=%s", s.kind, s.value))
		}
		if g, r := strings.Join(got, " "), strings.Join(strings.Fields(rest), " "); g != c.slots || r != c.rest {
			t.Errorf("%q: %q and %q, want %q and %q", c.text, g, r, c.slots, c.rest)
		}
	}
}

func TestAgree(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"周四七点半", "星期四 7:30", true},
		{"周四", "周六", false},
		{"monday and friday", "friday", true},
		{"monday and friday", "friday and sunday", false},
		{"two people", "two people in 3 days", true},
		{"two people", "3 people", false},
		{"五点", "20 yuan", true},
	} {
		a, _ := cutSlots(c.a)
		b, _ := cutSlots(c.b)
		if agree(a, b) != c.want || agree(b, a) != c.want {
			t.Errorf("%q and %q: agree is not %v both ways", c.a, c.b, c.want)
		}
	}
}

func TestStem(t *testing.T) {
	for _, words := range []string{"meeting meetings meet meets", "run runs running", "city cities", "moved moves moving move",
		"push pushes pushed", "class classes", "bus"} {
		list := strings.Fields(words)
		for _, w := range list {
			if stem(w) != stem(list[0]) {
				t.Errorf("%s becomes %s, %s becomes %s", list[0], stem(list[0]), w, stem(w))
			}
		}
	}
}

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
		if got := strings.Join(splitSentences(text), "|"); got != want {
			t.Errorf("%.40q: %.80q, want %.80q", text, got, want)
		}
	}
}

func TestIsNoise(t *testing.T) {
	for _, s := range []string{"lol", "早", "/join #x", "!help", "see https://a.example/b", "it is on example.com", "<bob> hi there all",
		"[12:01] <bob> hi there", "* bob has joined the channel", "at com.foo.Bar.run(Bar.java:12)", "sudo rm -rf the whole thing",
		"aaaaaaaaaaaaaaaaaaaaa", "😀😀😀 hi", "{\"a\": [1, 2, {\"b\": null}]}", "for (i = 0; i < 10; i++) sum += x[i];", "deadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
		"ha ha ha ha ha ha ha ha", "> quoted line of somebody", "    at Object.<anonymous> (/srv/x.js:1:2)"} {
		if !isNoise(s) {
			t.Errorf("%q is taken for speech", s)
		}
	}
	for _, s := range []string{"周四打羽毛球", "We use Go 1.26 (mostly) for the tools.", "C# 和 C++ 都可以写", "The café's menu costs 12€ — cheap!", "Tom's mug is on the 2nd floor",
		"外拍胶卷统一用乐凯C200", "it costs $5, or 5% of the budget"} {
		if isNoise(s) {
			t.Errorf("%q is taken for noise", s)
		}
	}
}
