// Package diff tells two texts apart word by word, for whoever shows the difference. A
// Chinese character counts as a word.
package diff

import (
	"strings"

	"github.com/rivo/uniseg"
	"github.com/sergi/go-diff/diffmatchpatch"
)

// Kind says in which of the texts a piece stands.
type Kind int

// The kinds of pieces.
const (
	Same Kind = iota // in both
	Gone             // in the one before
	New              // in the one after
)

// Piece is words that follow one another in a text.
type Piece struct {
	Kind Kind
	Text string
}

// Words is how a text became another one. Texts that share little are given one after
// the other. All but the new pieces are the text before, all but those gone the text
// after.
func Words(before, after string) []Piece {
	known := vocabulary{index: map[string]rune{}}
	dmp := diffmatchpatch.New()
	var pieces []Piece
	for _, d := range dmp.DiffCleanupSemantic(dmp.DiffMainRunes(known.encode(before), known.encode(after), false)) {
		kind := Same
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			kind = Gone
		case diffmatchpatch.DiffInsert:
			kind = New
		}
		pieces = append(pieces, Piece{kind, known.decode(d.Text)})
	}
	return pieces
}

// vocabulary gives each word a character, so that texts can be compared as such.
type vocabulary struct {
	words []string
	index map[string]rune
}

func (v *vocabulary) encode(text string) []rune {
	var out []rune
	state := -1
	for text != "" {
		var word string
		word, text, state = uniseg.FirstWordInString(text, state)
		code, known := v.index[word]
		if !known {
			code = rune(len(v.words) + 1)
			if code >= 0xD800 { // runes of surrogates are no text; statements have far fewer words
				code += 0x800
			}
			v.index[word] = code
			v.words = append(v.words, word)
		}
		out = append(out, code)
	}
	return out
}

func (v *vocabulary) decode(codes string) string {
	var b strings.Builder
	for _, code := range codes {
		if code > 0xD800 {
			code -= 0x800
		}
		b.WriteString(v.words[code-1])
	}
	return b.String()
}
