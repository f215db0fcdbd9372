package safety

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed rules/injection.toml
var injectionFile string

// ruleEntry is a rule as its file has it. The file's head says what the keys mean.
type ruleEntry struct {
	ID       string
	Class    Rule
	Keywords []string
	And      []string
	Expr     string
	Match    []string // must be found by this rule
	NoMatch  []string `toml:"no_match"` // must not be
}

// readRules reads a file of rules and puts the building blocks into the expressions.
func readRules(file string) ([]ruleEntry, error) {
	var f struct {
		Terms map[string]string
		Rule  []ruleEntry
	}
	d := toml.NewDecoder(strings.NewReader(file)).DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, err
	}
	terms := newTerms(f.Terms)
	for i, r := range f.Rule {
		expr := terms.Replace(terms.Replace(r.Expr)) // a block may name another
		if r.ID == "" || len(r.Keywords) == 0 || r.Class != RuleInstruction && r.Class != RuleSuspicious {
			return nil, fmt.Errorf("rule %d (%s) needs an id, keywords and a class", i+1, r.ID)
		}
		f.Rule[i].Expr = expr
	}
	return f.Rule, nil
}

// injectionRules are the rules of the embedded file, read when they are first needed.
var injectionRules = sync.OnceValue(func() []ruleEntry {
	rules, err := readRules(injectionFile)
	if err != nil {
		panic("the rules against injection cannot be read: " + err.Error()) // they are compiled in
	}
	return rules
})

// ofClass makes the patterns of one class.
func ofClass(class Rule) *patterns {
	var list []pattern
	for _, r := range injectionRules() {
		if r.Class == class {
			list = append(list, newPattern(r.Expr, r.Keywords...).and(r.And...))
		}
	}
	return newPatterns(list)
}

var (
	instructions = sync.OnceValue(func() *patterns { return ofClass(RuleInstruction) })
	suspicious   = sync.OnceValue(func() *patterns { return ofClass(RuleSuspicious) })
)

// findInstruction returns the first piece of a text that tells the reading model what to
// do, "" without one. The text has been through [text.Normalize].
//
// The rules know general phrases, not intentions. They are one fence among several, beside
// the marking of memories as data wherever they are shown to a model.
func findInstruction(s string) string {
	if at := findInReadings(instructions(), s); at != "" {
		return at
	}
	return findBroken(s)
}

// findSuspicious returns the first piece of a text that may plant trust, rights, payment
// details or consent, "" without one. Some could be true of a group.
func findSuspicious(s string) string { return findInReadings(suspicious(), s) }

func findInReadings(rules *patterns, s string) string {
	for _, reading := range readings(s) {
		if at := rules.find(reading); at != "" {
			return at
		}
	}
	return ""
}
