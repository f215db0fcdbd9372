package text

import (
	"slices"
	"strings"
	"unicode"
)

// Erased stands where a person's words, or a name of theirs, were in the words of others.
const Erased = "[erased]"

// Traces finds what somebody has left in the words of others: an account's id, names, and
// texts. It finds them however they are written: in either case and width, in letters that
// only look different, in traditional or simplified characters, with other white space or
// quotation marks, and escaped as in JSON (\u5c0f). Where a trace begins or ends in a
// letter or digit of a script with spaces, it is found as a whole word; others are found
// inside of longer words, too.
//
// A text is found where it is quoted or stands alone: as a line, a line after >, or
// between quotation marks; a long one anywhere. What others say in their own words is not
// found anywhere: see [Traces.Hear].
type Traces struct {
	list  []*trace        // in order of their runes
	first map[rune][2]int // the stretch of list that begins with a rune
	known map[string]*trace

	Shared []string // the id and names that are others', too, or are to be kept
	Short  []string // the id and names that tell nobody apart in running text
	brief  int      // texts that are too short
}

type trace struct {
	runes []rune
	what  string
	long  bool // a text that is found anywhere
	said  bool // a text that others say, too
}

const (
	// minTrace is the least that a text must have to be looked for, and minDigits a number
	// that may stand for an account. Characters of scripts without spaces count double.
	minTrace  = 8
	minDigits = 5

	// A text is long that has so many words and letters, or characters of scripts without spaces.
	longWords, longLetters, longHan = 5, 24, 12
)

// What a trace is.
const (
	traceID   = "the id"
	traceName = "a name"
	traceText = "a text"
	traceKeep = "" // no trace: the mark of an erasure, or the longer name of somebody else
)

// NewTraces is what finds an account's id, names and texts, the lines of longer texts
// among them. An id or a name that is shared is not looked for, nor is what is too short
// to tell anybody by. The ids and names of others stay where one of the author's is in
// them, such as Ann in Ann Lee.
func NewTraces(id string, names, texts, others []string, shared func(string) bool) *Traces {
	t := &Traces{known: map[string]*trace{}}
	t.add(Erased, traceKeep)
	t.word(id, traceID, shared)
	for _, n := range names {
		if n != id {
			t.word(n, traceName, shared)
		}
	}
	t.index()
	var longer []string
	for _, o := range others {
		if t.FindName(o) != "" {
			longer = append(longer, o)
		}
	}
	for _, o := range longer {
		t.add(o, traceKeep)
	}
	for _, text := range texts {
		for i, piece := range append([]string{text}, lines(text)...) {
			folded := foldTrace(piece).runes
			if weight, long := traceWeight(folded); weight >= minTrace {
				t.add(piece, traceText).long = long
			} else if i == 0 {
				t.brief++
			}
		}
	}
	t.index()
	return t
}

func (t *Traces) word(s, what string, shared func(string) bool) {
	switch {
	case s == "":
	case shared(s):
		t.Shared = append(t.Shared, s)
	case !tells(s):
		t.Short = append(t.Short, s)
	default:
		t.add(s, what)
		if compact := strings.Join(strings.Fields(s), ""); compact != s && !shared(compact) {
			t.add("@"+compact, what) // as platforms address it
		}
	}
}

// add learns a trace, unless it is known as another already, and returns it.
func (t *Traces) add(s, what string) *trace {
	runes := foldTrace(s).runes
	p := t.known[string(runes)]
	if p == nil {
		p = &trace{runes: runes, what: what}
		t.known[string(runes)] = p
	}
	return p
}

// index brings the traces in order.
func (t *Traces) index() {
	t.list, t.first = t.list[:0], map[rune][2]int{}
	for _, p := range t.known {
		if len(p.runes) > 0 {
			t.list = append(t.list, p)
		}
	}
	slices.SortFunc(t.list, func(a, b *trace) int { return slices.Compare(a.runes, b.runes) })
	for i, p := range t.list {
		span, ok := t.first[p.runes[0]]
		if !ok {
			span[0] = i
		}
		span[1] = i + 1
		t.first[p.runes[0]] = span
	}
}

// tells says whether an id or a name can tell somebody apart in running text: one
// character does not, nor do a small number, signs, and what stands in the place of what
// was erased.
func tells(s string) bool {
	runes := foldTrace(s).runes
	digits := !slices.ContainsFunc(runes, func(r rune) bool { return !unicode.IsDigit(r) })
	seen := slices.ContainsFunc(runes, func(r rune) bool { return IsWord(r) || r >= 0x80 && !unicode.IsPunct(r) })
	return seen && len(runes) >= 2 && !(digits && len(runes) < minDigits) && string(runes) != Erased
}

// traceWeight counts characters, those of scripts without spaces double, and tells whether
// a text is long.
func traceWeight(runes []rune) (weight int, long bool) {
	letters, han, words := 0, 0, 0
	for i, r := range runes {
		switch {
		case !IsWord(r):
		case !IsSpaced(r):
			han++
		default:
			if letters++; i == 0 || !IsSpaced(runes[i-1]) {
				words++
			}
		}
	}
	return letters + 2*han, words >= longWords && letters >= longLetters || han >= longHan
}

// lines are those of a text that has several.
func lines(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(list) < 2 {
		return nil
	}
	return list
}

// Hear takes note of a message of somebody else: a text that is said in it is theirs as
// well, and is not looked for any more. A quote says nothing, nor does a message that
// names the author.
func (t *Traces) Hear(message string) {
	f := foldTrace(message)
	if t.find(f, true) != "" {
		return
	}
	for i := range f.runes {
		t.each(f.runes, i, func(p *trace, end int) {
			if p.what == traceText && !p.said && !f.place(i, end).quoted() {
				p.said = true
			}
		})
	}
}

// Unsought counts the texts that are not looked for: they are too short, or others say them.
func (t *Traces) Unsought() int {
	n := t.brief
	for _, p := range t.list {
		if p.said {
			n++
		}
	}
	return n
}

// Find says which sort of trace a text holds first, "" for none.
func (t *Traces) Find(s string) string { return t.find(foldTrace(s), false) }

// FindName is Find for an id or a name alone.
func (t *Traces) FindName(s string) string { return t.find(foldTrace(s), true) }

func (t *Traces) find(f foldedTrace, named bool) string {
	for i := 0; i < len(f.runes); {
		end, what := t.at(f, i, named)
		if what != traceKeep {
			return what
		}
		i = max(i+1, end)
	}
	return ""
}

// Redact puts [Erased] in the place of each trace, and tells whether there was any.
func (t *Traces) Redact(s string) (text string, changed bool) {
	for range 8 { // what was taken out may have been all that another was not alone for
		once, found := t.redact(s)
		if !found {
			break
		}
		s, changed = once, true
	}
	return s, changed
}

func (t *Traces) redact(s string) (string, bool) {
	f := foldTrace(s)
	var b strings.Builder
	last, found := 0, false
	for i := 0; i < len(f.runes); {
		end, what := t.at(f, i, false)
		if what == traceKeep {
			i = max(i+1, end)
			continue
		}
		b.WriteString(s[last:max(last, f.starts[i])])
		b.WriteString(Erased)
		last, i, found = f.ends[end-1], end, true
	}
	b.WriteString(s[last:])
	return b.String(), found
}
