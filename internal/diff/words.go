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

// Origin is a piece of a text, and which of the texts before brought it.
type Origin struct {
	Text string
	From int // index of that text
}

// Origins says of the last of texts that follow one another, each the successor of the
// one before, which text brought its words. A text that says what an earlier one said
// has its words from where that one had them.
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

// succeed carries origins over to the next text.
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
	i, at := 0, 0 // where in the text before: the piece, and the byte of it
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
