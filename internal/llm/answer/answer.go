// Package answer parses the JSON Lines that a model answers with. All code that asks a model reads answers through
// it.
//
// Models decorate and damage JSON. The reader tolerates what is harmless: fences, bullets, labels, comments,
// thoughts, arrays, full-width punctuation, missing quotes around keys, stray commas, an answer that is escaped as
// a whole. It reports what it skipped. It never guesses at content, and returns nothing that the answer does not
// literally say. It skips an object that is cut off, that holds a key twice, or whose strings could be divided in
// more than one way. A text that contains the end of a string and one of the known keys never counts as a key.
//
// # What counts as a line
//
// An object counts if it starts a line, after indentation, a bullet, a number or a backtick. It also counts if it
// directly follows another object or an array's punctuation. An object with known keys also counts after other
// marks, a label, a tag, or an introduction at the start of an answer that ends in a colon, if nothing but marks
// follows. An object in the middle of a sentence is prose.
//
// # Thoughts
//
// A <think> block (also <thinking>, <thought>, <reasoning>) is dropped if its tag starts a line; a block without an
// end hides the rest of the answer. Some servers drop the opening tag. So a closing tag alone makes everything
// before it a thought, including drafted objects. Tags inside an object's strings are text.
package answer

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"reverie/internal/text"
)

// Bounds of what is read. The rest is reported as skipped.
const (
	MaxAnswer = 4 << 20  // bytes of an answer
	MaxObject = 64 << 10 // bytes of an object, as written and as returned
	MaxLines  = 10_000   // objects of an answer, and skips of an answer
	MaxDepth  = 32       // nesting of objects and arrays
)

// The reasons of a [Skip].
const (
	ReasonProse     = "prose"            // not JSON, or JSON inside a sentence
	ReasonCutOff    = "cut off"          // the object has no end; the reader never adds one
	ReasonBroken    = "broken"           // no JSON object, even when read leniently
	ReasonAmbiguous = "ambiguous"        // a key twice, or text that can be read in two ways
	ReasonSwallowed = "key in a text"    // a text that seems to contain the next key of its object
	ReasonTooLong   = "too long"         // beyond MaxAnswer or MaxObject
	ReasonTooDeep   = "too deep"         // beyond MaxDepth
	ReasonTooMany   = "too many"         // beyond MaxLines; nothing after it was read
	ReasonTangled   = "too tangled"      // not readable in linear time
	ReasonThought   = "thought"          // a thought without an end, or the text before a lone closing tag
	ReasonComment   = "unclosed comment" // hides the rest of the answer
	ReasonExample   = "example"          // repeats an example of the prompt
)

// Result is the content of an answer, in order.
type Result struct {
	Lines   []Line
	Skipped []Skip
}

// Line is one object of the answer.
type Line struct {
	No       int             // 1-based line of the answer where the object or its wrapper starts
	Object   json.RawMessage // one valid compact JSON object, without duplicate keys at any level, ignoring case
	Repaired bool            // the text in the answer was not valid JSON
}

// Skip is a part of the answer that was not used.
type Skip struct {
	No      int    // 1-based line of the answer where it starts
	Reason  string // one of the Reason constants
	Excerpt string // its beginning on one line, at most 120 visible characters
}

// Swallowed returns the lines in which a text contains one of the known keys, with a message for each. They count
// as answers: a chat in which somebody writes JSON must not stop its group.
func (r Result) Swallowed() (lines map[int]string) {
	lines = map[int]string{}
	for _, s := range r.Skipped {
		if s.Reason == ReasonSwallowed {
			lines[s.No] = "a text holds a quotation mark and then a key of the line: it can be read in two ways"
		}
	}
	return lines
}

// Read parses an answer. It never fails: unusable parts are in Skipped. Its time is linear in the length of any
// answer. Bytes that are not UTF-8 become U+FFFD.
//
// Do not read a response that the model did not finish. Its last object is cut off at best, and the missing part
// may change the meaning of the rest.
func Read(answer string) Result {
	src, rest := bound(strings.ToValidUTF8(answer, "\uFFFD"))
	r := newReader(src)
	for r.pos < len(r.src) && !r.stopped {
		r.step()
	}
	if rest != "" && !r.stopped {
		r.skip(len(src), ReasonTooLong, rest)
	}
	slices.SortStableFunc(r.res.Skipped, func(a, b Skip) int { return a.No - b.No })
	return r.res
}

