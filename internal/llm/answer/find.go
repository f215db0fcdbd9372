package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// finding is what stands at an opening brace: an object, or the reason why
// there is none.
type finding struct {
	object   json.RawMessage // compact
	repaired bool
	end      int    // offset after the object; 0 if it is not known
	inner    int    // offset of the first object in a wrapper; 0 if the object is none
	reason   string // "" with an object
	inString bool   // cut off inside a string
}

// find reads the object at offset at. JSON is taken as it is. Anything else is
// scanned, which decides where strings and the object end, and written anew.
func (r *reader) find(at int) finding {
	if f, ok := r.exact(at); ok {
		return f
	}
	s := r.scan(at)
	if s.reason != "" {
		return finding{reason: s.reason, inString: s.inString}
	}
	f := finding{repaired: true, end: s.pos, object: render(s.tokens)}
	f.reason = examine(f.object)
	if f.reason == "" && isWrapper(f.object) {
		f.inner = s.inner
	}
	return f
}

// exact reads an object that is JSON already.
func (r *reader) exact(at int) (finding, bool) {
	text := r.src[at:min(len(r.src), at+MaxObject)]
	if text[0] != '{' || len(text) < 2 || strings.IndexByte("\" \t\r\n}", text[1]) < 0 {
		return finding{}, false
	}
	dec := json.NewDecoder(strings.NewReader(text))
	var object json.RawMessage
	if err := dec.Decode(&object); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			r.work -= int(syntax.Offset)
		} else {
			r.work -= len(text)
		}
		return finding{}, false
	}
	r.work -= len(object)
	f := finding{end: at + int(dec.InputOffset()), reason: examine(object)}
	var compact bytes.Buffer
	if err := json.Compact(&compact, object); err != nil {
		return finding{}, false
	}
	f.object = compact.Bytes()
	if f.reason == "" && isWrapper(f.object) {
		if s := r.scan(at); s.reason == "" && s.pos == f.end {
			f.inner = s.inner
		}
	}
	return f, true
}
