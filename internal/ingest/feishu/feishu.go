// Package feishu reads messages of Feishu and Lark in the form of their API im/v1/messages: answers, lists of
// messages, or one message per line. Ids are the API's. Names occur only in mentions.
package feishu

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes messages of Feishu's API.
var Format = export.Format{
	Name:  "feishu",
	Title: "Feishu or Lark: messages of the API (im/v1/messages), JSON or JSONL",
	Signs: append(signs.At("", "[]", "items[]", "data.items[]", "[].items[]", "[].data.items[]", "messages[]", "data.messages[]"),
		happened.At("", "[]")...),
	Tell: func(t *export.Teller, src export.Source) error {
		r := reader{Teller: t, file: cmp.Or(export.Title(src.Name), "chat"), names: map[string]string{}}
		for part := range parts(export.Source{Head: src.Head, Reader: bytes.NewReader(src.Head)}) {
			r.learn(export.JSONFieldsOf(part.Value))
		}
		return t.Each(parts(src), r.take)
	},
}

var (
	signs = export.Sign{Sure: 95, Paths: "message_id msg_type|message_type chat_id|body.content|sender.id"}
	// happened is the sign of an event that the platform sends for a message.
	happened = export.Sign{Sure: 95, Paths: "event.message.message_id event.message.chat_id"}
)

// parts yields the messages of any of these forms.
func parts(src export.Source) export.Parts {
	if export.Surest(src.Head, append(signs.At("", "[]"), happened.At("", "[]")...)...) > 0 {
		return export.Values(src)
	}
	return export.JSONParts(src.Reader, "items[]", "data.items[]", "[].items[]", "[].data.items[]", "messages[]", "data.messages[]")
}

type reader struct {
	*export.Teller
	file  string            // its name, for messages without a chat
	names map[string]string // names of people, by id
}

type message struct {
	ID       export.Text         `json:"message_id"`
	Parent   export.Text         `json:"parent_id"`
	Thread   export.Text         `json:"thread_id"`
	Upper    export.Text         `json:"upper_message_id"` // it is part of this forwarded message
	Type     export.Text         `json:"msg_type"`
	Kind     export.Text         `json:"message_type"` // the same in an event
	ReplyTo  export.Text         `json:"reply_to"`     // parent_id in the output of lark-cli
	Created  export.Text         `json:"create_time"`
	Deleted  bool                `json:"deleted"`
	Edited   export.Mark         `json:"updated"`
	Updated  export.Mark         `json:"update_time"`
	Chat     export.Text         `json:"chat_id"`
	Sender   export.JSONFields   `json:"sender"`
	Body     export.JSONFields   `json:"body"`
	Content  export.Text         `json:"content"` // in an event instead of body; in the output of lark-cli, plain text
	Mentions []export.JSONFields `json:"mentions"`
}

// idOf returns an id, or the first one of an object of ids.
func idOf(raw json.RawMessage) string {
	of := export.JSONFieldsOf(raw)
	return cmp.Or(export.TextOf(raw), of.Str("open_id"), of.Str("user_id"), of.Str("union_id"))
}

// learn records the names of the people that a message mentions.
func (r *reader) learn(m export.JSONFields) {
	for _, who := range m.List("mentions") {
		if id := idOf(who["id"]); id != "" && len(r.names) < export.MaxNames {
			r.names[id] = export.Shortened(who.Str("name"))
		}
	}
}

