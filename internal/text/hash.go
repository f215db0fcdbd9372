package text

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ContentHash identifies what a statement says, independent of its spelling: "v1:" and the hex SHA-256 of its
// canonical form. Statements with the same hash are the same statement. Statements that mean the same may have
// different hashes: a missed duplicate costs a comparison, a wrong one costs a memory. A change of the form needs a
// new prefix and new hashes for stored statements. The exception is a change that only separates forms that were
// the same: for stored statements, it costs a comparison.
//
// The form is [Fold] and [Simplify], without spaces and sentence punctuation. These stay, since they carry meaning:
//
//   - one space between words of scripts that need it ("now here", "12 30")
//   - a comma between Chinese numerals (二、三十 is not 二三十), and after a negation (不，去 is not 不去)
//   - symbols (C#, C++, 50%, 5€, emoji)
//   - dots and colons inside numbers and names (3.5, 3:00, node.js)
//   - signs, ranges and hyphens (-5, 3-5, e-mail), and apostrophes (we're)
//   - feet and inches (5', 5″), unless a quote may end with the number
func ContentHash(statement string) string {
	sum := sha256.Sum256([]byte(canonical(statement)))
	return "v1:" + hex.EncodeToString(sum[:])
}

// SummaryHash is the content hash of a session's summary. It includes the session, so that two sessions may have
// the same summary.
func SummaryHash(sessionID, statement string) string {
	sum := sha256.Sum256([]byte(sessionID + "\x00" + canonical(statement)))
	return "v1:" + hex.EncodeToString(sum[:])
}

// canonical returns the text that is hashed.
func canonical(statement string) string {
	folded := Simplify(Fold(splitNumbers(strings.ToValidUTF8(statement, "\uFFFD"))))
	c := canon{in: []rune(folded), open: map[rune]int{}}
	for c.at = 0; c.at < len(c.in); c.at++ {
		c.step()
	}
	if c.out.Len() == 0 {
		return folded // only punctuation: such texts are not all the same
	}
	return c.out.String()
}

