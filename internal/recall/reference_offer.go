package recall

import (
	"math"
	"slices"
)

// What a clue that is found again counts, as a share of its weight.
const (
	askedShare = 0.12 // where the query has it already
	pairGain   = 0.5  // in addition, where two clues are neighbours in both
	denialCost = 0.6  // against, where only one of the two denies it
)

// offer is an answer, what was asked, and the statements that were offered.
type offer struct {
	asked      map[uint64]bool
	answer     reading
	spots      map[uint64]spot       // of the answer's clues, and of its pairs of neighbours
	numbers    []clue                // of the answer
	bare       map[bareNumber]uint64 // in which sentences of the answer it stands, a bit for each
	around     []float64             // by sentence of the answer: what it says, besides what was asked
	statements []reading
	holders    map[uint64]int // statements that have a clue
}

// spot is in which sentences of the answer a clue stands, a bit for each.
type spot struct {
	all   uint64
	plain uint64 // where it is not denied
}

// bareNumber is a number without a unit, or one that counts units of time. One
// stands for the other: "she is 7" for "seven years old".
type bareNumber struct {
	value string
	bare  bool
}

func newOffer(query, response string, statements []string) *offer {
	o := &offer{asked: map[uint64]bool{}, holders: map[uint64]int{}, answer: read(response)}
	for _, c := range read(query).clues {
		o.asked[c.key] = true
	}
	for _, s := range statements {
		r := read(s)
		r.clues = r.distinct()
		for _, c := range r.clues {
			o.holders[c.key]++
		}
		o.statements = append(o.statements, r)
	}
	o.locate()
	return o
}

// locate notes where in the answer the clues of statements stand.
func (o *offer) locate() {
	o.spots = make(map[uint64]spot, len(o.holders))
	o.bare = map[bareNumber]uint64{}
	o.around = make([]float64, len(o.answer.sentences)+1)
	before := false // the clue before is one of a statement
	for i, c := range o.answer.clues {
		if o.answer.sentences[c.sentence].refuses {
			before = false
			continue
		}
		if !o.asked[c.key] {
			o.around[c.sentence] += c.share(c.weight, true)
		}
		if c.unit != "" {
			o.numbers = append(o.numbers, c)
		}
		if number, bare := c.bare(); number {
			o.bare[bareNumber{c.value, bare}] |= uint64(1) << c.sentence
		}
		if o.holders[c.key] == 0 {
			before = false
			continue
		}
		here := uint64(1) << c.sentence
		at := o.spots[c.key]
		at.all |= here
		if !c.denied {
			at.plain |= here
		}
		o.spots[c.key] = at
		if before && c.follows && !c.joined {
			pair := pairKey(o.answer.clues[i-1], c)
			o.spots[pair] = spot{all: o.spots[pair].all | here}
		}
		before = true
	}
}

// pairKey is the key of two clues that are neighbours.
func pairKey(a, b clue) uint64 { return a.key*31 ^ b.key }

// value is what a clue of a statement counts: the less, the more of the other
// statements have it.
func (o *offer) value(c clue) float64 {
	v := c.weight * (1 - math.Log(float64(o.holders[c.key]))/math.Log(float64(len(o.statements)+1)))
	if o.asked[c.key] {
		v *= askedShare
	}
	return v
}

// reference looks for a statement in the answer.
func (o *offer) reference(statement int) reference {
	s := o.statements[statement]
	var whole float64
	for _, c := range s.clues {
		whole += c.share(o.value(c), true)
	}
	best, sentences := reference{}, len(o.answer.sentences)
	for first := range o.answer.sentences {
		r := reference{whole: whole, around: o.around[first] + o.around[first+1]}
		window := uint64(3) << first
		if r.found = o.found(s, window); r.found <= leastFound {
			continue
		}
		r.conflict = o.conflicts(s, window)
		if r.score(sentences) > best.score(sentences) {
			best = r
		}
	}
	return best
}

// found weighs what a statement and the sentences of a window have in common.
func (o *offer) found(s reading, window uint64) float64 {
	var sum float64
	denies := slices.ContainsFunc(s.sentences, func(x sentence) bool { return x.denies })
	denied := o.denies(window)
	before := false // the clue before stands there, too
	for i, c := range s.clues {
		at := o.spots[c.key]
		if at.all&window == 0 {
			if number, bare := c.bare(); number && o.bare[bareNumber{c.value, !bare}]&window != 0 {
				sum += min(c.weight, weightDigit) / c.weight * o.value(c)
			}
			before = false
			continue
		}
		v := c.share(o.value(c), before)
		before = true
		if c.denied && !denied || !denies && at.plain&window == 0 && !o.asked[c.key] {
			sum -= denialCost * v
			continue
		}
		sum += v
		if c.follows && !c.joined && o.spots[pairKey(s.clues[i-1], c)].all&window != 0 {
			sum += pairGain * v / c.weight // what is common says something as a phrase
		}
	}
	return sum
}

// denies tells whether something is denied or avoided in a window.
func (o *offer) denies(window uint64) bool {
	for i, s := range o.answer.sentences {
		if s.denies && uint64(1)<<i&window != 0 {
			return true
		}
	}
	return false
}

// conflicts tells whether a number of the statement has another value in a window,
// and none of the values that the statement names.
func (o *offer) conflicts(s reading, window uint64) bool {
	for _, c := range s.clues {
		if c.unit == "" {
			continue
		}
		other := false
		for _, a := range o.numbers {
			if a.unit != c.unit || uint64(1)<<a.sentence&window == 0 {
				continue
			}
			if s.counts(a) {
				other = false
				break
			}
			other = other || !o.asked[a.key]
		}
		if other {
			return true
		}
	}
	return false
}
