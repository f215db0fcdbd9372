package store_test

import (
	"errors"
	"testing"
	"time"

	"reverie"
)

// How far a chat has been pulled is kept for each group, server and chat, and never goes
// back.
func TestPull(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	p := reverie.Pull{GroupID: group, Source: "http://127.0.0.1:5031/api/v1", ChatID: "a b/@chatroom"}
	if got := must(w.Pull(ctx, p.GroupID, p.Source, p.ChatID))(t); got != p {
		t.Errorf("before the first: %+v", got)
	}
	p.Error, p.PulledAt = "no \x00 answer", noon
	check(t, w.SavePull(ctx, p)) // one that failed
	p.Error = "no \uFFFD answer"
	if got := must(w.Pull(ctx, p.GroupID, p.Source, p.ChatID))(t); got != p {
		t.Errorf("one that failed: %+v, want %+v", got, p)
	}
	p.Since, p.Messages, p.Error, p.PulledAt = noon.Add(-time.Minute), 7, "", noon.Add(time.Hour)
	check(t, w.SavePull(ctx, p))
	if got := must(w.Pull(ctx, p.GroupID, p.Source, p.ChatID))(t); got != p {
		t.Errorf("one that succeeded: %+v, want %+v", got, p)
	}
	late := p
	late.Since, late.Messages, late.PulledAt = time.Time{}, 3, noon.Add(2*time.Hour)
	check(t, w.SavePull(ctx, late))
	late.Since, late.Messages = p.Since, p.Messages
	if got := must(w.Pull(ctx, p.GroupID, p.Source, p.ChatID))(t); got != late {
		t.Errorf("one that knew less: %+v, want %+v", got, late)
	}
	for _, other := range []reverie.Pull{{GroupID: "other", Source: p.Source, ChatID: p.ChatID}, {GroupID: group, Source: "x", ChatID: p.ChatID}, {GroupID: group, Source: p.Source, ChatID: "x"}} {
		if got := must(w.Pull(ctx, other.GroupID, other.Source, other.ChatID))(t); got != other {
			t.Errorf("another one: %+v", got)
		}
	}
	p.GroupID = "nobody"
	if err := w.SavePull(ctx, p); !errors.Is(err, reverie.ErrNotFound) {
		t.Errorf("of a group that is not there: %v", err)
	}
}
