package answer

import (
	"bytes"
	"encoding/json"
)

// token is one element of an object other than commas and colons.
type token struct {
	kind byte   // a bracket, or one of the kinds below
	text string // the decoded text of keys and strings, the JSON of words
}

// The kinds of a token, besides the four brackets.
const (
	kindKey    = 'k'
	kindString = 's'
	kindWord   = 'w' // a number, true, false or null
)

// render writes the object that the tokens of a finished scan describe.
func render(tokens []token) json.RawMessage {
	var out []byte
	for _, t := range tokens {
		if n := len(out); n > 0 && t.kind != '}' && t.kind != ']' {
			switch out[n-1] {
			case '{', '[', ':':
			default:
				out = append(out, ',')
			}
		}
		switch t.kind {
		case kindKey:
			out = append(quote(out, t.text), ':')
		case kindString:
			out = quote(out, t.text)
		case kindWord:
			out = append(out, t.text...)
		default:
			out = append(out, t.kind)
		}
	}
	return out
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
