// Package zulip reads the export of an organisation or of one user, and the API's answers to /messages. A channel
// is a chat, and so are the direct messages between the same people; a topic is a session. Ids are unique on a
// server, so the organisation's name, if known, is a prefix of the chat's id.
package zulip

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes exports of Zulip.
var Format = export.Format{
	Name:   "zulip",
	Title:  "Zulip: export (tar.gz or folder), JSON of its API",
	Signs:  signs,
	Folder: knows,
	Tell:   tell,
}

var (
	file       = text.NewPattern(`^messages-\d{6}\.json$`)
	unfinished = text.NewPattern(`^messages-\d{6}\.json\.(partial|locked)$`)
	zulipRealm = text.NewPattern(`"sender_realm_str"\s*:\s*"([^"\\]*)"`)
)

// anAnswer is the sign of a message of the API.
var anAnswer = export.Sign{Sure: 95, Paths: "sender_full_name display_recipient"}

var signs = append(anAnswer.At("", "[]", "messages[]"),
	export.Sign{Sure: 95, Paths: "zerver_message"})

func knows(files fs.FS) int {
	for _, e := range exports(files) {
		if export.Surest(export.HeadOf(files, e.messages[0]), signs...) > 0 {
			return 95
		}
	}
	return 0
}

// zulipExport is a folder that Zulip has written.
type zulipExport struct {
	root     string
	messages []string
}

// exports finds the exports at the top, or each in its own folder.
func exports(files fs.FS) (found []zulipExport) {
	for _, pattern := range []string{"*.json", "*/*.json"} {
		all, _ := fs.Glob(files, pattern) // the pattern is valid
		for _, name := range all {
			root, last := path.Dir(name), len(found)-1
			switch {
			case !file.MatchString(path.Base(name)):
			case last >= 0 && found[last].root == root:
				found[last].messages = append(found[last].messages, name)
			default:
				found = append(found, zulipExport{root: root, messages: []string{name}})
			}
		}
	}
	return found
}

func tell(t *export.Teller, src export.Source) error {
	if src.Files == nil {
		z := newReader(t)
		for _, realm := range zulipRealm.FindAllSubmatch(src.Head, -1) {
			// Organisations of the server's own programs.
			if name := string(realm[1]); name != "zulip" && name != "zulipcore" && name != "zulipinternal" {
				z.realm = name
				break
			}
		}
		return z.tell(zulipParts(src))
	}
	for _, e := range exports(src.Files) {
		if err := newReader(t).export(src.Files, e); err != nil {
			return err
		}
	}
	return nil
}

func newReader(t *export.Teller) *reader {
	return &reader{Teller: t, users: map[string]user{}, streams: map[string]string{}, recipients: map[string]recipient{},
		members: map[string][]string{}}
}

// zulipParts yields the messages of a single file: of an answer, a list, or one per line.
func zulipParts(src export.Source) export.Parts {
	if export.Surest(src.Head, anAnswer.At("", "[]")...) > 0 {
		return export.Values(src)
	}
	return export.JSONParts(src.Reader, "messages[]", "zerver_message[]")
}

type reader struct {
	*export.Teller
	realm      string
	users      map[string]user
	streams    map[string]string // channel names by id
	recipients map[string]recipient
	members    map[string][]string // members of group direct messages, by recipient id

	reactions map[string][]reverie.Reaction // in an export, by message id
}

type user struct {
	name        string
	bot, system bool
}

// recipient is the target of messages: a person, a channel, or several people.
type recipient struct{ kind, id string }

const (
	person       = "1"
	zulipChannel = "2"
	zulipPeople  = "3"
)

