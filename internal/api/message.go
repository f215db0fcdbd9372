package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Messages returns a page of a group's conversation, oldest first: the newest messages, those before or after one,
// or those around one, of one session or of all. If the group, session or message does not exist or belongs to
// another group, the error is a [reverie.ErrNotFound].
func (s *Service) Messages(ctx context.Context, q reverie.MessageQuery) (reverie.MessagesReply, error) {
	ctx, _, err := reading(ctx, q.GroupID, reverie.ScopeRead, page(q.Limit, 0))
	if err != nil {
		return reverie.MessagesReply{}, err
	}
	if q.Before != "" && q.After != "" || q.Around != "" && q.Before+q.After != "" {
		return reverie.MessagesReply{}, fmt.Errorf("messages before, after and around one exclude each other: %w", reverie.ErrInvalid)
	}
	return s.Store.Conversation(ctx, q)
}

// ClearSession clears the short-term memory of a session, which is part of its next context. Messages and memories
// stay. Clearing it again does nothing.
func (s *Service) ClearSession(ctx context.Context, groupID, sessionID string) (reverie.ClearReply, error) {
	if _, err := allowed(ctx, groupID, reverie.ScopeWrite); err != nil {
		return reverie.ClearReply{}, err
	}
	n, err := s.Store.ClearSession(ctx, groupID, sessionID)
	if err != nil {
		return reverie.ClearReply{}, err
	}
	caller, _ := CallerOf(ctx)
	s.Log.Info("session cleared", "group_id", groupID, "session_id", sessionID, "messages", n, "by", cmp.Or(caller.Name, caller.TokenID))
	return reverie.ClearReply{Success: true, GroupID: groupID, SessionID: sessionID, Cleared: n}, nil
}

// MaxBadLines is the maximum number of refused lines in an answer.
const MaxBadLines = 20

// pause is the maximum time that a line waits for others before it is stored.
const pause = time.Second

// maxReason bounds the reason for a refused line, in characters: it may quote the line.
const maxReason = 300

// AddMessages imports messages into a group, which it creates if necessary. The body is JSON Lines as `reverie
// import` reads them, of any length, stored in batches. A message with a known id is left unchanged. Other lines
// are changes of messages: a newer text, reactions, or a deletion. Unreadable lines are counted, and the others are
// stored.
//
// From a slow body, lines are stored after about a second at the latest. A body without lines also creates the
// group.
//
// If a body breaks off, the answer says so among its bad lines. Complete lines before that are stored, never a part
// of one. For a body that is too large, the error is its *http.MaxBytesError, returned with what was stored before.
// If the database fails, the error is the database's, and earlier batches are stored.
func (s *Service) AddMessages(ctx context.Context, groupID string, body io.Reader) (reverie.MessagesAdded, error) {
	if _, err := allowed(ctx, groupID, reverie.ScopeWrite); err != nil {
		return reverie.MessagesAdded{}, err
	}
	if err := reverie.CheckChat(groupID); err != nil {
		return reverie.MessagesAdded{}, err
	}
	group := reverie.Group{ID: groupID}
	if err := group.Normalize(); err != nil {
		return reverie.MessagesAdded{}, err
	}
	added := reverie.MessagesAdded{GroupID: groupID}
	ensure := func(ctx context.Context, _ string, _ ingest.Chat) (string, error) {
		_, err := s.Store.EnsureGroup(ctx, s.NewGroup(group))
		return groupID, err
	}
	importer := ingest.NewImporter(s.Inbox, ingest.Options{Filters: s.Filters, OnBad: func(b *ingest.Bad) { note(&added, b) },
		Group: ensure, Pause: pause, Now: s.Now, OnRead: stored(body)})
	// If the client disconnects, the request's context ends; complete lines are stored all the same. The work ends with
	// the body, which then yields nothing more.
	ctx = context.WithoutCancel(ctx)
	source := &broken{from: body}
	err := importer.Read(ctx, ingest.Source{Name: "the body", Reader: source}, ingest.JSONL(), ingest.ReadOptions{Group: groupID})
	res := importer.Result()
	if err == nil && res.Records == 0 {
		_, err = ensure(ctx, "", ingest.Chat{})
	}
	added.New, added.Known, added.Erased, added.Filtered = res.New, res.Known, res.Erased, maps.Clone(res.Filtered)
	added.Changed, added.SameID, added.ChangeResult = res.Changed, res.SameID, res.ChangeResult
	added.Success = err == nil && added.BadCount == 0
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return added, nil
	case errors.As(err, &large):
		return added, fmt.Errorf("line %d: %w; of the lines before it %d are stored now, %d of them new", source.lines+1, large, added.New+added.Known, added.New)
	case source.err != nil && importer.Stored(): // everything that was read
		note(&added, &ingest.Bad{Place: place(source.lines + 1), Reason: "the body breaks off here", Err: source.err})
		return added, nil
	}
	return added, err
}

