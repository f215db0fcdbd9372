package text

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The automaton must find what a search for each word finds, overlapping words
// and words inside words included.
func TestKeywordsAgreeWithSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, 1+rng.IntN(n))
		for i := range b {
			b[i] = "abc"[rng.IntN(3)]
		}
		return string(b)
	}
	for range 300 {
		rules := make([][]string, 1+rng.IntN(6))
		for i := range rules {
			for range rng.IntN(4) {
				rules[i] = append(rules[i], word(4))
			}
		}
		k := NewKeywords(rules)
		text := strings.ToUpper(word(12)) + "." + word(12)
		found := k.Find(text)
		ends := make([][]int, len(rules))
		k.Each(text, func(rule, start, end int) {
			if !slices.Contains(rules[rule], strings.ToLower(text[start:end])) {
				t.Fatalf("%q at %d is no word of %q", text[start:end], start, rules[rule])
			}
			ends[rule] = append(ends[rule], end)
		})
		for i, words := range rules {
			want := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(text), w) })
			if found.Has(i) != want || (len(ends[i]) > 0) != want {
				t.Fatalf("rule %q in %q: found %v, ends %v, want %v", words, text, found.Has(i), ends[i], want)
			}
		}
	}
}

func TestKeywordsOfChinese(t *testing.T) {
	k := NewKeywords([][]string{{"密码", "口令"}, {"token"}, nil})
	found := k.Find("改了密码，ToKeN 没改")
	if !found.Has(0) || !found.Has(1) || found.Has(2) {
		t.Errorf("found %v", found)
	}
	if found := k.Find("密 码 toke"); found != (ruleSet{}) {
		t.Errorf("found %v in a text without", found)
	}
}
