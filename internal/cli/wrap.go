package cli

import (
	"io"
	"os"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// usualWidth is the assumed width of a terminal that does not tell.
const usualWidth = 80

// terminalWidth returns the width of the terminal w; 0 if w is none.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}

// wrap splits text into lines of at most that many columns, where its language allows a break; a wider word is
// broken. Runs of spaces become one. Invisible text makes no line.
func wrap(text string, columns int) []string {
	return fold(strings.Join(strings.Fields(text), " "), columns)
}

// fold is wrap, but keeps runs of spaces.
func fold(text string, columns int) []string {
	var lines []string
	line, used := "", 0
	flush := func() {
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, line)
		}
		line, used = "", 0
	}
	state := -1
	for text != "" {
		var word string
		word, text, _, state = uniseg.FirstLineSegmentInString(text, state)
		for text != "" && strings.HasSuffix(word, "-") { // a flag or an id is not broken
			var rest string
			rest, text, _, state = uniseg.FirstLineSegmentInString(text, state)
			word += rest
		}
		if used+Width(strings.TrimRight(word, " ")) > columns {
			flush()
		}
		for head, rest := cut(word, columns); rest != ""; head, rest = cut(word, columns) {
			lines, word = append(lines, head), rest
		}
		line, used = line+word, used+Width(word)
	}
	flush()
	return lines
}

// cut splits a word after the characters that fit, at least one; a space at its end may exceed the width.
func cut(word string, columns int) (head, rest string) {
	if Width(strings.TrimRight(word, " ")) <= columns {
		return word, ""
	}
	rest, state, used := word, -1, 0
	for rest != "" {
		cluster, after, wide, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if used += wide; used > columns && head != "" {
			return head, rest
		}
		head, rest, state = head+cluster, after, next
	}
	return head, ""
}
