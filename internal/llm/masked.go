package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"reverie/internal/llm/answer"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// masked returns an answer without secrets and, unless the policy allows them, personal data. An answer without
// either is returned unchanged. Of another one only its JSON objects are left, one a line, masked piece by piece;
// an answer without objects is masked as a whole. Both also apply to text in \u escapes, which could be decoded
// later.
func masked(text string, p safety.Privacy) string {
	if !strings.ContainsAny(text, `\{`) && p.Mask(text) == text {
		return text
	}
	plain, mask := unescaped(text), remembered(p.Mask)
	escaped := plain != text && p.Mask(plain) != plain
	read := answer.Read(text)
	switch {
	case len(read.Lines) == 0 && escaped:
		return p.Mask(plain)
	case len(read.Lines) == 0:
		return p.Mask(text)
	}
	var b strings.Builder
	changed := escaped
	for _, l := range read.Lines {
		object, differs := maskedObject(l.Object, escaped, mask)
		changed = changed || differs
		b.Write(object)
		b.WriteByte('\n')
	}
	if !changed && (p.Mask(text) == text || withoutSpace(text) == withoutSpace(b.String())) {
		return text
	}
	return b.String()
}

// remembered caches mask: the lines of an answer repeat keys and words.
func remembered(mask func(string) string) func(string) string {
	known := map[string]string{}
	return func(text string) string {
		to, ok := known[text]
		if !ok {
			to = mask(text)
			known[text] = to
		}
		return to
	}
}

var escape = text.NewPattern(`\\u[0-9a-fA-F]{4}`)

// unescaped decodes the \u escapes of a text.
func unescaped(text string) string {
	return escape.ReplaceAllStringFunc(text, func(s string) string {
		n, _ := strconv.ParseUint(s[2:], 16, 32) // the expression guarantees a number
		return string(rune(n))
	})
}

// withoutSpace returns a text without white space, to compare answers of only objects.
func withoutSpace(s string) string { return strings.Join(strings.Fields(s), "") }

// maskedObject masks the keys, strings and numbers of an object, each together with its name, and reports whether
// it changed any. If escaped is set, it always rewrites the object from its decoded content.
func maskedObject(object json.RawMessage, escaped bool, mask func(string) string) (json.RawMessage, bool) {
	before := decoded(object)
	value := maskedValue(before, "", mask)
	changed := escaped || !reflect.DeepEqual(before, value)
	if changed {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(value) != nil {
			return json.RawMessage("{}"), true // decoded JSON can always be encoded
		}
		object = bytes.TrimSpace(b.Bytes())
	}
	return object, changed
}

// decoded returns the value of valid JSON, with numbers as written.
func decoded(object json.RawMessage) (value any) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil
	}
	return value
}

// maskedValue masks the parts of a value. A masked number becomes a string; of keys with the same mask, one is
// left.
func maskedValue(value any, name string, mask func(string) string) any {
	switch v := value.(type) {
	case string:
		return maskedNamed(v, name, mask)
	case json.Number:
		if m := maskedNamed(v.String(), name, mask); m != v.String() {
			return m
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = maskedValue(v[i], name, mask)
		}
		return list
	case map[string]any:
		all := make(map[string]any, len(v))
		called, _ := cmp.Or(v["key"], v["name"]).(string)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			name := k
			if k == "value" {
				name = cmp.Or(called, k)
			}
			all[mask(k)] = maskedValue(v[k], name, mask)
		}
		return all
	}
	return value
}

// maskedNamed masks a text together with its name: a plain word is a password after the name of one. The name "key"
// names names.
func maskedNamed(text, name string, mask func(string) string) string {
	text = mask(text)
	if name == "key" {
		return text
	}
	if rest, ok := strings.CutPrefix(mask(name+": "+text), name+": "); ok {
		return rest
	}
	return text
}
