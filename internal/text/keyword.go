package text

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Keywords finds the rules that can match a text at all, in one pass independent of their number. It is an
// Aho-Corasick automaton over the bytes that occur in keywords. ASCII letters match in either case.
type Keywords struct {
	class  [256]uint8 // by byte; 0 for bytes in no keyword
	width  int        // number of classes
	states []state    // index 0 is the start
	rows   []uint16   // of states with many children: class -> state
	words  []keyword  // index 0 is unused
}

// state is a prefix of keywords: its parent's, and one more byte. 0 stands for none.
type state struct {
	ends, row               int32  // the first keyword that equals the prefix, and where its row begins
	child, sibling, shorter uint16 // its first child, its parent's next child, and the longest proper suffix
	class                   uint8  // of the last byte
	any                     bool   // a keyword ends here
}

// manyChildren is how many are kept in a row, which is faster than a list, and larger.
const manyChildren = 4

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
	k := &Keywords{width: 1, states: make([]state, 1), words: make([]keyword, 1)}
	for _, list := range words {
		for _, w := range list {
			for i := range len(w) {
				k.learn(w[i])
			}
		}
	}
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

// insert adds the states of a word.
func (k *Keywords) insert(rule int, word string) {
	at := uint16(0)
	for i := range len(word) {
		class, from := k.class[word[i]], at
		if at = k.child(from, class); at == 0 {
			at = uint16(len(k.states))
			k.states = append(k.states, state{sibling: k.states[from].child, class: class})
			k.states[from].child = at
		}
	}
	k.words = append(k.words, keyword{rule, len(word), k.states[at].ends})
	k.states[at].ends = int32(len(k.words) - 1)
}

// child returns the child of a state for a byte, or 0.
func (k *Keywords) child(at uint16, class uint8) uint16 {
	to := k.states[at].child
	for to != 0 && k.states[to].class != class {
		to = k.states[to].sibling
	}
	return to
}

// link goes breadth first. Each state falls back to the longest suffix of its prefix that is itself a prefix of a
// keyword. It inherits that state's edges where it has no child.
func (k *Keywords) link() {
	k.rows = make([]uint16, k.width) // of the start, which falls back to itself, until it has its own
	for queue := []uint16{0}; len(queue) > 0; queue = queue[1:] {
		at, children := queue[0], 0
		s, row := &k.states[at], len(k.rows)
		s.any = s.ends != 0 || k.states[s.shorter].any
		for to := s.child; to != 0; to = k.states[to].sibling {
			k.states[to].shorter = k.step(s.shorter, k.states[to].class)
			queue, children = append(queue, to), children+1
		}
		if at != 0 && children < manyChildren {
			continue
		}
		for class := range uint8(k.width) {
			k.rows = append(k.rows, cmp.Or(k.child(at, class), k.step(s.shorter, class)))
		}
		s.row = int32(row)
	}
}

// step returns the state that follows a byte.
func (k *Keywords) step(at uint16, class uint8) uint16 {
	for at != 0 && k.states[at].row == 0 {
		if to := k.child(at, class); to != 0 {
			return to
		}
		at = k.states[at].shorter
	}
	return k.rows[int(k.states[at].row)+int(class)]
}

// Find returns the rules with a keyword in s.
func (k *Keywords) Find(s string) (found ruleSet) {
	k.Each(s, func(rule, _, _ int) { found.add(rule) })
	return found
}

// Each calls f with every keyword in s, ordered by the byte where it ends.
func (k *Keywords) Each(s string, f func(rule, start, end int)) {
	state := uint16(0)
	for i := range len(s) {
		state = k.step(state, k.class[s[i]])
		for at := state; k.states[at].any; at = k.states[at].shorter {
			for n := k.states[at].ends; n != 0; n = k.words[n].other {
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
