package cli

import (
	"strings"

	"reverie/internal/diff"
)

// WordDiff shows what an update changed, word by word: [-gone-]{+new+}, in colour where
// there is colour.
func WordDiff(s Style, before, after string) string {
	var b strings.Builder
	for _, p := range diff.Words(before, after) {
		switch text := Visible(p.Text); p.Kind {
		case diff.Gone:
			b.WriteString(s.Red("[-" + text + "-]"))
		case diff.New:
			b.WriteString(s.Green("{+" + text + "+}"))
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}
