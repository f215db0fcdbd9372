package text

import (
	"strconv"
	"strings"
	"testing"
)

func none(string) bool { return false }

// Traces are found however they are written, as whole words where there are such, and
// texts where they are quoted, stand alone, or are long.
func TestTracesRedact(t *testing.T) {
	traces := NewTraces("u184023", []string{"小明", "Lin", "明", "Rose", "42", "Ann Mary", "François", "ガイ", "😀😀", "D'Arcy", "...", `Jo "X"`},
		[]string{"我下个月要去东京出差", "I am allergic to peanuts", "好的", "yes", "first line of mine is long\nand the second one too",
			"Wednesday", "said by all of us", "he said \"never\" again", "the doctor told me that it is diabetes", "我昨天去医院医生说是糖尿病要注意"},
		[]string{"小明明", "Mary Lin", "u184023-b", "Bob"}, func(name string) bool { return name == "Rose" })
	if got := strings.Join(traces.Shared, " ") + "|" + strings.Join(traces.Short, " "); got != "Rose|明 42 ..." {
		t.Errorf("not looked for: %q", got)
	}
	for _, message := range []string{"it was said by all of us", "> Wednesday", "Lin said the doctor told me that it is diabetes"} {
		traces.Hear(message)
	}
	if n := traces.Unsought(); n != 3 {
		t.Errorf("%d texts are not looked for, want 3", n)
	}
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"nothing of theirs", "nothing of theirs"},
		{"<@u184023> hello", "<@[erased]> hello"},
		{"u1840234 and xu184023 are others, as is u184023-b", "u1840234 and xu184023 are others, as is u184023-b"},
		{"U184023", "[erased]"},
		{"ｕ１８４０２３ here", "[erased] here"},
		{"小明说得对", "[erased]说得对"},
		{"小明明说得对，Mary Lin", "小明明说得对，Mary Lin"},
		{"我和小明，Lin", "我和[erased]，[erased]"},
		{"LIN's tea and Linda's", "[erased]'s tea and Linda's"},
		{"明天 Rose 42...", "明天 Rose 42..."},
		{"𝐋𝐢𝐧 Ⓛⓘⓝ franc\u0327ois ｶﾞｲ", "[erased] [erased] [erased] [erased]"},
		{`\ud83d\ude00\ud83d\ude00 😀😀 \ud83d`, `[erased] [erased] \ud83d`},
		{`d’arcy, Jo “X”, {"a":"Jo \"X\"\nLin"}`, `[erased], [erased], {"a":"[erased]\n[erased]"}`},
		{"@AnnMary, AnnMary", "[erased], AnnMary"},
		{"> 我下個月要去東京出差\n同意", "> [erased]\n同意"},
		{"我下個月要去東京出差，你呢", "我下個月要去東京出差，你呢"},
		{"she: “I am  allergic to PEANUTS!” I am allergic to peanuts", "she: “[erased]!” I am allergic to peanuts"},
		{"I am allergic to peanutsauce", "I am allergic to peanutsauce"},
		{"好的 yes", "好的 yes"},
		{"see you Wednesday\n> Wednesday.", "see you Wednesday\n> [erased]."},
		{"and the second one too\nshe said", "[erased]\nshe said"},
		{"> said by all of us", "> said by all of us"},
		{"told, the doctor told me that it is diabetes, and more", "told, [erased], and more"},
		{"听说我昨天去医院医生说是糖尿病要注意了", "听说[erased]了"},
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

// What stands in the place of what was erased is never found itself, and hides no name.
func TestTracesOfTheMark(t *testing.T) {
	traces := NewTraces("erased", []string{"Era", "ed", "[Erased]"}, nil, nil, none)
	if got, changed := traces.Redact("an [erased] word, edited by Ed of the era"); got != "an [erased] word, edited by [erased] of the [erased]" || !changed {
		t.Errorf("it becomes %q", got)
	}
	if len(traces.Short) != 1 {
		t.Errorf("not looked for: %q", traces.Short)
	}
}

// Texts that begin alike cost no more than one: each step of the search is one for all.
func TestTracesThatBeginAlike(t *testing.T) {
	long := strings.Repeat("哈", 200)
	var texts []string
	for i := range 200 {
		texts = append(texts, long+strconv.Itoa(i))
	}
	traces := NewTraces("u1", nil, texts, nil, none)
	steps := 0
	traces.each(traces.fold(long+"199"), 0, func(*trace, int) { steps++ })
	if steps != 1 || traces.Find(long+"x") != "" || traces.Find("> "+long+"7\n") != traceText {
		t.Errorf("%d of the traces that end there", steps)
	}
}

// A long text is found whole, anywhere, and nothing that only begins or ends as it does.
func TestLongTraces(t *testing.T) {
	long := strings.Repeat("走吧，明天再说。", 100)
	traces := NewTraces("u1", nil, []string{long, long + "好"}, nil, none)
	for text, left := range map[string]string{
		"他说" + long + "对": "他说" + Erased + "对", long + "好": Erased, long + long: Erased + Erased,
		long[3:]: long[3:], strings.Replace(long, "说。走", "说，走", 1): strings.Replace(long, "说。走", "说，走", 1),
	} {
		if got, _ := traces.Redact(text); got != left {
			t.Errorf("%.40q is %.40q of %d bytes", text, got, len(got))
		}
	}
}

func FuzzTraces(f *testing.F) {
	f.Add("小明", "I am allergic to peanuts", "he said 小明 that i am ALLERGIC to peanuts")
	f.Add("Ann", "some text", "1\xff\\\xff")
	f.Add("Ａnn", "x\\u5c0fy", "\\u5c0f\\u660e Ann ann")
	f.Fuzz(func(t *testing.T, name, text, in string) {
		traces := NewTraces("u184023", []string{name}, []string{text}, nil, none)
		got, changed := traces.Redact(in)
		if changed != (traces.Find(in) != "") {
			t.Errorf("%q: changed is %t, and found %q", in, changed, traces.Find(in))
		}
		if !changed && got != in {
			t.Errorf("%q becomes %q without a change", in, got)
		}
	})
}
