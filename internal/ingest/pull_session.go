package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

const (
	sessionsAtOnce = 200
	maxSessions    = 1 << 17
)

// errNoAnswer is what a server's answer is that has nothing of the protocol.
var errNoAnswer = fmt.Errorf("the answer is none of ChatLab's pull protocol; check the address: %w",
	reverie.ErrConfiguration)

// Session is a chat that a server hands over, by the server's own id.
type Session struct {
	Chat
	Messages int // as the server counts them; 0 where it does not
}

// Sessions lists the chats of a server.
func (s *Server) Sessions(ctx context.Context) ([]Session, error) {
	const what = "the list of sessions"
	var all []Session
	seen, cursors := map[string]bool{}, map[string]bool{}
	query := url.Values{"format": {"chatlab"}, "limit": {strconv.Itoa(sessionsAtOnce)}}
	for {
		var list []pullSession
		var page sessionsPage
		err := s.ask(ctx, what, s.at(query, "sessions"), func(a answer) (err error) {
			if !a.whole {
				return fmt.Errorf("%s is longer than %d bytes: %w", what, s.opts.Held, reverie.ErrInvalid)
			}
			list, page, err = readSessions(a)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, found := range list {
			if id := string(found.ID); id != "" && !seen[id] { // pages may overlap
				seen[id] = true
				count, _ := strconv.Atoi(string(found.Messages)) // 0 where it is none
				all = append(all, Session{Chat: Chat{ID: id, Name: string(found.Name)}, Messages: count})
			}
		}
		cursor := string(page.NextCursor)
		switch {
		case !page.HasMore:
			return all, nil
		case cursor == "" || cursors[cursor]:
			return nil, fmt.Errorf("%s: the server says that there are more, and not how to get on to them: %w", what,
				reverie.ErrInvalid)
		case len(all) > maxSessions || len(cursors) > maxSessions:
			return nil, fmt.Errorf("%s has more than %d: %w", what, maxSessions, reverie.ErrInvalid)
		}
		cursors[cursor] = true
		query.Set("cursor", cursor)
	}
}

type pullSession struct {
	ID       export.Text `json:"id"`
	Name     export.Text `json:"name"`
	Messages export.Text `json:"messageCount"`
}

type sessionsPage struct {
	HasMore    bool        `json:"hasMore"`
	NextCursor export.Text `json:"nextCursor"`
}

// readSessions reads a list of sessions, by itself or in what servers put it into.
func readSessions(r io.Reader) (list []pullSession, page sessionsPage, err error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, page, err
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || export.EndsEarly(raw) {
		return nil, page, io.ErrUnexpectedEOF
	}
	for range 2 { // the list may be in data, and so may what it is in
		if raw[0] == '[' {
			err = json.Unmarshal(raw, &list)
			return list, page, noAnswer(err)
		}
		var doc struct {
			Sessions *[]pullSession  `json:"sessions"`
			Page     *sessionsPage   `json:"page"`
			Data     json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(raw, &doc); err != nil {
			return nil, page, noAnswer(err)
		}
		if doc.Page != nil {
			page = *doc.Page
		}
		if doc.Sessions != nil {
			return *doc.Sessions, page, nil
		}
		if raw = bytes.TrimSpace(doc.Data); len(raw) == 0 {
			break
		}
	}
	return nil, page, errNoAnswer
}

// noAnswer says what is wrong with an answer that is no JSON, or of other types.
func noAnswer(err error) error {
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return fmt.Errorf("%w (%w)", errNoAnswer, export.Readable(err))
}
