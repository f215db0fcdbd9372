package diff

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
