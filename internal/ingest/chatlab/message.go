package chatlab

import (
	"encoding/json"
	"fmt"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// The kinds of messages that are not read as plain text.
const (
	chatlabImage     = "1"
	chatlabVoice     = "2"
	chatlabVideo     = "3"
	chatlabFile      = "4"
	chatlabSticker   = "5"
	chatlabLink      = "7"
	chatlabLocation  = "8"
	chatlabRedPacket = "20"
	chatlabTransfer  = "21"
	chatlabPoke      = "22"
	chatlabCall      = "23"
	chatlabShare     = "24"
	chatlabReply     = "25"
	chatlabForward   = "26"
	chatlabContact   = "27"
	chatlabSystem    = "80"
	chatlabRecalled  = "81"
)

// chatlabNobody sends what the platform says.
const chatlabNobody = "SYSTEM"

type chatlabMessage struct {
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
	var m chatlabMessage
	if err := json.Unmarshal(part.Value, &m); err != nil {
		return export.Record{}, &export.Bad{Place: part.Place, Reason: "no message", Err: export.Readable(err)}
	}
	at, err := export.LooseTime(string(m.Time))
	switch {
	case err != nil:
		return export.Record{}, &export.Bad{Place: part.Place, Reason: "no time", Err: err}
	case m.Sender == "":
		return export.Record{}, &export.Bad{Place: part.Place, Reason: "no author", Err: fmt.Errorf("sender is missing: %w", reverie.ErrInvalid)}
	}
	r := export.Record{Chat: c.Chat, Place: part.Place, Event: m.Sender == chatlabNobody || chatlabEvent(string(m.Type))}
	r.Message = reverie.Message{ID: string(m.ID), AuthorID: string(m.Sender), Role: reverie.RoleUser, SentAt: at,
		Text: chatlabText(string(m.Type), string(m.Content)), ReplyTo: string(m.ReplyTo)}
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

// chatlabEvent tells the kinds that are nobody's words.
func chatlabEvent(kind string) bool {
	switch kind {
	case chatlabRedPacket, chatlabTransfer, chatlabPoke, chatlabCall, chatlabSystem, chatlabRecalled:
		return true
	}
	return false
}

// chatlabText is what a message of a kind says. Numbers that are not known are as text.
func chatlabText(kind, content string) string {
	switch kind {
	case chatlabRecalled:
		return ""
	case chatlabImage, chatlabVoice, chatlabVideo, chatlabFile, chatlabSticker, chatlabLocation, chatlabContact:
		return export.Caption(content)
	case chatlabLink, chatlabShare:
		return export.WithoutPlaceholders(content)
	case chatlabForward:
		if said := export.WithoutPlaceholders(content); said != "" {
			return export.Forwarded("", said)
		}
		return ""
	case chatlabReply:
		return export.UnlessPlaceholder(export.QuotedReply.ReplaceAllString(content, ""))
	}
	return export.UnlessPlaceholder(content)
}
