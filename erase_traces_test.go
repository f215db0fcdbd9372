package reverie

import (
	"strings"
	"testing"
)

func none(string) bool { return false }

// Traces are found however they are written, as whole words where there are such.
func TestTracesRedact(t *testing.T) {
	traces, skipped := NewTraces("u184023", []string{"小明", "Lin", "明", "Rose", "42"},
		[]string{"我下个月要去东京出差", "I am allergic to peanuts", "好的", "yes", "first line of mine is long\nand the second one too"},
		func(name string) bool { return name == "Rose" }, func(text string) bool { return text == "said by all of us" })
	if got := strings.Join(skipped, " "); got != "明 Rose 42" {
		t.Errorf("skipped %q", got)
	}
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"nothing of theirs", "nothing of theirs"},
		{"<@u184023> hello", "<@[erased]> hello"},
		{"u1840234 and xu184023 are others", "u1840234 and xu184023 are others"},
		{"U184023", "[erased]"},
		{"ｕ１８４０２３ here", "[erased] here"},
		{"小明说得对", "[erased]说得对"},
		{"我和小明，Lin", "我和[erased]，[erased]"},
		{"LIN's tea and Linda's", "[erased]'s tea and Linda's"},
		{"明天 Rose 42", "明天 Rose 42"},
		{"> 我下個月要去東京出差\n同意", "> [erased]\n同意"},
		{"she said: i am  allergic\nto PEANUTS!", "she said: [erased]!"},
		{"I am allergic to peanutsauce", "I am allergic to peanutsauce"},
		{"好的 yes", "好的 yes"},
		{"and the second one too, she said", "[erased], she said"},
		{`{"text":"\u5c0f\u660e likes tea"}`, `{"text":"[erased] likes tea"}`},
		{"L\u200bin", "[erased]"},
		{"小明小明", "[erased][erased]"},
	} {
		got, changed := traces.Redact(c.in)
		if got != c.want || changed != (c.in != c.want) {
			t.Errorf("%q becomes %q, %t; want %q", c.in, got, changed, c.want)
		}
		if found := traces.Find(c.in); (found != "") != changed {
			t.Errorf("%q: found %q, and changed is %t", c.in, found, changed)
		}
		if what := traces.Find(got); what != "" {
			t.Errorf("%q still holds %s", got, what)
		}
	}
}

// What stands in the place of what was erased is never found itself.
func TestTracesOfTheMark(t *testing.T) {
	traces, skipped := NewTraces("erased", []string{"Erased", "ed"}, nil, none, none)
	if got, changed := traces.Redact("an [erased] word, edited"); changed || len(skipped) != 2 {
		t.Errorf("it becomes %q; skipped %q", got, skipped)
	}
}

func FuzzTraces(f *testing.F) {
	f.Add("小明", "I am allergic to peanuts", "he said 小明 that i am ALLERGIC to peanuts")
	f.Add("Ａnn", "x\\u5c0fy", "\\u5c0f\\u660e Ann ann")
	f.Fuzz(func(t *testing.T, name, text, in string) {
		traces, _ := NewTraces("u184023", []string{name}, []string{text}, none, none)
		got, changed := traces.Redact(in)
		if changed != (traces.Find(in) != "") {
			t.Errorf("%q: changed is %t, and found %q", in, changed, traces.Find(in))
		}
		if !changed && got != in {
			t.Errorf("%q becomes %q without a change", in, got)
		}
	})
}