// message is a message in any form: a row of an export, or of the API.
type message struct {
	ID      export.Text `json:"id"`
	Subject export.Text `json:"subject"`
	Content export.Text `json:"content"`
	Type    export.Text `json:"type"` // 2 in an export: the topic was resolved

	Sender        export.Text `json:"sender"`
	Recipient     export.Text `json:"recipient"`
	RecipientName string      `json:"recipient_name"`
	DateSent      json.Number `json:"date_sent"`

	SenderID    export.Text     `json:"sender_id"`
	SenderName  string          `json:"sender_full_name"`
	SenderEmail string          `json:"sender_email"`
	StreamID    export.Text     `json:"stream_id"`
	To          json.RawMessage `json:"display_recipient"`
	Timestamp   json.Number     `json:"timestamp"`
	Edited      export.Mark     `json:"last_edit_timestamp"`
	EditTime    export.Mark     `json:"last_edit_time"`
	ContentType string          `json:"content_type"`
	Reactions   json.RawMessage `json:"reactions"`
}

func (z *reader) tell(parts export.Parts) error { return z.Each(parts, z.record) }

func (z *reader) record(part export.Part) error {
	var m message
	if err := part.Decode(&m, "no message"); err != nil {
		return err
	}
	at, err := export.Time(cmp.Or(string(m.DateSent), string(m.Timestamp)), z.Zone)
	sender := cmp.Or(string(m.Sender), string(m.SenderID))
	if err := export.Needs(string(m.ID), err, sender); err != nil {
		return err
	}
	chat, channel := z.chat(m, sender)
	if chat.ID == "" {
		return export.Missing("chat", "where it was sent")
	}
	chat.Name = cmp.Or(chat.Name, chat.ID)
	if z.realm != "" {
		chat.ID = z.realm + "-" + chat.ID
	}
	u := z.author(m, sender)
	r := export.Record{Chat: chat, Place: part.Place, Bot: u.bot, Event: u.system || m.Type == "2",
		Edited: m.Edited+m.EditTime != "", Reactions: reactions.Of(m.Reactions, nil)}
	if list := z.reactions[string(m.ID)]; list != nil || z.reactions != nil && len(z.reactions) < export.MaxNames {
		r.Reactions = append([]reverie.Reaction{}, list...)
	}
	r.Message = reverie.Message{ID: string(m.ID), AuthorID: sender, EditedAt: cmp.Or(m.Edited, m.EditTime).When(z.Zone), Author: u.name, SentAt: at}
	if channel {
		r.Message.SessionID = topic(string(m.Subject))
	}
	r.Message.Text, r.Message.ReplyTo = z.text(m, u.name)
	return z.Tell(r)
}

var reactions = export.Reactions{Emoji: "emoji_name", By: "user_id|user.id"}

// topic returns the name of a topic without the mark of a resolved one.
func topic(subject string) string {
	return cmp.Or(strings.TrimSpace(strings.TrimPrefix(subject, "✔")), "general chat")
}

// author returns who wrote a message: from the message, otherwise from the organisation's list.
func (z *reader) author(m message, sender string) user {
	u := z.users[sender]
	if m.SenderName != "" {
		bot, system := program(m.SenderEmail)
		u = user{name: export.Shortened(m.SenderName), bot: u.bot || bot, system: u.system || system}
	}
	u.name = cmp.Or(u.name, "user "+sender)
	return u
}

// program reports by an address whether it is a program's, and whether it is the one that reports events of topics.
func program(email string) (bot, system bool) {
	local, _, _ := strings.Cut(email, "@")
	return strings.HasSuffix(local, "-bot") || local == "emailgateway", local == "notification-bot"
}

// chat returns the chat of a message, and whether it is a channel.
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

// direct returns the chat of direct messages among some people, independent of the author.
func (z *reader) direct(ids []string) export.Chat {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	ids = slices.Compact(ids)
	var names []string
	for _, id := range ids {
		names = append(names, cmp.Or(z.users[id].name, "user "+id))
	}
	return export.Chat{ID: "dm-" + strings.Join(ids, "-"), Name: strings.Join(names, ", "), Private: len(ids) < 3}
}

