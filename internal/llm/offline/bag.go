package offline

import (
	"math"
	"unicode/utf8"
)

// What a feature weighs before it is counted. Whole words and pairs of Han
// characters carry the meaning; the smaller and longer pieces make inflected,
// misspelt and half-matching words resemble each other.
const (
	weightWord      = 1.0
	weightStem      = 0.6
	weightStopWord  = 0.12
	weightNumber    = 0.9
	weightWordGram2 = 0.06
	weightWordGram3 = 0.22
	weightWordGram4 = 0.22
	weightHan1      = 0.4
	weightHan2      = 1.0
	weightHan3      = 0.3
	weightHan4      = 0.12
	weightParticle  = 0.08 // a Han character that says nothing by itself
	dampParticle    = 0.35 // for each such character inside a pair or longer piece
)

// Features of different kinds are hashed from different seeds, so that the word
// "is" and the piece "is" of "this" stay apart.
const (
	seedWord   = 0x9e3779b97f4a7c15
	seedStem   = 0xc2b2ae3d27d4eb4f
	seedNumber = 0x165667b19e3779f9
	seedGram   = 0x27d4eb2f165667c5
	seedHan    = 0x85ebca77c2b2ae63
)

// feature is a hashed piece of text, how often it occurred and what it weighs.
type feature struct {
	hash   uint64
	count  float32
	weight float32
}

// bag counts the features of one text, in the order of their first occurrence
// so that sums are the same in every run.
type bag struct {
	features []feature
	index    map[uint64]int32
}

func newBag() *bag { return &bag{index: make(map[uint64]int32, 256)} }

func (b *bag) reset() {
	b.features = b.features[:0]
	clear(b.index)
}

func (b *bag) add(hash uint64, weight float32) {
	if i, ok := b.index[hash]; ok {
		b.features[i].count++
		return
	}
	b.index[hash] = int32(len(b.features))
	b.features = append(b.features, feature{hash: hash, count: 1, weight: weight})
}

// value of a feature: sublinear in its count.
func (f feature) value() float64 {
	if f.count == 1 {
		return float64(f.weight)
	}
	return float64(f.weight) * (1 + math.Log(float64(f.count)))
}

// addText counts the features of a folded text.
func (b *bag) addText(folded string) {
	tokens(folded, func(kind script, token string) {
		switch kind {
		case scriptNumber:
			b.add(hashText(seedNumber, token), weightNumber)
		case scriptDense:
			b.addDense(token)
		default:
			b.addWord(token)
		}
	})
}

func (b *bag) addWord(word string) {
	if words().stopWords[word] {
		b.add(hashText(seedWord, word), weightStopWord)
		return
	}
	b.add(hashText(seedWord, word), weightWord)
	if s := stem(word); s != word {
		b.add(hashText(seedStem, s), weightStem)
	} else {
		b.add(hashText(seedStem, word), weightStem)
	}
	// Grams of the word between two marks, so that its beginning and end count.
	runes := make([]rune, 0, 24)
	runes = append(runes, '^')
	for _, r := range word {
		if len(runes) == 23 {
			break // nobody writes longer words; a paste does
		}
		runes = append(runes, r)
	}
	runes = append(runes, '$')
	b.addGrams(runes, seedGram, func(gram []rune) float32 {
		switch len(gram) {
		case 2:
			return weightWordGram2
		case 3:
			return weightWordGram3
		case 4:
			return weightWordGram4
		}
		return 0
	})
}

func (b *bag) addDense(token string) {
	runes := make([]rune, 0, 64)
	for _, r := range token {
		runes = append(runes, r)
	}
	b.addGrams(runes, seedHan, denseWeight)
}

func denseWeight(gram []rune) float32 {
	var w float32
	switch len(gram) {
	case 1:
		if words().particles[gram[0]] {
			return weightParticle
		}
		return weightHan1
	case 2:
		w = weightHan2
	case 3:
		w = weightHan3
	default:
		w = weightHan4
	}
	for _, r := range gram {
		if words().particles[r] {
			w *= dampParticle
		}
	}
	return w
}

// addGrams counts the pieces of one to four characters that weigh something.
func (b *bag) addGrams(runes []rune, seed uint64, weigh func(gram []rune) float32) {
	for i := range runes {
		h := seed
		for n := 1; n <= 4 && i+n <= len(runes); n++ {
			h = hashRune(h, runes[i+n-1])
			if w := weigh(runes[i : i+n]); w > 0 {
				b.add(mix(h+uint64(n)), w)
			}
		}
	}
}

func hashRune(h uint64, r rune) uint64 { return (h ^ uint64(r)) * 0x100000001b3 }

func hashText(seed uint64, s string) uint64 {
	h := seed
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		h = hashRune(h, r)
		s = s[size:]
	}
	return mix(h)
}

// mix spreads a hash over all its bits (the finalizer of splitmix64).
func mix(h uint64) uint64 {
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	return h ^ h>>31
}
