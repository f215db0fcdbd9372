package text

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Keywords finds the rules that can match a text at all, in one pass independent of their number. It is an
// Aho-Corasick automaton as a dense table over the bytes that occur in keywords. ASCII letters match in either
// case.
type Keywords struct {
	class [256]uint8 // by byte; 0 for bytes in no keyword
	width int        // number of classes
	next  []uint16   // state x class -> state
	any   []bool     // state -> a keyword ends here
	ends  []int32    // state -> the first keyword that equals all input of the state, 0 for none

	words   []keyword // index 0 is unused
	shorter []uint16  // state -> the state of the longest proper suffix
}

// keyword is one word of one rule.
type keyword struct {
	rule, length int
	other        int32 // the next keyword with the same word, 0 for none
}

// maxRules bounds the rules of one automaton.
const maxRules = 512

// ruleSet is a set of rule numbers.
type ruleSet [maxRules / 64]uint64

func (s *ruleSet) add(rule int) { s[rule/64] |= 1 << (rule % 64) }

// Has reports whether the set contains a rule.
func (s *ruleSet) Has(rule int) bool { return s[rule/64]&(1<<(rule%64)) != 0 }

// Each calls f with the rules of the set in ascending order until f returns false.
func (s *ruleSet) Each(f func(rule int) bool) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if !f(i*64 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}

// NewKeywords builds the automaton: words[i] are the keywords of rule i, in lower case. Find never returns a rule
// without keywords.
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
	// The last rule is inserted first, so that the first rule comes first among those with the same word.
	for rule, list := range slices.Backward(words) {
		for _, w := range list {
			k.insert(rule, w)
		}
	}
	k.link()
	return k
}

// learn gives a byte its own class, the same for both cases.
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

// insert adds the states of a word.
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

// link fills the table breadth first. Each state falls back to the longest suffix of its input that is a prefix of
// a keyword. It inherits that state's edges where it has none of its own.
func (k *Keywords) link() {
	k.next = slices.Clone(k.next) // without spare capacity
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

// Find returns the rules with a keyword in s.
func (k *Keywords) Find(s string) (found ruleSet) {
	k.Each(s, func(rule, _, _ int) { found.add(rule) })
	return found
}

// Each calls f with every keyword in s, ordered by the byte where it ends.
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

// IsDense reports whether r is a Han character or kana, which are written without spaces.
func IsDense(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

// Joins reports whether two adjacent characters like r are part of one word: letters, digits or marks of a script
// with spaces, or underscores. Korean is excluded, since particles follow a name directly.
func Joins(r rune) bool { return r == '_' || IsSpaced(r) && !unicode.Is(unicode.Hangul, r) }

// Places returns the byte offsets [begin, end) of a word in a text. Where the word begins or ends in a script with
// spaces, it must be at a word boundary; in Chinese it may be anywhere. It compares both as they are.
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

// isBoundary reports whether a word may begin or end at byte i of a text.
func isBoundary(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	return i == 0 || i == len(s) || !Joins(before) || !Joins(after)
}
