package text

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Erased replaces a person's words or names in the words of others.
const Erased = "[erased]"

// Traces finds what an author has left in the words of others: the account's id, names, and texts. It finds them in
// any case and width, with lookalike letters, traditional or simplified characters, other white space or quotation
// marks, and escaped as in JSON (\u5c0f). A trace that begins or ends in a letter or digit of a script with spaces
// must be a whole word there. Others are found inside longer words too.
//
// A text is found where it is quoted or stands alone: as a line, a line after >, or between quotation marks; a long
// text is found anywhere. What others say in their own words is not searched: see [Traces.Hear].
type Traces struct {
	list  []*trace        // sorted by their runes
	first map[rune][2]int // the range of list that begins with a rune
	known map[string]*trace

	Shared []string // id and names that others have too, or that are to be kept
	Short  []string // id and names too short to identify anybody in running text
	Texts  []string // texts that are searched, unless others say them too
	Quoted bool     // quotes by others belong to the author too
	brief  int      // number of texts that are too short
	deep   bool     // some trace is longer than maxDepth
}

type trace struct {
	runes []rune
	text  string // all its runes
	what  string
	long  bool // a text that is found anywhere
	said  bool // a text that others say too
}

const (
	// minTrace is the minimum size of a text that is searched; minDigits is that of a number that may be an account.
	// Characters of scripts without spaces count double.
	minTrace  = 8
	minDigits = 5

	// A text with this many words and letters, or characters of scripts without spaces, is long.
	longWords, longLetters, longHan = 5, 24, 12
)

// Kinds of traces.
const (
	traceID   = "the id"
	traceName = "a name"
	traceText = "a text"
	traceKeep = "" // not a trace: an erasure mark, or the longer name of another person
)

// NewTraces prepares the search for an account's id, names and texts, including the lines of longer texts. It skips
// ids and names for which shared is true, and texts too short to identify anybody. Others' ids and names stay even
// if they contain one of the author's, such as Ann in Ann Lee.
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
				t.Texts = append(t.Texts, piece)
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
	case !identifies(s):
		t.Short = append(t.Short, s)
	default:
		t.add(s, what)
		if compact := strings.Join(strings.Fields(s), ""); compact != s && !shared(compact) {
			t.add("@"+compact, what) // the form in which platforms mention somebody
		}
	}
}

// add adds a trace and returns it, unless another kind of trace already has its text.
func (t *Traces) add(s, what string) *trace {
	runes := foldTrace(s).runes
	p := t.known[string(runes)]
	if p == nil {
		p = &trace{runes: runes, text: string(runes), what: what}
		t.known[p.text] = p
		t.deep = t.deep || len(runes) > maxDepth
	}
	return p
}

// index sorts the traces.
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

// identifies reports whether an id or name can identify somebody in running text. One character, a small number, signs
// and erasure marks cannot.
func identifies(s string) bool {
	runes := foldTrace(s).runes
	digits := !slices.ContainsFunc(runes, func(r rune) bool { return !unicode.IsDigit(r) })
	seen := slices.ContainsFunc(runes, func(r rune) bool { return IsWord(r) || r >= 0x80 && !unicode.IsPunct(r) })
	return seen && len(runes) >= 2 && !(digits && len(runes) < minDigits) && string(runes) != Erased
}

// traceWeight counts characters, those of scripts without spaces double, and reports whether a text is long.
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

// lines returns the lines of a text that has several.
func lines(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(list) < 2 {
		return nil
	}
	return list
}

// Hear records a message of another author: a text that is said in it belongs to others as well, and is not
// searched any more. Quotes do not count, and neither do messages that name the author.
func (t *Traces) Hear(message string) {
	f := t.fold(message)
	if t.find(f, true) != "" {
		return
	}
	for i := range f.runes {
		t.each(f, i, func(p *trace, end int) {
			if p.what == traceText && !p.said && (t.Quoted || !f.place(i, end).quoted()) {
				p.said = true
			}
		})
	}
}

// Unsought counts the texts that are not searched: too short, or said by others too.
func (t *Traces) Unsought() int {
	n := t.brief
	for _, p := range t.list {
		if p.said {
			n++
		}
	}
	return n
}

// Find returns the kind of the first trace in a text, "" for none.
func (t *Traces) Find(s string) string { return t.find(t.fold(s), false) }

// FindName is Find for ids and names only.
func (t *Traces) FindName(s string) string { return t.find(t.fold(s), true) }

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

// Redact replaces each trace by [Erased], and reports whether there was any.
func (t *Traces) Redact(s string) (text string, changed bool) {
	for range 8 { // a replacement may turn another text into one that stands alone
		once, found := t.redact(s)
		if !found {
			break
		}
		s, changed = once, true
	}
	return s, changed
}

