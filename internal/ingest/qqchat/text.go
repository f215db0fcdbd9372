package qqchat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// QQ's own client exports text: a heading for each chat, which has a name and no number,
// and messages of several lines behind a time, a name and an account.
var (
	textChat = text.NewPattern(`^消息对象[:：](.*)$`)
	textHead = text.NewPattern(`^(\d{4}-\d\d-\d\d \d{1,2}:\d\d:\d\d) (.*)$`)
	textWho  = text.NewPattern(`^(?:【[^【】]{1,20}】)?(.*?)(?:\((\d{4,12})\)|<([^<>\s]+@[^<>\s]+)>)?$`)
)

// system is the account that says what has happened.
const system = "10000"

// knowsText tells the beginning of such a text.
func knowsText(head []byte) bool {
	chat := false
	for l := range bytes.Lines(head) {
		s := strings.TrimSpace(string(l))
		if chat = chat || textChat.MatchString(s); chat && textHead.MatchString(s) {
			return true
		}
	}
	return false
}

// qqText reads such a text.
type qqText struct {
	ctx   context.Context
	opts  export.ReadOptions
	yield func(export.Record, error) bool
	chat  export.Chat
	ids   export.Ordinals
	open  *export.Record // the message at hand
	lines []string
	size  int
}

// file tells its messages. The error says why it cannot be read to its end.
func (q *qqText) file(r io.Reader) error {
	for l, err := range export.Lines(r) {
		if err == nil {
			err = q.ctx.Err()
		}
		var bad *export.Bad
		switch {
		case errors.As(err, &bad): // of the message at hand, which is no whole one then
			q.open, q.lines = nil, nil
			if !q.yield(export.Record{}, bad) {
				return nil
			}
		case err != nil:
			return err
		case !q.line(l):
			return nil
		}
	}
	q.close()
	return nil
}

// line takes in one line, and says whether anybody listens on.
func (q *qqText) line(l export.Line) bool {
	s := strings.TrimRight(export.UTF8Line(l.Text), "\r ")
	if m := textChat.FindStringSubmatch(s); m != nil {
		name := strings.TrimSpace(m[1])
		more := q.close()
		q.chat, q.ids = export.Chat{ID: name, Name: name}, export.Ordinals{}
		return more
	}
	m := textHead.FindStringSubmatch(s)
	if m == nil {
		if q.open != nil {
			q.lines = append(q.lines, s)
			q.size += len(s) + 1
		}
		if q.size <= reverie.MaxMessageTextLength {
			return true
		}
		place := q.open.Place
		q.open, q.lines, q.size = nil, nil, 0
		return q.yield(export.Record{}, &export.Bad{Place: place, Reason: "too long",
			Err: fmt.Errorf("the message has more than %d bytes: %w", reverie.MaxMessageTextLength, reverie.ErrInvalid)})
	}
	if !q.close() {
		return false
	}
	zone := q.opts.Zone
	if zone == nil {
		zone = time.UTC
	}
	at, err := time.ParseInLocation("2006-01-02 15:04:05", m[1], zone)
	if err != nil {
		return q.yield(export.Record{}, &export.Bad{Place: l.Place(), Reason: "no time",
			Err: fmt.Errorf("there is no %s: %w", m[1], reverie.ErrInvalid)})
	}
	who := textWho.FindStringSubmatch(m[2])
	id := cmp.Or(who[2], who[3], who[1])
	q.open = &export.Record{Chat: q.chat, Place: l.Place(), Event: id == system}
	q.open.Message = reverie.Message{ID: q.ids.ID(q.chat.ID, m[1], id), AuthorID: id,
		Author: cmp.Or(strings.TrimSpace(who[1]), id), Role: reverie.RoleUser, SentAt: at}
	return true
}

// close tells the message at hand.
func (q *qqText) close() bool {
	r := q.open
	if r == nil {
		return true
	}
	for len(q.lines) > 0 && strings.HasPrefix(q.lines[len(q.lines)-1], "=====") || len(q.lines) > 0 &&
		strings.HasPrefix(q.lines[len(q.lines)-1], "消息分组") {
		q.lines = q.lines[:len(q.lines)-1] // the heading of the next chat
	}
	r.Message.Text = export.WithoutPlaceholders(strings.Join(q.lines, "\n"))
	q.open, q.lines, q.size = nil, nil, 0
	return !q.opts.Wants(r.Chat) || q.yield(*r, nil)
}
