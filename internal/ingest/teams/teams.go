// Package teams reads messages of Microsoft Teams: as Microsoft Graph returns them (chats, and channels with the
// replies to each post), and the messages.json of a personal export, which Skype also writes.
package teams

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// Format describes exports of Teams.
var Format = export.Format{
	Name:  "teams",
	Title: "Microsoft Teams: messages of Microsoft Graph, or messages.json",
	Signs: append(graph.At("", "[]", "value[]", "[].value[]"), export.Sign{Sure: 95, Paths: "conversations[].MessageList"},
		export.Sign{Sure: 85, Paths: "userId exportDate conversations"}),
	Tell: func(t *export.Teller, src export.Source) error {
		r := reader{Teller: t, file: cmp.Or(export.Title(src.Name), "chat")}
		return t.Held(parts(src), r.take)
	},
}

// graph is the sign of a message of Microsoft Graph.
var graph = export.Sign{Sure: 95, Paths: "id messageType createdDateTime body|from"}

const (
	ownMessages = "conversations[].MessageList[]"
	ownID       = "conversations[].id"
	ownName     = "conversations[].displayName"
	ownTopic    = "conversations[].threadProperties"
)

func parts(src export.Source) export.Parts {
	if export.Surest(src.Head, graph.At("", "[]")...) > 0 {
		return export.Values(src)
	}
	return export.JSONParts(src.Reader, "value[]", "[].value[]", ownID, ownName, ownTopic, ownMessages)
}

type reader struct {
	*export.Teller
	file string      // its name, for messages without a chat
	at   int         // number of the current conversation in a personal export, from 1
	chat export.Chat // which it is
	post string      // in a channel: the post that the conversation replies to
}

func (r *reader) take(h *export.Hold, part export.Part) error {
	if !strings.HasPrefix(part.Pattern, "conversations") {
		return r.graph(h, part, true)
	}
	if n := part.Index[0] + 1; n != r.at {
		r.at, r.chat, r.post = n, export.Chat{}, ""
	}
	switch part.Pattern {
	case ownID:
		r.chat.ID, r.post, _ = strings.Cut(export.TextOf(part.Value), ";messageid=")
		r.chat.Name = cmp.Or(r.chat.Name, export.Shortened(r.chat.ID))
	case ownName:
		r.named(export.As[string](part.Value))
	case ownTopic:
		r.named(export.JSONFieldsOf(part.Value).Str("topic"))
	default:
		if r.chat.ID == "" {
			return r.NoChat(part.Place, "id")
		}
		return r.own(h, part)
	}
	return nil
}

func (r *reader) named(name string) { r.chat.Name = cmp.Or(export.Shortened(name), r.chat.Name) }

// add holds a message. Replies to a post form a session.
func add(h *export.Hold, r export.Record, post string) error {
	var c export.Change
	if post != "" && post != r.Message.ID {
		r.Message.SessionID, r.Message.ReplyTo = post, cmp.Or(r.Message.ReplyTo, post)
		c = export.Change{ChangeTarget: export.ChangeTarget{Kind: export.ChangeThread, ID: post}}
	}
	return h.Add(export.HeldRecord{Record: r}, c)
}

// person returns the id of a person. Graph writes only its last part.
func person(id string) string {
	return strings.TrimPrefix(id[strings.LastIndexByte(id, '/')+1:], "8:orgid:")
}

var (
	reactions    = export.Reactions{Emoji: "reactionType", By: "user.user.id"}
	ownReactions = export.Reactions{Emoji: "key", By: "users.mri", Omitted: true}
)

