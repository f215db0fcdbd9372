// Package zulip reads the export of an organisation or of one user, the answers of the
// API to /messages, and what zulip-archive keeps. A channel is a chat, and so are the
// direct messages between the same people; a topic is a session. Ids are unique within a
// server, so where the export names the organisation it stands in front of the chat's.
package zulip

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format is what the package reads.
var Format = export.Format{
	Name:  "zulip",
	Title: "Zulip: an organisation's export (tar.gz or folder), JSON of its API, or zulip-archive",
	Knows: knows,
	Read:  readZulip,
}

var (
	file        = text.NewPattern(`^messages-\d{6}\.json(\.partial|\.locked)?$`)
	rows        = text.NewPattern(`"zerver_message"\s*:\s*\[`)
	zulipSender = text.NewPattern(`"sender_full_name"\s*:`)
	zulipTo     = text.NewPattern(`"display_recipient"\s*:`)
	index       = text.NewPattern(`"streams"\s*:\s*\{`)
	zulipTopics = text.NewPattern(`"topic_data"\s*:\s*\{`)
	zulipRealm  = text.NewPattern(`"sender_realm_str"\s*:\s*"([^"\\]*)"`)
)

func knows(src export.Source) int {
	if src.Files == nil {
		head := bytes.TrimSpace(src.Head)
		json := bytes.HasPrefix(head, []byte("{")) || bytes.HasPrefix(head, []byte("["))
		if json && (rows.Match(head) || zulipSender.Match(head) && zulipTo.Match(head)) {
			return 95
		}
		return 0
	}
	for _, e := range exports(src.Files) {
		if e.archive || rows.Match(export.HeadOf(src.Files, e.messages[0])) {
			return 95
		}
	}
	return 0
}

// zulipExport is a folder that Zulip, or zulip-archive, has written.
type zulipExport struct {
	root     string
	messages []string
	archive  bool
}

// exports finds the exports at the top, or each in a folder of its own.
func exports(files fs.FS) (found []zulipExport) {
	for _, pattern := range []string{"*.json*", "*/*.json*"} {
		all, _ := fs.Glob(files, pattern) // the pattern is sound
		for _, name := range all {
			e := zulipExport{root: path.Dir(name), archive: path.Base(name) == "stream_index.json"}
			switch last := len(found) - 1; {
			case e.archive:
				if head := export.HeadOf(files, name); index.Match(head) && zulipTopics.Match(head) {
					found = append(found, e)
				}
			case !file.MatchString(path.Base(name)):
			case last >= 0 && found[last].root == e.root && !found[last].archive:
				found[last].messages = append(found[last].messages, name)
			default:
				e.messages = []string{name}
				found = append(found, e)
			}
		}
	}
	return found
}

func readZulip(ctx context.Context, src export.Source, opts export.ReadOptions) iter.Seq2[export.Record, error] {
	return func(yield func(export.Record, error) bool) {
		if src.Files == nil {
			z := newReader(opts)
			for _, realm := range zulipRealm.FindAllSubmatch(src.Head, -1) {
				if name := string(realm[1]); name != "zulip" && name != "zulipcore" &&
					name != "zulipinternal" { // those of the server's own programs
					z.realm = name
					break
				}
			}
			z.tell(zulipParts(src), "", yield)
			return
		}
		for _, e := range exports(src.Files) {
			z, read := newReader(opts), (*reader).export
			if e.archive {
				read = (*reader).archive
			}
			if !read(z, ctx, src.Files, e, yield) {
				return
			}
		}
	}
}

func newReader(opts export.ReadOptions) *reader {
	return &reader{opts: opts, users: map[string]user{}, streams: map[string]string{}, recipients: map[string]recipient{},
		members: map[string][]string{}}
}

// zulipParts tells the messages of a single file: of an answer, a list, or one a line.
func zulipParts(src export.Source) iter.Seq2[export.JSONPart, error] {
	if bytes.HasPrefix(bytes.TrimSpace(src.Head), []byte("[")) {
		return export.JSONParts(src.Reader, "[]")
	}
	for _, err := range export.JSONParts(bytes.NewReader(src.Head), "sender_full_name") {
		if err == nil {
			return export.JSONDocuments(src.Reader)
		}
	}
	return export.JSONParts(src.Reader, "messages[]", "zerver_message[]")
}

type reader struct {
	opts       export.ReadOptions
	realm      string
	users      map[string]user
	streams    map[string]string // names by id
	recipients map[string]recipient
	members    map[string][]string // of direct messages among several, by the recipient's id
}

type user struct {
	name        string
	bot, system bool
}

// recipient is where messages go: to a person, a channel, or several people.
type recipient struct{ kind, id string }

const (
	person       = "1"
	zulipChannel = "2"
	zulipPeople  = "3"
)

// message is a message in any of its forms: a row of an export, of the API, of
// zulip-archive.
type message struct {
	ID      export.Text `json:"id"`
	Subject export.Text `json:"subject"`
	Content export.Text `json:"content"`
	Type    export.Text `json:"type"` // 2 in an export: the topic was resolved

	Sender        export.Text `json:"sender"`
	Recipient     export.Text `json:"recipient"`
	RecipientName string      `json:"recipient_name"`
	DateSent      json.Number `json:"date_sent"`
	PubDate       json.Number `json:"pub_date"` // before Zulip 2

	SenderID    export.Text     `json:"sender_id"`
	SenderName  string          `json:"sender_full_name"`
	SenderEmail string          `json:"sender_email"`
	StreamID    export.Text     `json:"stream_id"`
	To          json.RawMessage `json:"display_recipient"`
	Timestamp   json.Number     `json:"timestamp"`
	ContentType string          `json:"content_type"`
}

