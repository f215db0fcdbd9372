package safety

import (
	"slices"
	"strings"
	"sync"

	"reverie/internal/text"
)

// FindPII returns e-mail addresses and phone numbers in text, by position and without overlaps. Names are not
// found, since they have no shape of their own. Numbers that identify a person or pay for that person are secrets:
// see [FindSecrets].
func FindPII(text string) []Finding {
	found := lookForPII(nil, text)
	if r := newReading(text); r != nil {
		for _, f := range lookForPII(nil, r.text) {
			f.Start, f.End = r.original(f.Start, f.End)
			found = append(found, f)
		}
	}
	return withoutOverlaps(found)
}

// piiReach is the number of bytes around an @ that may belong to an address.
const piiReach = 254

// piiFile holds the expressions, and the words that distinguish other numbers from phone numbers.
type piiFile struct {
	Email, Account string
	Phone          []string
	Units, Names   []string
}

type piiRules struct {
	piiFile
	email, account, phone *text.Pattern
}

var piiShapes = sync.OnceValue(func() (r piiRules) {
	readFile("pii", &r.piiFile)
	r.email, r.account = text.NewPattern(r.Email), text.NewPattern(r.Account)
	r.phone = text.NewPattern(`\A(?:` + strings.Join(r.Phone, "|") + `)`)
	return r
})

func lookForPII(found []located, text string) []located {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			break
		}
		from := max(at, at+i-piiReach)
		part := text[from:min(len(text), at+i+piiReach)]
		next := at + i + 1
		if !hasDomain(text[next:]) {
			at = next
			continue
		}
		if m := piiShapes().email.FindStringIndex(part); m != nil && !accountOfHost(part, m) && !inAddress(text[max(0, from+m[0]-piiReach):from+m[0]]) {
			found = append(found, located{Finding{"email", from + m[0], from + m[1]}, 0})
			next = max(next, from+m[1])
		}
		at = next
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '+' && c != '(' && (c < '0' || c > '9') || i > 0 && continues(text[i-1]) {
			continue
		}
		m := piiShapes().phone.FindStringIndex(text[i:min(len(text), i+40)])
		if m != nil && isPhone(text, i, i+m[1]) {
			found = append(found, located{Finding{"phone", i, i + m[1]}, 1})
			i += m[1] - 1
		}
		if c >= '0' && c <= '9' {
			for i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9' {
				i++
			}
		}
	}
	return found
}

// hasDomain reports whether a text may begin with a domain: the domain of an address has a dot.
func hasDomain(text string) bool {
	for i := range min(len(text), piiReach) {
		if c := text[i]; c == '.' {
			return i > 0
		} else if !isASCIIWord(c) && c != '-' {
			return false
		}
	}
	return false
}

// continues reports whether a match beside c is part of a longer number, a word or an address.
func continues(c byte) bool {
	return isASCIIWord(c) || strings.IndexByte("._-/=#$@%&+(", c) >= 0
}

// accountOfHost recognises git@github.com:… and root@10.0.0.5, which are no addresses of people.
func accountOfHost(part string, m []int) bool {
	address := part[m[0]:m[1]]
	return strings.HasPrefix(address, "git@") || strings.HasPrefix(part[m[1]:], ":/") || !strings.ContainsAny(address[strings.IndexByte(address, '@'):], ".")
}

// inAddress reports whether the account of a host follows, not a person's address. It does in
// http://user@example.com, and after a user name and a colon.
func inAddress(before string) bool {
	m := piiShapes().account.FindStringSubmatch(before)
	return m != nil && !strings.EqualFold(m[1], "mailto")
}

// isPhone checks the digits of a phone number and the text around it. It refuses the beginning of something longer,
// prices and counts.
func isPhone(text string, start, end int) bool {
	digits := 0
	for i := start; i < end; i++ {
		if text[i] >= '0' && text[i] <= '9' {
			digits++
		}
	}
	if digits < 8 || digits > 15 {
		return false
	}
	rest := text[end:]
	if rest != "" && (isASCIIWord(rest[0]) || strings.IndexByte("_-/@%=:", rest[0]) >= 0 && len(rest) > 1 && isASCIIWord(rest[1]) ||
		(rest[0] == '.' || rest[0] == ',') && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9') {
		return false
	}
	if slices.ContainsFunc(piiShapes().Units, func(unit string) bool { return strings.HasPrefix(rest, unit) }) {
		return false
	}
	before := strings.TrimRight(text[max(0, start-numberName):start], " :：#号是")
	return !slices.ContainsFunc(piiShapes().Names, func(name string) bool { return strings.HasSuffix(before, name) })
}
