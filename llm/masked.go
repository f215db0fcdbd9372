package llm

import (
	"bytes"
	"encoding/json"
	"strings"

	"reverie"
	"reverie/llm/lines"
)

// masked is an answer without secrets and, unless the policy allows it, personal data.
// One that has neither is returned as it is. Of another, its objects are what is left,
// a line each, masked string by string; the whole text where it has none.
func masked(text string, p reverie.Privacy) string {
	if !strings.Contains(text, `\`) && p.Mask(text) == text {
		return text
	}
	read := lines.Read(text)
	if len(read.Lines) == 0 {
		return p.Mask(text)
	}
	var b strings.Builder
	changed := false
	for _, l := range read.Lines {
		object, differs := maskedObject(l.Object, p)
		changed = changed || differs
		b.Write(object)
		b.WriteByte('\n')
	}
	for _, skip := range read.Skipped {
		changed = changed || p.Mask(skip.Excerpt) != skip.Excerpt
	}
	if !changed {
		return text
	}
	return b.String()
}

// maskedObject masks the strings of an object, and tells whether it had to.
func maskedObject(object json.RawMessage, p reverie.Privacy) (json.RawMessage, bool) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return object, false // lines.Read returns valid objects
	}
	changed := false
	value = maskedValue(value, func(s string) string {
		m := p.Mask(s)
		changed = changed || m != s
		return m
	})
	if !changed {
		return object, false
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return object, false // what was decoded can be encoded
	}
	return bytes.TrimSpace(b.Bytes()), true
}

func maskedValue(value any, mask func(string) string) any {
	switch v := value.(type) {
	case string:
		return mask(v)
	case []any:
		for i := range v {
			v[i] = maskedValue(v[i], mask)
		}
	case map[string]any:
		for k := range v {
			v[k] = maskedValue(v[k], mask)
		}
	}
	return value
}