// ReadTo parses the answer to a prompt. It skips a line that repeats an example line of the prompt: small models
// copy what they see.
func ReadTo(prompt, answer string) Result {
	res, shown := Read(answer), examplesOf(prompt)
	res.Lines = slices.DeleteFunc(res.Lines, func(l Line) bool {
		what := said(l)
		if what == "" || !shown[what] {
			return false
		}
		res.Skipped = append(res.Skipped, Skip{No: l.No, Reason: ReasonExample, Excerpt: excerpt(string(l.Object))})
		return true
	})
	slices.SortStableFunc(res.Skipped, func(a, b Skip) int { return a.No - b.No })
	return res
}

// examples are the example lines of a prompt.
type examples struct {
	prompt string
	said   map[string]bool
}

// lastExamples caches the examples of the last prompt: most groups have the same prompt.
var lastExamples atomic.Pointer[examples]

func examplesOf(prompt string) map[string]bool {
	if last := lastExamples.Load(); last != nil && last.prompt == prompt {
		return last.said
	}
	of := &examples{prompt, map[string]bool{}}
	for _, l := range Read(prompt).Lines {
		of.said[said(l)] = true
	}
	lastExamples.Store(of)
	return of.said
}

// said returns the hash of the text that a line would store, "" if it has none.
func said(l Line) string {
	var words struct{ Statement, Content, Summary string }
	_ = json.Unmarshal(l.Object, &words) // a value that is no text counts as empty
	body := words.Statement + words.Content + words.Summary
	if !strings.ContainsFunc(body, text.IsWord) {
		return ""
	}
	return text.ContentHash(body)
}

// bound divides an answer into the part that is read and the rest, between two lines if possible.
func bound(s string) (src, rest string) {
	if len(s) <= MaxAnswer {
		return s, ""
	}
	end := strings.LastIndexByte(s[:MaxAnswer], '\n') + 1
	return s[:end], s[end:]
}

// reader walks through an answer, outside its objects.
type reader struct {
	src     string
	pos     int  // offset of the next character
	fresh   bool // only white space is between the start of the line and pos
	stopped bool // a bound was reached
	depth   int  // nesting of texts inside texts

	work  int // remaining steps of the scanner, which keep the whole linear
	count counter
	res   Result

	row     int // line number of the last object taken
	rowHead int // index of the first object of that line
	cutHead int // index of the first object after one that was cut off in a string; -1: none
}

// The scanner may look at each byte a few times: once for each object around it, and for what follows each quote.
// This is far more than any well-meant answer needs.
const (
	workPerByte = 16
	workAtLeast = 1 << 20
)

func newReader(src string) *reader {
	return &reader{src: src, fresh: true, cutHead: -1, work: workPerByte*len(src) + workAtLeast}
}

// step reads one element: an object, a comment, a fence, or a line of prose.
func (r *reader) step() {
	r.between()
	if r.pos >= len(r.src) || r.thought() || r.comment() || r.fresh && r.fence() {
		return
	}
	if at := opening(r.src, r.pos, r.fresh); at >= 0 {
		if structural(r.src[at:]) == '{' {
			r.object(at)
			return
		}
		r.pos, r.fresh = at+width(r.src[at:]), false // an array, read element by element
		return
	}
	if !r.fresh || !r.quotedAnswer() && !r.lead() {
		r.prose()
	}
}

// between skips white space and what may be between objects: commas, ends of arrays and wrappers, a superfluous
// closing brace, the end of a code span.
func (r *reader) between() {
	for r.pos < len(r.src) {
		c, size := utf8.DecodeRuneInString(r.src[r.pos:])
		switch {
		case isBreak(c):
			r.fresh = true
		case isBlank(c):
		case strings.ContainsRune(",;，；}]｝］", c), c == '`' && !r.fresh:
			r.fresh = false
		default:
			return
		}
		r.pos += size
	}
}

// object reads the object at offset at, and decides how to continue.
func (r *reader) object(at int) {
	if r.full() {
		return
	}
	f := r.find(at)
	switch {
	case f.object != nil && r.nested(at, soleText(f.object)):
		r.pos, r.fresh = f.end, false
	case f.reason == ReasonTangled && f.end == 0:
		r.skip(at, f.reason, r.src[at:])
		r.stopped = true
	case f.reason == "":
		r.take(at, f.object, f.repaired)
		r.pos, r.fresh = f.end, false
	case f.reason != ReasonSwallowed && r.encoded(at, ""):
	case f.end == 0 && structural(r.src[skipBlank(r.src, at+width(r.src[at:])):]) == '{': // {{...}}
		r.pos, r.fresh = skipBlank(r.src, at+width(r.src[at:])), false
	case f.end > at: // its extent is known, so the rest is not affected
		r.skip(at, f.reason, r.src[at:f.end])
		r.pos, r.fresh = f.end, false
	default:
		if inner := wrapperOpening(r.src, at); inner > at {
			r.pos, r.fresh = inner, false
			return
		}
		r.skip(at, f.reason, r.src[at:])
		if f.inString && r.cutHead < 0 {
			r.cutHead = len(r.res.Lines)
		}
		r.resume(at)
	}
}

