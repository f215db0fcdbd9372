package offline

import (
	"math"
	"reverie/internal/text"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Weights of features before they are counted. Whole words and pairs of Han characters carry the meaning. Smaller
// and longer pieces make inflected, misspelt and partly matching words similar.
const (
	weightWord     = 1.0
	weightStem     = 0.6
	weightStopWord = 0.12
	weightNumber   = 0.9
	weightParticle = 0.08 // a Han character without meaning of its own
	dampParticle   = 0.35 // for each such character inside a pair or longer piece
)

// Weights of pieces of words and of runs of Han characters, by length.
var (
	wordGrams = [5]float32{2: 0.06, 3: 0.22, 4: 0.22}
	hanGrams  = [5]float32{1: 0.4, 2: 1.0, 3: 0.3, 4: 0.12}
)

// Features of different kinds have different hash seeds, so that the word "is" and the piece "is" of "this" differ.
const (
	seedWord   = 0x9e3779b97f4a7c15
	seedStem   = 0xc2b2ae3d27d4eb4f
	seedNumber = 0x165667b19e3779f9
	seedGram   = 0x27d4eb2f165667c5
	seedHan    = 0x85ebca77c2b2ae63
)

// feature is a hashed piece of text, its count and its weight.
type feature struct {
	hash   uint64
	count  float32
	weight float32
}

// vector hashes the features of a text, with signs, into the model's dimensions and scales the result to length
// one. A text without features (empty, or only punctuation) gets a fixed vector, since a zero vector has no cosine.
func (m *Model) vector(text string) []float32 {
	b := bag{index: map[uint64]int32{}}
	b.addText(fold(text))
	sums := make([]float64, m.dims)
	for _, f := range b.features {
		v := float64(f.weight)
		if f.count > 1 { // weight grows sublinearly with the count
			v *= 1 + math.Log(float64(f.count))
		}
		if f.hash>>63 == 1 {
			v = -v
		}
		sums[f.hash%uint64(m.dims)] += v
	}
	var square float64
	for _, v := range sums {
		square += v * v
	}
	out := make([]float32, len(sums))
	if square < 1e-12 { // no features, or they cancelled out
		out[mix(seedWord)%uint64(m.dims)] = 1
		return out
	}
	norm := math.Sqrt(square)
	for i, v := range sums {
		out[i] = float32(v / norm)
	}
	return out
}

// bag counts the features of one text in the order of their first occurrence, so that sums are always the same.
type bag struct {
	features []feature
	index    map[uint64]int32
}

func (b *bag) add(hash uint64, weight float32) {
	if i, ok := b.index[hash]; ok {
		b.features[i].count++
		return
	}
	b.index[hash] = int32(len(b.features))
	b.features = append(b.features, feature{hash: hash, count: 1, weight: weight})
}

// addText counts the features of a folded text.
func (b *bag) addText(folded string) {
	tokens(folded, func(kind script, token string) {
		switch kind {
		case scriptNumber:
			b.add(hashText(seedNumber, token), weightNumber)
		case scriptDense:
			b.addGrams([]rune(token), seedHan, hanGrams)
		default:
			b.addWord(token)
		}
	})
}

func (b *bag) addWord(word string) {
	if words().StopWords[word] {
		b.add(hashText(seedWord, word), weightStopWord)
		return
	}
	b.add(hashText(seedWord, word), weightWord)
	b.add(hashText(seedStem, text.Stem(word)), weightStem)
	runes := []rune(word)
	runes = runes[:min(len(runes), 22)] // longer words occur only in pasted text
	// The marks make the word's beginning and end count.
	b.addGrams([]rune("^"+string(runes)+"$"), seedGram, wordGrams)
}

// addGrams counts the pieces of one to four characters with a weight.
func (b *bag) addGrams(runes []rune, seed uint64, weights [5]float32) {
	for i := range runes {
		h := seed
		for n := 1; n <= 4 && i+n <= len(runes); n++ {
			h = hashRune(h, runes[i+n-1])
			w := weights[n]
			for _, r := range runes[i : i+n] {
				switch {
				case !strings.ContainsRune(words().Particles, r):
				case n == 1:
					w = weightParticle
				default:
					w *= dampParticle
				}
			}
			if w > 0 {
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

// fold normalises a text for comparing: NFKC, lower case, without invisible characters. ASCII text takes a fast
// path.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	s = norm.NFKC.String(strings.ToValidUTF8(s, " "))
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// script is the kind of a token, which determines its features.
type script uint8

const (
	scriptNone   script = iota
	scriptWord          // letters of a script that writes spaces between words
	scriptNumber        // starts with a digit: 7, 7:30, 3.5
	scriptDense         // Han, kana and others that write no spaces
)

func scriptOf(r rune) script {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		return scriptWord
	case r >= '0' && r <= '9':
		return scriptNumber
	case r < utf8.RuneSelf:
		return scriptNone
	case r >= 0x4E00 && r <= 0x9FFF:
		return scriptDense
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer):
		return scriptDense
	case unicode.IsLetter(r), unicode.IsMark(r):
		return scriptWord
	case unicode.IsDigit(r):
		return scriptNumber
	}
	return scriptNone
}

// tokens calls yield with each token of a folded text. A token is a word with inner apostrophes and trailing + or #
// (don't, c++), a number with inner separators (7:30), or a run of characters of a dense script.
func tokens(folded string, yield func(kind script, token string)) {
	for i := 0; i < len(folded); {
		r, size := utf8.DecodeRuneInString(folded[i:])
		kind := scriptOf(r)
		if kind == scriptNone {
			i += size
			continue
		}
		end := tokenEnd(folded, i+size, kind)
		yield(kind, folded[i:end])
		i = end
	}
}

func tokenEnd(s string, i int, kind script) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		next := scriptOf(r)
		switch {
		case next == kind:
		case kind == scriptWord && next == scriptNumber: // v2, ipv6
		case kind == scriptWord && (r == '\'' || r == '’') && followedBy(s[i+size:], scriptWord):
		case kind == scriptWord && (r == '+' || r == '#') && !followedBy(s[i+size:], scriptWord):
		case kind == scriptNumber && strings.ContainsRune(".:,/", r) && followedBy(s[i+size:], scriptNumber):
		default:
			return i
		}
		i += size
	}
	return i
}

func followedBy(s string, kind script) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && scriptOf(r) == kind
}

func hasAnySuffix(s string, suffixes ...string) bool {
	for _, x := range suffixes {
		if strings.HasSuffix(s, x) {
			return true
		}
	}
	return false
}
