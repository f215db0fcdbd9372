package text_test

import (
	"testing"

	"reverie/internal/text"
)

// Names are one however they are typed, and two where a letter or a mark that
// belongs to the name differs.
func TestNameKey(t *testing.T) {
	for _, same := range [][]string{
		{"Kay", "kay", "@Kay", " KAY ", "“Kay”", "Ｋａｙ", "'@kay'", "@@Kay", "@ @“Kay”", "＠\"@Kay\""},
		{"小林", "@小林", "「小林」", "小林 "},
		{"陳靜", "陈静"},
		{"Half Frame", "half  frame"},
	} {
		for _, name := range same {
			if got := text.NameKey(name); got != text.NameKey(same[0]) || got == "" {
				t.Errorf("%q: %q, want %q", name, got, text.NameKey(same[0]))
			}
		}
	}
	for _, pair := range [][2]string{{"Kay", "Kai"}, {"阿飞", "飞哥"}, {"C", "C#"}, {"Alex#1", "Alex#2"}, {"Kay", "Kay 🔥"}, {"Ana", "Anna"}} {
		if text.NameKey(pair[0]) == text.NameKey(pair[1]) {
			t.Errorf("%q and %q are one name", pair[0], pair[1])
		}
	}
	for _, nobody := range []string{"", "@", "@@", "@ \"@\"", "\"\"", " "} {
		if got := text.NameKey(nobody); got != "" {
			t.Errorf("%q: %q", nobody, got)
		}
	}
}
