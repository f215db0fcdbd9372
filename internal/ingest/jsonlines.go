package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// jsonLines tells the lines of a text that are not blank, as parts whose place they are;
// whether one is sound JSON, reading it tells. A last line that ends in the middle of its
// JSON is the last error, an io.ErrUnexpectedEOF: there the text was cut off.
func jsonLines(r io.Reader) iter.Seq2[jsonPart, error] {
	return func(yield func(jsonPart, error) bool) {
		var held *jsonPart // one that ends in the middle: cut off, unless more follows
		for l, err := range lines(r) {
			text := bytes.TrimSpace(l.Text)
			if err == nil && len(text) == 0 {
				continue
			}
			if held != nil && !yield(*held, nil) {
				return
			}
			held = nil
			part := jsonPart{Place: l.Place(), Value: text}
			if err == nil && endsEarly(text) {
				held = &part
				continue
			}
			if !yield(part, err) {
				return
			}
		}
		if held != nil {
			yield(jsonPart{}, fmt.Errorf("%s: it ends in the middle: %w", held.Place, io.ErrUnexpectedEOF))
		}
	}
}

// endsEarly tells whether a text is the beginning of a JSON value, and not all of it.
func endsEarly(text []byte) bool {
	if last := text[len(text)-1]; last == '}' && json.Valid(text) {
		return false
	}
	var value json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&value), io.ErrUnexpectedEOF)
}
