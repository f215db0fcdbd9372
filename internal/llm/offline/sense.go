package offline

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"reverie/internal/text"
)

// sense is what a statement says as far as spelling shows it, made to be held
// against another one strictly: every word counts that is not known to mean
// nothing, in its order within a phrase.
type sense struct {
	hash    string                // text.ContentHash: equal ones are the same statement
	chunks  []chunk               // what is said, without days and times
	whole   []string              // the same with days and times, in the order of the text
	details [detailKinds][]string // in the order of the text
	day24   bool                  // a time is written on a face of 24 hours
	numbers []string              // with their units, other than those that name a thing (room 3)
	denials []string              // negations and words of ending
	symbols string                // signs that mean something: C# is not C, -5 not 5
}

// detailKind is a sort of detail that may stand anywhere in a sentence.
type detailKind uint8

const (
	detailWeekday   detailKind = iota
	detailTime                 // on a face of twelve hours
	detailFrequency            // daily, weekly
	detailHalf                 // of the day that a time lies in
	detailDaypart              // morning, evening
	detailKinds

	firstVague = detailHalf // details that people leave out where they are known
)

// chunk is a phrase: the preposition or conjunction that it begins with, and its
// words.
type chunk struct {
	head  string
	words []string
}

// key is what two phrases are compared by. Where something is (in the gym) may as
// well stand alone.
func (c chunk) key() string {
	words := strings.Join(c.words, " ")
	if c.head == headPlace && len(c.words) > 0 || c.head == "" {
		return words
	}
	return c.head + ": " + words
}

// Marks of words inside a chunk.
const (
	markNumber = '#' // a number and its unit: #people=2
	markDenial = '!' // !not
)

// adds tells whether the phrase only adds to what stands before it.
func (c chunk) adds() bool {
	if !addingHeads[c.head] || len(c.words) == 0 {
		return false
	}
	text := strings.Join(c.words, "")
	for _, p := range limitingDense {
		if strings.Contains(text, p) {
			return false
		}
	}
	return !slices.ContainsFunc(c.words, func(w string) bool { return limitingWords[w] || w[0] == markDenial })
}

// listsTimes tells whether several days or times are named, each perhaps of
// something else.
func (s sense) listsTimes() bool {
	return slices.ContainsFunc(s.details[:firstVague], func(d []string) bool { return len(d) > 1 })
}

// skeleton is what is said without the value of numbers and without denials.
func (s sense) skeleton() string {
	var keys []string
	for _, c := range s.chunks {
		bare := chunk{head: c.head}
		for _, w := range c.words {
			switch w[0] {
			case markDenial:
				continue
			case markNumber:
				w, _, _ = strings.Cut(w, "=")
			}
			bare.words = append(bare.words, w)
		}
		if len(bare.words) > 0 || len(c.words) == 0 {
			keys = append(keys, bare.key())
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, "\n")
}

// senseReader reads a statement piece by piece.
type senseReader struct {
	sense
	open     int  // the chunk that words go to
	closed   bool // the next word begins a chunk
	head     string
	names    map[string]bool // words written with a capital letter
	capitals map[string]bool // short words in capitals
}

// readSense reads a statement. One in its author's mouth is read as said of the
// author: "Lin says: I like tea" says that Lin likes tea.
func readSense(statement string) sense {
	r := senseReader{closed: true}
	r.hash = text.ContentHash(statement)
	r.readNames(statement)
	folded := text.Simplify(fold(spellFigures(withoutSpeaker(statement))))
	if name := speaker(statement); name != "" {
		folded = ofSpeaker(text.Simplify(fold(name)), folded)
	}
	folded = plainPhrases(folded)
	r.symbols = symbolsOf(folded)
	r.text(folded)
	r.begin("")
	r.settle()
	return r.sense
}

// text reads a folded text: its slots, and what stands between them.
func (r *senseReader) text(folded string) {
	from := 0
	for _, at := range slotPattern.FindAllStringSubmatchIndex(folded, -1) {
		group := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return folded[at[2*i]:at[2*i+1]]
		}
		s, ok := readSlot(group)
		if !ok || insideWord(folded, at[0], at[1]) {
			continue
		}
		before := folded[from:at[0]]
		from = at[1]
		if s.kind == "time" {
			before = r.shortDaypart(before)
		}
		r.words(before)
		switch s.kind {
		case "weekday":
			r.dropEach()
			r.detail(detailWeekday, s.value)
		case "time":
			r.detail(detailTime, s.value)
			r.half(group)
		default:
			r.number(s, group(8), folded[:at[0]], folded[at[1]:])
		}
	}
	r.words(folded[from:])
}

// shortDaypart reads 晚 and 早 in front of a time, and cuts them off.
func (r *senseReader) shortDaypart(before string) string {
	for mark, part := range map[string]string{"晚": "evening", "早": "morning"} {
		if rest, ok := strings.CutSuffix(strings.TrimRight(before, " "), mark); ok {
			r.words(rest)
			r.detail(detailDaypart, part)
			return ""
		}
	}
	return before
}

