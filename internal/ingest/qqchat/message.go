package qqchat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// message is a message as versions 4 to 6 of the tool write it.
type message struct {
	ID        export.Text `json:"id"`
	MessageID export.Text `json:"messageId"` // of version 4
	Timestamp export.Text `json:"timestamp"` // in milliseconds, or RFC 3339
	Time      export.Text `json:"time"`      // as the exporter's clock showed it
	Sender    user        `json:"sender"`
	Type      export.Text `json:"type"`
	OldType   export.Text `json:"messageType"`
	Recalled  bool        `json:"recalled"`
	System    bool        `json:"system"`
	OldRecall bool        `json:"isRecalled"`
	OldSystem bool        `json:"isSystemMessage"`
	Content   struct {
		Text     export.Text     `json:"text"`
		Elements []element       `json:"elements"`
		Reply    json.RawMessage `json:"reply"`
	} `json:"content"`
	Raw json.RawMessage `json:"rawMessage"`
}

type user struct {
	UID      export.Text `json:"uid"`
	Uin      export.Text `json:"uin"`
	Name     export.Text `json:"name"`
	Nickname export.Text `json:"nickname"`
	Card     export.Text `json:"groupCard"`
}

// id is the account: its number, or else what QQ calls it within.
func (u user) id() string {
	if u.Uin == "0" {
		u.Uin = ""
	}
	return string(cmp.Or(u.Uin, u.UID, "0"))
}

type element struct {
	Type export.Text     `json:"type"`
	Data json.RawMessage `json:"data"`
}

// record reads one message.
func (q *reader) record(part export.JSONPart) (export.Record, error) {
	var m message
	if err := json.Unmarshal(part.Value, &m); err != nil {
		return export.Record{}, &export.Bad{Place: part.Place, Reason: "no message", Err: export.Readable(err)}
	}
	at, err := m.sentAt(q.opts.Zone)
	if err != nil {
		return export.Record{}, &export.Bad{Place: part.Place, Reason: "no time", Err: err}
	}
	who := m.Sender.id()
	r := export.Record{Chat: q.chat, Place: part.Place, Event: m.event()}
	if who == "0" && !r.Event {
		return export.Record{}, &export.Bad{Place: part.Place, Reason: "no author",
			Err: fmt.Errorf("sender is missing: %w", reverie.ErrInvalid)}
	}
	r.Message = reverie.Message{ID: string(cmp.Or(m.ID, m.MessageID)), AuthorID: who, Role: reverie.RoleUser, SentAt: at,
		Author: cmp.Or(string(cmp.Or(m.Sender.Card, m.Sender.Name, m.Sender.Nickname)), who)}
	if r.Message.ID == "" || r.Message.ID == "0" {
		r.Message.ID = q.ids.ID(q.chat.ID, at.UTC().Format(time.RFC3339Nano), who)
	}
	if !m.Recalled && !m.OldRecall {
		r.Message.Text, r.Message.ReplyTo = m.read()
	}
	return r, nil
}

// event tells what is nobody's words, or not any more.
func (m *message) event() bool {
	switch m.Type + m.OldType {
	case "system", "error", "type_5", "type_19", "5", "19": // a notice in grey, or a call
		return true
	}
	if m.Recalled || m.OldRecall || m.System || m.OldSystem {
		return true
	}
	for _, e := range m.Content.Elements {
		if e.Type == "av_record" || e.Type == "system" { // a call
			return true
		}
	}
	return false
}

// sentAt is when a message was sent: by the clock of its server or, in some versions, by
// that of the exporter's wall.
func (m *message) sentAt(zone *time.Location) (time.Time, error) {
	var raw struct {
		Time export.Text `json:"msgTime"` // in seconds
	}
	_ = json.Unmarshal(m.Raw, &raw) // most do not have it
	for _, s := range []export.Text{m.Timestamp, raw.Time} {
		if at, err := export.LooseTime(string(s)); err == nil {
			return at, nil
		}
	}
	if at, err := time.Parse(time.RFC3339Nano, string(m.Time)); err == nil {
		return at, nil
	}
	if zone == nil {
		zone = time.UTC
	}
	at, err := time.ParseInLocation(time.DateTime, string(m.Time), zone)
	if err != nil {
		return at, fmt.Errorf("neither timestamp %q nor time %q is one: %w", text.Excerpt(string(m.Timestamp), 40),
			text.Excerpt(string(m.Time), 40), reverie.ErrInvalid)
	}
	return at, nil
}

