package lines

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/kaptinlin/jsonrepair"
)

// maxMend bounds the work of the library, which copies all it has written at
// each comma: bytes times tokens. An object with 500 citations stays below.
const maxMend = 16 << 20

// repair makes an object of a scan that found its end. The library mends the
// skeleton (keys without quotes, commas too many or too few, literals in Python's
// spelling); then the text goes back in, token by token. A repair that changes
// the order, the nesting or the number of the tokens is refused.
func (s *scan) repair() (object json.RawMessage, reason string) {
	skeleton := s.skeleton
	if !json.Valid(skeleton) {
		if len(skeleton)*len(s.tokens) > maxMend {
			return nil, ReasonTangled
		}
		mended, err := mend(string(skeleton))
		if err != nil {
			return nil, ReasonBroken
		}
		skeleton = []byte(mended)
	}
	object, ok := s.fill(skeleton)
	if !ok {
		return nil, ReasonBroken
	}
	return object, ""
}

// mend is the library's repair. It is a hand-written parser that indexes freely,
// so a fault in it must not end the program.
func mend(text string) (mended string, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("repair %d bytes of JSON: %v", len(text), fault)
		}
	}()
	return jsonrepair.Repair(text)
}

// fill writes the object that the skeleton describes, with the texts of the
// tokens.
func (s *scan) fill(skeleton []byte) (json.RawMessage, bool) {
	w := walker{dec: json.NewDecoder(bytes.NewReader(skeleton))}
	w.dec.UseNumber()
	var out []byte
	for _, want := range s.tokens {
		got, err := w.next()
		if err != nil || !fits(want, got) {
			return nil, false
		}
		if got.kind != '}' && got.kind != ']' && len(out) > 0 {
			switch out[len(out)-1] {
			case '{', '[', ':':
			default:
				out = append(out, ',')
			}
		}
		switch want.kind {
		case kindKey:
			out = append(quote(out, want.text), ':')
		case kindString:
			out = quote(out, want.text)
		case kindWord:
			out = append(out, got.text...)
		default:
			out = append(out, want.kind)
		}
	}
	return out, !w.dec.More() && json.Valid(out)
}

// fits tells whether a token of the mended skeleton stands for the scanned one.
// Strings were numbered, so that only their kind and place are left to compare.
func fits(want, got token) bool {
	if want.kind != got.kind {
		return false
	}
	if want.kind != kindWord {
		return true
	}
	return want.text == got.text || literals[want.text] == got.text
}

// quote appends a text as JSON, without the escapes that are for HTML.
func quote(out []byte, text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil { // a string cannot fail
		return out
	}
	return append(out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
