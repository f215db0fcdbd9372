// Package telegram reads Telegram Desktop's JSON export: one chat, or an account with all of its chats. Ids of
// people, groups and channels overlap, so each gets its kind as a prefix, as the export writes authors. A message's
// id is the same for all members of a group or channel. In chats of two and small groups it is specific to the
// exporting account.
package telegram

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/transform"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// Format describes Telegram's export.
var Format = export.Format{
	Name: "telegram", Platform: "Telegram",
	Title:  "Telegram Desktop export in JSON (result.json, or its folder)",
	Signs:  signs,
	Folder: func(files fs.FS) int { return 95 * min(1, len(telegramFiles(files))) },
	Tell: func(t *export.Teller, src export.Source) error {
		return t.Files(src, telegramFiles, func(src export.Source) error { return (&reader{Teller: t}).file(src) })
	},
}

// kinds maps the types of chats to the kind of their ids.
var kinds = map[string]string{
	"saved_messages": "saved", "replies": "replies", "verification_codes": "codes", "personal_chat": "user",
	"bot_chat":      "user",
	"private_group": "chat", "private_supergroup": "channel", "public_supergroup": "channel", "public_group": "channel",
	"private_channel": "channel", "public_channel": "channel",
}

// Paths of a message, and those that only the data of a whole account has.
const (
	aMessage  = "messages[].date|messages[].date_unixtime messages[].from_id|messages[].actor_id|messages[].text|messages[].action"
	anAccount = "contacts.about|frequent_contacts.about|sessions.about|chats.about|chats.list[].type|left_chats.list[].type"
)

var signs = append(export.Sign{Sure: 90, Paths: aMessage}.At("chats.list[]"),
	export.Sign{Sure: 95, Paths: "type id " + aMessage}, export.Sign{Sure: 90, Paths: "id " + aMessage},
	export.Sign{Sure: 90, Paths: "about personal_information.user_id|" + anAccount},
	export.Sign{Sure: 70, Paths: "name type id messages"})

// telegramFiles finds the exports of a folder or archive.
func telegramFiles(files fs.FS) []string { return export.JSONFiles(files, nil, signs...) }

// reader reads one file.
type reader struct {
	*export.Teller
	chat chat
}

// chat is the current chat.
type chat struct {
	key      string // its place in the file
	kind, id string // as in the file
	name     string
	chat     export.Chat // without an id until a message is read
	last     time.Time   // time of the previous message
	topics   topics
}

// file passes on the messages of a file.
func (t *reader) file(src export.Source) error {
	var patterns []string
	for _, at := range []string{"", "chats.list[].", "left_chats.list[]."} {
		patterns = append(patterns, at+"name", at+"type", at+"id", at+"messages[]")
	}
	return t.Each(export.JSONParts(mended(src.Reader), patterns...), func(part export.Part) error {
		dot := strings.LastIndexByte(part.Pattern, '.')
		key := part.Pattern[:dot+1]
		if key != "" {
			key += strconv.Itoa(part.Index[0])
		}
		if key != t.chat.key {
			t.chat = chat{key: key}
		}
		if what := part.Pattern[dot+1:]; what != "messages[]" {
			t.chat.is(what, part.Value)
			return nil
		}
		if t.chat.chat.ID == "" {
			if err := t.chat.begin(t.OneGroup); err != nil {
				return err
			}
		}
		if !t.Wants(t.chat.chat) {
			return nil
		}
		r := export.Record{Chat: t.chat.chat, Place: part.Place}
		if err := t.chat.record(part, t.Zone, &r); err != nil {
			return err
		}
		return t.Tell(r)
	})
}

// is records a property of the chat.
func (c *chat) is(key string, value json.RawMessage) {
	s := export.TextOf(value)
	switch key {
	case "name":
		c.name = s
	case "type":
		c.kind = s
	default:
		c.id = s
	}
}

// begin determines the chat of the messages. If nothing before them identifies it, the error is a [*Bad]. Its kind
// may be missing if the messages go into a named group.
func (c *chat) begin(oneGroup bool) error {
	if c.id == "" || c.kind == "" && !oneGroup {
		return &export.Bad{Reason: "no chat",
			Err: fmt.Errorf("the id or type of its chat is missing, or comes after the messages; put name, type and id before "+
				"them: %w", reverie.ErrInvalid)}
	}
	c.chat.ID = cmp.Or(kinds[c.kind], "peer") + c.id
	c.chat.Private = kinds[c.kind] == "user"
	c.chat.Name = cmp.Or(c.name, strings.ReplaceAll(c.kind, "_", " "), c.chat.ID)
	return nil
}

