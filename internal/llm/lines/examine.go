package lines

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode"
)

// examine says why a valid JSON object is not acceptable, or "". Keys that
// differ in case alone count as one, since a Go struct would take either.
func examine(object []byte) (reason string) {
	if len(object) > MaxObject {
		return ReasonTooLong
	}
	w := walker{dec: json.NewDecoder(bytes.NewReader(object))}
	w.dec.UseNumber()
	var keys []map[string]bool // of the objects around; nil for an array
	for {
		t, err := w.next()
		switch {
		case err == io.EOF:
			return ""
		case err != nil:
			return ReasonBroken
		case t.kind == '{':
			keys = append(keys, map[string]bool{})
		case t.kind == '[':
			keys = append(keys, nil)
		case t.kind == '}' || t.kind == ']':
			keys = keys[:len(keys)-1]
		case t.kind == kindKey:
			key := foldKey(t.text)
			if keys[len(keys)-1][key] {
				return ReasonAmbiguous
			}
			keys[len(keys)-1][key] = true
		}
		if len(keys) > MaxDepth {
			return ReasonTooDeep
		}
	}
}

// foldKey folds case as encoding/json does when it matches keys to fields.
func foldKey(key string) string {
	return strings.Map(func(c rune) rune {
		for {
			next := unicode.SimpleFold(c)
			if next <= c {
				return next
			}
			c = next
		}
	}, key)
}

// The kinds of a token, besides the four brackets.
const (
	kindKey    = 'k'
	kindString = 's'
	kindWord   = 'w' // a number, true, false or null
)

// token is one element of JSON other than commas and colons.
type token struct {
	kind byte
	text string // the decoded text of keys and strings, the JSON of words
}

// walker reads JSON token by token and tells keys from strings.
type walker struct {
	dec   *json.Decoder
	stack []byte // of '{' and '['
	key   bool   // in an object: a key is next
}

func (w *walker) next() (token, error) {
	t, err := w.dec.Token()
	if err != nil {
		return token{}, err
	}
	switch v := t.(type) {
	case json.Delim:
		if v == '{' || v == '[' {
			w.stack = append(w.stack, byte(v))
		} else {
			w.stack = w.stack[:len(w.stack)-1]
		}
		w.key = len(w.stack) > 0 && w.stack[len(w.stack)-1] == '{'
		return token{kind: byte(v)}, nil
	case string:
		if w.key {
			w.key = false
			return token{kindKey, v}, nil
		}
		w.key = w.inObject()
		return token{kindString, v}, nil
	}
	w.key = w.inObject()
	switch v := t.(type) {
	case json.Number:
		return token{kindWord, v.String()}, nil
	case bool:
		if v {
			return token{kindWord, "true"}, nil
		}
		return token{kindWord, "false"}, nil
	}
	return token{kindWord, "null"}, nil
}

func (w *walker) inObject() bool { return len(w.stack) > 0 && w.stack[len(w.stack)-1] == '{' }
