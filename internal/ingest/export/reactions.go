package export

import (
	"encoding/json"
	"strconv"
	"strings"

	"reverie/internal/reverie"
)

// Reactions says where an export has the reactions to a message: in a list, or in an object by their emoji. Its
// fields are paths within each of them, as emoji.name, that lead through lists; a|b is the first of two.
type Reactions struct {
	Emoji string // "" in an object
	Count string // "" where each is one, or one for each author
	By    string // ids of authors
	// Omitted tells that a message without any has none of it. Elsewhere the export then does not tell.
	Omitted bool
}

// Of reads them. Read reads an emoji or an author's id as the export writes it; nil leaves it as it is.
func (s Reactions) Of(raw json.RawMessage, read func(string) string) []reverie.Reaction {
	if len(raw) == 0 {
		if !s.Omitted {
			return nil
		}
		return []reverie.Reaction{}
	}
	if raw[0] == '"' { // JSON in a string
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

// valuesAt are the strings and numbers at the first of these paths that has any.
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