// EditMessage replaces the text of a message, unless a newer text is stored. The message is processed again. If it
// does not exist, the error is a [reverie.ErrNotFound].
func (s *Service) EditMessage(ctx context.Context, groupID string, c reverie.MessageChange) (reverie.MessageChanged, error) {
	if _, err := allowed(ctx, groupID, reverie.ScopeWrite); err != nil {
		return reverie.MessageChanged{}, err
	}
	if c.EditedAt.IsZero() {
		c.EditedAt = s.Now()
	}
	if err := ingest.CheckEdited(c.EditedAt, s.Now()); err != nil {
		return reverie.MessageChanged{}, err
	}
	if _, err := s.Store.Conversation(ctx, reverie.MessageQuery{GroupID: groupID, Around: c.ID, Limit: 1}); err != nil {
		return reverie.MessageChanged{}, err
	}
	if c.Text != nil && s.Filters.Command(*c.Text) {
		c.Filter = reverie.FilterCommand
	}
	return s.changeMessage(ctx, groupID, c)
}

// DeleteMessage deletes a message, and memories that rest only on it: see [erase.Eraser.ApplyChanges]. It is not
// imported again, even if it did not exist yet.
func (s *Service) DeleteMessage(ctx context.Context, groupID, messageID string) (reverie.MessageChanged, error) {
	if _, err := allowed(ctx, groupID, reverie.ScopeWrite); err != nil {
		return reverie.MessageChanged{}, err
	}
	return s.changeMessage(ctx, groupID, reverie.MessageChange{ID: messageID, Deleted: true})
}

func (s *Service) changeMessage(ctx context.Context, groupID string, c reverie.MessageChange) (reverie.MessageChanged, error) {
	res, err := s.Inbox.ChangeMessages(ctx, groupID, []reverie.MessageChange{c})
	return reverie.MessageChanged{Success: err == nil, GroupID: groupID, MessageID: c.ID, ChangeResult: res}, err
}

// stored returns the function that tells a counting body that its lines are stored; nil if the body does not count.
func stored(body io.Reader) func() {
	if counts, ok := body.(interface{ Stored() }); ok {
		return counts.Stored
	}
	return nil
}

// note counts a refused line, and lists the first ones.
func note(added *reverie.MessagesAdded, b *ingest.Bad) {
	added.BadCount++
	if len(added.Bad) == MaxBadLines {
		return
	}
	bad := reverie.BadLine{Reason: text.Excerpt(strings.TrimPrefix(reverie.ErrorText(b), b.Place+": "), maxReason)}
	if _, err := fmt.Sscanf(b.Place, "line %d", &bad.Line); err != nil {
		bad.Reason = text.Excerpt(reverie.ErrorText(b), maxReason)
	}
	added.Bad = append(added.Bad, bad)
}

func place(line int) string { return fmt.Sprintf("line %d", line) }

// broken remembers why a body could not be read completely, and in which line.
type broken struct {
	from  io.Reader
	lines int // complete lines
	err   error
}

func (b *broken) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.lines += bytes.Count(p[:n], []byte("\n"))
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}
