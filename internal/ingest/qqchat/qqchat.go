// Package qqchat reads the output of QQChatExporter: one JSON file per chat, or a folder or zip with a manifest and
// chunks of JSON Lines. Ids of messages and people are QQ's own. If a file does not identify its chat, the file name
// may, as the tool wrote it (group_660066_…); otherwise the chat's name is its id.
package qqchat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes exports of QQ.
var Format = export.Format{Name: "qq", Platform: "QQ",
	Title: "QQ: JSON of QQChatExporter (file, folder or zip)", Signs: signs,
	Folder: func(files fs.FS) int { return 90 * min(1, len(manifests(files))) }, Tell: tell}

// signs are those of a file with a chat or a manifest, and of a single chunk.
var signs = []export.Sign{
	{Sure: 95, Paths: "metadata.name|metadata.exportTime|metadata.version chatInfo statistics|chunked|messages"},
	{Sure: 70, Paths: "sender.uid content.text|content.elements recalled|isRecalled"},
}

// manifests finds the manifests of a folder or archive.
func manifests(files fs.FS) []string {
	return export.KnownFiles(files, []string{"manifest.json"},
		func(head []byte) bool { return export.Surest(head, signs...) >= 80 })
}

func tell(t *export.Teller, src export.Source) error {
	if src.Files == nil {
		return (&reader{Teller: t, name: src.Name}).file(src)
	}
	for _, name := range manifests(src.Files) {
		q := &reader{Teller: t, name: path.Base(path.Dir(path.Join(src.Name, name)))}
		if err := q.folder(src.Files, name); err != nil {
			return err
		}
	}
	return nil
}

// reader reads one chat.
type reader struct {
	*export.Teller
	name  string // of the file or folder
	chat  export.Chat
	known bool // the chat is known
	ids   export.Ordinals
}

// file passes on the messages of a single file.
func (q *reader) file(src export.Source) error {
	if export.Surest(src.Head, signs...) == 70 { // a single chunk, which never names its chat
		q.known = true
		return q.parts(export.JSONLines(src.Reader))
	}
	return q.parts(export.JSONParts(src.Reader, "chatInfo", "messages[]", "chunks[].chatInfo", "chunks[].messages[]"))
}

// parts passes on the messages among the parts of a file.
func (q *reader) parts(parts export.Parts) error {
	return q.Each(parts, func(part export.Part) error {
		if strings.HasSuffix(part.Pattern, "chatInfo") {
			q.info(part.Value)
			return nil
		}
		if !q.known {
			return q.NoChat(part.Place, "chatInfo")
		}
		if !q.Wants(q.chat) {
			return export.ErrEnoughRead
		}
		return q.record(part)
	})
}

// named matches the tool's file names: the id of the chat, and the time of the export.
var named = text.NewPattern(`(?:^|_)(\d{5,12}|u_[A-Za-z0-9_-]{10,40}?)_\d{8}_\d{6}`)

