package reverie

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Traces finds what somebody has left in the words of others: an account's id, names, and
// texts. It finds them however they are written: in either case and width, in traditional
// or simplified characters, with other white space, and escaped as in JSON (\u5c0f). Where
// a trace begins or ends in a letter or digit of a script with spaces, it is found as a
// whole word; others are found inside of longer words, too.
type Traces struct {
	byRune map[rune][]trace    // ids and names, by their first rune
	byText map[[4]rune][]trace // texts, by their first four
}

type trace struct {
	runes []rune
	what  string
}

// The shortest traces: of a text, with characters of scripts without spaces counted
// double, and of a number that may stand for an account.
const (
	minTrace   = 8
	minLine    = 16 // of a line of a longer text
	minDigits  = 5
	traceStart = 4
)

// What a trace is.
const (
	traceID   = "the id"
	traceName = "a name"
	traceText = "a text"
)

// NewTraces is what finds an account's id, names and texts, the lines of longer texts
// among them. Names that are others' too, texts that others have said, and what is too
// short to tell anybody by are not looked for; skipped are the names among them.
func NewTraces(id string, names, texts []string, shared, said func(string) bool) (found *Traces, skipped []string) {
	t := &Traces{byRune: map[rune][]trace{}, byText: map[[4]rune][]trace{}}
	if tells(id) {
		t.word(id, traceID)
	}
	for _, n := range names {
		if !tells(n) || n != id && shared(n) {
			skipped = append(skipped, n)
			continue
		}
		t.word(n, traceName)
	}
	seen := map[string]bool{}
	for _, text := range texts {
		for i, piece := range append([]string{text}, lines(text)...) {
			least := minTrace
			if i > 0 {
				least = minLine
			}
			folded := string(foldTrace(piece).runes)
			if seen[folded] || traceWeight(folded) < least || said(piece) {
				continue
			}
			seen[folded] = true
			t.text(folded)
		}
	}
	for key, list := range t.byText {
		slices.SortFunc(list, func(a, b trace) int { return cmp.Compare(len(b.runes), len(a.runes)) })
		t.byText[key] = list
	}
	return t, skipped
}

// tells says whether an id or a name can tell somebody apart in running text: one
// character does not, nor does a small number, nor what stands in the place of what was
// erased.
func tells(s string) bool {
	runes := foldTrace(s).runes
	digits := !slices.ContainsFunc(runes, func(r rune) bool { return !unicode.IsDigit(r) })
	return len(runes) >= 2 && !(digits && len(runes) < minDigits) && !strings.Contains(Erased, string(runes))
}

// traceWeight counts characters, those of scripts without spaces double.
func traceWeight(s string) (n int) {
	for _, r := range s {
		switch {
		case !isWord(r):
		case isSpaced(r):
			n++
		default:
			n += 2
		}
	}
	return n
}

// lines are those of a text that has several.
func lines(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(list) < 2 {
		return nil
	}
	return list
}

func (t *Traces) word(s, what string) {
	if runes := foldTrace(s).runes; len(runes) > 0 {
		t.byRune[runes[0]] = append(t.byRune[runes[0]], trace{runes, what})
	}
}

func (t *Traces) text(folded string) {
	if runes := []rune(folded); len(runes) >= traceStart {
		key := [traceStart]rune(runes[:traceStart])
		t.byText[key] = append(t.byText[key], trace{runes, traceText})
	} else {
		t.word(folded, traceText)
	}
}

// Find says which sort of trace a text holds first, "" for none.
func (t *Traces) Find(s string) string {
	f := foldTrace(s)
	for i := range f.runes {
		if _, what := t.at(f.runes, i); what != "" {
			return what
		}
	}
	return ""
}

// FindName is Find for an id or a name alone.
func (t *Traces) FindName(s string) string {
	f := foldTrace(s)
	for i, r := range f.runes {
		for _, p := range t.byRune[r] {
			if n := i + len(p.runes); p.what != traceText && n <= len(f.runes) && slices.Equal(f.runes[i:n], p.runes) && stands(f.runes, i, n) {
				return p.what
			}
		}
	}
	return ""
}

// Redact puts [Erased] in the place of each trace, and tells whether there was any.
func (t *Traces) Redact(s string) (string, bool) {
	f := foldTrace(s)
	var b strings.Builder
	last := 0
	for i := 0; i < len(f.runes); {
		end, what := t.at(f.runes, i)
		if what == "" {
			i++
			continue
		}
		b.WriteString(f.text[last:f.starts[i]])
		b.WriteString(Erased)
		last, i = f.ends[end-1], end
	}
	if last == 0 {
		return s, false
	}
	b.WriteString(f.text[last:])
	return b.String(), true
}

// at returns the end of the longest trace that begins at i.
func (t *Traces) at(runes []rune, i int) (end int, what string) {
	try := func(list []trace) {
		for _, p := range list {
			if n := i + len(p.runes); n > end && n <= len(runes) && slices.Equal(runes[i:n], p.runes) && stands(runes, i, n) {
				end, what = n, p.what
			}
		}
	}
	try(t.byRune[runes[i]])
	if i+traceStart <= len(runes) && len(t.byText) > 0 {
		try(t.byText[[traceStart]rune(runes[i:i+traceStart])])
	}
	return end, what
}

// stands tells whether a trace ends where words do.
func stands(runes []rune, i, n int) bool {
	return !(i > 0 && isSpaced(runes[i]) && isSpaced(runes[i-1])) && !(n < len(runes) && isSpaced(runes[n-1]) && isSpaced(runes[n]))
}

// foldedTrace is a text as traces are looked for in it, with the places in the text that
// each rune is of.
type foldedTrace struct {
	text         string // in normal form
	runes        []rune
	starts, ends []int
}

// foldTrace folds a text rune by rune, so that what is found can be cut out of it.
func foldTrace(s string) foldedTrace {
	f := foldedTrace{text: norm.NFC.String(s)}
	f.runes = make([]rune, 0, len(f.text))
	table := simplifiedTable()
	for at := 0; at < len(f.text); {
		r, size := traceRune(f.text[at:])
		start := at
		at += size
		switch {
		case unicode.IsSpace(r):
			if len(f.runes) > 0 && f.runes[len(f.runes)-1] == ' ' {
				continue
			}
			r = ' '
		case unicode.IsControl(r), isInvisible(r):
			continue
		case r >= 0xFF01 && r <= 0xFF5E: // of full width
			r -= 0xFEE0
		}
		f.runes = append(f.runes, unicode.ToLower(simplifyRune(table, r)))
		f.starts, f.ends = append(f.starts, start), append(f.ends, at)
	}
	for len(f.runes) > 0 && f.runes[len(f.runes)-1] == ' ' {
		f.cut(0, len(f.runes)-1)
	}
	if len(f.runes) > 0 && f.runes[0] == ' ' {
		f.cut(1, len(f.runes))
	}
	return f
}

func (f *foldedTrace) cut(from, to int) {
	f.runes, f.starts, f.ends = f.runes[from:to], f.starts[from:to], f.ends[from:to]
}

// traceRune reads a rune, or the escape of one.
func traceRune(s string) (rune, int) {
	if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
		if n, err := strconv.ParseUint(s[2:6], 16, 16); err == nil && n >= 0x20 && utf8.ValidRune(rune(n)) {
			return rune(n), 6
		}
	}
	return utf8.DecodeRuneInString(s)
}
