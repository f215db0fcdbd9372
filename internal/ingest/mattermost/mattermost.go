// Package mattermost reads Mattermost's bulk export: JSON Lines of teams, channels, users and posts with their
// replies. Posts have no ids there. A channel is identified by team and name, a direct message by its members.
package mattermost

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// Format describes Mattermost's bulk export.
var Format = export.Format{
	Name:  "mattermost",
	Title: "Mattermost bulk export (JSONL, or the zip with it)",
	Signs: []export.Sign{{Sure: 95, Paths: "type post.create_at post.channel"}, {Sure: 95, Paths: "type direct_post.channel_members"},
		{Sure: 90, Paths: "type channel.team channel.name"}, {Sure: 90, Paths: "type team.name team.display_name"},
		{Sure: 60, Paths: "type version"}},
	Tell: func(t *export.Teller, src export.Source) error {
		m := reader{Teller: t, users: map[string]user{}, channels: map[string]string{}}
		return t.Each(export.JSONLines(src.Reader), m.take)
	},
}

type reader struct {
	*export.Teller
	users    map[string]user
	channels map[string]string // display names, by team and name
	ids      export.Ordinals
}

type user struct {
	Username  string `json:"username"`
	Nickname  string `json:"nickname"`
	First     string `json:"first_name"`
	Last      string `json:"last_name"`
	Displayed string `json:"display_name"` // of a bot

	bot bool
}

// post is a post of a channel or a direct message, or a reply.
type post struct {
	Team    string            `json:"team"`
	Channel string            `json:"channel"`
	Members []string          `json:"channel_members"`
	User    string            `json:"user"`
	Type    export.Text       `json:"type"`
	Message export.Text       `json:"message"`
	Props   export.JSONFields `json:"props"`
	Created export.Text       `json:"create_at"`
	Deleted export.Mark       `json:"delete_at"`
	Replies []json.RawMessage `json:"replies"`

	Reactions json.RawMessage `json:"reactions"`
}

var reactions = export.Reactions{Emoji: "emoji_name", By: "user", Omitted: true}

// take reads one line. Users and channels come before the posts.
func (m *reader) take(part export.Part) error {
	var line struct {
		Type    export.Text     `json:"type"`
		User    user            `json:"user"`
		Bot     user            `json:"bot"`
		Channel json.RawMessage `json:"channel"`
		Post    *post           `json:"post"`
		Direct  *post           `json:"direct_post"`
	}
	if err := part.Decode(&line, "no message"); err != nil {
		return err
	}
	switch line.Type {
	case "":
		return export.Missing("type", "type")
	case "bot":
		line.Bot.bot = true
		m.name(line.Bot)
	case "user":
		m.name(line.User)
	case "channel":
		if c := export.JSONFieldsOf(line.Channel); len(m.channels) < export.MaxNames {
			m.channels[c.Str("team")+"/"+c.Str("name")] = c.Str("display_name")
		}
	case "post", "direct_post":
		p := cmp.Or(line.Post, line.Direct)
		if p == nil {
			return export.Missing("message", string(line.Type))
		}
		return m.posts(part, *p)
	}
	return nil
}

func (m *reader) name(u user) {
	if len(m.users) < export.MaxNames {
		u.Displayed = export.Shortened(cmp.Or(u.Nickname, strings.TrimSpace(u.First+" "+u.Last), u.Displayed, u.Username))
		m.users[u.Username] = u
	}
}

func (m *reader) chat(p post) export.Chat {
	if p.Channel != "" {
		id := strings.TrimPrefix(p.Team+"/"+p.Channel, "/")
		return export.Chat{ID: id, Name: export.Shortened(cmp.Or(m.channels[p.Team+"/"+p.Channel], id))}
	}
	members := slices.Compact(slices.Sorted(slices.Values(p.Members)))
	var names []string
	for _, member := range members {
		names = append(names, cmp.Or(m.users[member].Displayed, member))
	}
	return export.Chat{ID: strings.Join(members, ","), Name: export.Shortened(strings.Join(names, ", ")), Private: len(members) < 3}
}

// posts passes on a post and its replies, which form a session.
func (m *reader) posts(part export.Part, p post) error {
	chat := m.chat(p)
	if chat.ID == "" {
		return export.Missing("chat", "channel")
	}
	root, err := m.record(chat, part.Place, p)
	if err != nil {
		return err
	}
	if len(p.Replies) > 0 {
		root.Message.SessionID = root.Message.ID
	}
	if err := m.Tell(root); err != nil {
		return err
	}
	for i, raw := range p.Replies {
		var answer post
		at := export.Part{Place: fmt.Sprintf("%s, replies %d", part.Place, i+1), Value: raw}
		err := at.Decode(&answer, "no message")
		if err == nil {
			var r export.Record
			if r, err = m.record(chat, at.Place, answer); err == nil {
				r.Message.SessionID, r.Message.ReplyTo = root.Message.ID, root.Message.ID
				err = m.Tell(r)
			}
		}
		if err = m.SkipBad(at.Place, err); err != nil {
			return err
		}
	}
	return nil
}

func (m *reader) record(chat export.Chat, place string, p post) (export.Record, error) {
	at, err := export.Time(string(p.Created), time.UTC)
	if err := export.Needs(export.OwnID, err, string(p.User)); err != nil {
		return export.Record{}, err
	}
	u := m.users[p.User]
	hook := export.TextOf(p.Props["from_webhook"]) == "true"
	r := export.Record{Chat: chat, Place: place, Bot: u.bot || hook || export.TextOf(p.Props["from_bot"]) == "true",
		Event: strings.HasPrefix(string(p.Type), "system_") || p.Deleted != "", Gone: p.Deleted != "",
		Reactions: reactions.Of(p.Reactions, nil)}
	r.Message = reverie.Message{ID: m.ids.ID(chat.ID, string(p.Created), p.User), AuthorID: p.User, SentAt: at,
		Author: cmp.Or(u.Displayed, p.User), Text: string(p.Message)}
	if name := p.Props.Str("override_username"); hook && name != "" {
		r.Message.Author = export.Shortened(name)
	}
	switch {
	case r.Gone:
		r.Message.Text = ""
	case p.Type == "me" && p.Message != "":
		r.Message.Text = r.Message.Author + " " + strings.Trim(string(p.Message), "*")
	case p.Message == "":
		for _, a := range p.Props.List("attachments") {
			r.Message.Text = export.JoinLines(r.Message.Text, a.Str("pretext"), a.Str("title"), cmp.Or(a.Str("text"), a.Str("fallback")))
		}
	}
	return r, nil
}