// info records the chat.
func (q *reader) info(value json.RawMessage) {
	var c struct {
		Name    export.Text `json:"name"`
		Type    export.Text `json:"type"`
		PeerUin export.Text `json:"peerUin"`
		PeerUID export.Text `json:"peerUid"`
		Group   export.Text `json:"groupCode"`
	}
	if q.known || json.Unmarshal(value, &c) != nil {
		return
	}
	if c.PeerUin == "0" {
		c.PeerUin = ""
	}
	id := cmp.Or(c.Group, c.PeerUin, c.PeerUID)
	if found := named.FindStringSubmatch(path.Base(strings.ReplaceAll(q.name, `\`, "/"))); id == "" && found != nil {
		id = export.Text(found[1])
	}
	if id = cmp.Or(id, c.Name); id != "" && c.Type != "group" && c.Type != "" { // ids of groups and of people overlap
		id = c.Type + "-" + id
	}
	q.chat, q.known = export.Chat{ID: string(id), Name: string(cmp.Or(c.Name, id)), Private: c.Type == "private"}, true
}

// qqManifest lists the chunks of a chat.
type qqManifest struct {
	Info    json.RawMessage
	Chunked struct {
		Dir    string `json:"chunksDir"`
		Chunks []struct {
			Path string `json:"relativePath"`
			File string `json:"file"`
			Name string `json:"fileName"`
		} `json:"chunks"`
	}
}

// folder passes on the messages of a manifest's chunks. A missing chunk is reported as a [*Bad].
func (q *reader) folder(files fs.FS, manifest string) error {
	var m qqManifest
	err := export.EachPart(files, manifest, func(part export.Part) {
		if part.Pattern == "chatInfo" {
			m.Info = part.Value
		} else {
			_ = json.Unmarshal(part.Value, &m.Chunked) // without chunks, they are found by their names
		}
	}, "chatInfo", "chunked")
	if err != nil {
		return err
	}
	q.info(m.Info)
	q.known = true
	for _, name := range m.chunks(files, path.Dir(manifest)) {
		_, err := fs.Stat(files, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("%s names it, but it is missing; export the chat again: %w", manifest, fs.ErrNotExist)
			err = q.Skip(name, &export.Bad{Reason: "no chunk", Err: err})
		default:
			err = q.File(files, name, func(f io.Reader) error { return q.parts(export.JSONLines(f)) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chunks returns the paths of the chunks, in order. Paths outside the folder are ignored.
func (m qqManifest) chunks(files fs.FS, root string) (names []string) {
	dir := cmp.Or(m.Chunked.Dir, "chunks")
	for _, c := range m.Chunked.Chunks {
		name := cmp.Or(c.Path, c.File)
		if name == "" && c.Name != "" {
			name = path.Join(dir, c.Name)
		}
		full := path.Join(root, strings.ReplaceAll(name, `\`, "/"))
		if name != "" && fs.ValidPath(full) && strings.HasPrefix(full, strings.TrimPrefix(root+"/", "./")) {
			names = append(names, full)
		}
	}
	if len(names) == 0 {
		names, _ = fs.Glob(files, path.Join(root, "chunks",
			"*.jsonl")) // the pattern is valid, except for odd folder names, which have no chunks
	}
	return names
}

// message is a message of versions 4 to 6 of the tool.
type message struct {
	ID        export.Text `json:"id"`
	MessageID export.Text `json:"messageId"` // of version 4
	Timestamp export.Text `json:"timestamp"` // in milliseconds, or RFC 3339
	Time      export.Text `json:"time"`      // as shown by the exporter's clock
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
}

type user struct {
	UID      export.Text `json:"uid"`
	Uin      export.Text `json:"uin"`
	Name     export.Text `json:"name"`
	Nickname export.Text `json:"nickname"`
	Card     export.Text `json:"groupCard"`
}

// id returns the account: its number, otherwise QQ's internal id.
func (u user) id() string {
	if u.Uin == "0" {
		u.Uin = ""
	}
	return string(cmp.Or(u.Uin, u.UID, "0"))
}

func (u user) label() string { return string(cmp.Or(u.Card, u.Name, u.Nickname)) }

type element struct {
	Type export.Text     `json:"type"`
	Data json.RawMessage `json:"data"`
}

// record reads one message.
func (q *reader) record(part export.Part) error {
	var m message
	if err := part.Decode(&m, "no message"); err != nil {
		return err
	}
	at, err := export.Time(string(m.Timestamp), q.Zone)
	if err != nil {
		at, err = export.Time(string(m.Time), q.Zone)
	}
	if err != nil {
		return err
	}
	who := m.Sender.id()
	r := export.Record{Chat: q.chat, Place: part.Place, Event: m.event()}
	if who == "0" && !r.Event {
		return export.Missing("author", "sender")
	}
	r.Message = reverie.Message{ID: string(cmp.Or(m.ID, m.MessageID)), AuthorID: who, SentAt: at,
		Author: cmp.Or(m.Sender.label(), who)}
	if r.Gone = m.Recalled || m.OldRecall; r.Message.ID == "" || r.Message.ID == "0" {
		r.Message.ID, r.Gone = q.ids.ID(q.chat.ID, at.UTC().Format(time.RFC3339Nano), who), false
	}
	if !m.Recalled && !m.OldRecall {
		r.Message.Text, r.Message.ReplyTo = m.read()
	}
	return q.Tell(r)
}

// event reports whether nobody wrote the message, or it was deleted.
func (m *message) event() bool {
	switch m.Type + m.OldType {
	case "system", "error", "type_5", "type_19", "5", "19": // a grey notice, or a call
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

// read returns the text of a message, and what it replies to. Some versions write the whole text as one element,
// with placeholders; others write each piece as an element.
func (m *message) read() (said, replyTo string) {
	var pieces strings.Builder
	var extra []string // for which the whole text has a placeholder
	whole := false
	for i, e := range m.Content.Elements {
		d := export.As[data](e.Data)
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
	if replyTo = cmp.Or(replyTo, string(export.As[data](m.Content.Reply).To)); replyTo == "0" {
		replyTo = ""
	}
	said = strings.TrimSpace(pieces.String())
	if whole || said == "" {
		said = m.flat(len(extra) > 0)
	}
	return export.JoinLines(append([]string{said}, extra...)...), replyTo
}

// flat returns the whole text without placeholders, and without what the elements express better.
func (m *message) flat(extra bool) string {
	s := string(m.Content.Text)
	if extra && export.Placeholder.MatchString(s) {
		s = s[:export.Placeholder.FindStringIndex(s)[0]]
	}
	return export.WithoutPlaceholders(face.ReplaceAllString(export.QuotedReply.ReplaceAllString(s, ""), ":$1:"))
}

// face matches an emoji in a whole text: [[微笑]].
var face = text.NewPattern(`\[\[([^\[\]\n]{1,20})\]\]`)

// forwarded returns the text of forwarded messages, one per line.
func (d data) forwarded() string {
	var lines []string
	for _, m := range d.Messages {
		if said := export.WithoutPlaceholders(string(m.Content.Text)); said != "" {
			lines = append(lines, export.Forwarded(m.Sender.label(), said))
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
