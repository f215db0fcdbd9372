package safety

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mixed recognises a random token: letters and digits, or letters of both cases out of order, and more than a few
// different ones.
func mixed(value string) bool {
	return notPlaceholder(value) && distinct(value) >= 8 && strings.ContainsFunc(value, unicode.IsLetter) &&
		(strings.ContainsFunc(value, unicode.IsDigit) || len(value) >= 20 && changes(value)*4 >= len(value))
}

// random recognises generated values. They change between letters and digits, or between cases, more often than
// words and years do.
func random(value string) bool { return mixed(value) && changes(value)*8 >= len(value) }

// changes counts the changes between letters and digits and between cases. A capital that begins a word counts as
// one change; dashes and dots do not count.
func changes(value string) int {
	n, last := 0, 0
	for i := range len(value) {
		class := charClass(value[i])
		if class == 0 {
			continue
		}
		if last != 0 && class != last && !(last == upperClass && class == lowerClass && capital(value, i-1)) {
			n++
		}
		last = class
	}
	return n
}

// The classes of characters that [changes] tells apart.
const (
	lowerClass = 1 + iota
	upperClass
	digitClass
)

func charClass(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return lowerClass
	case c >= 'A' && c <= 'Z':
		return upperClass
	case c >= '0' && c <= '9':
		return digitClass
	}
	return 0
}

// capital reports whether the letter at i begins a word.
func capital(s string, i int) bool { return i <= 0 || charClass(s[i-1]) != upperClass }

// spokenToken recognises a key that a text calls a key: mixed, and neither path nor address.
func spokenToken(value string) bool {
	return len(value) >= 12 && mixed(value) && !strings.Contains(value, "://") && !strings.HasPrefix(value, "/") && !is("callOrIndex", value) &&
		(random(value) || !strings.ContainsAny(value, ":/"))
}

// looseToken recognises a key at some distance from its name: it must be random.
func looseToken(value string) bool {
	return len(value) >= 16 && random(value) && !strings.Contains(value, "://") && !strings.HasPrefix(value, "/")
}

// spokenPassword distinguishes a password from the next word of the sentence, as in "the password is required". It
// has a digit, both cases, or a symbol inside.
func spokenPassword(value string) bool {
	if len(value) < 4 || !notPlaceholder(value) || is("callOrIndex", value) || !strings.ContainsFunc(value, alphanumeric) {
		return false
	}
	if strings.ContainsFunc(value, unicode.IsDigit) {
		return !is("lengthHint", value) && !is("commonWord", value)
	}
	if len(value) < 6 {
		return false
	}
	inner := strings.TrimRight(value, "!?~.…")[1:] // a mark at the end belongs to the sentence
	if inner == "" {
		return false
	}
	upper, lower := strings.ContainsFunc(inner, unicode.IsUpper), strings.ContainsFunc(inner, unicode.IsLower)
	return upper && lower || strings.ContainsAny(inner, "@#$%^&*+=!?~_") || strings.Count(value, "-") >= 2
}

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// strongPassword recognises a password where the text hardly says so: letters and digits, or letters and symbols.
func strongPassword(value string) bool {
	return spokenPassword(value) && strings.ContainsFunc(value, unicode.IsLetter) &&
		!strings.Contains(value, "://") && !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "@") && !is("fileName", value) && !is("product", value) &&
		!is("keyed", value)
}

// farPassword recognises a password at some distance from its name: a strong one with a digit or with a symbol that
// names do not have.
func farPassword(value string) bool {
	return strongPassword(value) && (hasDigit(value) || strings.ContainsAny(strings.TrimRight(value, "!?"), "@#$%^&*!?")) &&
		!strings.ContainsAny(value, "/`") && !strings.Contains(value, "](") && !strings.HasPrefix(value, "&")
}

// loginPassword distinguishes a password from a second nickname where people say how they log in.
func loginPassword(value string) bool {
	return farPassword(value) && !is("nickname", value) && !is("address", strings.ToLower(value))
}

// givenPassword recognises a password right after its name and a mark, or after a Chinese name of it: any word
// except those that people say about passwords.
func givenPassword(value string) bool {
	return spokenPassword(value) ||
		len(value) >= 4 && notPlaceholder(value) && !is("callOrIndex", value) && strings.ContainsFunc(value, unicode.IsLetter) && !is("aboutPasswords", value)
}

// plainPassword recognises a word given as a password at the end of a sentence, and rejects words that people say
// about passwords.
func plainPassword(value string) bool {
	return notPlaceholder(value) && !is("aboutPasswords", value)
}

// plainPhrase recognises words given as a password, and rejects words that people say about passwords.
func plainPhrase(value string) bool {
	words := strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '-' })
	return !slices.ContainsFunc(words, func(word string) bool { return is("aboutPasswords", word) })
}

// hanPassword recognises a Chinese word after a mark, and rejects words that people say about passwords.
func hanPassword(value string) bool { return !is("aboutHanPasswords", value) }

// code recognises digits given as a code, and rejects years and lengths.
func code(value string) bool { return !is("lengthHint", value) }

// notPlaceholder rejects placeholders of secrets: ****, <password>, ${TOKEN}, your-key-here.
func notPlaceholder(value string) bool {
	if strings.ContainsAny(value[:1], "<{[$%/") && is("placeholderStart", value) || is("placeholder", value) {
		return false
	}
	return distinct(value) > 1 || strings.ContainsFunc(value, unicode.IsDigit)
}

// distinct counts the different bytes of a value.
func distinct(value string) int {
	var seen [256]bool
	n := 0
	for i := range len(value) {
		if !seen[value[i]] {
			seen[value[i]] = true
			n++
		}
	}
	return n
}

// hasMark reports whether a text has a digit, a capital inside a word, or a mark that passwords have and sentences
// do not.
func hasMark(text string) bool {
	last := byte(' ')
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z' && last >= 'a' && last <= 'z':
			return true
		case c < utf8.RuneSelf && valueMarks[c], c == '-' && last != ' ' && last != '-':
			return true
		}
		last = c
	}
	return false
}

// namesBefore reports whether the words before a place can name a value as a password afterwards: "hunter2 is the
// password", 用hunter2登录.
func namesBefore(before string) bool {
	for _, w := range [...]string{" is ", " as ", " for ", " works ", "=", "是", "做", "作", "当", "为", "用", "拿", "输", "填", "敲", "（", "(", "【"} {
		if i := strings.Index(before, w); i >= 0 {
			return hasMark(before)
		}
	}
	return false
}

// valueMarks are the marks of [hasMark].
var valueMarks = func() (set [utf8.RuneSelf]bool) {
	for _, c := range `@#$%^&*+=!?~_"` + "`" {
		set[c] = true
	}
	return set
}()

// namesValue reports whether a mark that introduces a value closely follows a keyword.
func namesValue(text string) bool {
	text = text[:min(len(text), 48)]
	return strings.ContainsAny(text, ":=：→") || strings.Contains(text, "->")
}

// namesPassword reports whether a text names a password.
func namesPassword(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "pass") || strings.Contains(text, "pw") || strings.Contains(text, "密码") || strings.Contains(text, "口令")
}

// hasASCII reports whether a Chinese text has an ASCII letter or digit, quotes, or a Chinese number.
func hasASCII(text string) bool {
	for _, c := range text {
		if c < utf8.RuneSelf && isASCIIWord(byte(c)) || strings.ContainsRune("零〇一二三四五六七八九幺两“‘「『《", c) {
			return true
		}
	}
	return false
}
