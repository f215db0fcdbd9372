package safety

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Rule is a reason to refuse a statement.
type Rule string

// The rules of statements, in the order in which they are checked.
const (
	RuleNotUTF8     Rule = "not_utf8"
	RuleEmpty       Rule = "empty"       // only space, punctuation and invisible characters
	RuleTooLong     Rule = "too_long"    // more than reverie.MaxStatement characters
	RuleControl     Rule = "control"     // control characters, including line breaks and tabs
	RuleInvisible   Rule = "invisible"   // invisible characters: zero-width, bidirectional, tags
	RuleSecret      Rule = "secret"      // see FindSecrets
	RulePII         Rule = "pii"         // see FindPII, and Privacy
	RuleLink        Rule = "link"        // addresses, links and images
	RuleMarkup      Rule = "markup"      // tags, roles, code fences, headings
	RuleEncoded     Rule = "encoded"     // text in base64, escapes, bits, Morse
	RuleInstruction Rule = "instruction" // instructs the model that will read it
	RuleSuspicious  Rule = "suspicious"  // may plant trust, rights, payment details or exceptions
)

// StatementError names the rule that a statement breaks. Its Detail may quote the statement, but never a secret. It
// is an [reverie.ErrInvalid].
type StatementError struct {
	Rule   Rule
	Detail string
}

func (e *StatementError) Error() string {
	return fmt.Sprintf("statement refused (%s): %s", e.Rule, e.Detail)
}

// Doubtful reports whether the statement breaks only [RuleSuspicious]. It could be true of the group, so it is held
// for a person where that is possible.
func (e *StatementError) Doubtful() bool { return e.Rule == RuleSuspicious }

// Malformed reports whether the form of the statement is wrong (empty, too long), not its content.
func (e *StatementError) Malformed() bool {
	return e.Rule == RuleNotUTF8 || e.Rule == RuleEmpty || e.Rule == RuleTooLong
}

// Is makes errors.Is(err, ErrInvalid) true.
func (e *StatementError) Is(target error) bool { return target == reverie.ErrInvalid }

// CheckStatement refuses what may not become a memory: what [CheckSummary] refuses, and a text with a masked
// secret. A fact without its secret says nothing.
func CheckStatement(s string) error {
	if at := mask.FindString(s); at != "" {
		return &StatementError{RuleSecret, fmt.Sprintf("it holds what looks like a secret (%s): leave it out", at[len(maskOpen):len(at)-1])}
	}
	return CheckSummary(s)
}

// CheckSummary refuses what may not become a summary memory. A memory is read back into prompts for years, so it
// must be plain text about the group. It has one line, only visible characters, and no links, markup, secrets, or
// instructions to the model. Its errors are *[StatementError].
func CheckSummary(s string) error {
	if err := checkCharacters(s); err != nil {
		return err
	}
	body := text.Normalize(s)
	switch {
	case !strings.ContainsFunc(body, carriesMeaning):
		return &StatementError{RuleEmpty, "it says nothing: give it words"}
	case len(FindSecrets(body)) > 0:
		return &StatementError{RuleSecret, fmt.Sprintf("it holds what looks like a secret (%s): leave it out", FindSecrets(body)[0].Rule)}
	}
	for _, look := range refusals {
		if at := look.find(body); at != "" {
			return &StatementError{look.rule, fmt.Sprintf(look.says, text.Excerpt(at, detailLength))}
		}
	}
	return nil
}

// Instructs reports whether a text instructs the model that will read it.
func Instructs(s string) bool { return findInstruction(text.Normalize(s)) != "" }

// refusals are the searches for forbidden content, in the order in which they are tried.
var refusals = [...]struct {
	rule Rule
	find func(string) string
	says string
}{
	{RuleLink, findLink, "it holds the link %q: say in words what is meant"},
	{RuleMarkup, findMarkup, "it holds the markup %q: write plain text"},
	{RuleEncoded, findEncoded, "%q hides text: write it in words"},
	{RuleInstruction, findInstruction, "%q reads like an instruction to a model: state what the group does or thinks"},
	{RuleSuspicious, findSuspicious, "%q may be there to lead a model astray: a person has to decide"},
}

// detailLength is the number of characters of a statement that an error quotes.
const detailLength = 60

// checkCharacters applies the rules that look at single characters.
func checkCharacters(s string) error {
	if !utf8.ValidString(s) {
		return &StatementError{RuleNotUTF8, "it is not valid UTF-8"}
	}
	if n := utf8.RuneCountInString(s); n > reverie.MaxStatement {
		return &StatementError{RuleTooLong, fmt.Sprintf("it has %d characters, at most %d are kept: shorten it", n, reverie.MaxStatement)}
	}
	if s != "" && !strings.ContainsFunc(s, carriesMeaning) {
		return &StatementError{RuleEmpty, "it says nothing: give it words"}
	}
	var before rune
	flag := 0 // runes of a flag that are still to come
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		if flag == 0 && r > 0xE0000 {
			flag = text.FlagTags(before, s[i:])
		}
		switch {
		case flag > 0:
			flag--
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return &StatementError{RuleControl, fmt.Sprintf("it holds the control character %U: write one line of text", r)}
		case text.IsInvisible(r) && !text.IsPlaced(before, r, after), unicode.Is(unicode.Co, r), r == '\u2800':
			return &StatementError{RuleInvisible, fmt.Sprintf("it holds the invisible character %U: write visible text", r)}
		}
		before = r
	}
	return nil
}

// carriesMeaning reports whether a rune is a letter, digit or symbol (an emoji can be a statement), not space or
// punctuation.
func carriesMeaning(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.S) && !text.IsInvisible(r)
}
