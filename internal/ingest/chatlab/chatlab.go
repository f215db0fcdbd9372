// Package chatlab reads ChatLab's format, 0.0.1 and 0.0.2, with one conversation per file. The id of a chat is its
// groupId or sourceSessionId; a chat without either, as between two people, has its platform and name as id. A
// message without a platformMessageId gets a generated id, see [export.Ordinals].
package chatlab

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// Format describes ChatLab's format.
var Format = export.Format{Name: "chatlab", Title: "ChatLab, JSON or JSONL", Head: knows,
	Tell: func(t *export.Teller, src export.Source) error { return (&Reader{}).Tell(t, src) }}

func knows(head []byte) int {
	return export.Surest(afterComments(head), export.Sign{Sure: 95, Paths: "chatlab.version"},
		export.Sign{Sure: 80, Paths: "meta.platform members[].platformId|messages[].sender"},
		export.Sign{Sure: 60, Paths: "_type sender|platformId"})
}

// afterComments returns head without the comment lines with which a file may begin.
func afterComments(head []byte) []byte {
	for {
		head = bytes.TrimSpace(head)
		if !bytes.HasPrefix(head, []byte("#")) {
			return head
		}
		_, head, _ = bytes.Cut(head, []byte("\n"))
	}
}

// Reader reads one file, or one page of a pull.
type Reader struct {
	Chat  export.Chat // for a page, the caller knows it
	Known bool        // the chat is known
	IDs   export.Ordinals
	Sync  Sync // what a page says about the next one

	names map[string]string
}

// Sync says where a pull continues.
type Sync struct {
	HasMore    bool        `json:"hasMore"`
	NextSince  export.Text `json:"nextSince"` // in seconds
	NextOffset export.Text `json:"nextOffset"`
	Watermark  export.Text `json:"watermark"`
}

// Tell passes on the messages.
func (c *Reader) Tell(t *export.Teller, src export.Source) error {
	c.names = map[string]string{}
	return t.Each(parts(src), func(part export.Part) error {
		if part.Pattern != "messages[]" {
			return c.note(part)
		}
		if !c.Known {
			return t.NoChat(part.Place, "meta")
		}
		if !t.Wants(c.Chat) {
			return export.ErrEnoughRead
		}
		r, err := c.record(part)
		if err != nil {
			return err
		}
		return t.Tell(r)
	})
}

// parts yields the values of either kind of file by their JSON paths.
func parts(src export.Source) export.Parts {
	if export.Surest(afterComments(src.Head), export.Sign{Sure: 1, Paths: "_type"}) == 0 {
		return export.JSONParts(src.Reader, "meta", "members[]", "messages[]", "sync")
	}
	return func(yield func(export.Part, error) bool) {
		for part, err := range export.JSONLines(src.Reader) {
			if err == nil {
				if part.Value[0] == '#' {
					continue
				}
				err = readLine(&part)
			}
			if (err != nil || part.Pattern != "") && !yield(part, err) {
				return
			}
		}
	}
}

// lineKinds maps the kinds of lines to the JSON paths of their values.
var lineKinds = map[export.Text]string{"header": "meta", "member": "members[]", "message": "messages[]", "sync": "sync"}

// readLine turns a line into its value in JSON. A line of an unknown kind gets no pattern and is skipped.
func readLine(p *export.Part) error {
	var line struct {
		Type *export.Text    `json:"_type"`
		Meta json.RawMessage `json:"meta"`
	}
	if err := p.Decode(&line, "no JSON"); err != nil {
		return err
	}
	if line.Type == nil {
		return export.Missing("_type", "_type")
	}
	switch p.Pattern = lineKinds[*line.Type]; {
	case p.Pattern == "meta" && line.Meta == nil:
		p.Pattern = ""
	case p.Pattern == "meta":
		p.Value = line.Meta
	}
	return nil
}