// tables reads the people and channels that messages refer to by id.
func (z *reader) tables(files fs.FS, name string) error {
	people := false
	err := export.EachPart(files, name, func(part export.Part) {
		row := export.As[struct {
			ID        export.Text `json:"id"`
			Name      string      `json:"name"`
			FullName  string      `json:"full_name"`
			Email     string      `json:"email"`
			Subdomain string      `json:"string_id"`
			IsBot     bool        `json:"is_bot"`
			Kind      export.Text `json:"type"`
			Of        export.Text `json:"type_id"`
			Message   export.Text `json:"message"`
			Emoji     string      `json:"emoji_name"`
			User      export.Text `json:"user_profile"`
		}](part.Value)
		if row.ID == "" {
			return
		}
		switch id := string(row.ID); part.Pattern {
		case "zerver_realm[]":
			z.realm = cmp.Or(row.Subdomain, row.Name) // the first one of a server has no subdomain
		case "zerver_stream[]":
			z.streams[id] = row.Name
		case "zerver_recipient[]":
			z.recipients[id] = recipient{kind: string(row.Kind), id: string(row.Of)}
			people = people || row.Kind == zulipPeople
		case "zerver_reaction[]":
			of := string(row.Message)
			if list := z.reactions[of]; list != nil || len(z.reactions) < export.MaxNames {
				z.reactions[of] = append(list, reverie.Reaction{Emoji: row.Emoji, AuthorID: string(row.User), Count: 1})
			}
		case "zerver_userprofile_crossrealm[]":
			_, system := program(row.Email)
			local, _, _ := strings.Cut(row.Email, "@")
			z.users[id] = user{name: export.Shortened(cmp.Or(row.FullName, local)), bot: true, system: system}
		default:
			z.users[id] = user{name: export.Shortened(row.FullName), bot: row.IsBot}
		}
	}, "zerver_realm[]", "zerver_stream[]", "zerver_recipient[]", "zerver_reaction[]", "zerver_userprofile_crossrealm[]",
		"zerver_userprofile_mirrordummy[]", "zerver_userprofile[]")
	if err != nil || !people {
		return err
	}
	// Only now it is known which of the many subscriptions matter.
	return export.EachPart(files, name, func(part export.Part) {
		row := export.JSONFieldsOf(part.Value)
		who, to := export.TextOf(row["user_profile"]), export.TextOf(row["recipient"])
		if who != "" && z.recipients[to].kind == zulipPeople {
			z.members[to] = append(z.members[to], who)
		}
	}, "zerver_subscription[]")
}

// export passes on the messages of an organisation's export, or of one user's.
func (z *reader) export(files fs.FS, e zulipExport) error {
	z.reactions = map[string][]reverie.Reaction{}
	for _, name := range []string{"realm.json", "user.json"} {
		if err := z.tables(files, path.Join(e.root, name)); err != nil {
			return err
		}
	}
	all, _ := fs.ReadDir(files, e.root) // it was listed before
	for _, f := range all {
		if unfinished.MatchString(f.Name()) {
			err := z.Skip(path.Join(e.root, f.Name()), &export.Bad{Reason: "unfinished",
				Err: fmt.Errorf("the export is incomplete: export again: %w", reverie.ErrInvalid)})
			if err != nil {
				return err
			}
		}
	}
	for _, name := range e.messages {
		if err := z.Messages(files, name, "zerver_message[]", z.tell); err != nil {
			return err
		}
	}
	return nil
}

// text returns the text of a message, and the message that it replies to. Zulip has no replies, but quotations with
// a link to the quoted message.
func (z *reader) text(m message, author string) (said, replyTo string) {
	said = string(m.Content)
	if len(said) > reverie.MaxMessageTextLength {
		return said, "" // too long: it will be refused
	}
	if m.ContentType == "text/html" || m.ContentType == "" && m.Recipient == "" && strings.HasPrefix(said, "<") {
		said = markdown(said)
	}
	said, replyTo = unquote(strings.ReplaceAll(said, "\r\n", "\n"))
	said = zulipLink.ReplaceAllStringFunc(said, readLink)
	said = zulipMention.ReplaceAllStringFunc(said, func(mention string) string {
		part := zulipMention.FindStringSubmatch(mention)
		name := cmp.Or(part[1], part[3])
		if name == "" {
			name = cmp.Or(z.users[part[2]].name, "user "+part[2])
		}
		return "@" + name
	})
	said = zulipPlace.ReplaceAllStringFunc(said, func(place string) string {
		part := zulipPlace.FindStringSubmatch(place)
		return strings.TrimSuffix("#"+part[1]+" > "+part[2], " > ")
	})
	said = time.ReplaceAllString(said, "$1")
	said = strings.TrimSpace(blank.ReplaceAllString(said, "\n\n"))
	if rest, ok := strings.CutPrefix(said, "/me "); ok {
		return author + " " + rest, replyTo
	}
	for _, command := range []string{"/poll", "/todo"} {
		if rest, ok := strings.CutPrefix(said, command); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\n') {
			question, answers, _ := strings.Cut(strings.TrimSpace(rest), "\n")
			return export.PollText(question, strings.Split(answers, "\n")), replyTo
		}
	}
	return said, replyTo
}

