package reverie

import (
	"regexp"
	"strings"
)

// pattern is an expression that is tried only where one of its words occurs
// and, if it has a second list, one of those too. An expression costs some
// twenty times what the words do.
type pattern struct {
	re    *regexp.Regexp
	words []string // lower case
	also  []string
}

func newPattern(expr string, words ...string) pattern {
	return pattern{re: regexp.MustCompile(expr), words: words}
}

// and adds the second list.
func (p pattern) and(words ...string) pattern {
	p.also = words
	return p
}

// patterns is a list of them, ready for use.
type patterns struct {
	list  []pattern
	words *Keywords // rule 2i stands for words of pattern i, 2i+1 for also
}

func newPatterns(list []pattern) *patterns {
	words := make([][]string, 2*len(list))
	for i, p := range list {
		words[2*i], words[2*i+1] = p.words, p.also
	}
	return &patterns{list: list, words: NewKeywords(words)}
}

// find returns the match of the first pattern that has one, "" without.
func (p *patterns) find(text string) (at string) {
	found := p.words.find(text)
	found.each(func(rule int) bool {
		i := rule / 2
		if rule%2 == 1 || len(p.list[i].also) > 0 && !found.has(2*i+1) {
			return true
		}
		at = strings.TrimSpace(p.list[i].re.FindString(text))
		return at == ""
	})
	return at
}