// note records what is not a message. A member that cannot be read has no name.
func (c *Reader) note(part export.Part) error {
	switch part.Pattern {
	case "sync":
		c.Sync = Sync{}
		return part.Need(&c.Sync)
	case "members[]":
		var m struct {
			ID       export.Text `json:"platformId"`
			Name     export.Text `json:"accountName"`
			Nickname export.Text `json:"groupNickname"`
		}
		if json.Unmarshal(part.Value, &m) == nil && len(c.names) < export.MaxNames {
			c.names[export.Shortened(string(m.ID))] = export.Shortened(string(cmp.Or(m.Nickname, m.Name)))
		}
	default:
		if c.Known {
			return nil
		}
		var m struct {
			Name     export.Text `json:"name"`
			Platform export.Text `json:"platform"`
			Type     export.Text `json:"type"`
			Group    export.Text `json:"groupId"`
			Session  export.Text `json:"sourceSessionId"`
		}
		if err := part.Need(&m); err != nil {
			return err
		}
		id := cmp.Or(m.Group, m.Session)
		if id == "" && m.Name != "" {
			id = export.Text(strings.TrimPrefix(string(m.Platform+"-"+m.Name), "-"))
		}
		c.Chat, c.Known = export.Chat{ID: string(id), Name: string(m.Name), Private: m.Type == "private"}, true
	}
	return nil
}

// kind is a kind of messages that are not plain text.
type kind struct {
	event bool // nobody wrote it
	text  func(content string) string
}

// kinds are the kinds by their numbers. An unknown kind counts as text.
var kinds = map[export.Text]kind{
	"1":      {text: export.Caption},             // image
	"2":      {text: export.Caption},             // voice
	"3":      {text: export.Caption},             // video
	"4":      {text: export.Caption},             // file
	"5":      {text: export.Caption},             // sticker
	"7":      {text: export.WithoutPlaceholders}, // link
	"8":      {text: export.Caption},             // location
	"20":     {event: true},                      // red packet
	"21":     {event: true},                      // transfer
	"22":     {event: true},                      // poke
	"23":     {event: true},                      // call
	"24":     {text: export.WithoutPlaceholders}, // share
	"25":     {text: answer},
	"26":     {text: forwarded},
	"27":     {text: export.Caption}, // contact
	"80":     {event: true},          // system
	recalled: {event: true, text: func(string) string { return "" }},
	"99":     {text: other},
}

const recalled = "81"

func answer(content string) string {
	return export.UnlessPlaceholder(export.QuotedReply.ReplaceAllString(content, ""))
}

func forwarded(content string) string {
	if said := export.WithoutPlaceholders(content); said != "" {
		return export.Forwarded("", said)
	}
	return ""
}

// other reads a message of any other kind, which may only say the kind.
func other(content string) string {
	if all := strings.TrimSpace(content); strings.HasPrefix(all, "[") && strings.IndexByte(all, ']') == len(all)-1 {
		return ""
	}
	return export.UnlessPlaceholder(content)
}

// nobody is the author of the platform's own messages.
const nobody = "SYSTEM"

type message struct {
	ID       export.Text `json:"platformMessageId"`
	Sender   export.Text `json:"sender"`
	Name     export.Text `json:"accountName"`
	Nickname export.Text `json:"groupNickname"`
	Time     export.Text `json:"timestamp"` // in seconds; some programs write milliseconds
	Type     export.Text `json:"type"`
	Content  export.Text `json:"content"`
	ReplyTo  export.Text `json:"replyToMessageId"`
}

// record reads one message.
func (c *Reader) record(part export.Part) (r export.Record, err error) {
	var m message
	if err := part.Decode(&m, "no message"); err != nil {
		return r, err
	}
	at, err := export.Time(string(m.Time), time.UTC)
	if err := export.Needs(export.OwnID, err, string(m.Sender)); err != nil {
		return r, err
	}
	of := kinds[m.Type]
	if of.text == nil {
		of.text = export.UnlessPlaceholder
	}
	r = export.Record{Chat: c.Chat, Place: part.Place, Event: m.Sender == nobody || of.event}
	r.Message = reverie.Message{ID: string(m.ID), AuthorID: string(m.Sender), SentAt: at,
		Author: string(cmp.Or(m.Nickname, m.Name)), Text: of.text(string(m.Content)), ReplyTo: string(m.ReplyTo)}
	if r.Gone = m.Type == recalled && m.ID != ""; m.ID == "" {
		r.Message.ID = c.IDs.ID(c.Chat.ID, string(m.Time), string(m.Sender))
	}
	if r.Message.Author == "" {
		r.Message.Author = cmp.Or(c.names[string(m.Sender)], string(m.Sender))
	}
	return r, nil
}