// message is one exported message.
type message struct {
	ID       export.Text     `json:"id"`
	Type     string          `json:"type"`
	Date     string          `json:"date"` // by the exporting machine's clock, without a zone
	Unix     export.Text     `json:"date_unixtime"`
	Edited   export.Mark     `json:"edited"`
	EditUnix export.Mark     `json:"edited_unixtime"`
	From     export.Text     `json:"from"`
	FromID   export.Text     `json:"from_id"`
	Author   export.Text     `json:"author"` // the signature of a channel's post
	Actor    export.Text     `json:"actor"`
	ActorID  export.Text     `json:"actor_id"`
	Action   export.Text     `json:"action"`
	Title    telegramText    `json:"title"`
	Info     export.Text     `json:"information_text"`
	Forward  json.RawMessage `json:"forwarded_from"` // null: a deleted account
	ReplyTo  export.Text     `json:"reply_to_message_id"`
	ReplyIn  export.Text     `json:"reply_to_peer_id"`
	ViaBot   export.Text     `json:"via_bot"`
	Text     telegramText    `json:"text"`
	Entities telegramText    `json:"text_entities"`
	Rich     rich            `json:"rich_message"` // instead of text
	Place    export.Text     `json:"place_name"`
	Buttons  json.RawMessage `json:"inline_bot_buttons"`
	React    json.RawMessage `json:"reactions"`
	Poll     *struct {
		Question telegramText `json:"question"`
		Answers  []entry      `json:"answers"`
	} `json:"poll"`
	Todo *struct {
		Title   telegramText `json:"title"`
		Answers []entry      `json:"answers"`
	} `json:"todo_list"`
}

// reactions name the latest authors; a custom emoji is only a file.
var reactions = export.Reactions{Emoji: "emoji|document_id|type", Count: "count", By: "recent.from_id", Omitted: true}

// entry is a choice of a poll, or a line of a list.
type entry struct {
	Text telegramText `json:"text"`
}

// telegramText is a text, as a string or as parts with markup. Values of another type are empty.
type telegramText string

func (t *telegramText) UnmarshalJSON(raw []byte) error {
	var s string
	var parts []json.RawMessage
	if json.Unmarshal(raw, &s) != nil && json.Unmarshal(raw, &parts) == nil {
		for _, part := range parts {
			s += telegramPart(part)
		}
	}
	*t = telegramText(s)
	return nil
}

// rich is the text of a message with page layout, one block per line.
type rich string

func (t *rich) UnmarshalJSON(raw []byte) error {
	var page any
	if err := json.Unmarshal(raw, &page); err != nil {
		return err
	}
	*t = rich(export.JoinLines(words(page)...))
	return nil
}

// words returns the texts in a value, in the order of the page.
func words(value any) (lines []string) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			lines = append(lines, words(one)...)
		}
	case map[string]any:
		for _, key := range []string{"title", "text", "caption", "blocks", "items", "rows", "cells", "children"} {
			if s, ok := v[key].(string); ok {
				lines = append(lines, s)
				continue
			}
			if key == "text" { // of parts, as in other messages
				raw, _ := json.Marshal(v[key]) // a decoded value can be encoded
				var parts telegramText
				_ = json.Unmarshal(raw, &parts) // a value of another type is empty
				if parts != "" {
					lines = append(lines, string(parts))
					continue
				}
			}
			lines = append(lines, words(v[key])...)
		}
	}
	return lines
}

func telegramPart(raw json.RawMessage) string {
	part, text := export.JSONFieldsOf(raw), export.PlainText(raw)
	switch kind, href := part.Str("type"), part.Str("href"); {
	case kind == "mention_name" && text != "" && !strings.HasPrefix(text, "@"):
		return "@" + text
	case kind == "text_link" && href != "" && href != text:
		return text + " (" + href + ")"
	}
	return text
}

