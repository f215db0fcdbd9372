package answer

import (
	"strings"

	"reverie/internal/text"
)

const thoughtNames = `(?:think|thinking|thought|reasoning)`

var (
	thoughtTag   = text.NewPattern(`^(?i:<(/?)` + thoughtNames + `[ \t]*>)`)
	thoughtClose = text.NewPattern(`</(?i:` + thoughtNames + `)[ \t]*>`)
)

// isTag tells whether s starts with a tag of a thought, opening or closing.
func isTag(s string) bool {
	return strings.HasPrefix(s, "<") && thoughtTag.MatchString(s[:min(len(s), 40)])
}

// thought skips the block whose tag stands here. A closing tag on its own makes
// everything before it a thought.
func (r *reader) thought() bool {
	rest := r.src[r.pos:]
	if !strings.HasPrefix(rest, "<") {
		return false
	}
	tag := thoughtTag.FindStringSubmatchIndex(rest[:min(len(rest), 40)])
	switch {
	case tag == nil || !r.fresh && tag[2] == tag[3]: // an opening tag counts at the start of a line
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

// closesThought looks for a closing tag in a line that is not an object, and
// moves behind it.
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

// forget drops what was read so far: it was thought, not said.
func (r *reader) forget() {
	r.drop(0, ReasonThought)
	r.cutHead = -1
	r.wraps = nil
}

// comment skips the comment that stands here. An object inside one is not meant.
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

// block skips a comment with an end of its own.
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
