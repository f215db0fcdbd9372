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

// masked is an answer without secrets and, unless the policy allows it, personal data.
// One that has neither is returned as it is. Of another, its objects are what is left,
// a line each, masked piece by piece; the whole text where it has none. So it is
// where one is written as \u and numbers, though nobody may read it there.
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

// remembered does each text once: the lines of an answer have the same keys and words.
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

// unescaped has characters where a text has their numbers.
func unescaped(text string) string {
	return escape.ReplaceAllStringFunc(text, func(s string) string {
		n, _ := strconv.ParseUint(s[2:], 16, 32) // as the expression has it
		return string(rune(n))
	})
}

// withoutSpace is what there is to read in an answer of nothing but objects.
func withoutSpace(s string) string { return strings.Join(strings.Fields(s), "") }

// maskedObject masks the keys, strings and numbers of an object, each by itself and behind
// its name. It tells whether it had to. One that is escaped is written anew, with what is
// read of it and no more.
func maskedObject(object json.RawMessage, escaped bool, mask func(string) string) (json.RawMessage, bool) {
	before := decoded(object)
	value := maskedValue(before, "", mask)
	changed := escaped || !reflect.DeepEqual(before, value)
	if changed {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(value) != nil {
			return json.RawMessage("{}"), true // what was decoded can be encoded
		}
		object = bytes.TrimSpace(b.Bytes())
	}
	return object, changed
}

// decoded is the value of valid JSON, its numbers as they are written.
func decoded(object json.RawMessage) (value any) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil
	}
	return value
}

// maskedValue masks what a value consists of. A number that has to be masked becomes a
// string; of keys that are masked alike, one is left.
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

// maskedNamed masks a text that has a name: what is a word by itself is a password behind
// that of one. "key" names names.
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
