package safety

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"

	"reverie/internal/text"
)

// secretRule recognises one kind of secret. The head of the file explains the keys.
type secretRule struct {
	Name        string
	Keywords    []string // lower case; the expression is tried if one of them occurs
	Expr        string
	Group       int    // the capturing group of the secret, 0 for the whole match
	Valid, Gate string // names of functions in secretTests, "" for none
	Back        int    // bytes before its keyword at which a match can begin; 0: it begins with the keyword
	Next        string // what must follow the keyword after white space
	Inside      bool
	Trim        string
	UnlessGroup int      `toml:"unless_group"`
	UnlessIs    []string `toml:"unless_is"`
	UnlessHas   []string `toml:"unless_has"`

	re    *text.Pattern
	valid func(value string) bool // nil: the shape is proof enough

	// gate checks cheaply whether the text around a keyword can hold a value. It avoids most expressions, which cost a
	// hundred times as much. nil: always.
	gate func(around string) bool
}

// secretTests are the functions that the file names, for values and for the text around a keyword.
var secretTests = map[string]func(string) bool{
	"":     nil,
	"code": code, "commandPassword": commandPassword, "credentials": credentials, "doorCode": doorCode,
	"farPassword": farPassword, "givenPassword": givenPassword, "hasDigit": hasDigit, "loginPassword": loginPassword, "looseToken": looseToken,
	"mixed": mixed, "plainPassword": plainPassword, "plainPhrase": plainPhrase, "hanPassword": hanPassword, "notPlaceholder": notPlaceholder, "notPort": notPort,
	"pairPassword": pairPassword, "random": random,
	"spokenPassword": spokenPassword, "spokenToken": spokenToken, "strongPassword": strongPassword,
	"hasASCII": hasASCII, "hasMark": hasMark, "namesBefore": namesBefore, "namesPassword": namesPassword, "namesValue": namesValue,
}

// secretFile is the file of rules for secrets.
type secretFile struct {
	Terms, Tests map[string]string
	NumberOf     []string `toml:"number_of"`
	Rule         []secretRule
	Card         []struct {
		Network, First, Last string
		Lengths              []int
	}
}

var readSecrets = sync.OnceValue(func() (file secretFile) {
	readFile("secrets", &file)
	return file
})

// valueTests are the expressions that values are tested with.
var valueTests = sync.OnceValue(func() map[string]*text.Pattern {
	tests := map[string]*text.Pattern{}
	for name, expr := range readSecrets().Tests {
		tests[name] = text.NewPattern(expr)
	}
	return tests
})

// is reports whether a value passes a named test of the file.
func is(test, value string) bool { return valueTests()[test].MatchString(value) }

// secretRules returns the rules of the file, in its order.
func secretRules() []secretRule {
	file := readSecrets()
	terms := newTerms(file.Terms)
	for i := range file.Rule {
		r := &file.Rule[i]
		if r.Keywords[0] == "(discord)" {
			r.Keywords = discordStarts()
		}
		expr := terms.Replace(r.Expr)
		if r.Back == 0 {
			expr = `\A(?:` + expr + `)`
		}
		r.re, r.valid, r.gate = text.NewPattern(expr), secretTest(r.Valid), secretTest(r.Gate)
	}
	return file.Rule
}

// vetoed reports whether a match m of text[at:] contains something that excludes it.
func (r *secretRule) vetoed(text string, at int, m []int) bool {
	if r.UnlessGroup == 0 {
		return false
	}
	found := text[at+m[2*r.UnlessGroup] : at+m[2*r.UnlessGroup+1]]
	return slices.Contains(r.UnlessIs, strings.ToLower(found)) ||
		slices.ContainsFunc(r.UnlessHas, func(w string) bool { return strings.Contains(found, w) })
}

func secretTest(name string) func(string) bool {
	test, ok := secretTests[name]
	if !ok {
		panic(fmt.Sprintf("the rules for secrets name %q, which is no test", name))
	}
	return test
}

// notPort rejects the port or path after a host, which is no password.
func notPort(value string) bool { return !is("portAndPath", value) }

// discordStarts returns the first four characters that a bot token can have: it begins with the base64 of its id,
// which consists of digits.
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

// credentials recognises the base64 of name:password. It rejects an ordinary word after "basic".
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

// commandPassword rejects ports, paths and variables after -p.
func commandPassword(value string) bool {
	return notPlaceholder(value) && !strings.ContainsAny(value[:1], "/.-") &&
		(len(value) > 5 || strings.Trim(value, "0123456789") != "")
}

// pairPassword recognises a password after an account and a slash: it has letters, digits and a mark. Paths and
// packages do not.
func pairPassword(value string) bool {
	return farPassword(value) && hasDigit(value) &&
		strings.ContainsAny(value, "@#$!^&*") && !strings.ContainsAny(value, "?=") &&
		!is("packageVersion", value) && len(FindPII(value)) == 0
}

func hasDigit(value string) bool {
	for i := range len(value) {
		if charClass(value[i]) == digitClass {
			return true
		}
	}
	return false
}

// doorCode recognises the code of a lock and rejects a number of doors.
func doorCode(value string) bool { return len(value) >= 4 || value[len(value)-1] == '#' }
