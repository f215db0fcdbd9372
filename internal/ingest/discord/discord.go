// Package discord reads the output of DiscordChatExporter with -f Json: one file for a channel, a thread or a part
// of one, with Discord's own ids. The files of a folder are read one by one.
package discord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes the output of DiscordChatExporter.
var Format = export.Format{
	Name: "discord", Platform: "Discord",
	Title: "DiscordChatExporter, JSON",
	Signs: []export.Sign{{Sure: 95, Paths: "guild channel messages|dateRange"}},
	Tell:  tell,
}

func tell(t *export.Teller, src export.Source) error {
	d := reader{Teller: t}
	return t.Each(export.JSONParts(src.Reader, "guild", "channel", "messages[]"), func(part export.Part) error {
		switch {
		case part.Pattern != "messages[]":
			return d.header(part)
		case d.chat.ID == "":
			return fmt.Errorf("%s: the channel must come before its messages: %w", part.Place, reverie.ErrInvalid)
		case !t.Wants(d.chat):
			return export.ErrEnoughRead
		}
		return d.record(part)
	})
}

type reader struct {
	*export.Teller
	guild   string
	channel string
	chat    export.Chat
}

// header reads the server and channel. Names may change; the channel's id stays.
func (d *reader) header(part export.Part) error {
	var of struct {
		ID       export.Text `json:"id"`
		Type     export.Text `json:"type"`
		Name     string      `json:"name"`
		Category string      `json:"category"` // for a thread: its channel
	}
	if err := part.Need(&of); err != nil {
		return err
	}
	switch {
	case part.Pattern == "guild":
		d.guild = of.Name
	case of.ID == "":
		return fmt.Errorf("%s: its id is missing: %w", part.Place, reverie.ErrInvalid)
	default:
		d.chat.ID, d.channel = string(of.ID), export.Shortened(cmp.Or(of.Name, string(of.ID)))
		d.chat.Private = of.Type == "DirectTextChat"
		if strings.HasSuffix(string(of.Type), "Thread") && of.Category != "" {
			d.channel = of.Category + " / " + d.channel
		}
	}
	d.chat.Name = strings.TrimPrefix(d.guild+" / "+d.channel, " / ")
	return nil
}

// content is the content of a message, or of a forwarded one.
type content struct {
	Content export.Text     `json:"content"`
	Embeds  json.RawMessage `json:"embeds"`
}

type message struct {
	content
	ID        export.Text     `json:"id"`
	Type      export.Text     `json:"type"`
	Timestamp string          `json:"timestamp"`
	Edited    export.Mark     `json:"timestampEdited"`
	Author    user            `json:"author"`
	Mentions  json.RawMessage `json:"mentions"`
	Reference struct {
		MessageID export.Text `json:"messageId"`
	} `json:"reference"`
	Forwarded *content        `json:"forwardedMessage"`
	Reactions json.RawMessage `json:"reactions"`
}

// reactions: only newer versions of the exporter write users.
var reactions = export.Reactions{Emoji: "emoji.name|emoji.code", Count: "count", By: "users.id"}

type user struct {
	ID       export.Text `json:"id"`
	Name     string      `json:"name"`
	Nickname string      `json:"nickname"`
	IsBot    bool        `json:"isBot"`
}

func (u user) label() string { return cmp.Or(u.Nickname, u.Name, string(u.ID)) }

// record reads one message.
func (d *reader) record(part export.Part) error {
	var m message
	if err := part.Decode(&m, "no message"); err != nil {
		return err
	}
	at, err := export.Time(m.Timestamp, d.Zone) // the exporter itself always writes a zone
	if err := export.Needs(string(m.ID), err, m.Author.label()); err != nil {
		return err
	}
	r := export.Record{Chat: d.chat, Place: part.Place, Bot: m.Author.IsBot, Edited: m.Edited != "",
		Event: !said[string(m.Type)], Reactions: reactions.Of(m.Reactions, nil)}
	r.Message = reverie.Message{ID: string(m.ID), AuthorID: string(m.Author.ID), EditedAt: m.Edited.When(d.Zone), Author: m.Author.label(), SentAt: at}
	if m.Type == "Reply" || m.Type == "19" {
		r.Message.ReplyTo = string(m.Reference.MessageID)
	}
	names := map[string]string{} // names of the mentioned users, by id
	for _, u := range export.As[[]user](m.Mentions) {
		names[string(u.ID)] = export.Shortened(u.label())
	}
	r.Message.Text = textOf(m.content, names)
	if m.Forwarded != nil {
		if said := textOf(*m.Forwarded, names); said != "" {
			r.Message.Text = export.JoinLines(r.Message.Text, export.Forwarded("", said))
		}
	}
	return d.Tell(r)
}

// said are the kinds of messages that somebody wrote. Kinds without a name in the exporter are Discord's numbers.
var said = map[string]bool{"": true, "Default": true, "Reply": true, "ChatInputCommand": true,
	"ContextMenuCommand": true, "0": true, "19": true, "20": true, "23": true}

// textOf returns the content of a message, or the text of its embeds if it has none. Embeds beside a content only
// repeat what its links lead to.
func textOf(c content, names map[string]string) string {
	if said := strings.TrimSpace(string(c.Content)); said != "" {
		return resolve(said, names)
	}
	embeds := export.As[[]struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Fields      []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"fields"`
	}](c.Embeds)
	var lines []string
	for _, e := range embeds {
		lines = append(lines, e.Title, e.Description)
		for _, f := range e.Fields {
			lines = append(lines, strings.TrimPrefix(f.Name+": "+f.Value, ": "))
		}
	}
	return resolve(export.JoinLines(lines...), names)
}

// mentioned matches a person in embeds, and in text that the exporter did not convert.
var mentioned = text.NewPattern(`<@!?(\d{1,20})>`)

func resolve(s string, names map[string]string) string {
	if len(s) > reverie.MaxMessageTextLength {
		return s // too long: it will be refused
	}
	return mentioned.ReplaceAllStringFunc(s, func(mark string) string {
		id := mentioned.FindStringSubmatch(mark)[1]
		return "@" + cmp.Or(names[id], id)
	})
}
