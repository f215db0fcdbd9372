package safety

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"reverie/internal/text"
)

// secretEntry is a rule for secrets as its file has it. The file's head says what the keys
// mean.
type secretEntry struct {
	Name        string
	Keywords    []string
	Expr        string
	Group       int
	Valid, Gate string
	Back        int
	Inside      bool
	Trim        string
	UnlessGroup int      `toml:"unless_group"`
	UnlessIs    []string `toml:"unless_is"`
	UnlessHas   []string `toml:"unless_has"`
}

// secretTests are the functions that the file names, for values and for what stands around
// a keyword.
var secretTests = map[string]func(string) bool{
	"":     nil,
	"code": code, "commandPassword": commandPassword, "credentials": credentials, "doorCode": doorCode,
	"farPassword": farPassword, "givenPassword": givenPassword, "hasDigit": hasDigit, "looseToken": looseToken,
	"mixed": mixed, "notPlaceholder": notPlaceholder, "notPort": notPort,
	"pairPassword": pairPassword, "random": random,
	"spokenPassword": spokenPassword, "spokenToken": spokenToken, "strongPassword": strongPassword,
	"hasASCII": hasASCII, "hasMark": hasMark, "namesBefore": namesBefore, "namesValue": namesValue,
}

// secretFile is the file of rules for secrets.
type secretFile struct {
	Terms, Tests map[string]string
	Rule         []secretEntry
}

var readSecrets = sync.OnceValue(func() (file secretFile) {
	readFile("secrets", &file)
	return file
})

// valueTests are the expressions that values are held against.
var valueTests = sync.OnceValue(func() map[string]*text.Pattern {
	tests := map[string]*text.Pattern{}
	for name, expr := range readSecrets().Tests {
		tests[name] = text.NewPattern(expr)
	}
	return tests
})

// is tells whether a value is what a test of the file says.
func is(test, value string) bool { return valueTests()[test].MatchString(value) }

// secretRules returns the rules of the file, in its order.
func secretRules() []secretRule {
	file := readSecrets()
	terms := newTerms(file.Terms)
	rules := make([]secretRule, len(file.Rule))
	for i, entry := range file.Rule {
		rules[i] = entry.rule(terms.Replace(entry.Expr))
	}
	return rules
}

func (e secretEntry) rule(expr string) secretRule {
	r := secretRule{
		name: e.Name, keywords: e.Keywords, group: e.Group, valid: secretTest(e.Valid), gate: secretTest(e.Gate),
		back: e.Back, inside: e.Inside, trim: e.Trim, vetoed: e.UnlessGroup,
	}
	if slices.Contains(e.Keywords, "(discord)") {
		r.keywords = discordStarts()
	}
	if r.back == 0 {
		expr = `\A(?:` + expr + `)`
	}
	r.re = text.NewPattern(expr)
	if r.vetoed > 0 {
		r.veto = func(found string) bool {
			return slices.Contains(e.UnlessIs, strings.ToLower(found)) ||
				slices.ContainsFunc(e.UnlessHas, func(w string) bool { return strings.Contains(found, w) })
		}
	}
	return r
}

func secretTest(name string) func(string) bool {
	test, ok := secretTests[name]
	if !ok {
		panic(fmt.Sprintf("the rules for secrets name %q, which is no test", name))
	}
	return test
}

// notPort tells a password from the port or path behind a host.
func notPort(value string) bool { return !portAndPath.MatchString(value) }
