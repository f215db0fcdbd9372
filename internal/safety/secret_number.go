package safety

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"time"
)

// findNumbers appends numbers that are secret and can be verified: payment cards, Chinese identity numbers, bank
// accounts (IBAN), American social security numbers, and private keys of wallets.
func findNumbers(found []located, text string) []located {
	for i := 0; i < len(text); i++ {
		if !isASCIIWord(text[i]) {
			continue
		}
		end := i + 1
		for end < len(text) && isASCIIWord(text[end]) {
			end++
		}
		for _, look := range [...]func(string, int, int) (string, int){identity, card, socialSecurity, iban, walletKey} {
			if rule, to := look(text, i, end); rule != "" {
				found = append(found, located{Finding{rule, i, to}, 0})
				end = to
				break
			}
		}
		i = end - 1
	}
	return found
}

// identity recognises a Chinese identity number: place, birthday, sequence number and check digit.
func identity(text string, i, end int) (string, int) {
	n := text[i:end]
	if len(n) != 18 || !is("identity", n) {
		return "", 0
	}
	if _, err := time.Parse("20060102", n[6:14]); err != nil {
		return "", 0
	}
	// GB 11643-1999: the sum of each digit by its weight, modulo 11.
	sum := 0
	for j, w := range [...]int{7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2} {
		sum += int(n[j]-'0') * w
	}
	if "10X98765432"[sum%11] != strings.ToUpper(n[17:])[0] {
		return "", 0
	}
	return "national-id", end
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// card recognises a payment card: 13 to 19 digits with a network's prefix and a Luhn check digit, in one row or in
// groups. It takes the longest such number at i, since more groups may follow.
func card(text string, i, end int) (rule string, ends int) {
	if !allDigits(text[i:end]) || i > 0 && strings.ContainsRune(".-_/:=#@&!", rune(text[i-1])) && !cardAhead(text, i) {
		return "", 0
	}
	if i > 0 && text[i-1] == ':' && strings.HasPrefix(text[end:], ">") { // an emoji of a chat: <:name:…>
		return "", 0
	}
	var number [19]byte
	n := 0
	for at, first := i, i; ; at, first = at+1, at+1 {
		for ; at < len(text) && text[at] >= '0' && text[at] <= '9'; at++ {
			if n == len(number) {
				return rule, ends
			}
			number[n] = text[at]
			n++
		}
		if first > i && at-first < 2 {
			return rule, ends
		}
		if n >= 13 && isCard(text, i, at, string(number[:n])) {
			rule, ends = "bank-card", at
		}
		if at+1 >= len(text) || text[at] != ' ' && text[at] != '-' || text[at+1] < '0' || text[at+1] > '9' || at-first < 4 && n > 4 {
			return rule, ends
		}
	}
}

// isCard reports whether the digits of text[i:to] are a card number.
func isCard(text string, i, to int, digits string) bool {
	return (to == len(text) || !isASCIIWord(text[to]) && text[to] != '-' && text[to] != '_') &&
		cardNetwork(digits) && luhn(digits) && (to-i == len(digits) || is("cardGroups", text[i:to])) &&
		!numberOfElse(text[max(0, i-numberName):i])
}

// cardAhead reports whether the mark before a number allows a card number, as in "card:4111…" or "card #4111…".
func cardAhead(text string, i int) bool { return strings.ContainsRune(":=#", rune(text[i-1])) }

// numberName is the number of bytes before a number that may say what the number is.
const numberName = 30

// numberOfElse reports whether the words before a number call it an order, a parcel or the like. One such number in
// ten passes Luhn's check by chance.
func numberOfElse(before string) bool {
	before = strings.ToLower(before)
	at := -1
	for _, w := range readSecrets().NumberOf {
		at = max(at, strings.LastIndex(before, w))
	}
	return at >= 0 && !strings.Contains(before[at:], "卡") && !strings.Contains(before[at:], "card") && !strings.ContainsAny(before[at:], ".。，;；\n")
}

// cardNetwork reports whether a number has the prefix and the length of a network's cards.
func cardNetwork(number string) bool {
	for _, n := range readSecrets().Card {
		if begins := number[:len(n.First)]; begins >= n.First && begins <= n.Last {
			return slices.Contains(n.Lengths, len(number))
		}
	}
	return false
}

// luhn is the check of ISO/IEC 7812-1. Numbers that repeat one digit, or few digits, fail.
func luhn(n string) bool {
	sum := 0
	for i := range len(n) {
		d := int(n[len(n)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0 && distinct(n) > 1
}

// socialSecurity recognises 123-45-6789, except numbers that are never issued.
func socialSecurity(text string, i, end int) (string, int) {
	to := i + 11
	if end-i != 3 || to > len(text) || text[end] != '-' || i > 0 && strings.IndexByte("-.+", text[i-1]) >= 0 ||
		to < len(text) && (isASCIIWord(text[to]) || text[to] == '-') {
		return "", 0
	}
	if n := text[i:to]; !is("ssn", n) || is("ssnNever", n) {
		return "", 0
	}
	return "ssn", to
}

// iban recognises a bank account number of ISO 13616, in one row or in groups of four, by its check digits.
func iban(text string, i, end int) (string, int) {
	if end-i < 4 || !upper(text[i]) || !upper(text[i+1]) || !allDigits(text[i+2:i+4]) {
		return "", 0
	}
	n, to := text[i:end], end
	if len(n) == 4 {
		rest := strings.ReplaceAll(text[end:min(len(text), end+48)], "_", ".") // an underscore ends a group
		groups := valueTests()["ibanGroups"].FindString(rest)
		n, to = n+strings.ReplaceAll(groups, " ", ""), end+len(groups)
	}
	for ; len(n) >= 15; n, to = n[:len(n)-4], to-5 { // words in capitals may follow
		if len(n) <= 34 && mod97(n) {
			return "iban", to
		}
		if end-i != 4 || len(n) < 19 {
			break
		}
	}
	return "", 0
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

func mod97(n string) bool {
	rest := 0
	for _, c := range []byte(n[4:] + n[:4]) {
		switch {
		case c >= '0' && c <= '9':
			rest = rest*10 + int(c-'0')
		case upper(c):
			rest = rest*100 + int(c-'A') + 10
		default:
			return false
		}
		rest %= 97
	}
	return rest == 1
}

// walletKey recognises a Bitcoin key in the wallet import format: 51 or 52 characters of base 58.
func walletKey(text string, i, end int) (string, int) {
	n := text[i:end]
	if len(n) != 51 && len(n) != 52 || !strings.Contains("5KL9c", n[:1]) || strings.ContainsAny(n, "0OIl") || !random(n) {
		return "", 0
	}
	return "wallet-key", end
}

// seedText is the word list of wallets' seed phrases; its first line names its source.
//
//go:embed seedwords.txt
var seedText string

var seedWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for line := range strings.Lines(seedText) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			words[line] = true
		}
	}
	return words
})

// seedPhrase is the number of consecutive words of the list that make a seed phrase. Sentences have fewer: the list
// has no "the", "and", "of" or "to".
const (
	seedPhrase   = 12
	seedDistinct = 8 // minimum number of different words, since a word that is repeated is not a phrase
)

// findSeedPhrases appends seed phrases of wallets: rows of words from the list, separated by spaces, commas,
// numbers or line breaks.
func findSeedPhrases(found []located, text string) []located {
	if len(text) < seedPhrase*4 {
		return found
	}
	row, start, end := 0, 0, 0
	different := make([]string, 0, seedDistinct) // the first different words of the row
	flush := func() {
		if row >= seedPhrase && len(different) == seedDistinct {
			found = append(found, located{Finding{"seed-phrase", start, end}, 0})
		}
		row, different = 0, different[:0]
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			from := i
			for i < len(text) && (text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z') {
				i++
			}
			if i-from < 3 || i-from > 8 || !seedWords()[strings.ToLower(text[from:i])] {
				flush()
				continue
			}
			if row == 0 {
				start = from
			}
			if row, end = row+1, i; len(different) < seedDistinct && !slices.Contains(different, text[from:i]) {
				different = append(different, text[from:i])
			}
		case c == ' ' || c == ',' || c == '\n' || c == '\r' || c == '\t' || c == '.' || c == ')' || c >= '0' && c <= '9':
			i++
		default:
			flush()
			i++
		}
	}
	flush()
	return found
}
