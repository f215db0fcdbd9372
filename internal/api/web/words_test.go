package web

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"reverie/internal/text"
)

func TestSay(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"plain, 中文, 👩‍💻":              "plain, 中文, 👩‍💻",
		"<script>alert('x')</script>": "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;",
		"two\nlines\tand a tab":       "two\nlines\tand a tab",
		"\u202egnp.exe":               `<span class="hidden-char">U+202E</span>gnp.exe`,
		"a\x00b\x1b[31mc":             `a<span class="hidden-char">U+0000</span>b<span class="hidden-char">U+001B</span>[31mc`,
		"end\u200b":                   `end<span class="hidden-char">U+200B</span>`,
		"\u202e\u202e\u202e.":         `<span class="hidden-char">U+202E × 3</span>.`,
		"\xff\xff!":                   `<span class="hidden-char">U+FFFD × 2</span>!`,
		"\u2066\u2069x":               `<span class="hidden-char">U+2066 × 2</span>x`,
		"tag \U000e0041":              `tag <span class="hidden-char">U+E0041</span>`,
		"bad \xff byte":               `bad <span class="hidden-char">U+FFFD</span> byte`,
		"kept \ufffd":                 `kept <span class="hidden-char">U+FFFD</span>`,
	} {
		if got := string(say(text)); got != "<bdi>"+want+"</bdi>" {
			t.Errorf("%q is shown as %s", text, got)
		}
	}
}

// FuzzSay has no text leave the place that it is given.
func FuzzSay(f *testing.F) {
	f.Add("<b>", "\u202e\xff")
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, shown := range []string{string(say(before)), string(changes(before, after))} {
			rest := shown
			for _, mark := range []string{"<bdi>", `<bdi class="diff">`, "</bdi>", "<del>", "</del>", "<ins>", "</ins>", `<span class="hidden-char">`, "</span>"} {
				rest = strings.ReplaceAll(rest, mark, "")
			}
			if strings.ContainsAny(rest, "<>\"'") || !utf8.ValidString(shown) || strings.ContainsFunc(rest, hidden) {
				t.Errorf("%q and %q are shown as %q", before, after, shown)
			}
		}
	})
}

func TestChangesOfWords(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"meets on Monday", "meets on Friday", "meets on <del>Monday</del><ins>Friday</ins>"},
		{"周会改到周五", "周会改到周六", "周会改到周<del>五</del><ins>六</ins>"},
		{"<b>1</b>", "<b>2</b>", "&lt;b&gt;<del>1</del><ins>2</ins>&lt;/b&gt;"},
	} {
		if got := string(changes(c.before, c.after)); got != `<bdi class="diff">`+c.want+"</bdi>" {
			t.Errorf("%s: %s", c.want, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		text.Grouped(0): "0", text.Grouped(999): "999", text.Grouped(1234567): "1,234,567", text.Grouped(-1234): "-1,234", text.Grouped(-123): "-123",
		text.Compact(999): "999", text.Compact(12_345): "12.3k", text.Compact(999_950): "1.0M",
		usd(0): "0", usd(0.00001): "<0.0001", usd(0.12345): "0.1235", usd(12.345): "12.35",
		took(2 * time.Millisecond): "2 ms", took(1500 * time.Millisecond): "1.5 s", took(90 * time.Second): "1 min 30 s", took(2*time.Hour + 3*time.Minute): "2 h 3 min",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	zone := time.FixedZone("", 8*3600)
	if got := string(when(time.Date(2026, 1, 15, 23, 30, 0, 0, time.UTC), zone)); got != `<time datetime="2026-01-15T23:30:00Z">2026-01-16 07:30:00</time>` {
		t.Error(got)
	}
	if got := when(time.Time{}, zone); got != "" {
		t.Error(got)
	}
}

// TestLocalPath has a login lead back to pages of ours alone.
func TestLocalPath(t *testing.T) {
	for address, want := range map[string]string{
		"": homeURL, "/ui/": "/ui/", "/ui/groups/a%2Fb?x=1": "/ui/groups/a%2Fb?x=1", "https://evil.example/ui/": homeURL, "//evil.example/ui/": homeURL,
		"/\\evil.example": homeURL, "/ui/\\evil": homeURL, "/ui/\nx": homeURL, "/ui": homeURL, "/v1/groups": homeURL, "/ui/login?next=/ui/": homeURL, "javascript:alert(1)": homeURL,
	} {
		if got := localPath(address); got != want {
			t.Errorf("%q leads to %q", address, got)
		}
	}
}

// TestChart draws columns upwards and downwards, in scale.
func TestChart(t *testing.T) {
	c := newChart("x", "", "", []column{{Up: []part{{"a", 3}, {"b", 0}}, Down: []part{{"c", 1}}}, {}, {Up: []part{{"a", 1}, {"b", 1}}}},
		func(n float64) string { return text.Grouped(int(n)) })
	if c.Top != "3" || c.Bottom != "1" || c.Axis != "75.00" || c.Width != "30" || len(c.Columns) != 3 || len(c.Columns[1].Bars) != 0 {
		t.Errorf("%+v", c)
	}
	if got, want := c.Columns[0].Bars, []drawnBar{{"a", "1.50", "0.00", "7.00", "75.00"}, {"c", "1.50", "75.00", "7.00", "25.00"}}; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v", got)
	}
	if got := c.Columns[2].Bars; len(got) != 2 || got[1] != (drawnBar{"b", "21.50", "25.00", "7.00", "25.00"}) {
		t.Errorf("%+v", got)
	}
	if c := newChart("x", "", "", []column{{}}, nil); c.Top != "" || c.Axis != "100.00" {
		t.Errorf("of nothing: %+v", c)
	}
}
