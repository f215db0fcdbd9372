package offline

import (
	"math"
	"slices"
	"strings"
)

// digest is what is compared of a sentence or a memory.
type digest struct {
	spoken  spoken
	slots   []slot
	terms   []term  // what it is about, by hash
	weight  float64 // of all terms
	grams   []term  // its n-gram features without slots, by hash
	length  float64 // of the vector of grams
	ends    bool
	changes bool
}

// term is a hashed piece of content. A Latin word weighs 1 and a run of n Han
// characters n/2 in all its pairs together, so that a weight counts words in
// both languages.
type term struct {
	hash   uint64
	weight float64
	denied bool // it follows a negation: "no spoilers", "不剧透"
}

// digester makes digests; the bag is its scratch space.
type digester struct{ bag *bag }

func (d digester) digest(text string) digest {
	folded := fold(text)
	slots, rest := cutSlots(folded)
	g := digest{spoken: speak(folded), slots: slots, terms: contentTerms(rest)}
	for _, t := range g.terms {
		g.weight += t.weight
	}
	g.ends = marksEnd.in(g.spoken)
	g.changes = marksChange.in(g.spoken)
	g.grams, g.length = d.grams(rest)
	return g
}

func (d digester) grams(rest string) ([]term, float64) {
	d.bag.reset()
	d.bag.addText(rest)
	grams := make([]term, len(d.bag.features))
	var square float64
	for i, f := range d.bag.features {
		v := f.value()
		grams[i] = term{hash: f.hash, weight: v}
		square += v * v
	}
	slices.SortFunc(grams, byHash)
	return grams, math.Sqrt(square)
}

func byHash(a, b term) int {
	switch {
	case a.hash < b.hash:
		return -1
	case a.hash > b.hash:
		return 1
	}
	return 0
}

// phraseCutter replaces Chinese phrases that carry no subject by a space. The
// markers of ending and change are among them: "badminton is cancelled" is about
// badminton.
var phraseCutter = func() *strings.Replacer {
	var pairs []string
	for _, list := range [][]string{densePhrases, marksEnd.dense, marksChange.dense, marksPassing.dense, dayparts} {
		for _, p := range list {
			pairs = append(pairs, p, " ")
		}
	}
	return strings.NewReplacer(pairs...)
}()

var dayparts = strings.Fields("早上 上午 中午 下午 傍晚 晚上 夜里 半夜 凌晨")

// markerWords are English words that only tell that something ended or changed,
// or at which time of day.
var markerWords = wordSet(`longer anymore cancelled canceled called stopped gave given quit discontinued dead scrapped abolished
	ended dropped moved moves moving switched switching changed instead replaced rescheduled morning afternoon evening night noon
	week weekly weekend time times day days today tonight tomorrow yesterday good new`)

// negations deny the words that follow them. Those of Chinese are single
// characters and deny the rest of their run.
var (
	negations = wordSet(`not no never don't doesn't didn't won't can't cannot isn't aren't wasn't haven't hasn't shouldn't wouldn't couldn't
		without stop avoid dont`)
	denseNegations = runeSet("不没别勿莫")
)

// deniedWords is how many words of content a negation reaches.
const deniedWords = 2

// contentTerms returns the terms of a folded text without slots, sorted by hash,
// each once.
func contentTerms(rest string) []term {
	var terms []term
	denied := 0 // words still under a negation
	tokens(phraseCutter.Replace(rest), func(kind script, token string) {
		token = strings.ReplaceAll(token, "’", "'")
		switch {
		case kind == scriptDense:
			terms = appendDense(terms, token)
			denied = 0
		case negations[token]:
			denied = deniedWords
		case stopWords[token] || markerWords[token]:
		case kind == scriptWord && len(token) > 1:
			terms = append(terms, term{hashText(seedStem, stem(token)), 1, denied > 0})
			denied--
		}
	})
	slices.SortStableFunc(terms, byHash)
	return slices.CompactFunc(terms, func(a, b term) bool { return a.hash == b.hash })
}

// appendDense cuts a run of Han characters at its particles and negations.
func appendDense(terms []term, token string) []term {
	var run []rune
	denied := false
	flush := func() {
		n := len(run)
		if n == 1 {
			terms = append(terms, term{hashText(seedHan, string(run)), 0.4, denied})
		}
		for i := 0; i+1 < n; i++ {
			terms = append(terms, term{hashText(seedHan, string(run[i:i+2])), float64(n) / 2 / float64(n-1), denied})
		}
		if n > 0 {
			denied = false
		}
		run = run[:0]
	}
	for _, r := range token {
		switch {
		case denseNegations[r]:
			flush()
			denied = true
		case particles[r]:
			flush()
		default:
			run = append(run, r)
		}
	}
	flush()
	return terms
}

// shared is the weight of the terms that two digests have in common.
func shared(a, b digest) float64 {
	var sum float64
	walk(a.terms, b.terms, func(x, y term) { sum += min(x.weight, y.weight) })
	return sum
}

// denies is the weight of the common terms that one of the two negates.
func denies(a, b digest) float64 {
	var sum float64
	walk(a.terms, b.terms, func(x, y term) {
		if x.denied != y.denied {
			sum += min(x.weight, y.weight)
		}
	})
	return sum
}

// cosine of the n-gram vectors of two digests, 0 where one has none.
func cosine(a, b digest) float64 {
	if a.length == 0 || b.length == 0 {
		return 0
	}
	var dot float64
	walk(a.grams, b.grams, func(x, y term) { dot += x.weight * y.weight })
	return dot / (a.length * b.length)
}

// walk calls yield for each hash that both lists hold.
func walk(a, b []term, yield func(x, y term)) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].hash < b[j].hash:
			i++
		case a[i].hash > b[j].hash:
			j++
		default:
			yield(a[i], b[j])
			i++
			j++
		}
	}
}
