// Package jsonl reads our own format: each line is a message, or a change of one, with id, author_id, author, role,
// text, sent_at (RFC 3339), session_id and reply_to. Its chat has no id. Other keys of a message are ignored,
// except the group if [export.ReadOptions] names one.
package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes our JSON Lines.
var Format = export.Format{Name: "jsonl", Title: "JSON Lines of messages", Head: empty, Tell: tell,
	Signs: []export.Sign{listed, {Sure: 90, Paths: "id sent_at text"}, {Sure: 40, Paths: "sent_at text"},
		{Sure: 90, Paths: "id edited_at|deleted_at|reactions"},
		{Sure: 40, Paths: "id author|author_id|sent_at|text"}}}

// empty accepts an empty file, which imports nothing in any format.
func empty(head []byte) int {
	if len(bytes.TrimSpace(head)) == 0 {
		return 1
	}
	return 0
}

// tell passes on the messages: the non-blank lines, or the elements of one array. A truncated line is a bad line
// like others.
func tell(t *export.Teller, src export.Source) error {
	parts := export.TextLines(src.Reader)
	if export.Surest(src.Head, listed) > 0 {
		parts = export.JSONParts(src.Reader, "[]")
	}
	return t.Each(parts, func(part export.Part) error {
		r, err := readRecord(part.Value, t.Group)
		if err != nil {
			return &export.Bad{Reason: export.Reason(err), Err: err}
		}
		r.Place = part.Place
		return t.Tell(r)
	})
}

// listed is the sign of an array of messages, which programs write instead of lines.
var listed = export.Sign{Sure: 90, Paths: "[].id [].sent_at [].text"}

// Lines that would lose data if they were stored: JSON decoding replaces invalid text silently.
var (
	errNoUTF8 = fmt.Errorf("it is not UTF-8; convert it first, such as with iconv -f GB18030 -t UTF-8: %w",
		reverie.ErrInvalid)
	errHalfPair = fmt.Errorf("it holds half a surrogate pair (such as \\ud83d by itself); send the whole character: %w",
		reverie.ErrInvalid)
)

// another reports whether a field names another group.
func another(field json.RawMessage, group string) bool {
	var named export.Text
	return named.UnmarshalJSON(field) == nil && named != "" && string(named) != group
}

// line is a message, a change of one, or both.
type line struct {
	ID        export.Text        `json:"id"`
	AuthorID  export.Text        `json:"author_id"`
	Author    export.Text        `json:"author"`
	Role      reverie.Role       `json:"role"`
	Text      *string            `json:"text"`
	SentAt    string             `json:"sent_at"`
	SessionID export.Text        `json:"session_id"`
	ReplyTo   export.Text        `json:"reply_to"`
	EditedAt  string             `json:"edited_at"`
	DeletedAt string             `json:"deleted_at"`
	Reactions []reverie.Reaction `json:"reactions"`

	GroupID json.RawMessage `json:"group_id"` // of any type
	Group   json.RawMessage `json:"group"`
}

// readRecord parses and checks one line; group, if given, must match.
func readRecord(raw []byte, group string) (export.Record, error) {
	l, err := readLine(raw, group)
	if err != nil {
		return export.Record{}, err
	}
	edited, err := instant("edited_at", l.EditedAt)
	if err != nil {
		return export.Record{}, err
	}
	deleted, err := instant("deleted_at", l.DeletedAt)
	if err != nil {
		return export.Record{}, err
	}
	var r export.Record
	if deleted != nil || len(l.Reactions) > 0 || l.SentAt == "" && edited != nil {
		c := reverie.MessageChange{ID: string(l.ID), Deleted: deleted != nil, Reactions: l.Reactions}
		if edited != nil && l.SentAt == "" && !c.Deleted {
			c.Text, c.EditedAt = l.Text, *edited
		}
		r.Change = &c
		if l.SentAt == "" || c.Deleted {
			return r, c.Normalize()
		}
	}
	r.Edited = edited != nil
	r.Message, err = l.message(edited)
	return r, err
}

// instant parses a time, nil if there is none.
func instant(field, s string) (*time.Time, error) {
	if s == "" {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil, fmt.Errorf("%s %q is not RFC 3339, such as 2026-01-15T20:01:00+08:00: %w", field, text.Excerpt(s, 40),
			reverie.ErrInvalid)
	}
	return &at, nil
}

func readLine(raw []byte, group string) (l line, err error) {
	if !utf8.Valid(raw) {
		return l, errNoUTF8
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return l, fmt.Errorf("not a message in JSON: %w", export.Readable(err))
	}
	if bytes.Contains(raw, []byte(`\u`)) && !jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true)) {
		return l, errHalfPair
	}
	if group != "" && (another(l.GroupID, group) || another(l.Group, group)) {
		return l, fmt.Errorf("it names a group other than %q: %w", text.Excerpt(group, 40), reverie.ErrInvalid)
	}
	// Two such ids could become the same, and a message would be lost.
	if strings.ContainsRune(string(l.ID), utf8.RuneError) {
		return l, fmt.Errorf("id holds U+FFFD, which stands for bytes that were lost: %w", reverie.ErrInvalid)
	}
	return l, nil
}

// message returns the message of a line.
func (l line) message(edited *time.Time) (reverie.Message, error) {
	at, err := instant("sent_at", l.SentAt)
	switch {
	case err != nil:
		return reverie.Message{}, err
	case at == nil:
		return reverie.Message{}, fmt.Errorf("sent_at is missing: %w", reverie.ErrInvalid)
	case l.Text == nil:
		return reverie.Message{}, fmt.Errorf("text is missing: %w", reverie.ErrInvalid)
	}
	m := reverie.Message{ID: string(l.ID), AuthorID: string(l.AuthorID), Author: string(l.Author), Role: l.Role,
		Text: *l.Text, SentAt: *at, SessionID: string(l.SessionID), ReplyTo: string(l.ReplyTo), EditedAt: edited}
	return m, m.Normalize()
}