// record reads one message.
func (c *chat) record(part export.Part, zone *time.Location, r *export.Record) error {
	var m message
	if err := part.Decode(&m, "no message"); err != nil {
		return err
	}
	if m.ID == "" {
		return export.Missing("id", "id")
	}
	at, err := export.Time(cmp.Or(string(m.Unix), m.Date), zone)
	if err != nil && m.Type == "unsupported" && !c.last.IsZero() { // it has neither text nor time
		at, err = c.last, nil
	}
	if err != nil {
		return err
	}
	c.last, r.Edited, r.Reactions = at, m.Edited+m.EditUnix != "", reactions.Of(m.React, nil)
	r.Message = reverie.Message{ID: string(m.ID), SentAt: at, EditedAt: cmp.Or(m.EditUnix, m.Edited).When(zone)}
	if m.Type != "message" {
		r.Event = true
		r.Message.AuthorID, r.Message.Author = string(cmp.Or(m.ActorID, m.FromID)), string(cmp.Or(m.Actor, m.From))
		r.Message.Text = m.happened()
	} else {
		r.Message.AuthorID, r.Message.Author = string(m.FromID), string(cmp.Or(m.From, m.Author))
		r.Message.Text = m.said()
		buttons := bytes.HasPrefix(m.Buttons, []byte("["))
		bot := c.kind == "bot_chat" && strings.TrimPrefix(r.Message.AuthorID, "user") == c.id // before 2021 without user
		r.Bot = bot || buttons && m.ViaBot == ""
		if m.ReplyIn == "" {
			r.Message.ReplyTo = string(m.ReplyTo)
		}
	}
	if r.Message.AuthorID == "" && r.Message.Author == "" { // a channel's post, by the chat itself
		r.Message.AuthorID, r.Message.Author = c.chat.ID, c.chat.Name
	}
	r.Message.Author = cmp.Or(r.Message.Author, r.Message.AuthorID)
	if m.Action == "topic_created" {
		c.topics.begin(r.Message.ID)
	}
	r.Message.SessionID = c.topics.of(r.Message.ID, r.Message.ReplyTo)
	if r.Message.SessionID == r.Message.ReplyTo { // this marks the topic, and is no reply
		r.Message.ReplyTo = ""
	}
	return nil
}

// escapes repairs invalid JSON: Telegram writes control characters as \x01.
type escapes struct{ transform.NopResetter }

func mended(r io.Reader) io.Reader { return transform.NewReader(r, escapes{}) }

// Transform implements [transform.Transformer].
func (escapes) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		next, take := src[nSrc:], bytes.IndexByte(src[nSrc:], '\\')
		switch {
		case take < 0:
			take = len(next)
		case take == 0 && len(next) == 1 && !atEOF:
			return nDst, nSrc, transform.ErrShortSrc
		case take == 0: // a backslash with a second byte that makes no escape
			take = min(2, len(next))
		}
		out := next[:take]
		if string(out) == `\x` {
			out = []byte(`\u00`)
		}
		if len(out) > len(dst)-nDst {
			return nDst, nSrc, transform.ErrShortDst
		}
		nDst += copy(dst[nDst:], out)
		nSrc += take
	}
	return nDst, nSrc, nil
}

// happened returns a short description of a service message.
func (m *message) happened() string {
	what := strings.ReplaceAll(string(m.Action), "_", " ")
	if title := cmp.Or(string(m.Title), string(m.Info)); title != "" && what != "" {
		return what + ": " + title
	} else if what == "" {
		return title
	}
	return what
}

// said returns the text of a message.
func (m *message) said() string {
	said := cmp.Or(string(m.Entities), string(m.Text), string(m.Rich))
	if m.Poll != nil {
		said = export.JoinLines(said, export.PollText(string(m.Poll.Question), texts(m.Poll.Answers)))
	}
	if m.Todo != nil {
		said = export.JoinLines(said, export.PollText(string(m.Todo.Title), texts(m.Todo.Answers)))
	}
	said = strings.TrimSpace(export.JoinLines(said, string(m.Place)))
	if len(m.Forward) > 0 && said != "" {
		said = export.Forwarded(export.TextOf(m.Forward), said)
	}
	return said
}

func texts(entries []entry) (list []string) {
	for _, e := range entries {
		list = append(list, string(e.Text))
	}
	return list
}

// topics tracks the topics of a forum. A message replies to the first message of its topic, or to one in the topic.
// It remembers the topics of recent messages.
type topics struct {
	roots       map[string]bool
	now, before map[string]string // message id -> topic
}

func (t *topics) begin(root string) {
	if t.roots == nil {
		t.roots = map[string]bool{}
	}
	if len(t.roots) < export.MaxNames {
		t.roots[root] = true
	}
}

// of returns the topic of a message that replies to another one; "" is none, or the general topic.
func (t *topics) of(id, replyTo string) string {
	topic := ""
	switch {
	case len(t.roots) == 0:
		return ""
	case t.roots[id]:
		return id
	case t.roots[replyTo]:
		topic = replyTo
	default:
		topic = cmp.Or(t.now[replyTo], t.before[replyTo])
	}
	if topic == "" {
		return ""
	}
	if t.now == nil || len(t.now) >= 1<<16 {
		t.now, t.before = map[string]string{}, t.now
	}
	t.now[id] = topic
	return topic
}
