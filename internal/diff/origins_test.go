package diff_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"reverie/internal/diff"
)

func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{nil, ""},
		{[]string{"we meet on Mondays"}, "0:we meet on Mondays"},
		{[]string{"we meet on Mondays at 9", "we meet on Fridays at 9", "we meet on Fridays at 10"}, "0:we meet on |1:Fridays|0: at |2:10"},
		{[]string{"每周一开会", "每周五开会", "我们每周五开会"}, "2:我们|0:每周|1:五|0:开会"},
		{[]string{"likes tea", "likes coffee", "likes tea"}, "0:likes tea"}, // brought back
		{[]string{"likes tea", "likes coffee", "likes tea", "likes tea a lot"}, "0:likes tea|3: a lot"},
		{[]string{"one", "two", "two"}, "1:two"},
		{[]string{"", "new"}, "1:new"},
		{[]string{"gone", ""}, ""},
	} {
		var parts []string
		for _, o := range diff.Origins(c.texts) {
			parts = append(parts, fmt.Sprintf("%d:%s", o.From, o.Text))
		}
		if got := strings.Join(parts, "|"); got != c.want {
			t.Errorf("%q: %s, want %s", c.texts, got, c.want)
		}
	}
}

// FuzzOrigins has the pieces make up the last text, each brought by a text that has it.
func FuzzOrigins(f *testing.F) {
	f.Add("we meet on Mondays", "周一 we meet", "we meet on 周五")
	f.Add("", "", "")
	f.Add("\x1b[31m a", "a \u202e b", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		texts := []string{a, b, c}
		var whole strings.Builder
		for _, o := range diff.Origins(texts) {
			whole.WriteString(o.Text)
			if o.From < 0 || o.From >= len(texts) || o.Text == "" {
				t.Fatalf("%+v of %q", o, texts)
			}
		}
		for _, text := range texts {
			if !utf8.ValidString(text) {
				return // no text
			}
		}
		if whole.String() != c {
			t.Fatalf("%q from %q", whole.String(), texts)
		}
	})
}
