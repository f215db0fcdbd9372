package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"reverie/internal/text"
)

// jsonText reads a string, or a number as platforms write ids.
type jsonText string

func (t *jsonText) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err == nil {
		*t = jsonText(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil {
		return fmt.Errorf("%q is neither a string nor a number", text.Excerpt(string(raw), 40))
	}
	*t = jsonText(n)
	return nil
}

// readable says of a value of the wrong type where it stands, not what the type
// is called in this program.
func readable(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("the line is no object but a JSON %s", wrong.Value)
	}
	return fmt.Errorf("%s is a JSON %s", wrong.Field, wrong.Value)
}

// plainText reads a string, or the text of an object that has one.
func plainText(raw json.RawMessage) string {
	var s string
	if bytes.HasPrefix(raw, []byte("{")) {
		var object struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(raw, &object) // of another type it is no text
		return object.Text
	}
	_ = json.Unmarshal(raw, &s)
	return s
}

// jsonFields is an object whose values may be of any type.
type jsonFields map[string]json.RawMessage

// UnmarshalJSON takes what is no object for an empty one.
func (f *jsonFields) UnmarshalJSON(raw []byte) error {
	*f = jsonFieldsOf(raw)
	return nil
}

func jsonFieldsOf(raw []byte) jsonFields {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// str is a string, or "" where there is none.
func (f jsonFields) str(key string) string {
	var s string
	_ = json.Unmarshal(f[key], &s) // of another type it is none
	return s
}

// fields is an object, or an empty one where there is none.
func (f jsonFields) fields(key string) jsonFields { return jsonFieldsOf(f[key]) }

// list is the objects of an array.
func (f jsonFields) list(key string) []jsonFields {
	var list []jsonFields
	_ = json.Unmarshal(f[key], &list) // of another type it has none
	return list
}
