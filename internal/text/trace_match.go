package text

import (
	"cmp"
	"slices"
	"strings"
)

// each hands over the traces that stand at i, in rising length. It goes down the ordered
// list rune by rune, so that it takes as many steps as the longest beginning in common
// has, however many traces begin alike.
func (t *Traces) each(runes []rune, i int, take func(p *trace, end int)) {
	if i > 0 && joined(runes, i) {
		return
	}
	span := t.first[runes[i]]
	lo, hi := span[0], span[1]
	for n := 1; lo < hi; n++ {
		if p := t.list[lo]; len(p.runes) == n {
			if i+n == len(runes) || !joined(runes, i+n) {
				take(p, i+n)
			}
			if lo++; lo == hi {
				return
			}
		}
		if i+n == len(runes) {
			return
		}
		r := runes[i+n]
		if first := t.list[lo].runes[n]; first == t.list[hi-1].runes[n] {
			if first != r {
				return
			}
			continue
		}
		from, _ := slices.BinarySearchFunc(t.list[lo:hi], r, func(p *trace, r rune) int { return cmp.Compare(p.runes[n], r) })
		to, _ := slices.BinarySearchFunc(t.list[lo:hi], r+1, func(p *trace, r rune) int { return cmp.Compare(p.runes[n], r) })
		lo, hi = lo+from, lo+to
	}
}

// at returns the end of the longest trace at i, or of what is to stay there.
func (t *Traces) at(f foldedTrace, i int, named bool) (end int, what string) {
	t.each(f.runes, i, func(p *trace, n int) {
		if p.what == traceText && (named || p.said || !p.long && f.place(i, n) == inside) {
			return
		}
		end, what = n, p.what
	})
	return end, what
}

// joined tells whether a word goes on from the rune before i to that at i.
func joined(runes []rune, i int) bool {
	return IsSpaced(runes[i]) && IsSpaced(runes[i-1]) && !escapedBreak(runes, i-1)
}

// escapedBreak tells whether the letter at i is that of an escaped line break or tab.
func escapedBreak(runes []rune, i int) bool {
	return i > 0 && runes[i-1] == '\\' && (runes[i] == 'n' || runes[i] == 'r' || runes[i] == 't')
}

// tracePlace is where a text stands among the words of others.
type tracePlace int

const (
	inside     tracePlace = iota // of a line that says more
	aloneThere                   // a line that says nothing else
	quotedLine
	inMarks
)

func (p tracePlace) quoted() bool { return p == quotedLine || p == inMarks }

// place says where the runes from i to n stand.
func (f foldedTrace) place(i, n int) tracePlace {
	before, begins, opens := f.around(i-1, -1)
	_, ends, closes := f.around(n, 1)
	switch {
	case opens && closes:
		return inMarks
	case begins && ends && before:
		return quotedLine
	case begins && ends:
		return aloneThere
	}
	return inside
}

// around goes from at to the next word or the line's end, and tells whether there was a
// sign of a quoted line, whether it is the line's end, and whether a quotation mark stands
// there with no space between.
func (f foldedTrace) around(at, step int) (quoted, edge, mark bool) {
	for near := true; ; at += step {
		if at < 0 || at >= len(f.runes) || f.breaks[at] || step < 0 && escapedBreak(f.runes, at) {
			return quoted, true, mark
		}
		r := f.runes[at]
		if IsWord(r) || step > 0 && r == '\\' && at+1 < len(f.runes) && escapedBreak(f.runes, at+1) {
			return quoted, !IsWord(r), mark
		}
		near = near && r != ' '
		quoted = quoted || r == '>'
		mark = mark || near && strings.ContainsRune(quotationMarks, r)
	}
}

// quotationMarks are those that are left of all when a text is folded.
const quotationMarks = `"'«»‹›「」『』《》`
