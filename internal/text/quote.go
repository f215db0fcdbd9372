package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// MinQuote is how many folded characters a quote needs, unless it is the whole
// message.
const MinQuote = 4

// VerifyQuote tells whether quote stands in text: folded, with traditional
// characters as simplified ones, it must occur in the text as one piece and
// have [MinQuote] characters, a letter or digit among them, unless it is the
// whole text. Quotation marks around the quote and an ellipsis at its end may
// be the model's own; an ellipsis inside joins nothing. A quote with a NUL stands in none:
// nobody can write one, and the database takes none.
func VerifyQuote(quote, text string) bool {
	if strings.ContainsRune(quote, 0) {
		return false
	}
	quote, text = quoteForm(quote), quoteForm(text)
	if standsIn(quote, text) {
		return true
	}
	trimmed := trimQuote(quote)
	return trimmed != quote && standsIn(trimmed, text)
}

func standsIn(quote, text string) bool {
	if quote == "" {
		return false
	}
	if quote == text {
		return true
	}
	return utf8.RuneCountInString(quote) >= MinQuote &&
		strings.ContainsFunc(quote, IsWord) && strings.Contains(text, quote)
}

// quoteForm is the form in which quotes are looked up. Models straighten and
// curl quotation marks as they please, so these are one.
func quoteForm(s string) string {
	return quoteMarks.Replace(Simplify(Fold(s)))
}

var quoteMarks = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'", "ʼ", "'")

// The marks that may surround a quote, opening and closing.
var surrounding = [...][2]string{
	{`"`, `"`}, {"'", "'"}, {"`", "`"}, {"「", "」"}, {"『", "』"}, {"«", "»"}, {"‹", "›"},
}

// trimQuote takes off one ellipsis and one pair of marks, in either order.
func trimQuote(s string) string {
	s = trimEllipsis(s)
	for _, m := range surrounding {
		if len(s) > len(m[0])+len(m[1]) && strings.HasPrefix(s, m[0]) && strings.HasSuffix(s, m[1]) {
			s = strings.TrimSpace(s[len(m[0]) : len(s)-len(m[1])])
			break
		}
	}
	return trimEllipsis(s)
}

func trimEllipsis(s string) string {
	if t := strings.TrimRight(s, "."); len(s)-len(t) >= 3 {
		return strings.TrimSpace(t)
	}
	if t := strings.TrimRight(s, "。"); len(s)-len(t) >= 3*len("。") {
		return strings.TrimSpace(t)
	}
	return s
}

func IsWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// Excerpt returns the beginning of text on one line, at most n characters long,
// with an ellipsis as the last of them when something was cut off. It cuts
// between words where one ends near, and never inside a character that is made
// of several code points.
func Excerpt(text string, n int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if n <= 0 {
		return ""
	}
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	end, left := 0, n-1 // of the bytes that fit, and the characters that still do
	for rest, state := text, -1; rest != ""; {
		var piece string
		piece, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if left -= utf8.RuneCountInString(piece); left < 0 {
			break
		}
		end += len(piece)
	}
	before, _ := utf8.DecodeLastRuneInString(text[:end])
	after, _ := utf8.DecodeRuneInString(text[end:])
	if IsSpaced(before) && IsSpaced(after) { // inside a word of a script that writes spaces
		if i := strings.LastIndexByte(text[:end], ' '); i > 0 && end-i <= longestWord && i > end/2 {
			end = i
		}
	}
	return strings.TrimRight(text[:end], " ") + "…"
}

// longestWord is how many bytes of a word may be given up to end before it.
const longestWord = 24

// IsSpaced tells whether r is a letter or digit of a script that puts spaces
// between words: all but Han, kana and the scripts of South-East Asia.
func IsSpaced(r rune) bool {
	if r < 0x80 {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) {
		return false
	}
	return !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
