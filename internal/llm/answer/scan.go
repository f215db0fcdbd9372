package answer

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"reverie/internal/text"
)

// want is what a scan expects next.
type want int

const (
	wantKey     want = iota // or the end of the object
	wantColon               //
	wantValue               // after a colon
	wantElement             // of an array, or its end
	wantComma               // or the end of the object or array
)

// scan reads one object that is not JSON, and decides where its strings and the
// object itself end. It writes the object anew, so that no repair can touch, add or lose a
// word.
type scan struct {
	src   string
	pos   int
	limit int // offset where the scan gives up

	stack []byte // of '{' and '['
	want  want
	bare  bool            // a key without quotes was seen
	out   json.RawMessage // the object, compact

	work     *int
	reason   string // why there is no object; "" as long as there may be one
	inString bool
}

// scan scans the object at offset at, up to its closing brace.
func (r *reader) scan(at int) *scan {
	s := &scan{src: r.src, pos: at, limit: min(len(r.src), at+MaxObject), work: &r.work}
	s.open('{')
	for s.reason == "" && len(s.stack) > 0 {
		s.next()
	}
	return s
}

// next takes one element.
func (s *scan) next() {
	newLine := s.blank()
	if s.spent() {
		return
	}
	c := structural(s.src[s.pos:])
	if newLine && s.atNewObject(s.pos) && !((c == '{' || c == '[') && (s.want == wantValue || s.want == wantElement)) {
		s.reason = ReasonCutOff
		return
	}
	first, _ := utf8.DecodeRuneInString(s.src[s.pos:])
	switch {
	case c == '{' || c == '[':
		s.opens(c)
	case c == '}' || c == ']':
		s.closes(c)
	case s.want == wantColon:
		s.colon()
	case isSeparator(first) && s.want != wantValue:
		s.want = wantKey // commas too many say nothing
		if s.top() == '[' {
			s.want = wantElement
		}
		s.pass()
	case s.wantsKey() && s.bentKey():
	case c != 0:
		s.reason = ReasonBroken
	case isQuote(first):
		s.quoted()
	default:
		s.word()
	}
}

// spent tells whether the scan is at its end without an object.
func (s *scan) spent() bool {
	*s.work--
	switch {
	case *s.work < 0:
		s.reason = ReasonTangled
	case s.pos < s.limit:
		return false
	case s.limit < len(s.src):
		s.reason = ReasonTooLong
	default:
		s.reason = ReasonCutOff
	}
	return true
}

// colon takes what stands between a key and its value.
func (s *scan) colon() {
	mark := equalSign.FindString(s.window(s.pos))
	if mark == "" {
		s.reason = ReasonBroken
		return
	}
	s.want = wantValue
	s.pos += len(mark)
}

// bentKey takes one of our keys that has a slip at its quotes or its colon.
func (s *scan) bentKey() bool {
	rest := s.window(s.pos)
	if !startsOurKey(rest) || isPlainKey(rest) {
		return false
	}
	for _, p := range bentKeys {
		if groups := p.FindStringSubmatchIndex(rest); groups != nil {
			s.text(rest[groups[4]:groups[5]], true)
			s.want = wantValue
			s.pos += groups[3]
			return true
		}
	}
	return false
}

// isPlainKey tells whether a key starts a text that needs no goodwill.
func isPlainKey(rest string) bool {
	if key := quotedKey.FindString(rest); key != "" {
		begin, _ := utf8.DecodeRuneInString(key)
		end, _ := utf8.DecodeRuneInString(key[strings.LastIndexFunc(key, isQuote):])
		return ends(begin, end)
	}
	return bareKey.MatchString(rest)
}

// startsBentKey tells whether a text is one of our keys with a slip.
func startsBentKey(rest string) bool {
	return startsOurKey(rest) && slices.ContainsFunc(bentKeys, func(p *text.Pattern) bool { return p.MatchString(rest) })
}

// top is the bracket that is open, 0 for none.
func (s *scan) top() byte {
	if len(s.stack) == 0 {
		return 0
	}
	return s.stack[len(s.stack)-1]
}

// opens takes an opening bracket. Between the elements of an array a comma may
// be missing.
func (s *scan) opens(c byte) {
	if s.want != wantValue && s.want != wantElement && (s.want != wantComma || s.top() != '[') {
		s.reason = ReasonBroken
		return
	}
	if len(s.stack) >= MaxDepth {
		s.reason = ReasonTooDeep
		return
	}
	s.open(c)
}