// own reads a message of a personal export.
func (r *reader) own(h *export.Hold, part export.Part) error {
	var m struct {
		ID         export.Text       `json:"id"`
		Name       export.Text       `json:"displayName"`
		Time       export.Text       `json:"originalarrivaltime"`
		Type       string            `json:"messagetype"`
		Content    export.Text       `json:"content"`
		From       export.Text       `json:"from"`
		Properties export.JSONFields `json:"properties"`
	}
	if err := part.Decode(&m, "no message"); err != nil {
		return err
	}
	at, err := export.Time(string(m.Time), time.UTC)
	by := cmp.Or(person(string(m.From)), r.chat.ID)
	if err := export.Needs(string(m.ID), err, by); err != nil {
		return err
	}
	rec := export.Record{Chat: r.chat, Place: part.Place, Bot: strings.HasPrefix(by, "28:"),
		Reactions: ownReactions.Of(m.Properties["emotions"], person)}
	rec.Message = reverie.Message{ID: string(m.ID), AuthorID: by, Author: cmp.Or(string(m.Name), by), SentAt: at}
	switch rec.Gone = export.As[export.Mark](m.Properties["deletetime"]) != ""; {
	case rec.Gone:
		rec.Event = true
	case m.Type == "Text":
		rec.Message.Text = string(m.Content)
	case m.Type == "RichText", m.Type == "RichText/Html":
		rec.Message.Text, rec.Message.ReplyTo = plain(string(m.Content))
	case !strings.HasPrefix(m.Type, "RichText/"): // files, pictures, cards
		rec.Event, rec.Message.Text = true, m.Type
	}
	return add(h, rec, r.post)
}

// message is a message of Microsoft Graph.
type message struct {
	ID      export.Text       `json:"id"`
	ReplyTo export.Text       `json:"replyToId"` // in a channel: the post
	Type    string            `json:"messageType"`
	Created export.Text       `json:"createdDateTime"`
	Deleted export.Text       `json:"deletedDateTime"`
	Edited  export.Mark       `json:"lastEditedDateTime"`
	Subject export.Text       `json:"subject"`
	Chat    export.Text       `json:"chatId"`
	Channel export.JSONFields `json:"channelIdentity"`
	From    export.JSONFields `json:"from"`
	Body    export.JSONFields `json:"body"`

	Attachments []export.JSONFields `json:"attachments"`
	Replies     []json.RawMessage   `json:"replies"`
	Reactions   json.RawMessage     `json:"reactions"`
}

// graph reads a message of Microsoft Graph, and the replies in a post.
func (r *reader) graph(h *export.Hold, part export.Part, post bool) error {
	var m message
	if err := part.Decode(&m, "no message"); err != nil {
		return err
	}
	at, err := export.Time(string(m.Created), time.UTC)
	chat := cmp.Or(string(m.Chat), m.Channel.Str("channelId"), r.file)
	user, app := m.From.Fields("user"), m.From.Fields("application")
	by := cmp.Or(user.Str("id"), app.Str("id"))
	if m.Type != "message" || m.Deleted != "" {
		by = cmp.Or(by, chat)
	}
	if err := export.Needs(string(m.ID), err, by); err != nil {
		return err
	}
	rec := export.Record{Chat: export.Chat{ID: chat, Name: chat}, Place: part.Place, Bot: len(user) == 0 && len(app) > 0,
		Event: m.Type != "message" || m.Deleted != "", Gone: m.Deleted != "", Edited: m.Edited != "",
		Reactions: reactions.Of(m.Reactions, nil)}
	rec.Message = reverie.Message{ID: string(m.ID), AuthorID: by, SentAt: at, EditedAt: m.Edited.When(time.UTC),
		Author: cmp.Or(user.Str("displayName"), app.Str("displayName"), by)}
	if m.Deleted == "" {
		rec.Message.Text, rec.Message.ReplyTo = m.said()
	}
	if err := add(h, rec, string(m.ReplyTo)); err != nil {
		return err
	}
	if !post {
		return nil
	}
	for i, raw := range m.Replies {
		answer := export.Part{Place: fmt.Sprintf("%s, replies %d", part.Place, i+1), Value: raw}
		if err := r.SkipBad(answer.Place, r.graph(h, answer, false)); err != nil {
			return err
		}
	}
	return nil
}

// said returns the text of a message, and the message that it quotes.
func (m message) said() (said, replyTo string) {
	if said = m.Body.Str("content"); m.Body.Str("contentType") != "text" {
		said, replyTo = plain(said)
	}
	for _, a := range m.Attachments {
		switch a.Str("contentType") {
		case "messageReference":
			replyTo = cmp.Or(replyTo, a.Str("id"))
		case "forwardedMessageReference":
			of := export.JSONFieldsOf([]byte(a.Str("content")))
			if words, _ := plain(of.Str("originalMessageContent")); words != "" {
				by := of.Fields("originalMessageSender").Fields("user").Str("displayName")
				said = export.JoinLines(said, export.Forwarded(by, words))
			}
		}
	}
	return export.JoinLines(string(m.Subject), said), replyTo
}
