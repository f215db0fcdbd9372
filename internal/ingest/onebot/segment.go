package onebot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// segment is a piece of a message: a text, a mention, a picture.
type segment struct {
	Type export.Text     `json:"type"`
	Data json.RawMessage `json:"data"`
}

// onebotSegments reads a message as an array of pieces, as a single one, or as a string of
// CQ codes, where raw takes the place of one that is missing.
func onebotSegments(message json.RawMessage, raw string) ([]segment, error) {
	message = bytes.TrimSpace(message)
	var list []segment
	var err error
	switch {
	case len(message) == 0 || string(message) == "null" || string(message) == `""`:
		return cqSegments(raw), nil
	case message[0] == '"':
		var s string
		err = json.Unmarshal(message, &s)
		list = cqSegments(s)
	case message[0] == '{':
		list = make([]segment, 1)
		err = json.Unmarshal(message, &list[0])
	default:
		err = json.Unmarshal(message, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("message is neither a string nor an array of segments: %w: %w", export.Readable(err),
			reverie.ErrInvalid)
	}
	return list, nil
}

var (
	cqCode     = text.NewPattern(`\[CQ:([A-Za-z0-9_.-]+)((?:,[^,=\]]+=[^,\]]*)*)\]`)
	cqUnescape = strings.NewReplacer("&#91;", "[", "&#93;", "]", "&#44;", ",", "&amp;", "&")
)

// cqSegments reads a string of CQ codes. What is no whole code is text.
func cqSegments(s string) []segment {
	var list []segment
	add := func(kind string, data map[string]string) {
		raw, _ := json.Marshal(data) // strings always can be
		list = append(list, segment{Type: export.Text(kind), Data: raw})
	}
	at := 0
	for _, m := range cqCode.FindAllStringSubmatchIndex(s, -1) {
		if before := s[at:m[0]]; before != "" {
			add("text", map[string]string{"text": cqUnescape.Replace(before)})
		}
		data := map[string]string{}
		for pair := range strings.SplitSeq(strings.TrimPrefix(s[m[4]:m[5]], ","), ",") {
			if key, value, ok := strings.Cut(pair, "="); ok {
				data[strings.TrimSpace(key)] = cqUnescape.Replace(value)
			}
		}
		add(s[m[2]:m[3]], data)
		at = m[1]
	}
	if rest := s[at:]; rest != "" {
		add("text", map[string]string{"text": cqUnescape.Replace(rest)})
	}
	return list
}

// onebotData are the values of a segment that are read. All are strings by the standard,
// and many implementations write numbers and objects.
type onebotData struct {
	ID       export.Text     `json:"id"`
	Text     export.Text     `json:"text"`
	QQ       export.Text     `json:"qq"`
	Name     export.Text     `json:"name"`
	Title    export.Text     `json:"title"`
	URL      export.Text     `json:"url"`
	UserID   export.Text     `json:"user_id"`
	Nickname export.Text     `json:"nickname"`
	Content  json.RawMessage `json:"content"`
	Data     json.RawMessage `json:"data"`
	Raw      struct {
		FaceText export.Text `json:"faceText"` // of NapCat
	} `json:"raw"`
}

// onebotSaid is what a message says.
type onebotSaid struct{ text, replyTo string }

// onebotDepth is how deep forwarded messages within forwarded ones are read.
const onebotDepth = 4

// read reads the pieces of a message. What is no words (pictures, files, stickers) says
// nothing.
func (o *reader) read(chat string, segments []segment, depth int) onebotSaid {
	var b strings.Builder
	var said onebotSaid
	for _, s := range segments {
		var d onebotData
		if json.Unmarshal(s.Data, &d) != nil { // of a shape of its own
			continue
		}
		switch s.Type {
		case "text":
			b.WriteString(string(d.Text))
		case "at":
			b.WriteString("@" + o.called(chat, d))
		case "face":
			if name := strings.Trim(string(d.Raw.FaceText), "/[] "); name != "" {
				b.WriteString(":" + name + ":")
			}
		case "reply":
			said.replyTo = string(d.ID)
		case "markdown":
			b.WriteString(export.TextOf(d.Content))
		case "share", "music", "location":
			b.WriteString(export.JoinLines(string(d.Title), export.TextOf(d.Content), string(d.URL)))
		case "json":
			b.WriteString(export.CardText(d.Data))
		case "forward", "node":
			b.WriteString(o.forwarded(chat, d, depth))
		}
	}
	said.text = strings.TrimSpace(b.String())
	return said
}

// called is the name of somebody who is mentioned.
func (o *reader) called(chat string, d onebotData) string {
	if d.QQ == "all" {
		return cmp.Or(strings.TrimPrefix(string(d.Name), "@"), "all")
	}
	return cmp.Or(strings.TrimPrefix(string(d.Name), "@"), o.names[onebotName{chat, string(d.QQ)}], string(d.QQ))
}

// forwarded is what messages say that somebody passes on, a line each.
func (o *reader) forwarded(chat string, d onebotData, depth int) string {
	if depth == onebotDepth {
		return ""
	}
	var nodes []json.RawMessage
	if json.Unmarshal(d.Content, &nodes) != nil || d.UserID != "" || d.Nickname != "" { // one, not a list
		nodes = nil
	}
	var lines []string
	for _, node := range nodes {
		var wrapped segment // a node of go-cqhttp
		var e event
		var said string
		if json.Unmarshal(node, &wrapped) == nil && wrapped.Type == "node" {
			said = o.read(chat, []segment{wrapped}, depth+1).text
		} else if json.Unmarshal(node, &e) == nil {
			said = o.passedOn(chat, e.label(), e.Message, string(e.Raw), depth)
		}
		lines = append(lines, said)
	}
	if nodes == nil && len(d.Content) > 0 {
		lines = append(lines, o.passedOn(chat, string(cmp.Or(d.Nickname, d.Name, d.UserID)), d.Content, "", depth))
	}
	return export.JoinLines(lines...)
}

func (o *reader) passedOn(chat, author string, message json.RawMessage, raw string, depth int) string {
	segments, err := onebotSegments(message, raw)
	if err != nil {
		return ""
	}
	if said := o.read(chat, segments, depth+1).text; said != "" {
		return export.Forwarded(author, said)
	}
	return ""
}
