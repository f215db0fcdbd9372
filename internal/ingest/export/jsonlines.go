package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// JSONLines tells the lines of a text that are not blank, as parts whose place they are;
// whether one is sound JSON, reading it tells. A last line that ends in the middle of its
// JSON is the last error, an io.ErrUnexpectedEOF: there the text was cut off.
func JSONLines(r io.Reader) iter.Seq2[JSONPart, error] {
	return func(yield func(JSONPart, error) bool) {
		var held *JSONPart // one that ends in the middle: cut off, unless more follows
		for l, err := range Lines(r) {
			text := bytes.TrimSpace(l.Text)
			if err == nil && len(text) == 0 {
				continue
			}
			if held != nil && !yield(*held, nil) {
				return
			}
			held = nil
			part := JSONPart{Place: l.Place(), Value: text}
			if err == nil && EndsEarly(text) {
				held = &part
				continue
			}
			if !yield(part, err) {
				return
			}
		}
		if held != nil {
			yield(JSONPart{}, fmt.Errorf("%s: it ends in the middle: %w", held.Place, io.ErrUnexpectedEOF))
		}
	}
}

// EndsEarly tells whether a text is the beginning of a JSON value, and not all of it.
func EndsEarly(text []byte) bool {
	if last := text[len(text)-1]; last == '}' && json.Valid(text) {
		return false
	}
	var value json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&value), io.ErrUnexpectedEOF)
}
