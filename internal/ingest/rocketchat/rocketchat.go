// Package rocketchat reads Rocket.Chat's export of a room as JSON, with one message per line, and messages as its
// API and database have them. The export has no ids, and only its file name identifies the room.
package rocketchat

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes exports of Rocket.Chat.
var Format = export.Format{
	Name:  "rocketchat",
	Title: "Rocket.Chat: a room's JSON export, messages of its API or database",
	Signs: append(stored.At("", "[]", "messages[]"), export.Sign{Sure: 85, Paths: "msg username ts"}),
	Tell: func(t *export.Teller, src export.Source) error {
		r := reader{Teller: t, room: cmp.Or(export.Title(src.Name), "room"), users: map[string]string{}}
		if export.Surest(src.Head, stored.At("messages[]")...) > 0 {
			return t.Each(export.JSONParts(src.Reader, "messages[]"), r.take)
		}
		return t.Each(export.Values(src), r.take)
	},
}

// stored is the sign of a message of the API or the database.
var stored = export.Sign{Sure: 95, Paths: "_id rid u.username|u._id ts"}

type reader struct {
	*export.Teller
	room string
	ids  export.Ordinals

	users map[string]string // author ids, by the name that reactions use
}

// called converts the name of an emoji or person in a reaction.
func (r *reader) called(name string) string { return cmp.Or(r.users[name], strings.Trim(name, ":")) }

// message is one message. In an export it has username instead of u, and no ids.
type message struct {
	ID       export.Text     `json:"_id"`
	Room     export.Text     `json:"rid"`
	Text     export.Text     `json:"msg"`
	Time     when            `json:"ts"`
	Edited   export.Mark     `json:"editedAt"`
	Username string          `json:"username"`
	Type     export.Text     `json:"type"`
	Kind     export.Text     `json:"t"`
	Thread   export.Text     `json:"tmid"`
	Answers  int             `json:"tcount"`
	Alias    string          `json:"alias"`
	Bot      json.RawMessage `json:"bot"`
	User     struct {
		ID       string `json:"_id"`
		Username string `json:"username"`
		Name     string `json:"name"`
	} `json:"u"`
	Attachments json.RawMessage `json:"attachments"`
	Reactions   json.RawMessage `json:"reactions"`
}

// when is a time as text, or as databases write it: {"$date": "…"}, {"$date": {"$numberLong": "…"}}.
type when export.Text

func (w *when) UnmarshalJSON(raw []byte) error {
	date := export.JSONFieldsOf(raw)["$date"]
	long := export.JSONFieldsOf(date)["$numberLong"]
	*w = when(cmp.Or(export.TextOf(raw), export.TextOf(date), export.TextOf(long)))
	return nil
}

// quotation matches the beginning of a reply: an empty link to the answered message.
var quotation = text.NewPattern(`^\[ ?\]\([^()\s]*[?&]msg=([A-Za-z0-9_-]+)[^()\s]*\)\s*`)

// rocketCat is the bot of every server.
const rocketCat = "rocket.cat"

func (r *reader) take(part export.Part) error {
	var m message
	if err := part.Decode(&m, "no message"); err != nil {
		return err
	}
	at, err := export.Time(string(m.Time), time.UTC)
	by := cmp.Or(m.User.Username, m.Username)
	if err := export.Needs(export.OwnID, err, string(cmp.Or(m.User.ID, by))); err != nil {
		return err
	}
	room := cmp.Or(string(m.Room), r.room)
	rec := export.Record{Chat: export.Chat{ID: room, Name: room}, Place: part.Place, Event: m.Kind+m.Type != "",
		Gone: m.ID != "" && m.Kind+m.Type == "rm", Edited: m.Edited != ""}
	rec.Bot = by == rocketCat || len(export.JSONFieldsOf(m.Bot)) > 0
	if len(r.users) < export.MaxNames {
		r.users[by] = cmp.Or(m.User.ID, by)
	}
	if m.ID != "" { // the export of a room has none
		rec.Reactions = export.Reactions{By: "usernames", Omitted: true}.Of(m.Reactions, r.called)
	}
	said := string(m.Text)
	rec.Message = reverie.Message{ID: string(m.ID), AuthorID: cmp.Or(m.User.ID, by), SentAt: at, SessionID: string(m.Thread),
		EditedAt: m.Edited.When(time.UTC),
		Author:   cmp.Or(m.Alias, m.User.Name, by, m.User.ID), ReplyTo: string(m.Thread)}
	if q := quotation.FindStringSubmatch(said); q != nil {
		said, rec.Message.ReplyTo = said[len(q[0]):], q[1]
	}
	if m.Answers > 0 {
		rec.Message.SessionID = string(m.ID)
	}
	if m.ID == "" {
		rec.Message.ID = r.ids.ID(room, string(m.Time), by)
	}
	for _, a := range export.As[[]export.JSONFields](m.Attachments) {
		said = export.JoinLines(said, a.Str("description")) // of a sent file
		if rec.Bot {
			said = export.JoinLines(said, a.Str("pretext"), a.Str("title"), a.Str("text"))
		}
	}
	rec.Message.Text = said
	return r.Tell(rec)
}
