package diff_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"reverie/internal/diff"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"same", "same", "same"},
		{"", "new", "{new}"},
		{"gone", "", "[gone]"},
		{"meets on Monday at 9", "meets on Friday at 9", "meets on [Monday]{Friday} at 9"},
		{"周会改到周五晚上", "周会改到周六晚上", "周会改到周[五]{六}晚上"},
		{"周会每周一 review", "周会每周二 review 一次", "周会每周[一]{二} review{ 一次}"},
	} {
		var b strings.Builder
		for _, p := range diff.Words(c.before, c.after) {
			b.WriteString(map[diff.Kind]string{diff.Gone: "[", diff.New: "{"}[p.Kind] + p.Text + map[diff.Kind]string{diff.Gone: "]", diff.New: "}"}[p.Kind])
		}
		if b.String() != c.want {
			t.Errorf("%q to %q: %s, want %s", c.before, c.after, b.String(), c.want)
		}
	}
}

// FuzzWords has the pieces make up both texts again.
func FuzzWords(f *testing.F) {
	f.Add("周会 on Monday", "周会 on 周五")
	f.Fuzz(func(t *testing.T, before, after string) {
		if !utf8.ValidString(before) || !utf8.ValidString(after) {
			return // no text
		}
		var old, fresh strings.Builder
		for _, p := range diff.Words(before, after) {
			if p.Kind != diff.New {
				old.WriteString(p.Text)
			}
			if p.Kind != diff.Gone {
				fresh.WriteString(p.Text)
			}
		}
		if old.String() != before || fresh.String() != after {
			t.Errorf("%q and %q have become %q and %q", before, after, old.String(), fresh.String())
		}
	})
}
