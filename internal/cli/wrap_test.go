package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		columns int
		want    []string
	}{
		{"", 20, nil},
		{" \n\t ", 20, nil},
		{"one two  three\nfour", 9, []string{"one two", "three", "four"}},
		{"one two three", 13, []string{"one two three"}},
		{"one two three", 12, []string{"one two", "three"}},
		{"abcdefghij kl", 4, []string{"abcd", "efgh", "ij", "kl"}},
		{"周末去外拍，胶卷用金200。", 10, []string{"周末去外", "拍，胶卷用", "金200。"}}, // no line begins with a comma
		{"看Kotlin文档", 8, []string{"看Kotlin", "文档"}},
		{"👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 4, []string{"👨‍👩‍👧👨‍👩‍👧", "👨‍👩‍👧"}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.text, c.columns)); diff != "" {
			t.Errorf("wrap(%q, %d) (-want +got):\n%s", c.text, c.columns, diff)
		}
	}
}

// TestPageText: on a terminal a long line goes on under its beginning, and a command stays whole.
func TestPageText(t *testing.T) {
	t.Parallel()
	const page = "  v1  said of the book club  active\n\n    外拍用金二百外拍用金二百\n  reverie backfill --yes --from 2026-11-15 g1\nend\n"
	const want = "  v1  said of the\n    book club\n    active\n\n    外拍用金二百外\n      拍用金二百\n" +
		"  reverie backfill --yes --from 2026-11-15 g1\nend\n"
	if got := (&Console{Columns: 20}).setTables(page); got != want {
		t.Errorf("it is set as\n%s", got)
	}
	if got := (&Console{}).setTables(page); got != page {
		t.Errorf("piped it is\n%s", got)
	}
}

// FuzzWrap: nothing is lost but spaces, and no line is too wide but one that a
// single character makes so.
func FuzzWrap(f *testing.F) {
	for _, text := range []string{"one two three", "周末去外拍，胶卷用金200。", "a\u2028b\u200d\U0001F468", "\xff\xfe (x)", strings.Repeat("word,", 50)} {
		f.Add(text, uint8(10))
	}
	f.Fuzz(func(t *testing.T, text string, columns uint8) {
		text, most := Visible(text), int(columns%100)+2
		lines := wrap(text, most)
		for _, line := range lines {
			if Width(line) > most && uniseg.GraphemeClusterCount(line) > 1 {
				t.Errorf("%q is %d columns wide, more than %d", line, Width(line), most)
			}
		}
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got, want := bare(strings.Join(lines, "")), bare(text); got != want {
			t.Errorf("%q became %q", want, got)
		}
	})
}
