package main

import (
	"strings"

	"github.com/rivo/uniseg"
	"github.com/sergi/go-diff/diffmatchpatch"
)

// wordDiff shows what an update changed, word by word: [-gone-]{+new+}, in
// colour where there is colour. A Chinese character counts as a word. Statements
// that share little are shown one after the other.
func wordDiff(s style, before, after string) string {
	var words []string
	index := map[string]rune{}
	encode := func(text string) []rune {
		var out []rune
		state := -1
		for text != "" {
			var word string
			word, text, state = uniseg.FirstWordInString(text, state)
			code, known := index[word]
			if !known {
				code = rune(len(words) + 1)
				if code >= 0xD800 { // runes of surrogates are no text; statements have far fewer words
					code += 0x800
				}
				index[word] = code
				words = append(words, word)
			}
			out = append(out, code)
		}
		return out
	}
	decode := func(codes string) string {
		var b strings.Builder
		for _, code := range codes {
			if code > 0xD800 {
				code -= 0x800
			}
			b.WriteString(words[code-1])
		}
		return b.String()
	}
	dmp := diffmatchpatch.New()
	diffs := dmp.DiffCleanupSemantic(dmp.DiffMainRunes(encode(before), encode(after), false))
	var b strings.Builder
	for _, d := range diffs {
		text := visible(decode(d.Text))
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			b.WriteString(s.red("[-" + text + "-]"))
		case diffmatchpatch.DiffInsert:
			b.WriteString(s.green("{+" + text + "+}"))
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}
