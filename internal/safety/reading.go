package safety

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"reverie/internal/text"
)

// readings returns the ways in which a model may read a text, folded, so that the rules can try each. They are the
// text itself, which is first; with lookalike letters and digits replaced; without marks between letters; backwards
// or rotated, if that gives words of orders; and with encoded text decoded.
func readings(body string) []string {
	folded := closeHan(text.Simplify(text.FoldCase(body)))
	list := []string{folded}
	add := func(s string) {
		if s != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	bare := folded
	if strings.ContainsFunc(folded, mayDisguise) {
		bare = disguises().letters.Replace(dropMarks(folded))
		add(bare)
	}
	if dealt(bare) {
		add(dealtHan.ReplaceAllStringFunc(bare, onlyLetters))
	}
	if strings.ContainsAny(bare, "0134578@$") && digitInWord.MatchString(bare) {
		add(digitInWord.ReplaceAllStringFunc(bare, asLetters))
	}
	found := disguises().words.Find(folded)
	if found.Has(0) {
		r := []rune(folded)
		slices.Reverse(r)
		add(string(r))
	}
	if found.Has(1) {
		add(strings.Map(rot13, folded))
	}
	add(decoded(body))
	return list
}

// dealtHan matches Chinese with a mark after every character.
var dealtHan = text.NewPattern(`(?:\p{Han}[^\p{Han}\p{Latin}\p{Nd}]){3,}\p{Han}`)

// dealt reports whether the text may hold such Chinese.
func dealt(s string) bool {
	n, before := 0, ' '
	for _, r := range s {
		if r >= text.FirstHan && r <= text.LastHan && !(before >= text.FirstHan && before <= text.LastHan) {
			n++
		}
		before = r
	}
	return n >= 4
}

func onlyLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, s)
}

// findBroken returns the first order in text whose words are split into letters, "" if there is none. The other
// rules find whole words.
func findBroken(s string) string {
	folded := text.FoldCase(s)
	var letters strings.Builder
	var places []int // the byte in folded of each byte of letters
	for i, r := range folded {
		if r >= 'a' && r <= 'z' {
			letters.WriteByte(byte(r))
			places = append(places, i)
		}
	}
	at, start := rulesOf()[classBroken].findAt(letters.String())
	if at == "" {
		return ""
	}
	first, last := places[start], places[start+len(at)-1]
	piece := folded[first : last+1]
	for word := range strings.FieldsFuncSeq(piece, func(r rune) bool { return r < 'a' || r > 'z' }) {
		if !slices.Contains(disguises().whole, word) {
			return piece
		}
	}
	return ""
}

// mayDisguise reports whether there may be a plainer form of a rune: for marks on letters, and for scripts and
// symbols with letters like the Latin ones.
func mayDisguise(r rune) bool {
	return r >= 0x131 && r < 0x590 || r >= 0x1D00 && r < 0x1DC0 || r >= 0x1F130 && r <= 0x1F189 || r >= 0x1F1E6 && r <= 0x1F1FF || r >= 0xA720 && r < 0xA800
}

// dropMarks removes the marks of Latin letters (ṉ, o̶) and turns boxed letters into letters.
func dropMarks(s string) string {
	before := 'x'
	return norm.NFC.String(strings.Map(func(r rune) rune {
		switch {
		case r >= 0x1F130 && r <= 0x1F149:
			r = 'a' + r - 0x1F130
		case r >= 0x1F150 && r <= 0x1F169:
			r = 'a' + r - 0x1F150
		case r >= 0x1F170 && r <= 0x1F189:
			r = 'a' + r - 0x1F170
		case r >= 0x1F1E6 && r <= 0x1F1FF:
			r = 'a' + r - 0x1F1E6
		case unicode.Is(unicode.Mn, r) && (before < 0x250 || unicode.Is(unicode.Mn, before)):
			return -1
		}
		before = r
		return r
	}, norm.NFD.String(s)))
}

// digitInWord matches a word with digits between its letters, as in 1gn0r3.
var digitInWord = text.NewPattern(`[0-9@$]{0,2}[a-z]+[0134578@$!]+[a-z0-9@$!]*|\b[0134578@$]+[a-z][a-z0-9@$!]*`)

// asLetters replaces the digits of a word by letters. A1 is too short to be a disguise.
func asLetters(word string) string {
	if len(word) < 3 {
		return word
	}
	return disguises().digits.Replace(word)
}

// disguise holds the tables that uncover hidden orders.
type disguise struct {
	letters, digits *strings.Replacer // lookalikes of letters, and digits that stand for letters
	words           *text.Keywords    // 0: words of orders backwards, 1: rotated by 13 letters
	whole           []string          // words that the rules of class broken are made of
}

const classBroken = "broken"

var disguises = sync.OnceValue(func() disguise {
	file := disguiseFile()
	return disguise{replacer(file.Lookalikes), replacer(file.Digits), text.NewKeywords([][]string{file.Backwards, file.Rotated}),
		strings.Fields(file.Whole)}
})

