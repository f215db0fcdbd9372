package main

import (
	"strings"

	"reverie/internal/diff"
)

// wordDiff shows what an update changed, word by word: [-gone-]{+new+}, in colour where
// there is colour.
func wordDiff(s style, before, after string) string {
	var b strings.Builder
	for _, p := range diff.Words(before, after) {
		switch text := visible(p.Text); p.Kind {
		case diff.Gone:
			b.WriteString(s.red("[-" + text + "-]"))
		case diff.New:
			b.WriteString(s.green("{+" + text + "+}"))
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}
