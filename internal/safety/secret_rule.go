package safety

import (
	"encoding/base64"
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

// discordStarts are the first four characters that a bot token can have: it
// begins with the base64 of its id, which is a row of digits.
func discordStarts() (starts []string) {
	const digits = "0123456789"
	for _, a := range digits {
		for _, b := range digits {
			for _, c := range digits {
				starts = append(starts, strings.ToLower(base64.StdEncoding.EncodeToString([]byte{byte(a), byte(b), byte(c)})))
			}
		}
	}
	return starts
}

// portAndPath is what stands behind a host rather than an account.
var portAndPath = text.NewPattern(`^[0-9]{0,5}/`)

// credentials tells the base64 of a name, a colon and a password from a word after basic.
func credentials(value string) bool {
	plain, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		plain, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	}
	if err != nil || !strings.Contains(string(plain), ":") {
		return false
	}
	for _, c := range plain {
		if c < 0x20 || c == 0x7f {
			return false
		}
	}
	return true
}

// commandPassword refuses ports, paths and variables behind -p.
func commandPassword(value string) bool {
	return notPlaceholder(value) && !strings.ContainsAny(value[:1], "/.-") &&
		(len(value) > 5 || strings.Trim(value, "0123456789") != "")
}

// pairPassword tells a password behind an account and a slash from a path or a package: it
// has letters, digits and a mark.
func pairPassword(value string) bool {
	return farPassword(value) && hasDigit(value) &&
		strings.ContainsAny(value, "@#$!^&*") && !strings.ContainsAny(value, "?=") &&
		!packageVersion.MatchString(value) && len(FindPII(value)) == 0
}

var packageVersion = text.NewPattern(`^[a-z][a-z0-9._-]*@[v^~]?(?:[0-9]{1,2}|[0-9]+(?:\.[0-9A-Za-z-]+)+)$`)

func hasDigit(value string) bool {
	for i := range len(value) {
		if charClass(value[i]) == digitClass {
			return true
		}
	}
	return false
}

// doorCode tells the code of a lock from a number of doors.
func doorCode(value string) bool { return len(value) >= 4 || value[len(value)-1] == '#' }
