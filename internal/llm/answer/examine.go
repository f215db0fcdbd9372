package answer

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
)

// examine says why a valid JSON object is not acceptable, or "". Keys that
// differ in case alone count as one, since a Go struct would take either.
func examine(object []byte) (reason string) {
	if len(object) > MaxObject {
		return ReasonTooLong
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	return examineValue(dec, 0)
}

// examineValue examines the next value, inside so many objects and arrays.
func examineValue(dec *json.Decoder, depth int) (reason string) {
	t, err := dec.Token()
	if err != nil {
		return ReasonBroken
	}
	begin, nested := t.(json.Delim)
	switch {
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
		}
		if reason := examineValue(dec, depth+1); reason != "" {
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
