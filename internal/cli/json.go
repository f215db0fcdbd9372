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

// WriteJSON writes one document, indented for people.
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

// WriteJSONLine writes one document on one line, for streams of documents. Missing selected fields are null, since
// the documents of a stream differ.
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

// encode escapes characters that control a terminal, which does not change the meaning: JSON itself escapes only
// ASCII controls.
func (con *Console) encode(v any, indent string) error {
	var b, plain bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	for _, r := range b.String() { // the text is UTF-8, and only strings contain non-ASCII
		if r == 0x7f || r > 0x7f && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			fmt.Fprintf(&plain, `\u%04x`, r)
		} else {
			plain.WriteRune(r)
		}
	}
	_, err := con.Stdout.Write(plain.Bytes())
	return err
}

// object is a JSON object with undecoded values.
type object map[string]json.RawMessage

func objectOf(v any) (whole object, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &whole)
	}
	return whole, err
}

// only returns some fields of an object; missing ones are null.
func (o object) only(fields []string) object {
	some := object{}
	for _, name := range fields {
		some[name] = o[name]
	}
	return some
}

// missing returns an error for the first field that an object does not have.
func (o object) missing(fields []string) error {
	for _, name := range fields {
		if _, found := o[name]; !found {
			return fmt.Errorf("--json=%s: there is no such field; there are %s: %w", name,
				strings.Join(slices.Sorted(maps.Keys(o)), ", "), reverie.ErrInvalid)
		}
	}
	return nil
}

// pick reduces a reply to some of its fields. A reply with a list becomes a list of objects with those fields.
func pick(reply any, fields []string) (any, error) {
	whole, err := objectOf(reply)
	if err != nil {
		return nil, err
	}
	wrong := whole.missing(fields)
	if wrong == nil {
		return whole.only(fields), nil
	}
	var empty any // a list whose fields are unknown, since it is empty
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		list, known := []object(nil), object{} // fields that one object omits because they are empty are known from others
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
