package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MinQuote is the minimum number of folded characters of a quote that is not the whole message.
const MinQuote = 4

// VerifyQuote reports whether quote occurs in text. Both are folded and simplified. The quote must be contiguous
// and have [MinQuote] characters, including a letter or digit, unless it is the whole text. Quotation marks around
// it and an ellipsis at its end are ignored; an ellipsis inside does not join two parts. A quote with a NUL is
// refused: nobody can type one, and the database cannot store one.
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

// quoteForm is the form in which quotes are searched. It unifies quotation marks, since models change their style.
func quoteForm(s string) string {
	return quoteMarks.Replace(Simplify(Fold(s)))
}

var quoteMarks = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'", "ʼ", "'")

// Marks that may surround a quote, opening and closing.
var surrounding = [...][2]string{
	{`"`, `"`}, {"'", "'"}, {"`", "`"}, {"「", "」"}, {"『", "』"}, {"«", "»"}, {"‹", "›"},
}

// trimQuote removes one ellipsis and one pair of marks, in either order.
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

// Excerpt returns the beginning of text on one line, at most n characters long, including an ellipsis if text was
// cut off. It cuts between words if one ends nearby, and never inside a character of several code points.
func Excerpt(text string, n int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if n <= 0 {
		return ""
	}
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	end, count := 0, 0
	for i := range text {
		if count == n-1 {
			end = i
			break
		}
		count++
	}
	return strings.TrimRight(text[:cutBefore(text, end)], " ") + "…"
}

// longestWord is the maximum number of bytes that are given up to cut between words.
const longestWord = 24

// cutBefore moves a cut at byte end back to a place where text may be cut.
func cutBefore(text string, end int) int {
	if end > 0 && betweenLetters(text, end) {
		if i := strings.LastIndexByte(text[:end], ' '); i > 0 && end-i <= longestWord && i > end/2 {
			return i
		}
	}
	for end > 0 && !characterStarts(text, end) {
		_, size := utf8.DecodeLastRuneInString(text[:end])
		end -= size
	}
	return end
}

// betweenLetters reports whether the cut would split a word of a script with spaces.
func betweenLetters(text string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i:])
	return IsSpaced(before) && IsSpaced(after)
}

// characterStarts reports whether a new character begins at byte i, not a combining mark, joiner, selector or skin
// tone.
func characterStarts(text string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i:])
	switch {
	case before == zeroWidthJoiner, IsInvisible(after), unicode.IsMark(after):
		return false
	case after >= 0x1F3FB && after <= 0x1F3FF:
		return false
	default:
		return norm.NFKC.PropertiesString(text[i:]).BoundaryBefore()
	}
}

const zeroWidthJoiner = 0x200D

// IsSpaced reports whether r is a letter or digit of a script with spaces between words: all but Han, kana and the
// scripts of South-East Asia.
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