// splitNumbers keeps NFKC from joining numbers: 10² is not 102, and 5½ is 5 1/2.
func splitNumbers(s string) string {
	if !strings.ContainsFunc(s, isSmallFigure) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case isSuperscript(r):
			b.WriteString("^" + string(r))
		case isSmallFigure(r):
			b.WriteString(" " + string(r) + " ")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isSmallFigure reports whether r is a superscript, fraction, circled or parenthesised number, or a day, month or
// hour in one character (㏤, ㋄, ㍝). Subscripts are not: H₂O is H2O.
func isSmallFigure(r rune) bool {
	switch {
	case r <= 0x7F, r >= 0x2080 && r <= 0x2089:
		return false
	case r >= 0x32C0 && r <= 0x32CB, r >= 0x3358 && r <= 0x3370, r >= 0x33E0 && r <= 0x33FE:
		return true
	}
	return unicode.Is(unicode.No, r)
}

func isSuperscript(r rune) bool {
	return r == '¹' || r == '²' || r == '³' || r >= '⁰' && r <= '⁹'
}

// canon writes the canonical form of folded text.
type canon struct {
	in  []rune
	at  int
	out strings.Builder

	last   rune         // last rune written, 0 at the start
	gap    bool         // something was dropped since last
	quotes []rune       // closing marks of the open quotes
	open   map[rune]int // number of open quotes by closing mark
}

// step handles the rune at c.at.
func (c *canon) step() {
	r := c.in[c.at]
	switch {
	case IsWord(r), unicode.IsMark(r):
		c.word(r)
	case r == ' ':
		c.gap = true
	case isDash(r):
		c.dash()
	case r == '.':
		c.points()
	case isPercent(r), r == '°':
		c.gap = false // 50 % is 50%
		c.write(r)
	case isPrime(r) && !c.carries(r):
		c.prime(r)
	case c.carries(r):
		c.symbol(plainSymbol(r))
	default:
		c.drop(r)
	}
}

// prime keeps the marks of feet, inches, minutes or seconds after a number, and drops quotes. A mark after a number
// that can close an open quote counts as its end.
func (c *canon) prime(r rune) {
	if mark := plainPrime(r); r != '′' && c.open[mark] > 0 {
		for closed := false; !closed; {
			last := len(c.quotes) - 1
			closed = c.quotes[last] == mark
			c.open[c.quotes[last]]--
			c.quotes = c.quotes[:last]
		}
		c.drop(r)
		return
	}
	opens := r == '“' || r == '‘'
	if opens || !unicode.IsDigit(c.peek(-1)) {
		if opens || !IsSpaced(c.peek(-1)) {
			c.quotes = append(c.quotes, plainPrime(r))
			c.open[plainPrime(r)]++
		}
		c.drop(r)
		return
	}
	if r == '′' && c.peek(1) == '′' { // folding turns ″ into two ′
		c.at++
		r = '″'
	}
	c.symbol(plainPrime(r))
}

// word writes a letter or digit. It first writes a space or comma if the rune would otherwise join the previous
// word or number.
func (c *canon) word(r rune) {
	if c.gap && isHanNumeral(c.last) && isHanNumeral(r) {
		c.write(',')
	}
	if IsSpaced(r) && (c.gap && IsSpaced(c.last) || isPercent(c.last)) {
		c.write(' ')
	}
	c.write(r)
}

// symbol writes a symbol. A space on one side shows to which side it belongs (A+ B, A +B) and stays; spaces on both
// sides mean the same as none.
func (c *canon) symbol(r rune) {
	before := c.gap || c.last == 0
	after := c.peek(1) == ' ' || c.peek(1) == 0
	if before && !after && IsSpaced(c.last) {
		c.write(' ')
	}
	c.write(r)
	if after && !before {
		if next := c.nextVisible(); IsSpaced(next) {
			c.write(' ')
		}
	}
}

// points keeps the dot of a number or name (3.5, .net, node.js) and the dots of a range (1..5), and drops full
// stops and ellipses.
func (c *canon) points() {
	n := 1
	for c.peek(n) == '.' {
		n++
	}
	before, after := c.peek(-1), c.peek(n)
	c.at += n - 1
	switch {
	case n == 1 && IsSpaced(after):
		c.symbol('.')
	case n > 1 && unicode.IsDigit(before) && unicode.IsDigit(after):
		c.write('.')
		c.write('.')
	default:
		c.drop('.')
	}
}

// dash keeps signs, ranges and hyphens. It drops the dash of a sentence, which is doubled, or has spaces around it
// and no number after it.
func (c *canon) dash() {
	n := 1
	for isDash(c.peek(n)) {
		n++
	}
	before, after := c.peek(-1), c.peek(n)
	if n > 1 {
		c.at += n - 1
		if IsSpaced(before) || !IsSpaced(after) || !isHyphen(c.in[c.at]) {
			c.gap = true
			return
		}
		c.symbol('-') // an option: --force
		return
	}
	left, right := before != ' ' && before != 0, after != ' ' && after != 0
	next := c.nextVisible()
	switch {
	case left && right, left && IsSpaced(before) && isHyphen(c.in[c.at]):
		c.symbol('-')
	case unicode.IsDigit(next), isHanNumeral(next), unicode.Is(unicode.Sc, next), right && isHyphen(c.in[c.at]) && (IsSpaced(after) || after == '.'):
		c.symbol('-')
	default:
		c.gap = true
	}
}

// drop skips sentence punctuation, except a comma on which a negation depends.
func (c *canon) drop(r rune) {
	c.gap = true
	if strings.ContainsRune(",，、。.;!?:", r) && c.endsInNegation() && IsWord(c.nextVisible()) {
		c.write(',')
	}
}

// endsInNegation reports whether the text so far ends in a negating word (没有, cannot). Joined with the next word,
// it would mean something else.
func (c *canon) endsInNegation() bool {
	text := c.out.String()
	for _, word := range [...]string{"no", "not", "never", "cannot"} {
		if rest, ends := strings.CutSuffix(text, word); ends {
			if r, _ := utf8.DecodeLastRuneInString(rest); rest == "" || !IsSpaced(r) {
				return true
			}
		}
	}
	_, size := utf8.DecodeLastRuneInString(text)
	before, _ := utf8.DecodeLastRuneInString(text[:len(text)-size])
	return strings.ContainsRune("不没别否非无未勿甭莫毋冇唔", c.last) || strings.ContainsRune("不没未莫毋", before) || strings.HasSuffix(text, "n't")
}

// carries reports whether the mark or symbol at c.at carries meaning there.
func (c *canon) carries(r rune) bool {
	before, after := c.peek(-1), c.peek(1)
	switch r {
	case ',', '٫', '٬':
		return unicode.IsDigit(before) && unicode.IsDigit(after)
	case ':':
		return unicode.IsDigit(before) && unicode.IsDigit(after) || after == ':' || before == ':'
	case '\'', '’', 'ʼ', '‘', '"', '″', '′':
		return IsSpaced(before) && IsSpaced(after)
	case '!':
		return after == '=' || IsSpaced(after) && (before == ' ' || before == 0)
	case '*', '_':
		return IsWord(before) && IsWord(after) || unicode.IsDigit(before) || unicode.IsDigit(after)
	case '/', '⁄', '\\', '&', '@', '#', '§', '†', '‡', '※', '‱':
		return true
	case '~', '〜':
		return IsWord(after)
	case '`', '´', '¨', '¯', '¸':
		return false
	default:
		return unicode.IsSymbol(r)
	}
}

func (c *canon) write(r rune) {
	c.out.WriteRune(r)
	c.last, c.gap = r, false
}

// peek returns the rune d places from c.at, 0 outside the text.
func (c *canon) peek(d int) rune {
	if i := c.at + d; i >= 0 && i < len(c.in) {
		return c.in[i]
	}
	return 0
}

// nextVisible returns the next rune that is not a space, 0 at the end.
func (c *canon) nextVisible() rune {
	if next := c.peek(1); next != ' ' {
		return next
	}
	return c.peek(2) // white space is folded to one
}

// plainSymbol unifies symbols that differ only in shape.
func plainSymbol(r rune) rune {
	switch r {
	case '’', 'ʼ', '‘', '′':
		return '\''
	case '″':
		return '"'
	case '⁄':
		return '/'
	case '〜':
		return '~'
	default:
		return r
	}
}

// isPrime reports whether r may mark feet or inches; it may be a quote as well.
func isPrime(r rune) bool { return strings.ContainsRune("'‘’ʼ′\"“”″", r) }

// plainPrime returns ' or " for the variants of the marks of feet and inches, which may also close a quote.
func plainPrime(r rune) rune {
	if strings.ContainsRune("\"“”″", r) {
		return '"'
	}
	return '\''
}

func isHanNumeral(r rune) bool {
	return strings.ContainsRune("零〇一二两三四五六七八九十百千万亿", r)
}

func isPercent(r rune) bool { return r == '%' || r == '‰' }

// isHyphen reports whether r is a short dash, which may be part of a word (A-, -v).
func isHyphen(r rune) bool { return r == '-' || r == '‐' || r == '‑' || r == '−' }

func isDash(r rune) bool { return isHyphen(r) || r >= '‒' && r <= '―' }
