package answer

import (
	"strings"

	"reverie/internal/text"
)

// marker is what may stand before an object at the start of a line: a bullet or
// a number, and a backtick or two.
var marker = text.NewPattern("^(?:(?:[-*+•·‣▪◦]|\\(?[0-9]{1,4}(?:[.)]|[、．）]))[ \\t\u3000]*)?`{0,2}[ \\t]*")

// opening returns the offset of the object or array that starts at pos, behind
// a marker where pos starts a line; -1 if there is none. An array counts only if
// it holds objects: "[1] see above" is prose.
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

// mayMark rules out most lines of prose by their first byte.
func mayMark(c byte) bool {
	return c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("-*+(`", c) >= 0
}

// opensObject tells whether an object starts at pos, the start of a line.
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

// fence skips a line that opens or closes a code block, with whatever is said
// beside the marks. Only an object on the same line is left to be read.
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

// fencedObject is a fence with an object behind it, as in ```json {"a":1}```; its
// group ends before the object. An attribute list such as ```{.json} is none.
var fencedObject = text.NewPattern("^((?:`{3,}|~{3,})[ \\t]*[A-Za-z0-9]*[ \\t]*(?:\\[[ \\t]*)?)[{｛][^.#]")
