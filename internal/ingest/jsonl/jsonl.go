// Package jsonl reads our own format: one message a line, with id, author_id, author,
// role, text, sent_at (RFC 3339), session_id and reply_to. Its chat has no id. What else
// stands in a message is passed over, but for the group, where [export.ReadOptions] name
// one.
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

// Format is what the package reads.
var Format = export.Format{Name: "jsonl", Title: "JSON Lines of messages", Head: empty, Tell: tell,
	Signs: []export.Sign{listed, {Sure: 90, Paths: "id sent_at text"}, {Sure: 40, Paths: "sent_at text"},
		{Sure: 40, Paths: "id author|author_id|sent_at|text"}}}

// empty tells an empty file, which brings nothing in, whatever it is.
func empty(head []byte) int {
	if len(bytes.TrimSpace(head)) == 0 {
		return 1
	}
	return 0
}

// tell tells the messages: the lines that are not blank, or the elements of one array. A line that is cut
// off is a bad one like others.
func tell(t *export.Teller, src export.Source) error {
	parts := export.TextLines(src.Reader)
	if export.Surest(src.Head, listed) > 0 {
		parts = export.JSONParts(src.Reader, "[]")
	}
	return t.Each(parts, func(part export.Part) error {
		m, err := readMessage(part.Value, t.Group)
		if err != nil {
			return &export.Bad{Reason: export.Reason(err), Err: err}
		}
		return t.Tell(export.Record{Place: part.Place, Message: m})
	})
}

// listed is the sign of an array of messages, which programs write as readily as lines.
var listed = export.Sign{Sure: 90, Paths: "[].id [].sent_at [].text"}

// Lines of which something would be lost if they were stored: JSON replaces it without a word.
var (
	errNoUTF8 = fmt.Errorf("it is not UTF-8; convert it first, such as with iconv -f GB18030 -t UTF-8: %w",
		reverie.ErrInvalid)
	errHalfPair = fmt.Errorf("it holds half a surrogate pair (such as \\ud83d by itself); send the whole character: %w",
		reverie.ErrInvalid)
)

// another tells whether a field names a group that is not this one.
func another(field json.RawMessage, group string) bool {
	var named export.Text
	return named.UnmarshalJSON(field) == nil && named != "" && string(named) != group
}

// readMessage reads and checks one line, of a group where that is given.
func readMessage(line []byte, group string) (reverie.Message, error) {
	var raw struct {
		ID        export.Text  `json:"id"`
		AuthorID  export.Text  `json:"author_id"`
		Author    export.Text  `json:"author"`
		Role      reverie.Role `json:"role"`
		Text      *string      `json:"text"`
		SentAt    string       `json:"sent_at"`
		SessionID export.Text  `json:"session_id"`
		ReplyTo   export.Text  `json:"reply_to"`

		GroupID json.RawMessage `json:"group_id"` // anything
		Group   json.RawMessage `json:"group"`
	}
	if !utf8.Valid(line) {
		return reverie.Message{}, errNoUTF8
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return reverie.Message{}, fmt.Errorf("not a message in JSON: %w", export.Readable(err))
	}
	if bytes.Contains(line, []byte(`\u`)) && !jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true)) {
		return reverie.Message{}, errHalfPair
	}
	if group != "" && (another(raw.GroupID, group) || another(raw.Group, group)) {
		return reverie.Message{}, fmt.Errorf("it names a group other than %q: %w", text.Excerpt(group, 40),
			reverie.ErrInvalid)
	}
	if strings.ContainsRune(string(raw.ID), utf8.RuneError) { // two such ids could become one, and a message be lost
		return reverie.Message{}, fmt.Errorf("id holds U+FFFD, which stands for bytes that were lost: %w", reverie.ErrInvalid)
	}
	if raw.SentAt == "" {
		return reverie.Message{}, fmt.Errorf("sent_at is missing: %w", reverie.ErrInvalid)
	}
	at, err := time.Parse(time.RFC3339, raw.SentAt)
	if err != nil {
		return reverie.Message{}, fmt.Errorf("sent_at %q is not RFC 3339, such as 2026-01-15T20:01:00+08:00: %w",
			text.Excerpt(raw.SentAt, 40), reverie.ErrInvalid)
	}
	if raw.Text == nil {
		return reverie.Message{}, fmt.Errorf("text is missing: %w", reverie.ErrInvalid)
	}
	m := reverie.Message{ID: string(raw.ID), AuthorID: string(raw.AuthorID), Author: string(raw.Author), Role: raw.Role,
		Text: *raw.Text, SentAt: at, SessionID: string(raw.SessionID), ReplyTo: string(raw.ReplyTo)}
	return m, m.Normalize()
}