// data are the values of an element that are read.
type data struct {
	Text        export.Text   `json:"text"`
	Name        export.Text   `json:"name"`
	To          export.Text   `json:"referencedMessageId"`
	Content     export.Text   `json:"content"`
	Title       export.Text   `json:"title"`
	Description export.Text   `json:"description"`
	URL         export.Text   `json:"url"`
	Preview     []export.Text `json:"preview"`
	Messages    []struct {
		Sender  user `json:"sender"`
		Content struct {
			Text export.Text `json:"text"`
		} `json:"content"`
	} `json:"messages"`
}

// read reads what a message says, and what it answers. Some versions write the whole text
// as one element, with placeholders, and others each piece as its own.
func (m *message) read() (said, replyTo string) {
	var pieces strings.Builder
	var extra []string // that the whole text has a placeholder for
	whole := false
	for i, e := range m.Content.Elements {
		var d data
		_ = json.Unmarshal(e.Data, &d) // of a shape of its own it says nothing
		switch e.Type {
		case "text":
			whole = whole || i == 0 && d.Text == m.Content.Text
			pieces.WriteString(string(d.Text))
		case "at":
			pieces.WriteString("@" + strings.TrimPrefix(string(d.Name), "@"))
		case "face":
			if name := strings.Trim(string(d.Name), "/[] "); name != "" {
				pieces.WriteString(":" + name + ":")
			}
		case "reply":
			replyTo = string(d.To)
		case "markdown":
			pieces.WriteString(string(cmp.Or(d.Content, d.Text)))
		case "json":
			extra = append(extra, cmp.Or(export.JoinLines(string(d.Title), string(d.Description), string(d.URL)),
				export.CardText(json.RawMessage(d.Content))))
		case "location":
			extra = append(extra, export.JoinLines(string(cmp.Or(d.Title, d.Name)), string(d.Description)))
		case "forward":
			extra = append(extra, d.forwarded())
		}
	}
	var answered data
	_ = json.Unmarshal(m.Content.Reply, &answered) // most answer nothing
	if replyTo = cmp.Or(replyTo, string(answered.To)); replyTo == "0" {
		replyTo = ""
	}
	said = strings.TrimSpace(pieces.String())
	if whole || said == "" {
		said = m.flat(len(extra) > 0)
	}
	return export.JoinLines(append([]string{said}, extra...)...), replyTo
}

// flat is the whole text without its placeholders, and without what the elements say better.
func (m *message) flat(extra bool) string {
	s := string(m.Content.Text)
	if extra && export.Placeholder.MatchString(s) {
		s = s[:export.Placeholder.FindStringIndex(s)[0]]
	}
	return export.WithoutPlaceholders(face.ReplaceAllString(export.QuotedReply.ReplaceAllString(s, ""), ":$1:"))
}

// face is an emoji in a whole text: [[微笑]].
var face = text.NewPattern(`\[\[([^\[\]\n]{1,20})\]\]`)

// forwarded is what the messages say that somebody passes on, a line each.
func (d data) forwarded() string {
	var lines []string
	for _, m := range d.Messages {
		if said := export.WithoutPlaceholders(string(m.Content.Text)); said != "" {
			lines = append(lines, export.Forwarded(string(cmp.Or(m.Sender.Card, m.Sender.Name, m.Sender.Nickname)), said))
		}
	}
	if len(d.Messages) == 0 {
		for _, p := range d.Preview {
			if p != "" {
				lines = append(lines, export.Forwarded("", string(p)))
			}
		}
	}
	return export.JoinLines(lines...)
}
