package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Pull is what is asked of a pull.
type Pull struct {
	Import
	Server *ingest.Server
	Chats  []string  // ids or names; none is all
	All    bool      // from the beginning
	Since  time.Time // zero: where the last pull ended
	OnBad  func(*ingest.Bad)
	OnRead func(records int) // of the chat that is being pulled; nil is nobody
}

// Pick returns the chats that are asked for.
func (o Pull) Pick(sessions []ingest.Session) ([]ingest.Session, error) {
	picked := sessions
	if len(o.Chats) > 0 {
		picked = nil
		for _, s := range sessions {
			if slices.Contains(o.Chats, s.ID) || slices.Contains(o.Chats, s.Name) {
				picked = append(picked, s)
			}
		}
		for _, c := range o.Chats {
			if !slices.ContainsFunc(picked, func(s ingest.Session) bool { return s.ID == c || s.Name == c }) {
				return nil, badRequest(fmt.Errorf("--chat %q: the server has no chat of this id or name; --dry-run without --chat lists them", c))
			}
		}
	}
	if o.Group.ID != "" && len(picked) > 1 {
		return nil, SeveralChats([]ingest.Chat{picked[0].Chat, picked[1].Chat})
	}
	return picked, nil
}

// Pull pulls one chat, and notes how far it came. The result is nil where it was not begun.
func (a *App) Pull(ctx context.Context, o Pull, s ingest.Session) (*ingest.Result, error) {
	if len(s.ID) > reverie.MaxMessageIDLength || strings.ContainsRune(s.ID, 0) {
		return nil, fmt.Errorf("chat %q: its id cannot be stored: %w", text.Excerpt(s.ID, 80), reverie.ErrInvalid)
	}
	group, err := ingest.GroupOf("chatlab", s.Chat)
	if err != nil {
		return nil, err
	}
	mark, err := a.Store.Pull(ctx, cmp.Or(o.Group.ID, group.ID), o.Server.Source(), s.ID)
	if err != nil {
		return nil, err
	}
	since := mark.Since
	switch {
	case o.All:
		since = time.Time{}
	case !o.Since.IsZero():
		since = o.Since
	}
	importer := a.pullImporter(o, s)
	gap := !mark.Since.IsZero() && since.After(mark.Since)
	note := func(ctx context.Context, from time.Time, failure error) error {
		res := importer.Result()
		if o.DryRun || res.Records == 0 && mark.Since.IsZero() { // there may be no group yet
			return nil
		}
		mark.Error, mark.PulledAt = "", a.Clock()
		if !gap { // or what lies between would never be asked for
			mark.Since = from
		}
		if failure != nil {
			mark.Error = text.Excerpt(failure.Error(), 500)
		}
		return a.Store.SavePull(ctx, mark)
	}
	reached := mark.Since
	err = o.Server.Pull(ctx, importer, s, since, func(ctx context.Context, from time.Time) error {
		reached = from
		return note(ctx, from, nil)
	})
	if err != nil && ctx.Err() == nil {
		if nerr := note(ctx, reached, err); nerr != nil && !errors.Is(nerr, reverie.ErrNotFound) {
			err = errors.Join(err, nerr)
		}
	}
	res := importer.Result()
	return &res, err
}

// pullImporter wires the import of one chat.
func (a *App) pullImporter(o Pull, s ingest.Session) (importer *ingest.Importer) {
	opts := ingest.Options{Filters: a.IngestFilters(o.Assistants...), Group: a.groupOfChat(o.Import), OnBad: o.OnBad, Now: a.Clock}
	if o.Group.ID != "" && !o.DryRun {
		opts.Group = func(ctx context.Context, _ string, _ ingest.Chat) (string, error) {
			return o.Group.ID, a.EnsureGroup(ctx, o.Group)
		}
	}
	if o.OnRead != nil {
		opts.OnRead = func() { o.OnRead(importer.Result().Records) }
	}
	if o.DryRun {
		importer = ingest.NewImporter(nil, opts)
		return importer
	}
	importer = ingest.NewImporter(pulledStore{a, reverie.Pull{Source: o.Server.Source(), ChatID: s.ID}, o.AllowErased}, opts)
	return importer
}

// pulledStore is the database, which counts what is new of a chat.
type pulledStore struct {
	*App
	of          reverie.Pull
	allowErased bool
}

// ImportMessages stores messages that are not there yet.
func (s pulledStore) ImportMessages(ctx context.Context, groupID string, messages []reverie.Message) (reverie.ImportResult, error) {
	s.of.GroupID = groupID
	return s.Store.PullMessages(ctx, s.of, messages, s.allowErased)
}
