package answer

import (
	"strings"
	"unicode/utf8"
)

// reader walks over an answer, outside its objects.
type reader struct {
	src     string
	pos     int  // what comes next
	fresh   bool // nothing but white space between the start of the line and pos
	stopped bool // a bound was reached

	work  int // steps left to the scanner, which keeps the whole linear
	count counter
	res   Result

	row     int   // line number of the last object taken
	rowHead int   // index of the first object of that line
	cutHead int   // index of the first object after one that was cut off in a string; -1 without
	wraps   []int // ends of the wrapper objects around pos
}

// The scanner may look at each byte a few times: once for each object around
// it, and for what follows each quote. Far more than any honest answer needs.
const (
	workPerByte = 16
	workAtLeast = 1 << 20
)

func newReader(src string) *reader {
	return &reader{src: src, fresh: true, cutHead: -1, work: workPerByte*len(src) + workAtLeast}
}

// step reads one thing: an object, a remark, a fence, or a line of prose.
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
	r.prose()
}

// between skips white space, and what stands between objects: commas, the ends
// of arrays and wrappers, a closing brace too many, the end of a code span.
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

// object reads the object at offset at, and says what is next.
func (r *reader) object(at int) {
	if r.full() {
		return
	}
	f := r.find(at)
	switch {
	case f.reason == ReasonTangled && f.end == 0:
		r.skip(at, f.reason, r.src[at:])
		r.stopped = true
	case f.reason == "" && f.inner > at:
		r.wraps = append(r.wraps, f.end)
		r.pos, r.fresh = f.inner, false
	case f.reason == "":
		r.take(at, f)
		r.pos, r.fresh = f.end, false
	case f.end > at: // its extent is known: what follows is not affected
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

// take adds an object to the result.
func (r *reader) take(at int, f finding) {
	no := r.count.at(r.src, at)
	if no != r.row {
		r.row, r.rowHead = no, len(r.res.Lines)
	}
	r.res.Lines = append(r.res.Lines, Line{No: no, Object: f.object, Repaired: f.repaired})
}

// resume moves from an object without an end to the next line that starts one.
// Lines indented further than the object belong to it.
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

// prose skips the rest of the line. Inside a wrapper it is the wrapper's other
// keys, and skipped with them.
func (r *reader) prose() {
	for n := len(r.wraps); n > 0; n = len(r.wraps) {
		end := r.wraps[n-1]
		r.wraps = r.wraps[:n-1]
		if end > r.pos {
			r.pos, r.fresh = end, false
			return
		}
	}
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

// isTail tells whether prose looks like the end of an object rather than a
// sentence: it closes more than it opens, and it holds a quote.
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

// distrust drops the objects that a tail puts in doubt: those of the line that
// it ends, which may be pieces of a string with quotes in it, and those since a
// string that never ended, which may be quoted in that string.
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

// skip reports a part that was not used.
func (r *reader) skip(at int, reason, text string) {
	if len(r.res.Skipped) >= MaxLines {
		reason, r.stopped = ReasonTooMany, true
	}
	r.res.Skipped = append(r.res.Skipped, Skip{No: r.count.at(r.src, at), Reason: reason, Excerpt: excerpt(text)})
}

// full stops the reader when the answer holds as many objects as it may.
func (r *reader) full() bool {
	if len(r.res.Lines) < MaxLines {
		return false
	}
	r.skip(r.pos, ReasonTooMany, r.src[r.pos:])
	r.stopped = true
	return true
}

// counter finds line numbers, for offsets that only rise.
type counter struct{ pos, no int }

// at returns the 1-based number of the line that holds the offset. Lines end
// with \n, \r\n or \r, as editors count.
func (c *counter) at(src string, offset int) int {
	offset = max(offset, c.pos)
	part, more := src[c.pos:offset], src[c.pos:min(len(src), offset+1)]
	c.no += strings.Count(part, "\n") + strings.Count(part, "\r") - strings.Count(more, "\r\n")
	c.pos = offset
	return c.no + 1
}
