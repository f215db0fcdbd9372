// Package discord reads the output of DiscordChatExporter with -f Json: one file for a channel, a thread or a part
// of one, with Discord's own ids. The files of a folder are read one by one.
package discord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

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
		Type      export.Text `json:"type"`
		MessageID export.Text `json:"messageId"`
		ChannelID export.Text `json:"channelId"`
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
	if d.replies(m) {
		r.Message.ReplyTo = string(m.Reference.MessageID)
	}
	names := map[string]string{} // names of the mentioned users, by id
	for _, u := range export.As[[]user](m.Mentions) {
		names[string(u.ID)] = export.Shortened(u.label())
	}
	r.Message.Text = d.text(m.content, names)
	if m.Forwarded != nil {
		if said := d.text(*m.Forwarded, names); said != "" {
			r.Message.Text = export.JoinLines(r.Message.Text, export.Forwarded("", said))
		}
	}
	return d.Tell(r)
}

// replies reports whether a message replies to the one that it refers to. Old versions of the exporter wrote
// replies like other messages. A message that refers to another channel is forwarded or announced there.
func (d *reader) replies(m message) bool {
	switch m.Type {
	case "Reply", "19":
		return true
	case "Default", "0":
		return m.Reference.Type != "Forward" && m.Forwarded == nil && string(m.Reference.ChannelID) == d.chat.ID
	}
	return false
}

// said are the kinds of messages that somebody wrote. Kinds without a name in the exporter are Discord's numbers.
var said = map[string]bool{"": true, "Default": true, "Reply": true, "ChatInputCommand": true,
	"ContextMenuCommand": true, "0": true, "19": true, "20": true, "23": true}

// text returns the content of a message, or the text of its embeds if it has none. Embeds beside a content only
// repeat what its links lead to.
func (d *reader) text(c content, names map[string]string) string {
	if said := strings.TrimSpace(string(c.Content)); said != "" {
		return d.resolve(said, names)
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
	return d.resolve(export.JoinLines(lines...), names)
}

// discordMark matches what stands for a name in embeds, and in text that the exporter did not convert: <@id>,
// <@!id>, <@&role>, <#channel>, <:emoji:id>, <a:emoji:id>, <t:seconds:style>, </command:id>.
var discordMark = text.NewPattern(`<(@[!&]?|#|a?:[A-Za-z0-9_~]{1,64}:|t:|/[^<>:]{1,100}:)(-?\d{1,20})(?::[a-zA-Z])?>`)

func (d *reader) resolve(s string, names map[string]string) string {
	if len(s) > reverie.MaxMessageTextLength {
		return s // too long: it will be refused
	}
	return discordMark.ReplaceAllStringFunc(s, func(mark string) string {
		part := discordMark.FindStringSubmatch(mark)
		kind, id := part[1], part[2]
		switch {
		case kind == "@&":
			return "@role"
		case kind[0] == '@':
			return "@" + cmp.Or(names[id], id)
		case kind == "#" && id == d.chat.ID:
			return "#" + d.channel
		case kind == "#":
			return "#channel"
		case kind == "t:":
			return d.date(id, mark)
		case kind[0] == '/':
			return strings.TrimSuffix(kind, ":")
		}
		return strings.TrimPrefix(kind, "a")
	})
}

func (d *reader) date(seconds, mark string) string {
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || at < -export.LastUnix || at > export.LastUnix {
		return mark
	}
	return time.Unix(at, 0).In(d.Zone).Format("2006-01-02 15:04 MST")
}
