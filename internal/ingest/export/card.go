package export

import (
	"cmp"
	"encoding/json"
	"html"
	"maps"
	"slices"
)

// TextOf is a value that is a string, and "" where it is none.
func TextOf(raw json.RawMessage) string {
	var s Text
	_ = json.Unmarshal(raw, &s) // of another type it says nothing
	return string(s)
}

// CardText is what a card of QQ says (a link, a mini program): its title, its description
// and where it leads. The card is JSON, or a string of it.
func CardText(raw json.RawMessage) string {
	if s := TextOf(raw); s != "" {
		raw = json.RawMessage(html.UnescapeString(s))
	}
	var card struct {
		Meta map[string]json.RawMessage `json:"meta"`
	}
	if json.Unmarshal(raw, &card) != nil {
		return ""
	}
	for _, kind := range slices.Sorted(maps.Keys(card.Meta)) { // there is one as a rule
		var m struct {
			Title   Text `json:"title"`
			Desc    Text `json:"desc"`
			JumpURL Text `json:"jumpUrl"`
			DocURL  Text `json:"qqdocurl"`
			Address Text `json:"address"`
		}
		if json.Unmarshal(card.Meta[kind], &m) == nil && m.Title+m.Desc+m.Address != "" {
			return JoinLines(string(m.Title), string(m.Desc), string(m.Address), string(cmp.Or(m.DocURL, m.JumpURL)))
		}
	}
	return ""
}
