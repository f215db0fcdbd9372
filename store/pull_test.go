package store_test

import (
	"errors"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// How far a chat has been pulled is kept for each group, server and chat, and never goes
// back; how many messages were new is counted with them, also where that is all that a
// pull lives to do.
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
	list := []reverie.Message{{ID: "a", Author: "Lin", Text: "one", SentAt: noon}, {ID: "b", Author: "Lin", Text: "two", SentAt: noon}}
	for i, pulled := range [][]reverie.Message{list[:1], list, list} {
		res := must(w.PullMessages(ctx, p, pulled, i > 0))(t)
		if p.Messages += res.New; p.Messages != min(i+1, 2) {
			t.Errorf("%d messages were new", p.Messages)
		}
	}
	if got := must(w.Pull(ctx, p.GroupID, p.Source, p.ChatID))(t); got != p {
		t.Errorf("one that died with its messages stored: %+v, want %+v", got, p)
	}
	p.Since, p.Error, p.PulledAt = noon.Add(-time.Minute), "", noon.Add(time.Hour)
	check(t, w.SavePull(ctx, p))
	if got := must(w.Pull(ctx, p.GroupID, p.Source, p.ChatID))(t); got != p {
		t.Errorf("one that succeeded: %+v, want %+v", got, p)
	}
	late := p
	late.Since, late.PulledAt = time.Time{}, noon.Add(2*time.Hour)
	check(t, w.SavePull(ctx, late))
	late.Since = p.Since
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
