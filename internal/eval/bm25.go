package eval

import (
	"cmp"
	"math"
	"slices"
	"unicode"

	"github.com/rivo/uniseg"

	"reverie/internal/reverie"
)

// The usual parameters of Okapi BM25.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// bm25 ranks messages only by their words: the baseline that memories have to beat.
type bm25 struct {
	ids    []string
	counts []map[string]int // of each word, by message
	length []int            // in words
	mean   float64
	in     map[string]int // word -> number of messages that contain it
}

// newBM25 indexes the visible text of the messages.
func newBM25(messages []reverie.Message) *bm25 {
	b := &bm25{in: map[string]int{}}
	total := 0
	for _, m := range messages {
		if !m.Speaks() {
			continue
		}
		list := words(m.Text)
		counts := map[string]int{}
		for _, w := range list {
			counts[w]++
		}
		for w := range counts {
			b.in[w]++
		}
		b.ids, b.counts, b.length = append(b.ids, m.ID), append(b.counts, counts), append(b.length, len(list))
		total += len(list)
	}
	b.mean = float64(total) / float64(max(len(b.ids), 1))
	return b
}

// search returns the ids of the k best messages that share a word with the query. Ties keep the order of the
// messages.
func (b *bm25) search(query string, k int) (ids []string) {
	type hit struct {
		id    string
		score float64
	}
	var hits []hit
	asked := words(query)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	for i, id := range b.ids {
		if s := b.score(asked, i); s > 0 {
			hits = append(hits, hit{id, s})
		}
	}
	slices.SortStableFunc(hits, func(x, y hit) int { return cmp.Compare(y.score, x.score) })
	for _, h := range hits[:min(k, len(hits))] {
		ids = append(ids, h.id)
	}
	return ids
}

func (b *bm25) score(asked []string, i int) (sum float64) {
	norm := bm25K1 * (1 - bm25B + bm25B*float64(b.length[i])/b.mean)
	for _, w := range asked {
		if tf := float64(b.counts[i][w]); tf > 0 {
			sum += b.idf(w) * tf * (bm25K1 + 1) / (tf + norm)
		}
	}
	return sum
}

// idf is never negative: a word in all messages has no weight.
func (b *bm25) idf(word string) float64 {
	n := float64(b.in[word])
	return math.Log(1 + (float64(len(b.ids))-n+0.5)/(n+0.5))
}

// words splits a text by Unicode's rules. Adjacent Han characters, which those rules separate, become pairs.
func words(text string) (list []string) {
	var last rune // the previous character, if it is Han
	alone := false
	flush := func() {
		if alone {
			list = append(list, string(last))
		}
		last, alone = 0, false
	}
	for rest, state := form(text), -1; rest != ""; {
		var word string
		word, rest, state = uniseg.FirstWordInString(rest, state)
		r := []rune(word)
		switch {
		case len(r) == 1 && unicode.Is(unicode.Han, r[0]):
			if last != 0 {
				list = append(list, string([]rune{last, r[0]}))
			}
			alone, last = last == 0, r[0]
		case slices.ContainsFunc(r, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }):
			flush()
			list = append(list, word)
		default:
			flush()
		}
	}
	flush()
	return list
}
