package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"

	"reverie/internal/text"
)

// finding is the result of reading an opening brace: an object, or the reason why there is none.
type finding struct {
	object   json.RawMessage // compact
	repaired bool
	end      int    // offset after the object; 0 if unknown
	reason   string // "" if there is an object
	inString bool   // cut off inside a string
}

// find reads the object at offset at. Valid JSON is used as it is. Anything else is scanned, which decides where
// strings and the object end, and rewritten.
func (r *reader) find(at int) finding {
	if f, ok := r.exact(at); ok {
		return f
	}
	s := r.scan(at)
	if s.reason != "" {
		return finding{reason: s.reason, inString: s.inString}
	}
	return finding{repaired: true, end: s.pos, object: s.out, reason: examine(s.out)}
}

// exact reads an object that is valid JSON.
func (r *reader) exact(at int) (finding, bool) {
	text := r.src[at:min(len(r.src), at+MaxObject)]
	if text[0] != '{' || len(text) < 2 || strings.IndexByte("\" \t\r\n}", text[1]) < 0 {
		return finding{}, false
	}
	dec := json.NewDecoder(strings.NewReader(text))
	var object json.RawMessage
	if err := dec.Decode(&object); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			r.work -= int(syntax.Offset)
		} else {
			r.work -= len(text)
		}
		return finding{}, false
	}
	r.work -= len(object)
	f := finding{end: at + int(dec.InputOffset()), reason: examine(object)}
	var compact bytes.Buffer
	if err := json.Compact(&compact, object); err != nil {
		return finding{}, false
	}
	f.object = compact.Bytes()
	return f, f.reason != reasonSpaced
}

// reasonSpaced makes the scanner read the object: it trims keys.
const reasonSpaced = "a key with white space"

// quote appends a text as JSON, without HTML escapes.
func quote(out []byte, text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil { // encoding a string cannot fail
		return out
	}
	return append(out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// examine returns why a valid JSON object is not acceptable, or "". Keys that differ only in case count as
// duplicates, since a Go struct would accept either.
func examine(object []byte) (reason string) {
	if len(object) > MaxObject {
		return ReasonTooLong
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	return examineValue(dec, "", 0)
}

// examineValue examines the next value of a key at a nesting depth. The content of a quote is not examined: it must
// occur in a message.
func examineValue(dec *json.Decoder, of string, depth int) (reason string) {
	t, err := dec.Token()
	if err != nil {
		return ReasonBroken
	}
	begin, nested := t.(json.Delim)
	written, isText := t.(string)
	switch {
	case isText && !strings.EqualFold(of, "quote") && swallows(written):
		return ReasonSwallowed
	case !nested:
		return ""
	case depth == MaxDepth:
		return ReasonTooDeep
	}
	keys := map[string]bool{}
	for dec.More() {
		if begin == '{' {
			key, err := dec.Token()
			if err != nil {
				return ReasonBroken
			}
			folded := foldKey(key.(string))
			if keys[folded] {
				return ReasonAmbiguous
			}
			keys[folded] = true
			if of = folded; strings.TrimSpace(of) != of {
				return reasonSpaced
			}
		}
		if reason := examineValue(dec, of, depth+1); reason != "" {
			return reason
		}
	}
	if _, err := dec.Token(); err != nil {
		return ReasonBroken
	}
	return ""
}

// foldKey folds case as encoding/json does when it matches keys to fields.
func foldKey(key string) string {
	return strings.Map(func(c rune) rune {
		for {
			next := unicode.SimpleFold(c)
			if next <= c {
				return next
			}
			c = next
		}
	}, key)
}

// wrapperNames are keys that models put around their lines. Objects in such an array are read as lines even if the
// rest of the wrapper is broken.
const wrapperNames = `(?i:actions|lines|results|items|memories|changes|operations|facts|objects|data|output|` +
	`answers?|response|verdicts|observations|proposals|entries|records)`

var (
	wrapperName   = text.NewPattern(`^` + wrapperNames + `$`)
	wrapperPrefix = text.NewPattern(`^[{｛]` + blanks + quotes + `?` + wrapperNames + quotes + `?` + blanks + `[:：]` +
		blanks + `[\[［]` + blanks + `([{｛])`)
)

// wrapped returns the objects in a valid object that only wraps them, nil for any other object. A wrapper has no
// known key and exactly one array of objects. It may have other keys only if that array has a wrapper name.
// {"subject":"...","evidence":[{...}]} is not a wrapper.
func wrapped(object json.RawMessage) (inner []json.RawMessage) {
	var fields map[string]json.RawMessage
	if !bytes.Contains(object[1:], []byte("{")) || json.Unmarshal(object, &fields) != nil {
		return nil
	}
	arrays, named := 0, len(fields) == 1
	if list := labelled(fields); list != nil {
		return list
	}
	for key, value := range fields {
		if strings.EqualFold(key, "action") {
			return nil
		}
		if list := objects(value); list != nil {
			arrays++
			inner, named = list, named || wrapperName.MatchString(key)
		}
	}
	if arrays != 1 || !named {
		return nil
	}
	return inner
}

// soleText returns the text of an object that contains nothing else, under an unknown key.
func soleText(object json.RawMessage) (text string) {
	var fields map[string]json.RawMessage
	if !bytes.Contains(object, []byte(`{\"`)) || json.Unmarshal(object, &fields) != nil || len(fields) != 1 || isOurs(object) {
		return ""
	}
	for _, value := range fields {
		_ = json.Unmarshal(value, &text) // other values are not texts
	}
	return text
}

// labelled returns the values of an object that contains only lines under unknown keys, as in {"result":{...}} and
// {"1":{...},"2":{...}}, in the order of the keys.
func labelled(fields map[string]json.RawMessage) (lines []json.RawMessage) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if isKey(key) || fields[key][0] != '{' || !isOurs(fields[key]) {
			return nil
		}
		lines = append(lines, fields[key])
	}
	return lines
}

// objects returns the elements of an array that contains only objects, nil for any other value.
func objects(value json.RawMessage) (elements []json.RawMessage) {
	if value[0] != '[' || json.Unmarshal(value, &elements) != nil ||
		slices.ContainsFunc(elements, func(e json.RawMessage) bool { return e[0] != '{' }) || len(elements) == 0 {
		return nil
	}
	return elements
}

// wrapperOpening returns the offset of the first object in a wrapper with a usual name; 0 if there is none. It is
// for wrappers that are too long or broken as a whole.
func wrapperOpening(src string, at int) int {
	groups := wrapperPrefix.FindStringSubmatchIndex(src[at:min(len(src), at+maxAhead)])
	if groups == nil {
		return 0
	}
	return at + groups[2]
}
