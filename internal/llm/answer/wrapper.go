package answer

import (
	"bytes"
	"encoding/json"
	"strings"

	"reverie/internal/text"
)

// wrapperNames are keys that models put around their lines. The objects in such
// an array are read as lines even if the rest of the wrapper is broken.
const wrapperNames = `(?i:actions|lines|results|items|memories|changes|operations|facts|objects|data|output|` +
	`answers?|response|verdicts|observations|proposals|entries|records)`

var (
	wrapperName   = text.NewPattern(`^` + wrapperNames + `$`)
	wrapperPrefix = text.NewPattern(`^[{｛]` + blanks + quotes + `?` + wrapperNames + quotes + `?` + blanks + `[:：]` +
		blanks + `[\[［]` + blanks + `([{｛])`)
)

// isWrapper tells whether a valid object only holds other objects together: it
// is no action, it has one array of objects, and nothing else unless that array
// has a name that says so. {"subject":"...","evidence":[{...}]} is none.
func isWrapper(object json.RawMessage) bool {
	if !bytes.Contains(object, []byte("[{")) {
		return false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return false
	}
	arrays, named := 0, false
	for key, value := range fields {
		if strings.EqualFold(key, "action") {
			return false
		}
		if holdsObjects(value) {
			arrays++
			named = wrapperName.MatchString(key)
		}
	}
	return arrays == 1 && (named || len(fields) == 1)
}

// holdsObjects tells whether a value is an array of at least one object, and of
// nothing else.
func holdsObjects(value json.RawMessage) bool {
	var elements []json.RawMessage
	if value[0] != '[' || json.Unmarshal(value, &elements) != nil {
		return false
	}
	for _, e := range elements {
		if e[0] != '{' {
			return false
		}
	}
	return len(elements) > 0
}

// wrapperOpening returns the offset of the first object in a wrapper with a
// usual name, for wrappers that are too long or broken as a whole; 0 if there is
// none.
func wrapperOpening(src string, at int) int {
	groups := wrapperPrefix.FindStringSubmatchIndex(src[at:min(len(src), at+maxAhead)])
	if groups == nil {
		return 0
	}
	return at + groups[2]
}
