package safety

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"reverie/internal/text"
)

//go:embed rules/*.toml
var ruleFiles embed.FS

// readFile parses an embedded file of rules and refuses unknown keys. It panics on an error, which is a mistake in
// the program.
func readFile(name string, into any) {
	file, err := ruleFiles.Open("rules/" + name + ".toml")
	if err == nil {
		err = toml.NewDecoder(file).DisallowUnknownFields().Decode(into)
	}
	if err != nil {
		panic("the rules of " + name + " cannot be read: " + err.Error())
	}
}

// rule is an expression that is tried only if one of its keywords occurs in the text. If it has a second list of
// keywords, one of those must occur too. An expression costs about twenty times as much as the keywords. The heads
// of the files explain the keys.
type rule struct {
	ID       string
	Class    Rule
	Keywords []string // lower case
	And      []string
	Expr     string
	Match    []string // the rule must find these
	NoMatch  []string `toml:"no_match"` // the rule must not find these

	re *text.Pattern
}

// ruleFile is a file of rules, with the lists that its functions need.
type ruleFile struct {
	Terms map[string]string // building blocks
	Rule  []rule

	DangerousTags      string `toml:"dangerous_tags"`
	Whole              string
	Backwards, Rotated []string
	Lookalikes, Digits map[string]string
}

// readRules parses a file and inserts the building blocks into its expressions.
func readRules(name string) (file ruleFile) {
	readFile(name, &file)
	terms := newTerms(file.Terms)
	for i := range file.Rule {
		r := &file.Rule[i]
		if r.Keywords[0] == "(domains)" {
			r.Keywords = domainEnds(file.Terms["domain"])
		}
		r.re = text.NewPattern(terms.Replace(terms.Replace(r.Expr))) // a block may contain another
	}
	return file
}

// The files, parsed at first use.
var (
	injectionFile = sync.OnceValue(func() ruleFile { return readRules("injection") })
	plainFile     = sync.OnceValue(func() ruleFile { return readRules("plain") })
	disguiseFile  = sync.OnceValue(func() ruleFile { return readRules("disguise") })
)

// newTerms replaces the names of building blocks, in braces, by the blocks.
func newTerms(blocks map[string]string) *strings.Replacer {
	var pairs []string
	for name, expr := range blocks {
		pairs = append(pairs, "{"+name+"}", expr)
	}
	return strings.NewReplacer(pairs...)
}

// domainEnds returns the keywords after which a domain with a path, port or query may occur: .com/ and so on.
func domainEnds(domains string) (ends []string) {
	for domain := range strings.SplitSeq(strings.ReplaceAll(domains, "games?", "game|games"), "|") {
		for _, next := range []string{"/", ":", "?"} {
			ends = append(ends, "."+domain+next, "。"+domain+next)
		}
	}
	return ends
}

// rulesOf returns the rules of each class.
var rulesOf = sync.OnceValue(func() map[Rule]*rules {
	lists := map[Rule][]rule{}
	for _, r := range slices.Concat(injectionFile().Rule, plainFile().Rule, disguiseFile().Rule) {
		lists[r.Class] = append(lists[r.Class], r)
	}
	of := map[Rule]*rules{}
	for class, list := range lists {
		of[class] = newRules(list)
	}
	return of
})

// rules is a list of rules, ready for use.
type rules struct {
	list  []rule
	words *text.Keywords // number 2i stands for the keywords of rule i, 2i+1 for its second list
}

func newRules(list []rule) *rules {
	words := make([][]string, 2*len(list))
	for i, r := range list {
		words[2*i], words[2*i+1] = r.Keywords, r.And
	}
	return &rules{list: list, words: text.NewKeywords(words)}
}

// find returns the match of the first matching rule, "" if none matches.
func (p *rules) find(text string) string {
	at, _ := p.findAt(text)
	return strings.TrimSpace(at)
}

// findAt also returns where the match begins.
func (p *rules) findAt(text string) (at string, start int) {
	found := p.words.Find(text)
	found.Each(func(n int) bool {
		i := n / 2
		if n%2 == 1 || len(p.list[i].And) > 0 && !found.Has(2*i+1) {
			return true
		}
		if m := p.list[i].re.FindStringIndex(text); m != nil {
			at, start = text[m[0]:m[1]], m[0]
		}
		return strings.TrimSpace(at) == ""
	})
	return at, start
}