// replacer replaces lookalikes by their letters.
func replacer(alike map[string]string) *strings.Replacer {
	var pairs []string
	for letter, others := range alike {
		for _, r := range others {
			pairs = append(pairs, string(r), letter)
		}
	}
	return strings.NewReplacer(pairs...)
}

func rot13(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return 'a' + (r-'a'+13)%26
	}
	return r
}

var (
	base64Blob = text.NewPattern(`[A-Za-z0-9+/_-]{16,}={0,2}`)
	hexBlob    = text.NewPattern(`\b(?:[0-9a-fA-F]{2}[ :]?){12,}`)
	binaryBlob = text.NewPattern(`\b(?:[01]{8}[ ,]?){4,}`)
	notHex     = text.NewPattern(`[^0-9A-Fa-f]+`)
)

// findEncoded returns the first piece of text that hides other text: base64, hexadecimal, escapes or bits that
// decode to words, and Morse. No memory needs them.
func findEncoded(s string) string {
	if at := rulesOf()[RuleEncoded].find(s); at != "" {
		return at
	}
	at, _ := decodeBlob(s)
	return at
}

func decoded(s string) string {
	_, words := decodeBlob(s)
	return closeHan(text.Simplify(text.Fold(words)))
}

// decodeBlob returns a piece of text that decodes to words, and the words.
func decodeBlob(text string) (blob, words string) {
	if !hasRun(text, 16) {
		return "", ""
	}
	for _, blob := range base64Blob.FindAllString(text, -1) {
		raw := strings.TrimRight(blob, "=")
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if b, err := encoding.DecodeString(raw); err == nil && readable(b) {
				return blob, string(b)
			}
		}
	}
	for _, blob := range hexBlob.FindAllString(text, -1) {
		if b, err := hex.DecodeString(notHex.ReplaceAllString(blob, "")); err == nil && readable(b) {
			return blob, string(b)
		}
	}
	for _, blob := range binaryBlob.FindAllString(text, -1) {
		var b []byte
		for _, bits := range strings.FieldsFunc(blob, func(r rune) bool { return r == ' ' || r == ',' }) {
			if n, err := strconv.ParseUint(bits, 2, 8); err == nil {
				b = append(b, byte(n))
			}
		}
		if readable(b) {
			return blob, string(b)
		}
	}
	return "", ""
}

// hasRun reports whether text has a run of n characters of base64, or of 2n bits or hexadecimal digits, whose
// separators do not count.
func hasRun(text string, n int) bool {
	run, digits := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
			run, digits = run+1, digits+1
		case c >= 'g' && c <= 'z', c >= 'G' && c <= 'Z', c == '+', c == '/', c == '-', c == '_':
			run, digits = run+1, 0
		case c == ' ' || c == ':' || c == ',':
			run = 0
		default:
			run, digits = 0, 0
		}
		if run >= n || digits >= 2*n {
			return true
		}
	}
	return false
}

// readable reports whether bytes are text: mostly letters, and no control characters.
func readable(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	letters, all := 0, 0
	for _, r := range string(b) {
		if all++; unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Co, r) {
			return false
		}
		if unicode.IsLetter(r) || r == ' ' {
			letters++
		}
	}
	return all >= 4 && 10*letters >= 8*all
}

// closeHan removes spaces, middle dots and strokes between two Han characters, which would hide them from the
// rules.
func closeHan(s string) string {
	if !strings.ContainsAny(s, " ·•*_|-~^`") {
		return s
	}
	in := []rune(s)
	out := make([]rune, 0, len(in))
	for i := 0; i < len(in); {
		end := i
		for end < len(in) && strings.ContainsRune(" ·•*_|-~^`", in[end]) {
			end++
		}
		closes := end < len(in) && len(out) > 0 && unicode.Is(unicode.Han, in[end]) && unicode.Is(unicode.Han, out[len(out)-1])
		if !closes {
			out = append(out, in[i:end]...)
		}
		if end < len(in) {
			out = append(out, in[end])
		}
		i = end + 1
	}
	return string(out)
}

// findInstruction returns the first piece of a text that instructs the reading model, "" if there is none. The
// caller must have applied [text.Normalize].
//
// The rules know common phrases, not intentions. They are one of several safeguards: memories are also marked as
// data wherever a model sees them.
func findInstruction(s string) string {
	if at := findInReadings(rulesOf()[RuleInstruction], s); at != "" {
		return at
	}
	return findBroken(s)
}

// findSuspicious returns the first piece of a text that may plant trust, rights, payment details or consent, "" if
// there is none. Such a text can also be true of a group.
func findSuspicious(s string) string { return findInReadings(rulesOf()[RuleSuspicious], s) }

func findInReadings(of *rules, s string) string {
	for _, reading := range readings(s) {
		if at := of.find(reading); at != "" {
			return at
		}
	}
	return ""
}
