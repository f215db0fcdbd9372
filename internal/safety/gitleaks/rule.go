package gitleaks

import (
	_ "embed"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"reverie/internal/text"
)

// rule is one of gitleaks' rules as chats need it.
type rule struct {
	name    string
	re      *text.Pattern
	group   int     // the capturing group that is the secret; 0 for the first that matched
	entropy float64 // bits a character that the secret must exceed
	named   bool    // known by the service's name beside it, not by its own shape
}

type ruleSet struct {
	rules   []rule
	words   *text.Keywords
	dropped map[string]string // rules that are left out, and why
}

// What gitleaks writes into most of its expressions, and what stands here instead.
var (
	// It begins with up to 50 characters that decide nothing and cost the most.
	leadingNames = strings.NewReplacer(`(?i)[\w.-]{0,50}?`, `(?i)`, `[\w.-]{0,50}?(?i:[\w.-]{0,50}?`, `(?i:`)
	// A token ends at a space, a quote or the text's end; in chats also at any comma,
	// bracket or Chinese character.
	tail = strings.NewReplacer(`(?:[\x60'"\s;]|\\[nr]|$)`, `(?:[^\w-]|$)`)
	// A name and its value are joined by = or :, in chats also by words.
	joined = strings.NewReplacer(`(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`,
		`(?:=|>|:{1,3}=|\|\||:|=>|\?=|,|：|\bis|是|为)[\x60'"\s=]{0,5}`)
)

// gitleaksRules is the file that gitleaks compiles in, unchanged. Importing its package
// config instead would bring a whole configuration library into the binary. A test
// compares the file with that of the module.
//
//go:embed rules.toml
var gitleaksRules []byte

//go:embed dropped.toml
var droppedRules []byte

// known is a rule of that file.
type known struct {
	ID          string
	Path        string
	Regex       string
	SecretGroup int
	Entropy     float64
	Keywords    []string
}

// read makes the rules from those of gitleaks. Its own reader would compile all of their
// expressions at once.
func read() *ruleSet {
	var file struct{ Rules []known }
	var words [][]string
	var s ruleSet
	if err := errors.Join(toml.Unmarshal(gitleaksRules, &file), toml.Unmarshal(droppedRules, &s.dropped)); err != nil {
		panic("the rules of gitleaks cannot be read: " + err.Error()) // they are compiled in
	}
	slices.SortFunc(file.Rules, func(a, b known) int { return strings.Compare(a.ID, b.ID) })
	for _, r := range file.Rules {
		if s.dropped[r.ID] != "" || r.Path != "" || r.Regex == "" || len(r.Keywords) == 0 {
			continue
		}
		s.rules = append(s.rules, adapted(r))
		words = append(words, strings.Split(strings.ToLower(strings.Join(r.Keywords, "\n")), "\n"))
	}
	s.words = text.NewKeywords(words)
	return &s
}

func adapted(r known) rule {
	expr := leadingNames.Replace(r.Regex)
	named := strings.Contains(expr, `(?:[ \t\w.-]{0,20})`)
	expr = tail.Replace(joined.Replace(expr))
	return rule{
		name:    r.ID,
		re:      text.NewPattern(expr),
		group:   r.SecretGroup,
		entropy: r.Entropy,
		named:   named,
	}
}

// good tells a secret from a word of the same length: by its entropy where the rule asks
// for it, and beside a service's name by its having both letters and digits.
func (r *rule) good(value string) bool {
	if r.named && !(strings.ContainsAny(value, "0123456789") && strings.IndexFunc(value, isLetter) >= 0) &&
		!strings.ContainsRune(value, ':') {
		return false
	}
	return r.entropy == 0 || entropy(value) > r.entropy
}

func isLetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// entropy is Shannon's, in bits a byte.
func entropy(s string) (bits float64) {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
