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
	return con.encode(whole.only(con.Fields), "")
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
type object map[string]json.RawMessage

func objectOf(v any) (whole object, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &whole)
	}
	return whole, err
}

// only are some fields of an object; null is what it lacks.
func (o object) only(fields []string) object {
	some := object{}
	for _, name := range fields {
		some[name] = o[name]
	}
	return some
}

// missing is the error of the first field that an object does not have.
func (o object) missing(fields []string) error {
	for _, name := range fields {
		if _, found := o[name]; !found {
			return fmt.Errorf("--json=%s: there is no such field; there are %s: %w", name,
				strings.Join(slices.Sorted(maps.Keys(o)), ", "), reverie.ErrInvalid)
		}
	}
	return nil
}

// pick reduces a reply to some of its fields, or, where it holds a list, to a list of
// objects with those.
func pick(reply any, fields []string) (any, error) {
	whole, err := objectOf(reply)
	if err != nil {
		return nil, err
	}
	wrong := whole.missing(fields)
	if wrong == nil {
		return whole.only(fields), nil
	}
	var empty any // a list whose fields cannot be known
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		list, known := []object(nil), object{} // fields that are left out where they are empty are known by others
		if json.Unmarshal(whole[name], &list) != nil || list == nil {
			continue
		}
		for i, item := range list {
			maps.Copy(known, item)
			list[i] = item.only(fields)
		}
		if len(list) == 0 {
			empty = list
		} else if wrong = known.missing(fields); wrong == nil {
			return list, nil
		}
	}
	if empty != nil {
		return empty, nil
	}
	return nil, wrong
}