func (r *reader) take(part export.Part) error {
	event := export.JSONFieldsOf(part.Value).Fields("event")
	if len(event) > 0 {
		part.Value = event["message"]
	}
	r.learn(export.JSONFieldsOf(part.Value))
	var m message
	if err := part.Decode(&m, "no message"); err != nil {
		return err
	}
	if len(event) > 0 {
		m.Sender = event.Fields("sender")
	}
	m.Type = cmp.Or(m.Type, m.Kind)
	at, err := export.Time(string(m.Created), r.Zone)
	by := cmp.Or(idOf(m.Sender["id"]), idOf(m.Sender["sender_id"]))
	program := m.Sender.Str("sender_type")
	chat := cmp.Or(string(m.Chat), r.file)
	if m.Type == "system" {
		by = cmp.Or(by, chat)
	}
	if err := export.Needs(string(m.ID), err, by); err != nil {
		return err
	}
	rec := export.Record{Chat: export.Chat{ID: chat, Name: chat}, Place: part.Place, Bot: program == "app" || program == "bot",
		Event: m.Deleted || events[string(m.Type)], Gone: m.Deleted, Edited: m.Edited != ""}
	rec.Message = reverie.Message{ID: string(m.ID), AuthorID: by, SentAt: at, SessionID: string(m.Thread), ReplyTo: string(cmp.Or(m.Parent, m.ReplyTo)),
		Author: cmp.Or(m.Sender.Str("name"), r.names[by], by)}
	if m.Edited != "" {
		rec.Message.EditedAt = m.Updated.When(r.Zone)
	}
	if !m.Deleted {
		rec.Message.Text = m.said()
	}
	if m.Upper != "" && rec.Message.Text != "" {
		rec.Message.Text = export.Forwarded("", rec.Message.Text)
	}
	return r.Tell(rec)
}

// events are the kinds that nobody wrote.
var events = map[string]bool{"system": true, "video_chat": true, "hongbao": true}

// place matches a placeholder for a name in the text of an event.
var place = text.NewPattern(`\{\w{1,40}\}`)

// mention matches mentions in texts: the number of the mention, everybody, or a tag.
var mention = text.NewPattern(`@_(?:user_\d+|all)\b|<at [^<>]{0,200}>([^<>]{0,200})</at>`)

// said returns the text of a message. Its content is JSON in a string, different for each kind.
func (m message) said() string {
	c := export.JSONFieldsOf([]byte(cmp.Or(m.Body.Str("content"), string(m.Content))))
	if c == nil && len(m.Body) == 0 {
		return export.UnlessPlaceholder(string(m.Content))
	}
	said := ""
	switch m.Type {
	case "text":
		said = c.Str("text")
	case "post", "interactive":
		said = page(c)
	case "location":
		said = c.Str("name")
	case "vote":
		said = export.PollText(c.Str("topic"), export.As[[]string](c["options"]))
	case "todo":
		said = page(c.Fields("summary"))
	case "share_calendar_event", "calendar", "general_calendar":
		said = c.Str("summary")
	case "system":
		said = place.ReplaceAllStringFunc(c.Str("template"), func(in string) string {
			key := strings.Trim(in, "{}")
			return cmp.Or(c.Str(key), strings.Join(export.As[[]string](c[key]), ", "))
		})
	}
	names := map[string]string{"@_all": "@all"}
	for _, who := range m.Mentions {
		names[who.Str("key")] = "@" + who.Str("name")
	}
	return strings.TrimSpace(mention.ReplaceAllStringFunc(said, func(s string) string {
		if tag := mention.FindStringSubmatch(s)[1]; tag != "" {
			return "@" + strings.TrimPrefix(tag, "@")
		}
		return cmp.Or(names[s], s)
	}))
}

// page returns a title and lines of pieces, which may be nested under a language.
func page(c export.JSONFields) string {
	for _, language := range []string{"zh_cn", "en_us", "ja_jp", "zh_hk", "zh_tw"} {
		if of := c.Fields(language); len(of) > 0 {
			c = of
			break
		}
	}
	lines := []string{c.Str("title")}
	for _, row := range export.As[[][]export.JSONFields](slices.Concat(c["content"], c["elements"])) {
		var line strings.Builder
		for _, piece := range row {
			line.WriteString(pieceText(piece))
		}
		lines = append(lines, line.String())
	}
	return export.JoinLines(lines...)
}

func pieceText(p export.JSONFields) string {
	switch said := p.Str("text"); p.Str("tag") {
	case "a":
		if href := p.Str("href"); href != said && href != "" {
			return said + " (" + href + ")"
		}
		return said
	case "at":
		if id := p.Str("user_id"); strings.HasPrefix(id, "@_") {
			return id
		}
		return "@" + cmp.Or(p.Str("user_name"), p.Str("user_id"))
	case "emotion":
		return ":" + p.Str("emoji_type") + ":"
	case "code_block":
		return "\n" + said
	case "button":
		return ""
	default:
		return said
	}
}