var (
	quote        = text.NewPattern("(?m)^@_\\*\\*[^*\n]+\\*\\*[^\\[\n]{0,20}\\[[^\\]\n]*\\]\\([^()\n]*/near/(\\d+)[^()\n]*\\)[^\n]{0,20}\\s*\n(`{3,}|~{3,}) ?quote[ \t]*\n")
	zulipLink    = text.NewPattern(`!?\[([^\[\]\n]*)\]\(([^()\s]+)\)`)
	upload       = text.NewPattern(`^(https?://[^/]+)?/?user_uploads/`)
	zulipMention = text.NewPattern(`@_?\*(?:\*([^*|\n]*)(?:\|(\d+))?\*\*|([^*\n]+)\*)`)
	zulipPlace   = text.NewPattern(`#\*\*([^*>\n]+)(?:>([^*\n]*?)(?:@\d+)?)?\*\*`)
	time         = text.NewPattern(`<time:([^<>\n]+)>`)
	blank        = text.NewPattern(`\n[ \t]*(\n[ \t]*)+`)
)

// unquote removes quotations of other messages, and returns the id of the first quoted message.
func unquote(s string) (rest, replyTo string) {
	var out strings.Builder
	for {
		at := quote.FindStringSubmatchIndex(s)
		if at == nil {
			out.WriteString(s)
			return out.String(), replyTo
		}
		out.WriteString(s[:at[0]])
		replyTo = cmp.Or(replyTo, s[at[2]:at[3]])
		fence := s[at[4]:at[5]]
		s = s[at[1]:]
		for line, found := "", true; found && strings.TrimSpace(line) != fence; {
			line, s, found = strings.Cut(s, "\n")
		}
	}
}

// readLink converts a link. A link to an uploaded file has no text.
func readLink(link string) string {
	part := zulipLink.FindStringSubmatch(link)
	switch label, address := part[1], part[2]; {
	case upload.MatchString(address) || strings.HasPrefix(link, "!"):
		return ""
	case label == "" || label == address:
		return address
	default:
		return label + " (" + address + ")"
	}
}

// markdown converts Zulip's rendered HTML back to Markdown, as far as it is needed.
func markdown(s string) string {
	return export.HTMLText(s, func(e export.Element, said string) (string, bool) {
		switch {
		case e.Data == "pre":
			return "```\n" + strings.Trim(said, "\n") + "\n```\n", true
		case e.Data == "blockquote":
			fence := "```"
			for strings.Contains(said, fence) {
				fence += "`"
			}
			return fence + "quote\n" + strings.Trim(said, "\n") + "\n" + fence + "\n", true
		case e.Data == "img" && e.Is("emoji"):
			return e.Get("alt"), true
		case e.Data == "a" && (e.Is("stream") || e.Is("stream-topic") || e.Is("message-link")):
			return said, true
		case e.Data == "a" && strings.TrimSpace(said) != "" && said != e.Get("href"):
			return "[" + said + "](" + e.Get("href") + ")", true
		case e.Data == "annotation":
			return "$$" + said + "$$", true
		case e.Is("user-mention") && e.Is("silent"):
			return "@_**" + said + "**", true
		// Previews of a link in the text.
		case e.Is("message_inline_image"), e.Is("message_embed"), e.Is("inline-preview-twitter"),
			e.Data == "img", e.Data == "mrow", e.Is("katex-html"): // drawings, whose source is beside them
			return "", true
		}
		return "", false
	})
}
