package reverie

import "math/bits"

// Keywords finds which of many rules can match a text at all, in one pass over
// it however many there are: an Aho-Corasick automaton as a dense table over
// the bytes that occur in keywords. ASCII letters match in either case.
type Keywords struct {
	class [256]uint8 // of a byte; 0 for those in no keyword
	width int        // number of classes
	next  []uint16   // state x class -> state
	any   []bool     // state -> some keyword ends here
	hits  []ruleSet  // state -> rules of those keywords

	ends    [][]keyword // state -> keywords that are all that has been read
	shorter []uint16    // state -> the state of the longest proper suffix
}

// keyword is one word of one rule.
type keyword struct{ rule, length int }

// maxRules bounds the rules of one automaton.
const maxRules = 512

// ruleSet is a set of rule numbers.
type ruleSet [maxRules / 64]uint64

func (s *ruleSet) add(rule int) { s[rule/64] |= 1 << (rule % 64) }

func (s *ruleSet) has(rule int) bool { return s[rule/64]&(1<<(rule%64)) != 0 }

func (s *ruleSet) merge(o *ruleSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// each calls f with the rules of the set in ascending order until it says stop.
func (s *ruleSet) each(f func(rule int) bool) {
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
	k := &Keywords{width: 1}
	for _, list := range words {
		for _, w := range list {
			for i := range len(w) {
				k.learn(w[i])
			}
		}
	}
	k.addState()
	for rule, list := range words {
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
	k.hits = append(k.hits, ruleSet{})
	k.ends = append(k.ends, nil)
	return uint16(len(k.hits) - 1)
}

func (k *Keywords) insert(rule int, word string) {
	state := uint16(0)
	for i := range len(word) {
		edge := int(state)*k.width + int(k.class[word[i]])
		if k.next[edge] == 0 {
			to := k.addState()
			k.next[edge] = to // addState may have moved the table
		}
		state = k.next[edge]
	}
	k.hits[state].add(rule)
	k.ends[state] = append(k.ends[state], keyword{rule, len(word)})
}

// link fills the missing edges breadth first: each state falls back to the
// longest suffix of what it has read that is a prefix of a keyword.
func (k *Keywords) link() {
	k.shorter = make([]uint16, len(k.hits))
	var queue []uint16
	for c := range k.width {
		if to := k.next[c]; to != 0 {
			queue = append(queue, to)
		}
	}
	for i := 0; i < len(queue); i++ {
		state := queue[i]
		k.hits[state].merge(&k.hits[k.shorter[state]])
		for c := range k.width {
			edge := int(state)*k.width + c
			back := k.next[int(k.shorter[state])*k.width+c]
			if to := k.next[edge]; to != 0 {
				k.shorter[to] = back
				queue = append(queue, to)
			} else {
				k.next[edge] = back
			}
		}
	}
	k.any = make([]bool, len(k.hits))
	for i := range k.hits {
		k.any[i] = k.hits[i] != ruleSet{}
	}
}

// find returns the rules of which a keyword occurs in s.
func (k *Keywords) find(s string) (found ruleSet) {
	state := 0
	for i := range len(s) {
		state = int(k.next[state*k.width+int(k.class[s[i]])])
		if k.any[state] {
			found.merge(&k.hits[state])
		}
	}
	return found
}

// Each calls f with every keyword that occurs in s, by the byte where it ends.
func (k *Keywords) Each(s string, f func(rule, start, end int)) {
	state := 0
	for i := range len(s) {
		state = int(k.next[state*k.width+int(k.class[s[i]])])
		for at := state; k.any[at]; at = int(k.shorter[at]) {
			for _, w := range k.ends[at] {
				f(w.rule, i+1-w.length, i+1)
			}
		}
	}
}