func (s *scan) open(c byte) {
	s.stack = append(s.stack, c)
	s.want = wantKey
	if c == '[' {
		s.want = wantElement
	}
	s.write(string(c))
	s.pass()
}

// closes takes a closing bracket, which must be the one that is due: a missing
// bracket in between is not made up.
func (s *scan) closes(c byte) {
	fits := c == '}' && s.top() == '{' && (s.want == wantKey || s.want == wantComma) ||
		c == ']' && s.top() == '[' && (s.want == wantElement || s.want == wantComma)
	if !fits {
		s.reason = ReasonBroken
		return
	}
	s.stack = s.stack[:len(s.stack)-1]
	s.want = wantComma
	s.out = append(s.out, c)
	s.pass()
}

// pass goes on behind the mark at pos, full width or not.
func (s *scan) pass() { s.pos += width(s.src[s.pos:]) }

// word takes what stands without quotes, up to punctuation or the end of the
// line: a key, a number, a literal, or text.
func (s *scan) word() {
	start := s.pos
	for s.pos < s.limit && structural(s.src[s.pos:]) == 0 && !s.atComment(s.pos) {
		c, size := utf8.DecodeRuneInString(s.src[s.pos:])
		if isBreak(c) || isQuote(c) && !betweenLetters(s.src, s.pos, size) || escapedBlank(s.src[s.pos:]) {
			break
		}
		if isSeparator(c) {
			if at, _ := s.ahead(s.pos + size); at < s.limit && s.afterComma(at) {
				break
			}
		}
		s.pos += size
		*s.work--
	}
	written := s.src[start:s.pos]
	text := strings.TrimFunc(written, isBlank)
	next, _ := utf8.DecodeRuneInString(s.src[s.pos:])
	switch {
	case s.want == wantValue && s.goesOn(next) && s.unopened(start):
	case isQuote(next) && text == strings.TrimLeftFunc(written, isBlank): // as in r"x" or x"
		s.reason = ReasonBroken
	case strings.Trim(text, ".…") == "": // dots stand for what was left out
		s.reason = ReasonBroken
	case strings.Contains(text, `\`) || strings.ContainsFunc(text, unicode.IsControl):
		s.reason = ReasonBroken
	case s.wantsKey():
		if !isName(text) {
			s.reason = ReasonBroken
			return
		}
		s.bare = true
		s.text(text, true)
	case isNumber(text):
		s.value(text)
	case isNumber(strings.TrimSuffix(strings.TrimPrefix(text, "+"), ".")): // +4 and 4.
		s.value(strings.TrimSuffix(strings.TrimPrefix(text, "+"), "."))
	case literals[text] != "":
		s.value(literals[text])
	default:
		s.text(text, false)
	}
}

// literals are the words that are not text, in JSON's spelling and Python's.
var literals = map[string]string{
	"true": "true", "false": "false", "null": "null",
	"True": "true", "False": "false", "None": "null",
	"TRUE": "true", "FALSE": "false", "NULL": "null", "undefined": "null",
}

// wantsKey tells whether what comes is a key; the comma before it may be missing.
func (s *scan) wantsKey() bool { return s.want == wantKey || s.want == wantComma && s.top() == '{' }

// write adds an element to the object, behind a comma where one is due.
func (s *scan) write(element string) {
	if n := len(s.out); n > 0 && strings.IndexByte("{[:", s.out[n-1]) < 0 {
		s.out = append(s.out, ',')
	}
	s.out = append(s.out, element...)
}

// value adds JSON that is no object or array.
func (s *scan) value(element string) {
	s.write(element)
	s.want = wantComma
}

// text adds a string, or a key.
func (s *scan) text(text string, isKey bool) {
	if isKey {
		text = strings.TrimFunc(text, isBlank)
	}
	s.value(string(quote(nil, text)))
	if isKey {
		s.out, s.want = append(s.out, ':'), wantColon
	}
}

const (
	doubleQuotes = "\"“”„‟＂"
	singleQuotes = "'‘’‚‛＇"
	otherQuotes  = "`«»「」『』"
)

// isQuote tells whether a character can delimit a string.
func isQuote(c rune) bool { return strings.ContainsRune(doubleQuotes+singleQuotes+otherQuotes, c) }

// closing are the quotes that another one alone can end.
var closing = map[rune]rune{'"': '"', '\'': '\'', '`': '`', '«': '»', '»': '«', '「': '」', '『': '』'}

// ends tells whether a quote can end what another one began. An ASCII quote
// ends with itself alone, since other quotes are text in it.
func ends(begin, c rune) bool {
	switch {
	case closing[begin] != 0:
		return c == closing[begin]
	case strings.ContainsRune(doubleQuotes, begin):
		return strings.ContainsRune(doubleQuotes, c)
	}
	return strings.ContainsRune(singleQuotes, c)
}

// betweenLetters tells whether the quote at pos is an apostrophe, as in don't.
func betweenLetters(src string, pos, size int) bool {
	if c := src[pos]; c == '"' {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(src[:pos])
	after, _ := utf8.DecodeRuneInString(src[pos+size:])
	quote, _ := utf8.DecodeRuneInString(src[pos:])
	return strings.ContainsRune(singleQuotes, quote) && unicode.IsLetter(before) && unicode.IsLetter(after)
}

// quoted takes the string at pos. Raw line breaks may stand in it, and quotes
// that were not escaped, where only one reading is possible.
func (s *scan) quoted() {
	isKey := s.wantsKey()
	begin, size := utf8.DecodeRuneInString(s.src[s.pos:])
	s.pos += size
	s.string(begin, isKey)
}

// unopened takes the value at start as a string whose first quote is missing, as in "reason": she says so". It has
// to end on its line, and neither another quote nor one of our keys may stand in it.
func (s *scan) unopened(start int) bool {
	before := *s
	if s.pos = start; s.src[start] == '\\' && start+1 < s.limit && s.src[start+1] == '"' {
		s.pos += 2 // it is there, but escaped
	}
	s.string('"', false)
	read := s.src[start:s.pos]
	if s.reason == "" && !strings.Contains(strings.TrimSuffix(strings.ReplaceAll(read, `\"`, ""), `"`), `"`) &&
		!strings.ContainsAny(read, "\n\r") && !looseKey.MatchString(read) {
		return true
	}
	s.pos, s.want, s.out, s.reason, s.inString = before.pos, before.want, before.out, "", false
	return false
}

// goesOn tells whether a value without quotes cannot end before the mark at pos.
func (s *scan) goesOn(next rune) bool {
	if structural(s.src[s.pos:]) == ',' {
		at, _ := s.ahead(s.pos + width(s.src[s.pos:]))
		return at < s.limit && !s.afterComma(at)
	}
	return s.pos < s.limit && (isQuote(next) || strings.IndexByte("[]{:", structural(s.src[s.pos:])) >= 0)
}

// string takes the rest of a string, behind the quote that begins it.
func (s *scan) string(begin rune, isKey bool) {
	var text strings.Builder
	inner := 0            // quotes that turned out to be text
	first, last := -1, -1 // where in the text they are
	for !s.spent() {
		c, size := utf8.DecodeRuneInString(s.src[s.pos:])
		switch {
		case c != begin && s.endsOtherwise(text.String, begin):
			s.finish(text.String(), begin, inner, first, last)
			return
		case c == '\\':
			s.escape(&text)
			continue
		case ends(begin, c) && !betweenLetters(s.src, s.pos, size):
			if isKey || s.endsValue(s.pos+size) {
				s.pos += size
				if !isKey && inner > 0 && s.top() == '[' {
					s.reason = ReasonAmbiguous // ["a", "b"] could be one string or two
				}
				if isKey {
					s.text(text.String(), true)
				} else {
					s.finish(text.String(), begin, inner, first, last)
				}
				return
			}
			if inner++; inner == 1 {
				first = text.Len()
			}
			last = text.Len()
			if c != '“' && c != '‘' && s.endsElse(s.pos+size) {
				s.reason = ReasonAmbiguous
				return
			}
		case isBreak(c):
			if s.atNewObject(s.pos+size) || isTag(s.src[skipIndent(s.src, s.pos+size):]) {
				s.reason, s.inString = ReasonCutOff, true
				return
			}
		}
		text.WriteRune(c)
		s.pos += size
	}
	s.inString = true
}

// finish adds a string whose inner quotes were not escaped. One too many at an end of it is a slip; where the text
// may as well be one in quotes, or 27" long, nobody can tell.
func (s *scan) finish(written string, begin rune, inner, first, last int) {
	atStart, atEnd := inner > 0 && first == 0, inner > 0 && last == len(written)-1
	if begin == '\'' && atStart && atEnd {
		s.reason = ReasonAmbiguous // ''two'' for one
	}
	if begin == '"' && (atStart || atEnd) {
		switch odd := strings.Count(written, `"`)%2 == 1; {
		case atStart && atEnd && (odd && inner > 1 || inner == 2), odd && atEnd && inches.MatchString(written):
			s.reason = ReasonAmbiguous
		case odd && atEnd:
			written = written[:last]
		case odd:
			written = written[1:]
		}
	}
	next, _ := s.ahead(s.pos)
	if s.top() == '{' && structural(s.src[next:]) == 0 { // a comma is missing: it may be in the text
		written = strings.TrimRight(written, ",，")
	}
	if swallows(written) {
		s.reason = ReasonAmbiguous
	}
	s.text(written, false)
}

// inches are a text that ends in a measure.
var inches = text.NewPattern(`(?:^|\s)[0-9.]+"$`)

// endsOtherwise takes a quote at pos that ends a text though it is escaped, or of another kind than the one that
// began it. One of our keys has to follow, and the quote must not be the end of what is quoted in the text.
func (s *scan) endsOtherwise(written func() string, begin rune) bool {
	size := 0
	switch rest := s.src[s.pos:]; {
	case begin != '"' || s.top() != '{':
		return false
	case strings.HasPrefix(rest, `\"`):
		size = 2
	case strings.HasPrefix(rest, "”"):
		size = len("”")
	default:
		return false
	}
	next, _ := s.ahead(s.pos + size)
	if first, _ := utf8.DecodeRuneInString(s.src[next:]); !isSeparator(first) {
		return false
	}
	next, _ = s.ahead(next + width(s.src[next:]))
	if rest := s.window(next); !startsBentKey(rest) {
		return false
	}
	text := written()
	if *s.work -= len(text); size == 2 && strings.Count(text, `"`)%2 == 1 || size == 3 && strings.ContainsAny(text, "“„") {
		return false
	}
	s.pos += size
	return true
}

// escape takes a backslash and what it escapes. A backslash that escapes nothing
// is text, as in C:\games or \alpha.
func (s *scan) escape(text *strings.Builder) {
	rest := s.src[s.pos:min(s.limit, s.pos+12)]
	c, size := utf8.DecodeRuneInString(rest[1:])
	switch {
	case c == 'u':
		if n := unicodeEscape(rest, text); n > 0 {
			s.pos += n
			return
		}
	case size > 0 && (isQuote(c) || c == '\\' || c == '/'):
		text.WriteRune(c)
		s.pos += 1 + size
		return
	case size > 0 && escapes[c] != 0:
		text.WriteByte(escapes[c])
		s.pos += 1 + size
		return
	}
	text.WriteByte('\\')
	s.pos++
}

var escapes = map[rune]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unicodeEscape takes \uXXXX, or two of them where they make one character, and
// returns their length, 0 if it is none. Half a pair becomes U+FFFD.
func unicodeEscape(rest string, text *strings.Builder) int {
	high, ok := hexUnit(rest)
	if !ok {
		return 0
	}
	if low, ok := hexUnit(rest[6:]); ok {
		if c := utf16.DecodeRune(high, low); c != unicode.ReplacementChar {
			text.WriteRune(c)
			return 12
		}
	}
	text.WriteRune(high)
	return 6
}

// hexUnit reads \uXXXX.
func hexUnit(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

// maxAhead bounds, in bytes, how far a scan looks ahead through a comment or for
// the end of a key.
const maxAhead = 256

// blank skips white space and comments, and tells whether a line ended.
func (s *scan) blank() (newLine bool) {
	for s.pos < s.limit {
		start := s.pos
		s.pos = skipEscaped(s.src[:s.limit], s.pos)
		if lineEnd(s.src[:s.pos], start) < s.pos {
			newLine = true
		}
		if s.pos >= s.limit || !s.atComment(s.pos) {
			break
		}
		s.pos = min(commentEnd(s.src, s.pos, s.limit), s.limit)
		*s.work -= s.pos - start
	}
	return newLine
}

// atComment tells whether a comment starts at pos, outside strings.
func (s *scan) atComment(pos int) bool {
	rest := s.src[pos:]
	return strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") ||
		rest[0] == '#' && (pos == 0 || strings.IndexByte(" \t\n\r,{[", s.src[pos-1]) >= 0)
}

// commentEnd returns the offset behind the comment at pos; limit if it has no
// end before.
func commentEnd(src string, pos, limit int) int {
	if !strings.HasPrefix(src[pos:], "/*") {
		return lineEnd(src[:limit], pos)
	}
	end := strings.Index(src[pos+2:limit], "*/")
	if end < 0 {
		return limit
	}
	return pos + 2 + end + 2
}

// atNewObject tells whether an object of its own starts at pos, the start of a
// line or later in it.
func (s *scan) atNewObject(pos int) bool { return opensObject(s.src, skipIndent(s.src, pos)) }

// endsValue tells whether a quote before pos ends a value: what follows is the
// punctuation that is due, and after a comma what is due then.
func (s *scan) endsValue(pos int) bool {
	next, remark := s.ahead(pos)
	if next >= s.limit {
		return !remark
	}
	first, _ := utf8.DecodeRuneInString(s.src[next:])
	switch c := structural(s.src[next:]); {
	case c == '}' || c == ']':
		return c == s.top()+2 // in ASCII, brackets close two characters after they open
	case isSeparator(first):
		for next < s.limit && isSeparator(first) {
			next, _ = s.ahead(next + width(s.src[next:]))
			first, _ = utf8.DecodeRuneInString(s.src[next:])
		}
		return next >= s.limit || s.afterComma(next)
	case c != 0:
		return false
	case !remark && strings.ContainsAny(s.src[pos:next], "\n\r") && s.atNewObject(next):
		return true // the object is cut off here, which the scan finds next
	}
	return s.top() == '{' && quotedKey.MatchString(s.window(next))
}

// afterComma tells whether what is due after a comma starts at pos.
func (s *scan) afterComma(pos int) bool {
	rest := s.window(pos)
	if s.top() == '[' {
		c := structural(rest)
		return c == '{' || c == '[' || c == ']' || elementStart.MatchString(rest)
	}
	return structural(rest) == '}' || quotedKey.MatchString(rest) || bareKey.MatchString(rest) ||
		s.bare && bareName.MatchString(rest) || startsBentKey(rest)
}

const (
	quotes = "[\"“”„‟＂'‘’‚‛＇`«»「」『』]"
	blanks = `[\s\x{3000}]*`
	name   = `[A-Za-z_$][A-Za-z0-9_$-]{0,63}`
)

var (
	// quotedKey is a short string without quotes or punctuation, and a colon.
	quotedKey = text.NewPattern(`^` + quotes + "[^\"“”„‟＂'‘’‚‛＇`«»「」『』:：,，{}\\[\\]\\\\\n\r]{0,64}" + quotes + blanks + `[:：]`)
	// bareKey is a name, a colon, and what can only start a value.
	bareKey = text.NewPattern(`^` + name + blanks + `[:：]` + blanks + `(?:` + quotes +
		`|[\[{［｛0-9-]|(?:true|false|null|True|False|None)\b)`)
	bareName     = text.NewPattern(`^` + name + blanks + `[:：]`)
	elementStart = text.NewPattern(`^(?:` + quotes + `|-?[0-9]|(?:true|false|null|True|False|None)\b)`)
	joined       = text.NewPattern(`^\+` + blanks + quotes)
	wholeName    = text.NewPattern(`^[\p{L}_$][\p{L}\p{N}_$-]{0,63}$`)
	wholeNumber  = text.NewPattern(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)
)

func isName(s string) bool   { return wholeName.MatchString(s) }
func isNumber(s string) bool { return wholeNumber.MatchString(s) }

// endsElse tells whether a quote before pos, which does not end the value that
// it stands in, may end something else: a key that the value has swallowed, or
// the first of two strings that are joined.
func (s *scan) endsElse(pos int) bool {
	next, _ := s.ahead(pos)
	return structural(s.src[next:]) == ':' || joined.MatchString(s.window(next))
}

// ahead looks past white space and comments, and tells whether there was a
// comment.
func (s *scan) ahead(pos int) (next int, remark bool) {
	for next = pos; next < s.limit; {
		next = skipEscaped(s.src[:s.limit], next)
		if next >= s.limit || !s.atComment(next) {
			break
		}
		remark = true
		bound := min(s.limit, next+maxAhead)
		next = commentEnd(s.src, next, bound)
		if next == bound {
			break
		}
	}
	*s.work -= next - pos
	return next, remark
}

// window is the text at pos, as far as one looks ahead.
func (s *scan) window(pos int) string {
	*s.work -= 16
	return s.src[pos:min(s.limit, pos+maxAhead)]
}