// take adds an object to the result, or the objects in a wrapper.
func (r *reader) take(at int, object json.RawMessage, repaired bool) {
	if inner := wrapped(object); inner != nil {
		for _, o := range inner {
			r.take(at, o, repaired)
		}
		return
	}
	if r.stopped || r.full() {
		return
	}
	no := r.count.at(r.src, at)
	if no != r.row {
		r.row, r.rowHead = no, len(r.res.Lines)
	}
	r.res.Lines = append(r.res.Lines, Line{No: no, Object: object, Repaired: repaired})
}

// resume continues after an object without an end, at the next line that starts an object. Lines indented further
// than the broken object belong to it.
func (r *reader) resume(at int) {
	column := at - lineStart(r.src, at)
	for pos := lineEnd(r.src, at); pos < len(r.src); pos = lineEnd(r.src, pos) {
		pos += width(r.src[pos:])
		start := skipIndent(r.src, pos)
		tag := isTag(r.src[start:]) || strings.HasPrefix(r.src[start:], "/*") || strings.HasPrefix(r.src[start:], "<!--")
		if tag || start-pos <= column && opensObject(r.src, start) {
			r.pos, r.fresh = start, true
			return
		}
	}
	r.pos = len(r.src)
}

// prose skips the rest of the line.
func (r *reader) prose() {
	text := r.src[r.pos:lineEnd(r.src, r.pos)]
	if r.closesThought(text) {
		return
	}
	r.skip(r.pos, ReasonProse, text)
	if isTail(text) && !(r.fresh && quotedKey.MatchString(text)) { // a key: only a brace is missing
		r.distrust()
	}
	r.pos += len(text)
}

// isTail reports whether prose looks like the end of an object, not like a sentence: it closes more brackets than
// it opens, and it contains a quote.
func isTail(text string) bool {
	depth, quote := 0, false
	for _, c := range text {
		switch structural(string(c)) {
		case '{':
			depth++
		case '}':
			depth--
		}
		quote = quote || isQuote(c)
		if depth < 0 && quote {
			return true
		}
	}
	return false
}

// distrust drops objects that a tail makes doubtful. These are the objects on its line, which may be pieces of a
// string with quotes in it. They are also the objects since a string without an end, which may be quoted in that
// string.
func (r *reader) distrust() {
	head := r.rowHead
	if r.cutHead >= 0 {
		head = min(head, r.cutHead)
	}
	r.drop(head, ReasonAmbiguous)
}

// drop turns the objects from index head on into skips.
func (r *reader) drop(head int, reason string) {
	head = min(head, len(r.res.Lines))
	for _, l := range r.res.Lines[head:] {
		r.res.Skipped = append(r.res.Skipped, Skip{No: l.No, Reason: reason, Excerpt: excerpt(string(l.Object))})
	}
	clear(r.res.Lines[head:])
	r.res.Lines = r.res.Lines[:head]
	r.row, r.rowHead = 0, head
}

// skip records a part that was not used.
func (r *reader) skip(at int, reason, text string) {
	if len(r.res.Skipped) >= MaxLines {
		reason, r.stopped = ReasonTooMany, true
	}
	r.res.Skipped = append(r.res.Skipped, Skip{No: r.count.at(r.src, at), Reason: reason, Excerpt: excerpt(text)})
}

// full stops the reader if the answer holds the maximum number of objects.
func (r *reader) full() bool {
	if len(r.res.Lines) < MaxLines {
		return false
	}
	r.skip(r.pos, ReasonTooMany, r.src[r.pos:])
	r.stopped = true
	return true
}

// counter computes line numbers of increasing offsets.
type counter struct{ pos, no int }

// at returns the 1-based number of the line that contains the offset. Lines end with \n, \r\n or \r, as in editors.
func (c *counter) at(src string, offset int) int {
	offset = max(offset, c.pos)
	part, more := src[c.pos:offset], src[c.pos:min(len(src), offset+1)]
	c.no += strings.Count(part, "\n") + strings.Count(part, "\r") - strings.Count(more, "\r\n")
	c.pos = offset
	return c.no + 1
}

// marker matches what may precede an object at the start of a line: a bullet or a number, and one or two backticks.
var marker = text.NewPattern("^(?:(?:[-*+•·‣▪◦]|\\(?[0-9]{1,4}(?:[.)]|[、．）]))[ \\t\u3000]*)?`{0,2}[ \\t]*")

