package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"reverie/internal/text"
)

// Text reads a string, or a number as platforms write ids.
type Text string

func (t *Text) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err == nil {
		*t = Text(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil {
		return fmt.Errorf("%q is neither a string nor a number", text.Excerpt(string(raw), 40))
	}
	*t = Text(n)
	return nil
}

// Readable says of a value of the wrong type where it stands, not what the type
// is called in this program.
func Readable(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("the line is no object but a JSON %s", wrong.Value)
	}
	return fmt.Errorf("%s is a JSON %s", wrong.Field, wrong.Value)
}

// PlainText reads a string, or the text of an object that has one.
func PlainText(raw json.RawMessage) string {
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

// JSONFields is an object whose values may be of any type.
type JSONFields map[string]json.RawMessage

// UnmarshalJSON takes what is no object for an empty one.
func (f *JSONFields) UnmarshalJSON(raw []byte) error {
	*f = JSONFieldsOf(raw)
	return nil
}

func JSONFieldsOf(raw []byte) JSONFields {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// Str is a string, or "" where there is none.
func (f JSONFields) Str(key string) string {
	var s string
	_ = json.Unmarshal(f[key], &s) // of another type it is none
	return s
}

// Fields is an object, or an empty one where there is none.
func (f JSONFields) Fields(key string) JSONFields { return JSONFieldsOf(f[key]) }

// List is the objects of an array.
func (f JSONFields) List(key string) []JSONFields {
	var list []JSONFields
	_ = json.Unmarshal(f[key], &list) // of another type it has none
	return list
}
