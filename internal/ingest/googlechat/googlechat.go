// Package googlechat reads the Google Chat part of Google's Takeout: one folder for each space or direct message,
// with its messages, name and members. Ids are Google's; people are identified by their addresses.
package googlechat

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes Google Chat in Takeout.
var Format = export.Format{
	Name:   "googlechat",
	Title:  "Google Chat: Takeout (zip, folder or messages.json)",
	Signs:  signs,
	Folder: func(files fs.FS) int { return 93 * min(1, len(spaces(files))) },
	Tell:   tell,
}

var signs = []export.Sign{{Sure: 95, Paths: "messages[].creator messages[].created_date"},
	{Sure: 95, Paths: "messages[].topic_id messages[].message_id"}}

func spaces(files fs.FS) []string { return export.JSONFiles(files, messagesFile, signs...) }

var messagesFile = text.NewPattern(`^messages(?:-\d+)?\.json$`)

func tell(t *export.Teller, src export.Source) error {
	if src.Files == nil {
		return (&space{Teller: t}).tell(filepath.ToSlash(src.Name), export.JSONParts(src.Reader, "messages[]"))
	}
	for _, name := range spaces(src.Files) {
		s := space{Teller: t}
		// A space with a broken description has no name.
		_ = export.EachPart(src.Files, path.Join(path.Dir(name), "group_info.json"), s.note, "name", "members[]")
		err := t.Messages(src.Files, name, "messages[]", func(parts export.Parts) error { return s.tell(name, parts) })
		if err != nil {
			return err
		}
	}
	return nil
}

type space struct {
	*export.Teller
	name    string
	members []string
	folder  string
	ids     export.Ordinals
}

type person struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Type  string `json:"user_type"`
}

func (s *space) note(part export.Part) {
	if part.Pattern == "name" {
		s.name = export.As[string](part.Value)
	} else if m := export.As[person](part.Value); len(s.members) < export.MaxNames {
		s.members = append(s.members, cmp.Or(m.Name, m.Email))
	}
}

func (s *space) tell(name string, parts export.Parts) error {
	s.folder = strings.Trim(path.Base(path.Dir(name)), "./")
	return s.Held(parts, s.take)
}

// chat returns the chat of a message: its id is the first part of the message's id, and part of the folder's name.
func (s *space) chat(id string) export.Chat {
	chat, _, ok := strings.Cut(id, "/")
	if !ok {
		chat = s.folder
		if kind, rest, two := strings.Cut(chat, " "); two && (kind == "Space" || kind == "DM") {
			chat = rest
		}
	}
	chat = cmp.Or(chat, "chat")
	return export.Chat{ID: chat, Name: export.Shortened(cmp.Or(s.name, strings.Join(s.members, ", "), s.folder, chat)),
		Private: strings.HasPrefix(s.folder, "DM ") && len(s.members) < 3}
}

var reactions = export.Reactions{Emoji: "emoji.unicode|emoji.custom_emoji.shortcode", By: "reactor_emails", Omitted: true}

// take reads one message. Replies in a topic form a session.
func (s *space) take(h *export.Hold, part export.Part) error {
	var m struct {
		ID      export.Text       `json:"message_id"`
		Topic   export.Text       `json:"topic_id"`
		Creator export.JSONFields `json:"creator"`
		Date    export.Text       `json:"created_date"`
		Text    export.Text       `json:"text"`
		State   export.Text       `json:"message_state"`
		Quoted  export.JSONFields `json:"quoted_message_metadata"`
		React   json.RawMessage   `json:"reactions"`
	}
	if err := part.Decode(&m, "no message"); err != nil {
		return err
	}
	by := person{m.Creator.Str("name"), m.Creator.Str("email"), m.Creator.Str("user_type")}
	at, err := timeOf(string(m.Date), s.Zone)
	if err := export.Needs(export.OwnID, err, by.Name+by.Email); err != nil {
		return err
	}
	r := export.HeldRecord{Record: export.Record{Chat: s.chat(string(m.ID)), Place: part.Place, Bot: by.Type == "Bot",
		Reactions: reactions.Of(m.React, nil)}}
	r.Message = reverie.Message{ID: string(m.ID), AuthorID: cmp.Or(by.Email, by.Name), Author: cmp.Or(by.Name, by.Email),
		SentAt: at, Text: string(m.Text), ReplyTo: m.Quoted.Str("message_id")}
	if m.ID == "" {
		r.Message.ID = s.ids.ID(r.Chat.ID, string(m.Date), r.Message.AuthorID)
	}
	if m.State == "DELETED" {
		r.Event, r.Gone, r.Message.Text = true, m.ID != "", ""
	}
	var c export.Change
	if root := r.Chat.ID + "/" + string(m.Topic) + "/" + string(m.Topic); m.ID != "" && m.Topic != "" && root != string(m.ID) {
		r.Message.SessionID, r.Message.ReplyTo = root, cmp.Or(r.Message.ReplyTo, root)
		c = export.Change{ChangeTarget: export.ChangeTarget{Kind: export.ChangeThread, ID: root}}
	}
	return h.Add(r, c)
}

// Dates are in the language of the account, such as Tuesday, January 3, 2023 at 5:00:00 PM UTC.
var (
	easternDate = text.NewPattern(`(\d{4})[年년] ?(\d{1,2})[月월] ?(\d{1,2})[日일]`)
	clock       = text.NewPattern(`(\d{1,2})[:.時时시] ?(\d{1,2})[:.分분] ?(\d{1,2})`)
	afternoon   = text.NewPattern(`(?i)\bp\.?\s?m\b|午後|下午|오후`)
	morning     = text.NewPattern(`(?i)\ba\.?\s?m\b|午前|上午|오전`)
	word        = text.NewPattern(`\pL+|\d+`)
)

// longestDate is the maximum length of a date, in bytes.
const longestDate = 200

func timeOf(s string, zone *time.Location) (time.Time, error) {
	c := clock.FindStringSubmatch(s)
	y, m, d := dateOf(s)
	if c == nil || y == 0 || len(s) > longestDate {
		return export.Time(s, zone)
	}
	if strings.Contains(s, "UTC") || strings.Contains(s, "GMT") {
		zone = time.UTC
	}
	hour, _ := strconv.Atoi(c[1]) // two digits at most, like the others
	minute, _ := strconv.Atoi(c[2])
	second, _ := strconv.Atoi(c[3])
	if late := afternoon.MatchString(s); late || morning.MatchString(s) {
		if hour %= 12; late {
			hour += 12
		}
	}
	at := time.Date(y, time.Month(m), d, hour, minute, second, 0, zone)
	if at.Day() != d || at.Hour() != hour || at.Minute() != minute {
		return export.Time(s, zone)
	}
	return at, nil
}

// dateOf finds the date in the text before or around the time.
func dateOf(s string) (year, month, day int) {
	if e := easternDate.FindStringSubmatch(s); e != nil {
		year, _ = strconv.Atoi(e[1])
		month, _ = strconv.Atoi(e[2])
		day, _ = strconv.Atoi(e[3])
		return year, month, day
	}
	for _, w := range word.FindAllString(strings.ToLower(s), 12) {
		switch n, err := strconv.Atoi(w); {
		case err == nil && len(w) == 4:
			year = n
		case err == nil && day == 0:
			day = n
		case err != nil && month == 0:
			month = export.Month(w)
		}
	}
	if month == 0 || day == 0 {
		return 0, 0, 0
	}
	return year, month, day
}
