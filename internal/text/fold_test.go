package text

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"":                    "",
		"  a \t b\n\nc ":      "a b c",
		"ＡＢＣ　１２３":             "abc 123",
		"ｶﾞｷﾞ":                "ガギ",
		"Straße":              "strasse",
		"ΣΊΣΥΦΟΣ":             "σίσυφοσ",
		"ze\u200bro\u200d":    "zero",
		"bi\u202edi\u2066":    "bidi",
		"soft\u00adhyphen":    "softhyphen",
		"tag\U000E0041\ufeff": "tag",
		"❤\ufe0f":             "❤",
		"bell\x07":            "bell",
		"ﬁne":                 "fine",
		"cafe\u0301":          "café",
		"①²":                  "12",
		"bad\xffbyte":         "bad\uFFFDbyte",
		"大家，好！":               "大家,好!",
		"line\u2028sep":       "line sep",
		"x\u3164y":            "xy",
	} {
		if got := Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSimplify(t *testing.T) {
	for in, want := range map[string]string{
		"大家說好以後每週五聚餐": "大家说好以后每周五聚餐",
		"臺灣鐵路":        "台湾铁路",
		"already 简体":  "already 简体",
		"":            "",
		"苧薴苎":         "苎苎苎",
		"𠀀𪜀":          "𠀀𪜀",
		"a\xff髮":      "a\uFFFD发",
	} {
		if got := Simplify(in); got != want {
			t.Errorf("Simplify(%q) = %q, want %q", in, got, want)
		}
	}
	mapped := 0
	for r := rune(FirstHan); r <= LastHan; r++ {
		once := Simplify(string(r))
		if Simplify(once) != once || utf8.RuneCountInString(once) != 1 {
			t.Errorf("Simplify(%q) = %q, which is not settled", r, once)
		}
		if once != string(r) {
			mapped++
		}
	}
	if mapped < 2500 {
		t.Errorf("only %d characters are mapped: the table is not whole", mapped)
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"Ｇｏ ist ＳＴＲＡＳＳＥ", "İ", "ͅα", "ﾞ", "\u1e9e", "\u0345\u0301", "a\u200b\u0301", "ᾳ\u0345", "\u3392", "\xf0\x9f", "각", "\u1100\u200b\u1161", "\u00a8", "𝔊𝔬", "Ω"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Fold(s)
		if twice := Fold(once); twice != once {
			t.Fatalf("Fold(%q) = %q, then %q", s, once, twice)
		}
		if strings.ContainsAny(once, "\n\t\x00\u200b\u202e") || strings.TrimSpace(once) != once || strings.Contains(once, "  ") || !utf8.ValidString(once) {
			t.Fatalf("Fold(%q) = %q", s, once)
		}
		if simple := Simplify(once); Fold(simple) != simple || Simplify(simple) != simple {
			t.Fatalf("Simplify(Fold(%q)) = %q is not settled", s, simple)
		}
	})
}

func BenchmarkFold(b *testing.B) {
	texts := map[string]string{"zh": "大家說好以後每週五晚上 8:00 一起打《Overcooked 2》！", "en": "The group meets on Fridays at noon.", "mixed": "Ｃａｆé 时间：周五 ❤️"}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		s := texts[name]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				Fold(s)
			}
		})
	}
}