// tell tells messages; stream is the id of the channel that they are of, or "" where they
// say it themselves.
func (z *reader) tell(parts iter.Seq2[export.JSONPart, error], stream string,
	yield func(export.Record, error) bool) bool {
	for part, err := range parts {
		r := export.Record{Place: part.Place}
		if err == nil {
			err = z.record(part.Value, stream, &r)
		}
		if err == nil && !z.opts.Wants(r.Chat) {
			continue
		}
		if err != nil {
			r = export.Record{}
		}
		var bad *export.Bad
		if !yield(r, err) || err != nil && !errors.As(err, &bad) {
			return false
		}
	}
	return true
}

func (z *reader) record(raw json.RawMessage, stream string, r *export.Record) error {
	bad := func(reason string, err error) error { return &export.Bad{Place: r.Place, Reason: reason, Err: err} }
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return bad("no message", export.Readable(err))
	}
	at, err := export.UnixTime(cmp.Or(string(m.DateSent), string(m.PubDate), string(m.Timestamp)))
	sender := cmp.Or(string(m.Sender), string(m.SenderID))
	switch {
	case m.ID == "":
		return bad("no id", fmt.Errorf("id is missing: %w", reverie.ErrInvalid))
	case err != nil:
		return bad("no time", err)
	case sender == "":
		return bad("no author", fmt.Errorf("sender is missing: %w", reverie.ErrInvalid))
	}
	m.StreamID = cmp.Or(m.StreamID, export.Text(stream))
	chat, channel := z.chat(m, sender)
	if chat.ID == "" {
		return bad("no chat", fmt.Errorf("where it was sent is missing: %w", reverie.ErrInvalid))
	}
	chat.Name = cmp.Or(chat.Name, chat.ID)
	if z.realm != "" {
		chat.ID = z.realm + "-" + chat.ID
	}
	u := z.author(m, sender)
	r.Chat, r.Bot, r.Event = chat, u.bot, u.system || m.Type == "2"
	r.Message = reverie.Message{ID: string(m.ID), AuthorID: sender, Author: u.name, Role: reverie.RoleUser, SentAt: at}
	if channel {
		r.Message.SessionID = topic(string(m.Subject))
	}
	r.Message.Text, r.Message.ReplyTo = z.text(m, u.name)
	return nil
}

// topic is a topic as it is called before and after it is resolved.
func topic(subject string) string {
	return cmp.Or(strings.TrimSpace(strings.TrimPrefix(subject, "✔")), "general chat")
}

// author says who wrote a message: as the message says, or else the organisation's list.
func (z *reader) author(m message, sender string) user {
	u := z.users[sender]
	if m.SenderName != "" {
		bot, system := program(m.SenderEmail)
		u = user{name: export.Shortened(m.SenderName), bot: u.bot || bot, system: u.system || system}
	}
	u.name = cmp.Or(u.name, "user "+sender)
	return u
}

// program tells by an address whether it is a program's, and whether it is the one
// that says what has happened to topics.
func program(email string) (bot, system bool) {
	local, _, _ := strings.Cut(email, "@")
	return strings.HasSuffix(local, "-bot") || local == "emailgateway", local == "notification-bot"
}

// chat says where a message was sent, and whether that is a channel.
func (z *reader) chat(m message, sender string) (c export.Chat, channel bool) {
	var people []struct {
		ID   export.Text `json:"id"`
		Name string      `json:"full_name"`
	}
	to := z.recipients[string(m.Recipient)]
	switch name := export.PlainText(m.To); {
	case m.StreamID != "" || name != "":
		return export.Chat{ID: cmp.Or(string(m.StreamID), name), Name: cmp.Or(name, z.streams[string(m.StreamID)])}, true
	case json.Unmarshal(m.To, &people) == nil && len(people) > 0:
		var ids []string
		for _, p := range people {
			ids = append(ids, string(p.ID))
			if _, known := z.users[string(p.ID)]; !known && len(z.users) < export.MaxNames {
				z.users[string(p.ID)] = user{name: export.Shortened(p.Name)}
			}
		}
		return z.direct(ids), false
	case to.kind == zulipChannel:
		return export.Chat{ID: to.id, Name: z.streams[to.id]}, true
	case to.kind == person:
		return z.direct([]string{sender, to.id}), false
	case to.kind == zulipPeople && len(z.members[string(m.Recipient)]) > 0:
		return z.direct(z.members[string(m.Recipient)]), false
	case m.Recipient != "":
		subject := strings.Trim(string(m.Subject), "\a ")
		return export.Chat{ID: "recipient-" + string(m.Recipient), Name: m.RecipientName}, subject != ""
	}
	return export.Chat{}, false
}

// direct is the chat of direct messages among some people, whoever of them writes.
func (z *reader) direct(ids []string) export.Chat {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	ids = slices.Compact(ids)
	var names []string
	for _, id := range ids {
		names = append(names, cmp.Or(z.users[id].name, "user "+id))
	}
	return export.Chat{ID: "dm-" + strings.Join(ids, "-"), Name: strings.Join(names, ", ")}
}
