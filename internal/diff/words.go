// Package diff compares two texts word by word. A Chinese character counts as a word.
package diff

import (
	"strings"

	"github.com/rivo/uniseg"
	"github.com/sergi/go-diff/diffmatchpatch"
)

// Kind says which of the texts contain a piece.
type Kind int

// The kinds of pieces.
const (
	Same Kind = iota // in both
	Gone             // only in the old one
	New              // only in the new one
)

// Piece is a run of consecutive words with the same Kind.
type Piece struct {
	Kind Kind
	Text string
}

// Words returns the difference of two texts as pieces. Texts with little in common become one piece each. The old
// text is all pieces except the new ones; the new text is all pieces except the removed ones.
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

// vocabulary maps each word to a character, so that the texts can be compared character by character.
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
			if code >= 0xD800 { // skips the surrogates, which are not valid runes; statements have far fewer words
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

// Marked shows the difference of two texts in plain characters: [-old-]{+new+}.
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

// Origin is a piece of a text, and the earlier text that it first appeared in.
type Origin struct {
	Text string
	From int // index of that text
}

// Origins says which of several successive texts brought each word of the last one. If a text repeats an earlier
// one, its words have the origins that they had there.
func Origins(texts []string) []Origin {
	known := make(map[string][]Origin, len(texts))
	var now []Origin
	for i, text := range texts {
		before, again := known[text]
		switch {
		case again:
			now = before
		case i == 0:
			now = succeed(nil, []Piece{{New, text}}, 0)
		default:
			now = succeed(now, Words(texts[i-1], text), i)
		}
		known[text] = now
	}
	return now
}

// succeed returns the origins for the next text.
func succeed(before []Origin, pieces []Piece, from int) []Origin {
	var after []Origin
	add := func(text string, from int) {
		switch n := len(after); {
		case text == "":
		case n > 0 && after[n-1].From == from:
			after[n-1].Text += text
		default:
			after = append(after, Origin{text, from})
		}
	}
	i, at := 0, 0 // position in the previous text: index of the piece, and byte in it
	for _, p := range pieces {
		if p.Kind == New {
			add(p.Text, from)
			continue
		}
		for left := len(p.Text); left > 0 && i < len(before); {
			n := min(left, len(before[i].Text)-at)
			if p.Kind == Same {
				add(before[i].Text[at:at+n], before[i].From)
			}
			left, at = left-n, at+n
			if at == len(before[i].Text) {
				i, at = i+1, 0
			}
		}
	}
	return after
}
