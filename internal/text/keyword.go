package text

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Keywords finds which of many rules can match a text at all, in one pass over
// it however many there are: an Aho-Corasick automaton as a dense table over
// the bytes that occur in keywords. ASCII letters match in either case.
type Keywords struct {
	class [256]uint8 // of a byte; 0 for those in no keyword
	width int        // number of classes
	next  []uint16   // state x class -> state
	any   []bool     // state -> some keyword ends here
	ends  []int32    // state -> the first of the words that are all that has been read, 0 for none

	words   []keyword // the first is none
	shorter []uint16  // state -> the state of the longest proper suffix
}

// keyword is one word of one rule.
type keyword struct {
	rule, length int
	other        int32 // the next of the same word, 0 for none
}

// maxRules bounds the rules of one automaton.
const maxRules = 512

// ruleSet is a set of rule numbers.
type ruleSet [maxRules / 64]uint64

func (s *ruleSet) add(rule int) { s[rule/64] |= 1 << (rule % 64) }

// Has tells whether a rule is among them.
func (s *ruleSet) Has(rule int) bool { return s[rule/64]&(1<<(rule%64)) != 0 }

// Each calls f with the rules of the set in ascending order until it says stop.
func (s *ruleSet) Each(f func(rule int) bool) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if !f(i*64 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}

// NewKeywords builds the automaton: words[i] are the keywords of rule i, in
// lower case. A rule without any is never found.
func NewKeywords(words [][]string) *Keywords {
	if len(words) > maxRules {
		panic("too many rules for one set of keywords: raise maxRules")
	}
	k := &Keywords{width: 1, words: make([]keyword, 1)}
	for _, list := range words {
		for _, w := range list {
			for i := range len(w) {
				k.learn(w[i])
			}
		}
	}
	k.addState()
	// The last rule first, so that of two with the same word the first comes first.
	for rule, list := range slices.Backward(words) {
		for _, w := range list {
			k.insert(rule, w)
		}
	}
	k.link()
	return k
}

// learn gives a byte a class of its own, the same for both cases.
func (k *Keywords) learn(b byte) {
	if k.class[b] != 0 {
		return
	}
	k.class[b] = uint8(k.width)
	if b >= 'a' && b <= 'z' {
		k.class[b-'a'+'A'] = uint8(k.width)
	}
	k.width++
}

func (k *Keywords) addState() uint16 {
	k.next = append(k.next, make([]uint16, k.width)...)
	k.ends = append(k.ends, 0)
	return uint16(len(k.ends) - 1)
}

// insert adds the states that a word goes through.
func (k *Keywords) insert(rule int, word string) {
	state := uint16(0)
	for i := range len(word) {
		class := k.class[word[i]]
		to := k.row(state)[class]
		if to == 0 {
			to = k.addState()
			k.row(state)[class] = to
		}
		state = to
	}
	k.words = append(k.words, keyword{rule, len(word), k.ends[state]})
	k.ends[state] = int32(len(k.words) - 1)
}

// link fills the table breadth first: each state falls back to the longest suffix of what
// it has read that is a prefix of a keyword, so its edges are that one's but for its own.
func (k *Keywords) link() {
	k.next = slices.Clone(k.next) // without the room to grow
	k.any, k.shorter = make([]bool, len(k.ends)), make([]uint16, len(k.ends))
	queue := []uint16{0}
	for i := 0; i < len(queue); i++ {
		state := queue[i]
		row, back := k.row(state), k.row(k.shorter[state])
		k.any[state] = k.ends[state] != 0 || k.any[k.shorter[state]]
		for class, to := range row {
			switch {
			case to == 0:
				row[class] = back[class]
			case state == 0:
				queue = append(queue, to)
			default:
				k.shorter[to] = back[class]
				queue = append(queue, to)
			}
		}
	}
}

func (k *Keywords) row(state uint16) []uint16 { return k.next[int(state)*k.width:][:k.width] }

// Find returns the rules of which a keyword occurs in s.
func (k *Keywords) Find(s string) (found ruleSet) {
	k.Each(s, func(rule, _, _ int) { found.add(rule) })
	return found
}

// Each calls f with every keyword that occurs in s, by the byte where it ends.
func (k *Keywords) Each(s string, f func(rule, start, end int)) {
	state := 0
	for i := range len(s) {
		state = int(k.next[state*k.width+int(k.class[s[i]])])
		for at := state; k.any[at]; at = int(k.shorter[at]) {
			for n := k.ends[at]; n != 0; n = k.words[n].other {
				f(k.words[n].rule, i+1-k.words[n].length, i+1)
			}
		}
	}
}

// IsDense tells Han characters and kana, which are written without spaces.
func IsDense(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

// Joins tells a character that makes one word with one like it beside it: a letter,
// digit or mark of a script that puts spaces between words, or an underscore. Korean
// does, but lets particles follow a name at once.
func Joins(r rune) bool { return r == '_' || IsSpaced(r) && !unicode.Is(unicode.Hangul, r) }

// Places finds a word in a text: wherever it stands in Chinese, and between boundaries
// of words where it begins or ends in a script that is spaced. It returns the byte
// offsets where it begins and ends. Both are compared as they are.
func Places(s, word string) (list [][2]int) {
	for from := 0; word != ""; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			break
		}
		start, end := from+i, from+i+len(word)
		if isBoundary(s, start) && isBoundary(s, end) {
			list = append(list, [2]int{start, end})
		}
		_, size := utf8.DecodeRuneInString(s[start:])
		from = start + size
	}
	return list
}

// isBoundary tells whether a word may begin or end at byte i of a text.
func isBoundary(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	return i == 0 || i == len(s) || !Joins(before) || !Joins(after)
}
