package chatlab

import (
	"encoding/json"
	"fmt"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// The kinds of messages that are not read as plain text.
const (
	image     = "1"
	voice     = "2"
	video     = "3"
	file      = "4"
	sticker   = "5"
	link      = "7"
	location  = "8"
	redPacket = "20"
	transfer  = "21"
	poke      = "22"
	call      = "23"
	share     = "24"
	reply     = "25"
	forward   = "26"
	contact   = "27"
	system    = "80"
	recalled  = "81"
)

// nobody sends what the platform says.
const nobody = "SYSTEM"

type message struct {
	ID       export.Text `json:"platformMessageId"`
	Sender   export.Text `json:"sender"`
	Name     export.Text `json:"accountName"`
	Nickname export.Text `json:"groupNickname"`
	Time     export.Text `json:"timestamp"` // in seconds; some write milliseconds
	Type     export.Text `json:"type"`
	Content  export.Text `json:"content"`
	ReplyTo  export.Text `json:"replyToMessageId"`
}

// record reads one message.
func (c *Reader) record(part export.JSONPart) (export.Record, error) {
	var m message
	if err := json.Unmarshal(part.Value, &m); err != nil {
		return export.Record{}, &export.Bad{Place: part.Place, Reason: "no message", Err: export.Readable(err)}
	}
	at, err := export.LooseTime(string(m.Time))
	switch {
	case err != nil:
		return export.Record{}, &export.Bad{Place: part.Place, Reason: "no time", Err: err}
	case m.Sender == "":
		return export.Record{}, &export.Bad{Place: part.Place, Reason: "no author",
			Err: fmt.Errorf("sender is missing: %w", reverie.ErrInvalid)}
	}
	r := export.Record{Chat: c.Chat, Place: part.Place, Event: m.Sender == nobody || event(string(m.Type))}
	r.Message = reverie.Message{ID: string(m.ID), AuthorID: string(m.Sender), Role: reverie.RoleUser, SentAt: at,
		Text: text(string(m.Type), string(m.Content)), ReplyTo: string(m.ReplyTo)}
	if r.Message.ID == "" {
		r.Message.ID = c.IDs.ID(c.Chat.ID, string(m.Time), string(m.Sender))
	}
	switch {
	case m.Nickname != "":
		r.Message.Author = string(m.Nickname)
	case m.Name != "":
		r.Message.Author = string(m.Name)
	default:
		r.Message.Author = c.name(string(m.Sender))
	}
	return r, nil
}

// event tells the kinds that are nobody's words.
func event(kind string) bool {
	switch kind {
	case redPacket, transfer, poke, call, system, recalled:
		return true
	}
	return false
}

// text is what a message of a kind says. Numbers that are not known are as text.
func text(kind, content string) string {
	switch kind {
	case recalled:
		return ""
	case image, voice, video, file, sticker, location, contact:
		return export.Caption(content)
	case link, share:
		return export.WithoutPlaceholders(content)
	case forward:
		if said := export.WithoutPlaceholders(content); said != "" {
			return export.Forwarded("", said)
		}
		return ""
	case reply:
		return export.UnlessPlaceholder(export.QuotedReply.ReplaceAllString(content, ""))
	}
	return export.UnlessPlaceholder(content)
}
