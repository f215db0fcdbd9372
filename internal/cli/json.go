package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"reverie/internal/reverie"
)

// WriteJSON writes one document, indented: people read it too.
func (con *Console) WriteJSON(v any) error {
	if len(con.Fields) == 0 {
		return con.encode(v, "  ")
	}
	picked, err := pick(v, con.Fields)
	if err != nil {
		return err
	}
	return con.encode(picked, "  ")
}

// WriteJSONLine writes one document on one line, for streams of them. What it lacks of the
// fields is null: the documents of a stream differ.
func (con *Console) WriteJSONLine(v any) error {
	if len(con.Fields) == 0 {
		return con.encode(v, "")
	}
	whole, err := objectOf(v)
	if err != nil {
		return err
	}
	return con.encode(fieldsOf(whole, con.Fields), "")
}

// encode escapes what a terminal would obey, which says the same: JSON itself has only
// the controls of ASCII escaped.
func (con *Console) encode(v any, indent string) error {
	var b, plain bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	for _, r := range b.String() { // it is UTF-8, and in strings alone is it more than ASCII
		if r == 0x7f || r > 0x7f && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			fmt.Fprintf(&plain, `\u%04x`, r)
		} else {
			plain.WriteRune(r)
		}
	}
	_, err := con.Stdout.Write(plain.Bytes())
	return err
}

// object is a JSON object whose values are not read.
type object = map[string]json.RawMessage

func objectOf(v any) (whole object, err error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text.Bytes(), &whole); err != nil {
		return nil, fmt.Errorf("choose fields of a reply: %w", err)
	}
	return whole, nil
}

// pick reduces a reply to some of its fields, or, where it holds a list, to a list of
// objects with those.
func pick(reply any, fields []string) (json.RawMessage, error) {
	whole, err := objectOf(reply)
	if err != nil {
		return nil, err
	}
	if missing(whole, fields) == "" {
		return fieldsOf(whole, fields), nil
	}
	best, empty := pickError{fields[0], slices.Sorted(maps.Keys(whole))}, false
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		var list []object
		if json.Unmarshal(whole[name], &list) != nil {
			continue
		}
		if len(list) == 0 {
			empty = true
			continue
		}
		known := object{} // fields that are left out where they are empty are known by others
		for _, item := range list {
			maps.Copy(known, item)
		}
		unknown := missing(known, fields)
		if unknown != "" {
			best = pickError{unknown, slices.Sorted(maps.Keys(known))}
			continue
		}
		items := make([]json.RawMessage, len(list))
		for i, item := range list {
			items[i] = fieldsOf(item, fields)
		}
		return json.Marshal(items)
	}
	if empty {
		return json.RawMessage("[]"), nil
	}
	return nil, best
}

// pickError says that a reply has no such field.
type pickError struct {
	field string
	known []string
}

func (e pickError) Error() string {
	return fmt.Sprintf("--json=%s: there is no such field; there are %s", e.field, strings.Join(e.known, ", "))
}

func (e pickError) Unwrap() error { return reverie.ErrInvalid }

// missing is the first field that an object does not have, "" if it has all.
func missing(o object, fields []string) string {
	for _, name := range fields {
		if _, found := o[name]; !found {
			return name
		}
	}
	return ""
}

// fieldsOf writes some fields of an object, in their order; null is what it lacks.
func fieldsOf(o object, fields []string) json.RawMessage {
	var text bytes.Buffer
	for i, name := range fields {
		text.WriteString([]string{"{", ","}[min(i, 1)])
		key, _ := json.Marshal(name) // a string
		text.Write(key)
		text.WriteByte(':')
		if value, found := o[name]; found {
			text.Write(value)
		} else {
			text.WriteString("null")
		}
	}
	text.WriteByte('}')
	return text.Bytes()
}
