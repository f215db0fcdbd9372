package recall

import (
	"strings"
	"testing"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

func TestQueryLength(t *testing.T) {
	for query, want := range map[string]int{
		"": 0, " \n": 0, "?!…": 0, "🎂🎂": 0, "好": 1, "好的": 2, "ok": 2, "a, b": 2, "周五 7点？": 4, "C#": 1, "Ｇｏ": 2, "é": 1,
	} {
		if got := QueryLength(query); got != want {
			t.Errorf("QueryLength(%q) = %d, want %d", query, got, want)
		}
	}
}

func TestSkip(t *testing.T) {
	keywords := Options{Trigger: TriggerKeywords, Keywords: []string{"my ", "last time", "上次", "Ｃａｆé"}, MinQueryLength: 2, MaxReturn: 8}
	always := Options{Trigger: TriggerAlways, MinQueryLength: 2, MaxReturn: 8}
	none := always
	none.MaxReturn = 0
	for _, c := range []struct {
		options Options
		query   string
		want    string
	}{
		{always, "茶?", SkippedQueryShort}, {always, "喝茶", ""}, {always, "  ", SkippedQueryShort}, {Options{MaxReturn: 1}, "\u200b \t", ""},
		{Options{MaxReturn: 1}, " \t", SkippedQueryShort}, {Options{MaxReturn: 1, Trigger: TriggerAlways}, "🎂", ""},
		{Options{MaxReturn: 1, Trigger: TriggerNever}, "anything", SkippedNever}, {none, "anything", SkippedNever},
		{keywords, "where is my cup", ""}, {keywords, "the army marches", SkippedNoKeyword}, {keywords, "MY CUP", ""},
		{keywords, "Last  Time we met", ""}, {keywords, "last times", SkippedNoKeyword}, {keywords, "我們上次說的", ""},
		{keywords, "下次再说", SkippedNoKeyword}, {keywords, "CAFÉ?", ""}, {keywords, "我my的", ""},
	} {
		if got := c.options.skip(c.query); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.options.Trigger, c.query, got, c.want)
		}
	}
}

// TestQueryForm: ways to write one question share a form; other questions do not.
func TestQueryForm(t *testing.T) {
	for want, queries := range map[string][]string{
		"where is the projector?": {"Where is the projector?", " where  is the PROJECTOR? ", "Ｗhere is the projector?"},
		"c++ at 30°?":             {"C++ at 30°?"},
		"🎂🎂":                      {"🎂🎂"},
		strings.Repeat("好", 2000): {strings.Repeat("好", 2000), strings.Repeat("好", 5000)},
	} {
		for _, q := range queries {
			if got := queryForm(q); got != want {
				t.Errorf("queryForm(%.60q) = %.60q, want %.60q", q, got, want)
			}
		}
	}
	if got := queryForm("\u200b"); got != "\u200b" {
		t.Errorf("an invisible query becomes %q", got)
	}
}

func TestNamed(t *testing.T) {
	names := func(list ...string) (out []reverie.EntityName) {
		for _, n := range list {
			out = append(out, reverie.EntityName{EntityID: strings.ToUpper(n), Name: n, Key: text.NameKey(n)})
		}
		return out
	}
	for _, c := range []struct {
		query string
		names []reverie.EntityName
		want  string
	}{
		{"What does Lin like?", names("lin"), "LIN"},
		{"a new line", names("lin"), ""},
		{"feeling Lin's mood", names("lin"), "LIN"},
		{"Lin2 and lin_x and xlin", names("lin"), ""},
		{"问问Lin明天来吗", names("lin"), "LIN"},
		{"Mia and Lin", names("lin", "mia"), "MIA LIN"},
		{"林小雨的生日", names("林小雨", "林小", "小雨"), "林小雨"},
		{"林小雨和小雨", names("林小雨", "小雨"), "林小雨 小雨"},
		{"雨下了", names("雨"), ""},
		{"A plan", names("a"), ""},
		{"민수가 왔어?", names("민수"), "민수"},
		{"Jean-Luc Picard", names("jean-luc", "jean"), "JEAN-LUC"},
		{"林曉雨", names("林晓雨"), "林晓雨"},
		{"C++ or C#?", names("c++", "c#", "c"), "C++ C#"},
		{"xx xx xx yy", names("xx xx", "xx", "xx yy", "yy"), "XX XX XX YY"},
		{"林小雨", append(names("林小雨", "小雨"), reverie.EntityName{EntityID: "other", Key: "林小雨"}), "other 林小雨"},
		{strings.Repeat("x ", maxQueryForm/2) + "Lin", names("lin"), ""}, // beyond what is read
	} {
		if got := strings.Join(named(nameForm(c.query), c.names, leastName), " "); got != c.want {
			t.Errorf("%q names %q, want %q", c.query, got, c.want)
		}
	}
}