// half notes in which half of the day a time lies, where it says so itself.
func (r *senseReader) half(group func(int) string) {
	if group(3) != "" {
		mark := strings.TrimLeft(group(0), "0123456789:. ")
		r.detail(detailHalf, mark[:1])
	} else if n := numeral(group(5)); n > 12 || group(5) == "0" || group(5) == "00" {
		r.day24 = true
		r.detail(detailHalf, map[bool]string{true: "p", false: "a"}[n > 12 && n < 24])
	}
}

// settle takes the half of the day from its part (晚上七点 is seven p.m.), and
// leaves out that what is on a weekday is weekly.
func (r *senseReader) settle() {
	if len(r.details[detailWeekday]) > 0 && slices.Equal(r.details[detailFrequency], []string{"week"}) {
		r.details[detailFrequency] = nil
	}
	times, parts := r.details[detailTime], r.details[detailDaypart]
	if len(times) == 1 && len(parts) == 1 && len(r.details[detailHalf]) == 0 && halfOf[parts[0]] != "" {
		r.details[detailHalf] = []string{halfOf[parts[0]]}
	}
}

// number takes a number with its unit, sign and exact figures. One that tells a
// thing from another of its kind (room 3, 3号楼) is a word.
func (r *senseReader) number(s slot, figures, before, after string) {
	value := figures
	if figures[0] < '0' || figures[0] > '9' {
		value = strconv.Itoa(numeral(figures))
	} else if thousands.MatchString(figures) {
		value = strings.ReplaceAll(figures, ",", "")
	}
	if isSigned(before) {
		value = "-" + value
	}
	text := strings.TrimPrefix(s.kind, "number ") + "=" + value
	if r.tellsApart(s, before, after) {
		r.put("no." + text)
		return
	}
	r.numbers = append(r.numbers, text)
	r.put(string(markNumber) + text)
}

// tellsApart tells whether a number names one of several things.
func (r *senseReader) tellsApart(s slot, before, after string) bool {
	if strings.HasSuffix(before, "第") || s.kind == "number 楼" || s.kind == "number 层" ||
		strings.IndexFunc(after, func(c rune) bool {
			return strings.ContainsRune("楼室线馆院店门厅桌组班队栋期集章课关路", c)
		}) == 0 {
		return true
	}
	if s.kind != "number " || len(r.chunks) == 0 || r.closed {
		return false
	}
	words := r.chunks[r.open].words
	return len(words) > 0 && numberedThings[words[len(words)-1]]
}

// isSigned tells whether what precedes a number ends in a minus sign that does
// not stand between two figures or words.
func isSigned(before string) bool {
	sign, n := utf8.DecodeLastRuneInString(before)
	if sign != '-' && sign != '−' && sign != '–' {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(before[:len(before)-n])
	return !unicode.IsDigit(last) && scriptOf(last) != scriptWord
}

// detail notes a day or time, which belongs to no phrase: a preposition before
// it goes with it, and the phrase that it interrupts goes on.
func (r *senseReader) detail(kind detailKind, value string) {
	r.details[kind] = append(r.details[kind], value)
	r.whole = append(r.whole, strconv.Itoa(int(kind))+"="+value)
	if r.closed && r.head == headPlace {
		r.closed, r.head, r.open = len(r.chunks) == 0, "", max(len(r.chunks)-1, 0)
	}
}

// begin ends a phrase; the next one begins with head. A preposition of which
// nothing is known but itself still counts.
func (r *senseReader) begin(head string) {
	if r.closed && r.head != "" {
		r.chunks = append(r.chunks, chunk{head: r.head})
		r.whole = append(r.whole, r.head)
	}
	r.closed, r.head = true, head
}

// put adds a word to the phrase.
func (r *senseReader) put(word string) {
	if r.closed {
		r.chunks = append(r.chunks, chunk{head: r.head})
		r.open, r.closed = len(r.chunks)-1, false
		r.whole = append(r.whole, r.head)
	}
	c := &r.chunks[r.open]
	c.words = append(c.words, word)
	r.whole = append(r.whole, word)
}

// deny notes a negation or a word of ending.
func (r *senseReader) deny(denial string) {
	r.denials = append(r.denials, denial)
	r.put(string(markDenial) + denial)
}

// dropEach takes back the "every" before a weekday, which says nothing more.
func (r *senseReader) dropEach() {
	if r.closed || len(r.chunks) == 0 {
		return
	}
	c := &r.chunks[r.open]
	n := len(c.words)
	if last := c.words[n-1]; last != "every" && last != "each" && last != "每" {
		return
	}
	c.words = c.words[:n-1]
	r.whole = r.whole[:len(r.whole)-1]
	if n == 1 {
		r.closed, r.head = true, c.head
		r.chunks = r.chunks[:r.open]
		r.whole = r.whole[:len(r.whole)-1]
		r.open = max(r.open-1, 0)
	}
}

// words reads text without slots, clause by clause.
func (r *senseReader) words(text string) {
	for i, clause := range clauseMark.Split(text, -1) {
		if i > 0 {
			r.begin("")
		}
		tokens(clause, func(kind script, token string) {
			if kind == scriptDense {
				r.dense(token)
				return
			}
			r.word(strings.ReplaceAll(token, "’", "'"))
		})
	}
}
