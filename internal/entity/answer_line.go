package entity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// answerLine is one line of an answer that has the form of an observation; nothing in
// it has been checked yet.
type answerLine struct {
	none       bool   // it says on purpose that there is nothing
	identity   string // a key that is not for a model, "" without one
	subject    string
	kind       string
	aliases    []string
	reason     string
	confidence json.RawMessage
	evidence   json.RawMessage
	claims     []lineClaim
}

// lineClaim is one claim of a line.
type lineClaim struct {
	aspect     reverie.Aspect
	name       string // a feature's key, a relation's kind
	value      string
	replaces   string
	reason     string
	confidence json.RawMessage // nil: as the line's
	evidence   json.RawMessage // nil: as the line's
	err        error           // what is wrong with its form
}

// readLine reads one object, loosely where a model's habit does no harm:
// numbers as strings, one item instead of a list, an impression as a plain
// string, features as an object, keys that we do not know.
func readLine(object json.RawMessage) (r answerLine, err error) {
	var raw struct {
		None        bool            `json:"none"`
		Subject     json.RawMessage `json:"subject"`
		Kind        json.RawMessage `json:"kind"`
		Aliases     json.RawMessage `json:"aliases"`
		Reason      json.RawMessage `json:"reason"`
		Confidence  json.RawMessage `json:"confidence"`
		Evidence    json.RawMessage `json:"evidence"`
		Impressions json.RawMessage `json:"impressions"`
		Features    json.RawMessage `json:"features"`
		Relations   json.RawMessage `json:"relations"`
	}
	if err := json.Unmarshal(object, &raw); err != nil {
		return r, fmt.Errorf("a field has the wrong type: %w", err)
	}
	if raw.None && raw.Subject == nil {
		return answerLine{none: true}, nil
	}
	if r.subject, err = word(raw.Subject); err != nil || r.subject == "" {
		return r, errors.New(`no "subject"`)
	}
	r.subject = plainName(r.subject)
	if r.kind, err = word(raw.Kind); err != nil {
		return r, fmt.Errorf("kind: %w", err)
	}
	r.kind = strings.ToLower(r.kind)
	r.reason, _ = word(raw.Reason) // decoration: what is no string is left out
	r.confidence, r.evidence = given(raw.Confidence), given(raw.Evidence)
	for _, item := range items(raw.Aliases) {
		if alias, err := word(item); err == nil && alias != "" {
			r.aliases = append(r.aliases, plainName(alias))
		}
	}
	r.identity = identityKey(object)
	r.read(reverie.AspectImpression, items(raw.Impressions))
	r.read(reverie.AspectFeature, features(raw.Features))
	r.read(reverie.AspectRelation, items(raw.Relations))
	return r, nil
}

// read adds the claims of one aspect.
func (r *answerLine) read(aspect reverie.Aspect, list []json.RawMessage) {
	for _, item := range list {
		c := lineClaim{aspect: aspect}
		c.err = c.read(item)
		r.claims = append(r.claims, c)
	}
}

func (c *lineClaim) read(item json.RawMessage) error {
	var raw struct {
		Text       json.RawMessage `json:"text"`
		Key        json.RawMessage `json:"key"`
		Value      json.RawMessage `json:"value"`
		Kind       json.RawMessage `json:"kind"`
		Target     json.RawMessage `json:"target"`
		Replaces   json.RawMessage `json:"replaces"`
		Reason     json.RawMessage `json:"reason"`
		Confidence json.RawMessage `json:"confidence"`
		Evidence   json.RawMessage `json:"evidence"`
	}
	if c.aspect == reverie.AspectImpression && len(item) > 0 && item[0] == '"' {
		raw.Text = item
	} else if err := json.Unmarshal(item, &raw); err != nil {
		return fmt.Errorf("%s: a field has the wrong type: %w", c.aspect, err)
	}
	c.confidence, c.evidence = given(raw.Confidence), given(raw.Evidence)
	c.reason, _ = word(raw.Reason)
	c.replaces, _ = word(raw.Replaces)
	name, value := raw.Key, raw.Value
	switch c.aspect {
	case reverie.AspectImpression:
		name, value = nil, raw.Text
	case reverie.AspectRelation:
		name, value = raw.Kind, raw.Target
	}
	var err error
	if c.name, err = word(name); err != nil || c.name == "" && c.aspect != reverie.AspectImpression {
		return fmt.Errorf("a %s without a name for what it says: %w", c.aspect, reverie.ErrInvalid)
	}
	if c.value, err = word(value); err != nil || c.value == "" {
		return fmt.Errorf("a %s that says nothing: %w", c.aspect, reverie.ErrInvalid)
	}
	if c.aspect == reverie.AspectRelation {
		c.value = plainName(c.value)
	}
	return nil
}