func (t *Traces) redact(s string) (string, bool) {
	f := t.fold(s)
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

// foldedTrace is a folded text for searching traces. Each rune has its place in the original text.
type foldedTrace struct {
	runes        []rune
	starts, ends []int
	breaks       []bool // for white space: a line ends there
	text         string // all runes, if some trace is long
	offsets      []int  // byte offset of each rune in text
}

// fold is [foldTrace], with the fields for long traces.
func (t *Traces) fold(s string) foldedTrace {
	f := foldTrace(s)
	if t.deep {
		f.text = string(f.runes)
		for i := range f.text {
			f.offsets = append(f.offsets, i)
		}
	}
	return f
}

// maxDepth is the number of runes of a trace that are compared one by one. In a repetitive text each position
// compares that many, so the rest is compared as one string.
const maxDepth = 256

// matches reports whether the long trace occurs at i.
func (f foldedTrace) matches(p *trace, i int) bool {
	return strings.HasPrefix(f.text[f.offsets[i]:], p.text)
}

// foldTrace folds a text piece by piece, so that findings can be cut out of the original.
func foldTrace(s string) foldedTrace {
	plain, places := unescapeJSON(s)
	f := foldedTrace{runes: make([]rune, 0, len(s)), starts: make([]int, 0, len(s)), ends: make([]int, 0, len(s)), breaks: make([]bool, 0, len(s))}
	place := func(i int) int {
		if places == nil {
			return i
		}
		return places[i]
	}
	for at := 0; at < len(plain); {
		end := at + 1
		for end < len(plain) && plain[end] >= utf8.RuneSelf { // a mark may belong to the letter before it
			end++
		}
		if end == at+1 {
			f.add(rune(plain[at]), place(at), place(end))
			at = end
			continue
		}
		var it norm.Iter
		it.InitString(norm.NFKC, plain[at:end])
		for !it.Done() {
			from := at + it.Pos()
			piece := string(it.Next())
			to := at + it.Pos()
			same := piece == plain[from:to]
			for i := 0; i < len(piece); {
				r, size := utf8.DecodeRuneInString(piece[i:])
				if same {
					f.add(r, place(from+i), place(from+i+size))
				} else {
					f.add(r, place(from), place(to))
				}
				i += size
			}
		}
		at = end
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
	f.runes, f.starts, f.ends, f.breaks = f.runes[from:to], f.starts[from:to], f.ends[from:to], f.breaks[from:to]
}

// add appends the rune at start to end: nothing if it is invisible, and one space for each stretch of white space.
func (f *foldedTrace) add(r rune, start, end int) {
	line := false
	switch {
	case unicode.IsSpace(r):
		line = r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029'
		if last := len(f.runes) - 1; last >= 0 && f.runes[last] == ' ' {
			f.breaks[last] = f.breaks[last] || line
			return
		}
		r = ' '
	case unicode.IsControl(r), IsInvisible(r):
		return
	case strings.ContainsRune("“”„‟", r):
		r = '"'
	case strings.ContainsRune("‘’‛ʼ`", r):
		r = '\''
	default:
		r = unicode.ToLower(simplifyRune(simplifiedTable(), r))
	}
	f.runes, f.starts, f.ends, f.breaks = append(f.runes, r), append(f.starts, start), append(f.ends, end), append(f.breaks, line)
}

// unescapeJSON resolves JSON escapes, and returns for each byte its place in s. Line breaks and tabs stay escaped.
// places is nil if nothing is escaped.
func unescapeJSON(s string) (plain string, places []int) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for at := 0; at < len(s); {
		r, size := escaped(s[at:])
		if size == 0 {
			b.WriteByte(s[at])
			size = 1
		} else {
			b.WriteRune(r)
		}
		for len(places) < b.Len() {
			places = append(places, at)
		}
		at += size
	}
	return b.String(), append(places, len(s))
}

// escaped parses an escape, which may be a surrogate pair; size is 0 if there is none.
func escaped(s string) (rune, int) {
	if len(s) > 1 && s[0] == '\\' && (s[1] == '"' || s[1] == '/') {
		return rune(s[1]), 2
	}
	r, ok := escapedUnit(s)
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	low, ok := escapedUnit(s[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

func escapedUnit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

// each calls take with the traces at i, in order of length. It descends the sorted list rune by rune. So the number
// of steps is that of the longest common beginning, at most maxDepth, however many traces begin alike.
func (t *Traces) each(f foldedTrace, i int, take func(p *trace, end int)) {
	runes := f.runes
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
		if n == maxDepth {
			for _, p := range t.list[lo:hi] {
				if end := i + len(p.runes); f.matches(p, i) && (end == len(runes) || !joined(runes, end)) {
					take(p, end)
				}
			}
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

// at returns the end of the longest trace at i, or of a text that must stay.
func (t *Traces) at(f foldedTrace, i int, named bool) (end int, what string) {
	t.each(f, i, func(p *trace, n int) {
		if p.what == traceText && (named || p.said || !p.long && f.place(i, n) == inside) {
			return
		}
		end, what = n, p.what
	})
	return end, what
}

// joined reports whether a word continues from the rune before i to that at i.
func joined(runes []rune, i int) bool {
	return IsSpaced(runes[i]) && IsSpaced(runes[i-1]) && !escapedBreak(runes, i-1)
}

// escapedBreak reports whether the letter at i belongs to an escaped line break or tab.
func escapedBreak(runes []rune, i int) bool {
	return i > 0 && runes[i-1] == '\\' && (runes[i] == 'n' || runes[i] == 'r' || runes[i] == 't')
}

// tracePlace is the position of a text among the words of others.
type tracePlace int

const (
	inside     tracePlace = iota // in a line that says more
	aloneThere                   // a line that says nothing else
	quotedLine
	inMarks
)

func (p tracePlace) quoted() bool { return p == quotedLine || p == inMarks }

// place returns the position of the runes from i to n.
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

// around moves from at to the next word or to the end of the line. It reports whether it passed the sign of a
// quoted line, whether it reached the end, and whether a quotation mark is there without a space before it.
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

// quotationMarks are those that remain after folding.
const quotationMarks = `"'«»‹›「」『』《》`
