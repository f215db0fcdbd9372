package safety

import (
	"regexp"
	"strings"
	"sync"

	"reverie/internal/text"
)

// lazy is an expression that is compiled when it is first used: of the hundreds that
// texts are held against, a command that reads a few uses a few. A wrong one panics then;
// a test compiles them all.
type lazy func() *regexp.Regexp

func lazily(expr string) lazy {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// pattern is an expression that is tried only where one of its words occurs
// and, if it has a second list, one of those too. An expression costs some
// twenty times what the words do.
type pattern struct {
	re    lazy
	words []string // lower case
	also  []string
}

func newPattern(expr string, words ...string) pattern {
	return pattern{re: lazily(expr), words: words}
}

// and adds the second list.
func (p pattern) and(words ...string) pattern {
	p.also = words
	return p
}

// patterns is a list of them, ready for use.
type patterns struct {
	list  []pattern
	words *text.Keywords // rule 2i stands for words of pattern i, 2i+1 for also
}

func newPatterns(list []pattern) *patterns {
	words := make([][]string, 2*len(list))
	for i, p := range list {
		words[2*i], words[2*i+1] = p.words, p.also
	}
	return &patterns{list: list, words: text.NewKeywords(words)}
}

// find returns the match of the first pattern that has one, "" without.
func (p *patterns) find(text string) string {
	at, _ := p.findAt(text)
	return strings.TrimSpace(at)
}

// findAt also returns where the match begins.
func (p *patterns) findAt(text string) (at string, start int) {
	found := p.words.Find(text)
	found.Each(func(rule int) bool {
		i := rule / 2
		if rule%2 == 1 || len(p.list[i].also) > 0 && !found.Has(2*i+1) {
			return true
		}
		if m := p.list[i].re().FindStringIndex(text); m != nil {
			at, start = text[m[0]:m[1]], m[0]
		}
		return strings.TrimSpace(at) == ""
	})
	return at, start
}
