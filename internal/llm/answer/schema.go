package answer

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/text"
)

// The lines that the jobs ask for. Their values are not checked yet; unknown keys are ignored.
type (
	// Action is a line of evolve.
	Action struct {
		Action       *string         `json:"action"`
		OldID        json.RawMessage `json:"old_id"`
		Statement    *string         `json:"statement"`
		Type         json.RawMessage `json:"type"`
		Due          json.RawMessage `json:"due"`
		ChangeReason *string         `json:"change_reason"`
		Tags         json.RawMessage `json:"tags"`
		Evidence     json.RawMessage `json:"evidence"`
	}
	// Fact is a line of extract and dream.
	Fact struct {
		Type       *string         `json:"type"`
		Content    *string         `json:"content"`
		Tags       json.RawMessage `json:"tags"`
		Confidence json.RawMessage `json:"confidence"`
		Replace    json.RawMessage `json:"replace"`
		Evidence   json.RawMessage `json:"evidence"`
		Sources    json.RawMessage `json:"sources"`
		Done       json.RawMessage `json:"done"`
		Keep       json.RawMessage `json:"keep"`
	}
	// Summary is the one line of a rolling summary.
	Summary struct {
		Summary *string `json:"summary"`
	}
	// Verdict is a line of a comparison.
	Verdict struct {
		ID        json.RawMessage `json:"id"`
		Reason    json.RawMessage `json:"reason"`
		Relation  json.RawMessage `json:"relation"`
		Statement json.RawMessage `json:"statement"`
	}
	// Observation is a line of impression.
	Observation struct {
		None    bool     `json:"none"` // the model says explicitly that there is nothing
		Subject string   `json:"subject"`
		Kind    string   `json:"kind"`
		Aliases []string `json:"aliases"`
		Grounds
		Impressions []json.RawMessage `json:"impressions"`
		Features    []json.RawMessage `json:"features"`
		Relations   []json.RawMessage `json:"relations"`
	}
	// Grounds are the reason and evidence of a line, or of one claim that differs from its line.
	Grounds struct {
		Reason     string          `json:"reason"`
		Confidence json.RawMessage `json:"confidence"`
		Evidence   json.RawMessage `json:"evidence"`
	}
	// Claim is one claim of an observation.
	Claim struct {
		Text     string          `json:"text"` // of an impression
		Key      string          `json:"key"`  // of a feature
		Value    json.RawMessage `json:"value"`
		Kind     string          `json:"kind"` // of a relation
		Target   string          `json:"target"`
		Replaces string          `json:"replaces"`
		Grounds
	}
	citation struct {
		Message json.RawMessage `json:"message"`
		Quote   *string         `json:"quote"`
	}
)

// keys are the known keys: those of all lines and of the objects in them.
var keys = keysOf(Action{}, Fact{}, Summary{}, Verdict{}, Observation{}, Claim{}, citation{})

func keysOf(lines ...any) (names []string) {
	for _, line := range lines {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(line)) {
			if name := field.Tag.Get("json"); name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isKey reports whether a name is a known key.
func isKey(name string) bool {
	_, found := slices.BinarySearch(keys, strings.ToLower(name))
	return found
}

// isOurs reports whether a valid object has a known key.
func isOurs(object json.RawMessage) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return false
	}
	for key := range fields {
		if isKey(key) {
			return true
		}
	}
	return false
}

const (
	anyQuotes = `(?:\\*` + quotes + `)`
	ourKey    = `(?i:KEYS)` // withKeys replaces KEYS by the known keys
	separator = `[,，;；、]`
	equals    = `(?:[:：=]+>?|->)`
	starts    = `(?:\\?` + quotes + `|[\[{［｛0-9-]|(?:true|false|null|True|False|None)\b)`
)

func withKeys(expr string) *text.Pattern {
	return text.NewPattern(strings.ReplaceAll(expr, "KEYS", strings.Join(keys, "|")))
}

var (
	// BentKeys match a known key with a mistake in its marks, followed by what can only start a value. In the first the
	// colon is inside the quotes, in the second one is outside, in the third there is none.
	bentKeys = []*text.Pattern{
		withKeys(`^(` + quotes + `(` + ourKey + `)` + blanks + `[:：]` + quotes + `[\s\x{3000}]+)` + starts),
		withKeys(`^(` + anyQuotes + `{0,2}(` + ourKey + `)` + anyQuotes + `{0,2}` + blanks + equals + blanks + `)` + starts),
		withKeys(`^(` + anyQuotes + `{1,2}(` + ourKey + `)` + anyQuotes + `{1,2}[\s\x{3000}]+)` + starts),
	}
	// SwallowedKey matches a known key in a text, next to marks that would have ended the text.
	swallowedKey = withKeys(quotes + `[\s\\]*(?:` +
		`[,，;；、}\]]+[\s{\[]*` + anyQuotes + `+` + ourKey + `\b` + // ", "key
		`|[,，;；、}\]{\[\s]+` + anyQuotes + `*` + ourKey + anyQuotes + `+` + blanks + equals + // ", key":
		`|(?:[,，;；、}\]{\[]|` + anyQuotes + `)(?:[,，;；、}\]{\[\s]|` + anyQuotes + `)*` + ourKey + blanks + equals + // ", key:
		`)|` + separator + blanks + anyQuotes + `+` + ourKey + anyQuotes + `*` + blanks + equals) // , "key":
	// LooseKey matches a known key in a text without an opening quote.
	looseKey = withKeys(`(?:^|[,，;；、{}\[\]\s"])` + ourKey + anyQuotes + `*` + blanks + equals)
)

// keyMarks are characters that may surround a key.
const keyMarks = doubleQuotes + singleQuotes + otherQuotes + `\,，;；、{}[]`

// margin is the number of characters around a key that decide whether a text has swallowed it.
const margin = 48

// swallows reports whether a text seems to continue into the next key of its object.
func swallows(text string) bool {
	if !strings.ContainsAny(text, doubleQuotes+singleQuotes+otherQuotes) {
		return false
	}
	text = strings.Join(strings.FieldsFunc(text, isBlank), " ")
	marked := false // a mark comes before, with only a space between
	for i := 0; i < len(text); {
		if !isASCIIName(text[i]) {
			c, size := utf8.DecodeRuneInString(text[i:])
			marked = marked && c == ' ' || strings.ContainsRune(keyMarks, c)
			i += size
			continue
		}
		end := i
		for end < len(text) && isASCIIName(text[end]) {
			end++
		}
		if marked && isKey(text[i:end]) && swallowedKey.MatchString(text[max(0, i-margin):min(len(text), end+margin)]) {
			return true
		}
		i, marked = end, false
	}
	return false
}

func isASCIIName(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// startsOurKey reports whether a text starts with a known key, after quotes and similar marks.
func startsOurKey(rest string) bool {
	rest = strings.TrimLeft(rest, keyMarks)
	end := 0
	for end < len(rest) && isASCIIName(rest[end]) {
		end++
	}
	return end > 0 && isKey(rest[:end])
}
