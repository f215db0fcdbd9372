package recall

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"reverie/internal/reverie"
)

// What clues weigh: an ordinary word is 1.
const (
	weightWord   = 1.0
	weightName   = 1.4 // capitals inside a sentence, figures inside a word
	weightCommon = 0.35
	weightNumber = 1.3
	weightDigit  = 0.7 // a number of one figure
	weightHan    = 1.1 // two Han characters
	weightSingle = 0.3 // a Han character by itself
)

// clue is one piece of what a text says: a word, a number, or two neighbouring Han
// characters.
type clue struct {
	key      uint64
	unit     string // of a number: what it counts; "" for anything else
	value    string
	weight   float64
	sentence int
	joined   bool // shares a character with the clue before
	follows  bool // stands in one clause with the clue before
	denied   bool
}

// share is what is left of a value where the clue before counts, too: a run of n
// Han characters weighs n/2.
func (c clue) share(value float64, before bool) float64 {
	if c.joined && before {
		return value / 2
	}
	return value
}

// bare tells whether a clue is a number that may count units of time, and whether it
// does not say so.
func (c clue) bare() (number, bare bool) {
	if timeUnits[c.unit] {
		return true, false
	}
	return c.value != "" && c.unit == "", c.unit == ""
}

// sentence is what is known of a sentence as a whole.
type sentence struct {
	denies  bool // something is denied or avoided in it
	refuses bool // it says that nothing is known
}

// reading is a text as its clues, in order.
type reading struct {
	clues     []clue
	sentences []sentence // one at least
}

// distinct returns the clues, each once.
func (r reading) distinct() []clue {
	seen := map[uint64]bool{}
	return slices.DeleteFunc(r.clues, func(c clue) bool {
		again := seen[c.key]
		seen[c.key] = true
		return again
	})
}

// counts tells whether a text has a number of that unit and value.
func (r reading) counts(number clue) bool {
	return slices.ContainsFunc(r.clues, func(c clue) bool { return c.unit == number.unit && c.value == number.value })
}

// maxSentences is how many sentences are told apart; the others count as the last.
const maxSentences = 64

// reader cuts a text into clues.
type reader struct {
	reading
	text   string // all of it
	rest   string // what is not read yet
	start  int    // of the sentence, in text
	clause int    // the first clue of the clause
	begins bool   // nothing of the sentence has been read
	lines  bool   // nothing of the line has been read
	month  bool   // the word before is a month
	money  string // the currency whose sign stands before, as a unit
	before string // English: the word before, in the clause
	deny   int    // English: how many words are still denied
	denies bool   // Chinese: the rest of the clause is denied
	avoids bool   // Chinese: all of the clause is
}

// read cuts a text into clues.
func read(text string) reading {
	text = reverie.Simplify(norm.NFKC.String(strings.ToValidUTF8(text, " ")))
	text = idleHan.Replace(strings.ReplaceAll(text, "’", "'"))
	r := reader{text: text, rest: text, begins: true, lines: true}
	r.clues, r.sentences = make([]clue, 0, len(text)/4), []sentence{{}}
	for r.rest != "" {
		c, size := utf8.DecodeRuneInString(r.rest)
		switch {
		case c >= '0' && c <= '9':
			r.figures()
		case c >= utf8.RuneSelf && isDense(c):
			r.dense(c, size)
		case inWord(c):
			r.word()
		default:
			r.mark(c, size)
		}
	}
	r.endSentence()
	return r.reading
}

// mark passes a mark or space, which may end a clause, a sentence or a line.
func (r *reader) mark(c rune, size int) {
	r.rest, r.money = r.rest[size:], currencies[c]
	next, _ := utf8.DecodeRuneInString(r.rest)
	switch {
	case c == '\n':
		r.endSentence()
		r.lines = true
	case strings.ContainsRune("。!?;", c), c == '.' && (r.rest == "" || unicode.IsSpace(next)):
		r.endSentence()
	case strings.ContainsRune(",:()—–", c):
		r.endClause()
		if after := strings.TrimLeft(r.rest, " "); strings.HasPrefix(after, "but ") || strings.HasPrefix(after, "但") {
			r.endSentence() // "I do not know when, but Lin has the key"
		}
	}
}

func (r *reader) endClause() {
	r.deny, r.denies, r.avoids, r.month, r.before, r.clause = 0, false, false, false, "", len(r.clues)
}

func (r *reader) endSentence() {
	r.endClause()
	end := len(r.text) - len(r.rest)
	said := strings.TrimSpace(r.text[r.start:end])
	r.start, r.begins = end, true
	if said == "" {
		return
	}
	r.here().refuses = refuses(said)
	if len(r.sentences) < maxSentences {
		r.sentences = append(r.sentences, sentence{})
	}
}

// here is the sentence that is being read.
func (r *reader) here() *sentence { return &r.sentences[len(r.sentences)-1] }

// add takes a clue.
func (r *reader) add(c clue) {
	c.sentence = len(r.sentences) - 1
	c.denied = r.denies || r.deny > 0
	c.follows = len(r.clues) > r.clause
	r.clues = append(r.clues, c)
}

// keyOf hashes a text of one kind (FNV-1a).
func keyOf(kind byte, s string) uint64 {
	const prime = 1099511628211
	h := (uint64(14695981039346656037) ^ uint64(kind)) * prime
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	return h
}
