package export

import (
	"encoding/json"
	"strconv"
	"strings"

	"reverie/internal/reverie"
)

// Reactions says where an export has the reactions to a message: in a list, or in an object by emoji. Its fields
// are paths in each reaction, such as emoji.name, which pass through lists; a|b is the first that exists.
type Reactions struct {
	Emoji string // "" if the emoji is the object's key
	Count string // "" if each entry is one reaction, or one for each author
	By    string // author ids
	// Omitted says that a message without a reaction field has no reactions. Otherwise they are unknown.
	Omitted bool
}

// Of parses the reactions. read converts an emoji or author id from the export's form; nil leaves it unchanged.
func (s Reactions) Of(raw json.RawMessage, read func(string) string) []reverie.Reaction {
	if len(raw) == 0 {
		if !s.Omitted {
			return nil
		}
		return []reverie.Reaction{}
	}
	if raw[0] == '"' { // JSON inside a string
		raw = json.RawMessage(As[string](raw))
	}
	if read == nil {
		read = func(s string) string { return s }
	}
	list, unnamed := []reverie.Reaction{}, map[string]int{}
	take := func(emoji string, of json.RawMessage) {
		emoji = read(emoji)
		by := valuesAt(of, s.By)
		n, err := strconv.Atoi(strings.Join(valuesAt(of, s.Count), ""))
		if err != nil {
			n = max(1, len(by))
		}
		for _, who := range by {
			list = append(list, reverie.Reaction{Emoji: emoji, AuthorID: read(who), Count: 1})
		}
		unnamed[emoji] += max(0, n-len(by))
	}
	for emoji, of := range JSONFieldsOf(raw) {
		take(emoji, of)
	}
	for _, of := range As[[]json.RawMessage](raw) {
		take(strings.Join(valuesAt(of, s.Emoji), ""), of)
	}
	for emoji, n := range unnamed {
		list = append(list, reverie.Reaction{Emoji: emoji, Count: n})
	}
	return append([]reverie.Reaction{}, reverie.Reacted(reverie.StorableReactions(list))...)
}

// valuesAt returns the strings and numbers at the first of these paths that has any.
func valuesAt(raw json.RawMessage, paths string) (found []string) {
	for path := range strings.SplitSeq(paths, "|") {
		if found == nil && path != "" {
			found = at(raw, strings.Split(path, "."))
		}
	}
	return found
}

func at(raw json.RawMessage, path []string) (found []string) {
	switch {
	case len(raw) > 0 && raw[0] == '[':
		for _, one := range As[[]json.RawMessage](raw) {
			found = append(found, at(one, path)...)
		}
	case len(path) > 0:
		return at(JSONFieldsOf(raw)[path[0]], path[1:])
	default:
		if s := TextOf(raw); s != "" {
			return []string{s}
		}
	}
	return found
}
