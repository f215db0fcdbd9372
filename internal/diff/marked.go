package diff

import "strings"

// Marked is how a text became another one in plain characters: [-gone-]{+new+}.
func Marked(before, after string) string {
	var b strings.Builder
	for _, p := range Words(before, after) {
		switch p.Kind {
		case Gone:
			b.WriteString("[-" + p.Text + "-]")
		case New:
			b.WriteString("{+" + p.Text + "+}")
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}
