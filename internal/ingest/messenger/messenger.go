// Package messenger reads messages in the data copies of Facebook and Instagram as JSON: one folder per chat, with
// files message_1.json and so on, newest first. It also reads the files of Messenger's end-to-end encrypted chats.
// Messages and people have no ids; people are identified by their names.
package messenger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes messages of Facebook and Instagram.
var Format = export.Format{
	Name:   "messenger",
	Title:  "Facebook Messenger or Instagram: your information as JSON",
	Signs:  signs,
	Folder: func(files fs.FS) int { return 94 * min(1, len(threadFiles(files))) },
	Tell:   tell,
}

var signs = []export.Sign{
	{Sure: 95, Paths: "participants[].name messages[].sender_name|messages[].timestamp_ms"},
	{Sure: 90, Paths: "participants[] threadName messages[].senderName"},
	{Sure: 90, Paths: "participants messages title thread_path"},
}

// threadFiles finds the chats' files in their folders. Other files are imported one by one.
func threadFiles(files fs.FS) []string {
	return slices.DeleteFunc(export.JSONFiles(files, numbered, signs...), func(name string) bool { return path.Dir(name) == "." })
}

func tell(t *export.Teller, src export.Source) error {
	if src.Files == nil {
		th := thread{Teller: t}
		for part, err := range export.JSONParts(bytes.NewReader(src.Head), aboutThread...) {
			if err != nil { // the head ends inside the messages
				break
			}
			th.note(part)
		}
		return th.tell(filepath.ToSlash(src.Name), export.JSONParts(src.Reader, "messages[]"))
	}
	for _, name := range threadFiles(src.Files) {
		th := thread{Teller: t}
		_ = export.EachPart(src.Files, name, th.note, aboutThread...) // errors are reported with the messages
		err := t.Messages(src.Files, name, "messages[]", func(parts export.Parts) error {
			return th.tell(path.Join(filepath.ToSlash(src.Name), name), parts)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// aboutThread are the keys that identify the chat. Most of them come after the messages.
var aboutThread = []string{"participants[]", "title", "thread_path", "threadName"}

type thread struct {
	*export.Teller
	title, path  string
	participants []string
	ids          export.Ordinals
}

func (th *thread) note(part export.Part) {
	said := string(export.As[meta](part.Value))
	switch part.Pattern {
	case "title":
		th.title = said
	case "participants[]":
		if name := cmp.Or(said, string(export.As[person](part.Value).Name)); len(th.participants) < export.MaxNames {
			th.participants = append(th.participants, name)
		}
	default:
		th.path = said
	}
}

// numbered matches the names of a chat's files, in a folder named after the chat.
var numbered = text.NewPattern(`^message_\d+\.json$`)

// chat returns the chat of a file: by its path in the download, which is stable.
func (th *thread) chat(name string) export.Chat {
	people := strings.Join(th.participants, ", ")
	folder := path.Base(path.Dir(name))
	if !numbered.MatchString(path.Base(name)) || strings.Trim(folder, "./") == "" {
		folder = ""
	}
	id := cmp.Or(strings.Trim(path.Base(th.path), "./"), folder, people, "chat")
	return export.Chat{ID: id, Name: export.Shortened(cmp.Or(th.title, people, id))}
}

func (th *thread) tell(name string, parts export.Parts) error {
	chat := th.chat(name)
	if !th.Wants(chat) {
		return nil
	}
	return th.Each(parts, func(part export.Part) error {
		var m message
		if err := part.Decode(&m, "no message"); err != nil {
			return err
		}
		stamp, author := string(cmp.Or(m.Millis, m.Timestamp)), string(cmp.Or(m.Sender, m.SenderName))
		at, err := export.Time(stamp, time.UTC)
		if err := export.Needs(export.OwnID, err, author); err != nil {
			return err
		}
		r := export.Record{Chat: chat, Place: part.Place, Reactions: reactions.Of(m.React, decoded)}
		r.Message = reverie.Message{ID: th.ids.ID(chat.ID, stamp, author), AuthorID: author, Author: author, SentAt: at}
		r.Message.Text, r.Event = m.said(author)
		r.Gone = m.unsent()
		return th.Tell(r)
	})
}

type person struct {
	Name meta `json:"name"`
}

// meta is a text in which each non-ASCII character is written as the bytes of its UTF-8, one character per byte.
type meta string

var highLetters = text.NewPattern(`[\x{80}-\x{ff}]+`)

func (m *meta) UnmarshalJSON(raw []byte) error {
	*m = meta(decoded(string(export.As[export.Text](raw))))
	return nil
}

var reactions = export.Reactions{Emoji: "reaction", By: "actor", Omitted: true}

func decoded(s string) string {
	return highLetters.ReplaceAllStringFunc(s, func(run string) string {
		var octets []byte
		for _, c := range run {
			octets = append(octets, byte(c))
		}
		if !utf8.Valid(octets) { // it was correct already
			return run
		}
		return string(octets)
	})
}

// message is one message, in either form.
type message struct {
	Sender  meta            `json:"sender_name"`
	Millis  export.Text     `json:"timestamp_ms"`
	Content meta            `json:"content"`
	Type    export.Text     `json:"type"`          // missing in new downloads
	Call    json.RawMessage `json:"call_duration"` // in seconds
	Unsent  json.RawMessage `json:"is_unsent"`
	Share   json.RawMessage `json:"share"`
	React   json.RawMessage `json:"reactions"`

	SenderName meta            `json:"senderName"`
	Timestamp  export.Text     `json:"timestamp"`
	Text       meta            `json:"text"`
	IsUnsent   json.RawMessage `json:"isUnsent"`
}

// happened are the types that nobody wrote.
var happened = map[export.Text]bool{"Call": true, "Subscribe": true, "Unsubscribe": true, "Payment": true, "Plan": true}

var (
	// Reacted matches the app's notices of reactions.
	reacted = text.NewPattern(`^(?:(?:Reacted|Reagiu com|Reaccionó con|A réagi avec|Ha reagito con|Hat mit|Reageerde met) \S{1,40} ` +
		`\pL[\pL ]{5,40}|Liked a message|Curtiu uma mensagem|Le gustó un mensaje|A aimé un message|Gefällt eine Nachricht)\s*$`)
	// OwnDeed matches the app's notices of actions by the downloading account.
	ownDeed = text.NewPattern(`^You (?:(?:named|created|left|joined|changed|set|turned|added|removed|pinned|unpinned)\b[^\n]*` +
		`\b(?:group|chat|call|theme|nickname|reaction|photo|message)\b|sent an attachment|unsent a message|` +
		`(?:missed|started) a (?:video |voice )?(?:call|chat))[^\n]*\.\s*$`)
)

func (m message) unsent() bool { return export.As[bool](m.Unsent) || export.As[bool](m.IsUnsent) }

// said returns the text of a message, and whether it is an event. A sentence that begins with the sender's full
// name is the app's own.
func (m message) said(author string) (said string, event bool) {
	said = string(cmp.Or(m.Content, m.Text))
	if m.unsent() {
		return "", true
	}
	share := export.As[struct {
		Link  meta `json:"link"`
		Text  meta `json:"share_text"`
		Owner meta `json:"original_content_owner"`
	}](m.Share)
	shares := share.Link+share.Text != ""
	deed := ownDeed.MatchString(said) || strings.HasPrefix(said, author+" ") &&
		strings.HasSuffix(strings.TrimSpace(said), ".") && (shares || strings.Contains(author, " "))
	switch {
	case happened[m.Type], export.TextOf(m.Call) != "", reacted.MatchString(said), deed && !shares:
		return said, true
	case deed || string(share.Link) == said:
		said = ""
	}
	if strings.Contains(said, string(share.Link)) {
		share.Link = ""
	}
	shared := string(share.Text)
	if shared != "" {
		shared = export.Forwarded(string(share.Owner), shared)
	}
	return export.JoinLines(said, string(share.Link), shared), false
}