// opening returns the offset of the object or array that starts at pos; at the start of a line, a marker may
// precede it. It returns -1 if there is none. An array counts only if it contains objects: "[1] see above" is
// prose.
func opening(src string, pos int, fresh bool) int {
	if structural(src[pos:]) == 0 {
		if !fresh || !mayMark(src[pos]) {
			return -1
		}
		pos += len(marker.FindString(src[pos:min(len(src), pos+32)]))
		if pos >= len(src) {
			return -1
		}
	}
	switch structural(src[pos:]) {
	case '{':
		return pos
	case '[':
		next := skipBlank(src, pos+width(src[pos:]))
		switch structural(src[next:]) {
		case '{', '[', ']':
			return pos
		}
		if next == len(src) || strings.HasPrefix(src[next:], "//") || strings.HasPrefix(src[next:], "/*") {
			return pos
		}
	}
	return -1
}

// mayMark excludes most lines of prose by their first byte.
func mayMark(c byte) bool {
	return c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("-*+(`", c) >= 0
}

// opensObject reports whether an object starts at pos, the start of a line.
func opensObject(src string, pos int) bool {
	if pos >= len(src) {
		return false
	}
	at := opening(src, pos, true)
	if at < 0 || structural(src[at:]) == '{' {
		return at >= 0
	}
	return structural(src[skipBlank(src, at+width(src[at:])):]) == '{'
}

// fence skips a line that opens or closes a code block, including other text on it. It leaves only an object on the
// same line to be read.
func (r *reader) fence() bool {
	rest := r.src[r.pos:]
	if !strings.HasPrefix(rest, "```") && !strings.HasPrefix(rest, "~~~") {
		return false
	}
	end := lineEnd(r.src, r.pos)
	if groups := fencedObject.FindStringSubmatchIndex(r.src[r.pos:end]); groups != nil {
		r.pos, r.fresh = r.pos+groups[3], false
		return true
	}
	r.pos = end
	return true
}

// fencedObject matches a fence followed by an object, as in ```json {"a":1}```; its group ends before the object.
// An attribute list such as ```{.json} does not match.
var fencedObject = text.NewPattern("^((?:`{3,}|~{3,})[ \\t]*[A-Za-z0-9]*[ \\t]*(?:\\[[ \\t]*)?)[{｛][^.#]")

const thoughtNames = `(?:think|thinking|thought|reasoning)`

var (
	thoughtTag   = text.NewPattern(`^(?i:<(/?)` + thoughtNames + `[ \t]*>)`)
	thoughtClose = text.NewPattern(`</(?i:` + thoughtNames + `)[ \t]*>`)
)

// isTag reports whether s starts with an opening or closing tag of a thought.
func isTag(s string) bool {
	return strings.HasPrefix(s, "<") && thoughtTag.MatchString(s[:min(len(s), 40)])
}

// thought skips the block whose tag is at pos. A lone closing tag makes everything before it a thought.
func (r *reader) thought() bool {
	rest := r.src[r.pos:]
	if !strings.HasPrefix(rest, "<") {
		return false
	}
	tag := thoughtTag.FindStringSubmatchIndex(rest[:min(len(rest), 40)])
	switch {
	case tag == nil || !r.fresh && tag[2] == tag[3]: // an opening tag must start a line
		return false
	case tag[2] < tag[3]: // a slash
		r.forget()
		r.pos += tag[1]
	default:
		end := thoughtClose.FindStringIndex(rest)
		if end == nil {
			r.skip(r.pos, ReasonThought, rest)
			r.pos = len(r.src)
			return true
		}
		r.pos += end[1]
	}
	r.fresh = true
	return true
}

// closesThought searches a line that is not an object for a closing tag, and moves behind it.
func (r *reader) closesThought(text string) bool {
	tag := thoughtClose.FindStringIndex(text)
	if tag == nil {
		return false
	}
	r.forget()
	r.pos += tag[1]
	r.fresh = true
	return true
}

// forget drops everything read so far, since it was a thought.
func (r *reader) forget() {
	r.drop(0, ReasonThought)
	r.cutHead = -1
}

// comment skips the comment at pos. An object inside it is not an answer.
func (r *reader) comment() bool {
	rest := r.src[r.pos:]
	switch {
	case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "#"):
		text := r.src[r.pos:lineEnd(r.src, r.pos)]
		if !r.closesThought(text) {
			r.pos += len(text)
		}
	case strings.HasPrefix(rest, "/*"):
		r.block(2, "*/")
	case strings.HasPrefix(rest, "<!--"):
		r.block(4, "-->")
	default:
		return false
	}
	return true
}

// block skips a comment that has an end mark.
func (r *reader) block(opening int, closing string) {
	rest := r.src[r.pos:]
	end := strings.Index(rest[opening:], closing)
	if end < 0 {
		r.skip(r.pos, ReasonComment, rest)
		r.pos = len(r.src)
		return
	}
	r.pos += opening + end + len(closing)
}