// plainName is a name without the @ by which it was called.
func plainName(name string) string { return strings.TrimSpace(strings.TrimLeft(name, "@＠ ")) }

// given is a field that is there; null is none.
func given(raw json.RawMessage) json.RawMessage {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

// items reads a list, or a single item.
func items(raw json.RawMessage) []json.RawMessage {
	if raw = given(raw); raw == nil {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for i := range list {
			list[i] = bytes.TrimSpace(list[i])
		}
		return list
	}
	return []json.RawMessage{raw}
}

// features reads a list of features, a single one, or an object of keys and
// values.
func features(raw json.RawMessage) []json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object["key"] != nil {
		return items(raw)
	}
	var list []json.RawMessage
	for _, key := range slices.Sorted(maps.Keys(object)) {
		item, err := json.Marshal(map[string]any{"key": key, "value": object[key]})
		if err == nil {
			list = append(list, item)
		}
	}
	return list
}

// word reads a string, or a number as it is written; null and nothing are "". A
// NUL is in no text that anybody wrote, and PostgreSQL keeps none.
func word(raw json.RawMessage) (string, error) {
	if raw = given(raw); raw == nil {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if strings.ContainsRune(s, 0) {
			return "", errors.New("a NUL stands in it")
		}
		return strings.TrimSpace(s), nil
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String(), nil
	}
	return "", errors.New("neither a string nor a number")
}

// readConfidence reads a number within 0..1, which may be written as a string.
func readConfidence(raw json.RawMessage) (float64, error) {
	s, err := word(raw)
	if err != nil || s == "" {
		return 0, errors.New("no confidence is given: say one between 0 and 1")
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1 {
		return 0, fmt.Errorf("the confidence %q is no number between 0 and 1", text.Excerpt(s, 20))
	}
	return f, nil
}

// identityKeys are keys by which a model would choose an identity, or what is
// done with it. They are compared by their letters alone.
var identityKeys = map[string]bool{
	"id": true, "ids": true, "uuid": true, "entity": true, "entityid": true, "entityids": true, "subjectid": true,
	"targetid": true, "oldid": true,
	"newid": true, "claimid": true, "lineageid": true, "memoryid": true, "account": true, "accountid": true,
	"authorid": true, "userid": true, "nameid": true,
	"action": true, "operation": true, "op": true, "create": true, "update": true, "delete": true, "merge": true,
	"mergewith": true, "mergeinto": true,
	"mergedinto": true, "sameas": true, "matchingids": true,
}

// identityKey returns the first key of an object, or of what its lists hold, that
// is not for a model. What evidence consists of is verified anyway.
func identityKey(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
		return ""
	}
	if raw[0] == '[' {
		for _, item := range items(raw) {
			if key := identityKey(item); key != "" {
				return key
			}
		}
		return ""
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		letters := strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, key)
		if identityKeys[letters] {
			return key
		}
		if letters == "evidence" {
			continue
		}
		if inner := identityKey(object[key]); inner != "" {
			return inner
		}
	}
	return ""
}
