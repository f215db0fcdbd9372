package store_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// Tokens are kept, found by id or group, used and revoked; so are the logins that are
// made with them.
func TestTokens(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	if must(w.HasTokens(ctx))(t) {
		t.Error("there are tokens in an empty database")
	}
	end := noon.Add(time.Hour)
	own := reverie.Token{GroupID: group, ID: "own000000000", Name: "the \x00 bot", Scope: reverie.ScopeWrite, SHA256: bytes.Repeat([]byte{1}, 32), CreatedAt: noon, ExpiresAt: &end}
	all := reverie.Token{ID: "all000000000", Scope: reverie.ScopeAdmin, SHA256: bytes.Repeat([]byte{0}, 32), CreatedAt: noon.Add(time.Second)}
	other := reverie.Token{GroupID: "甲/乙%2F ..", ID: "other0000000", Scope: reverie.ScopeRead, SHA256: bytes.Repeat([]byte{2}, 32), CreatedAt: noon}
	for _, token := range []reverie.Token{own, all, other, own} { // the last as after a reply that was lost
		check(t, w.AddToken(ctx, token))
	}
	twin := all
	twin.SHA256 = bytes.Repeat([]byte{3}, 32)
	wantErr(t, w.AddToken(ctx, twin), reverie.ErrConflict)
	own.Name = "the \uFFFD bot"
	if got := must(w.Token(ctx, own.ID))(t); !cmp.Equal(got, own) {
		t.Error(cmp.Diff(own, got))
	}
	_, err := w.Token(ctx, "nobody\x00\xff")
	wantErr(t, err, reverie.ErrNotFound)
	for groupID, want := range map[string][]string{"": {other.ID, own.ID, all.ID}, group: {own.ID, all.ID}, other.GroupID: {other.ID, all.ID}, "none": {all.ID}} {
		var ids []string
		for _, token := range must(w.Tokens(ctx, groupID))(t) {
			ids = append(ids, token.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("tokens of %q: %v, want %v", groupID, ids, want)
		}
	}

	for _, use := range []struct{ at, noted time.Duration }{{0, 0}, {59 * time.Second, 0}, {time.Minute, time.Minute}} {
		check(t, w.UseToken(ctx, must(w.Token(ctx, own.ID))(t), noon.Add(use.at)))
		check(t, w.UseToken(ctx, own, noon.Add(use.at))) // one that was read before that
		if got := must(w.Token(ctx, own.ID))(t).LastUsedAt; got == nil || !got.Equal(noon.Add(use.noted)) {
			t.Errorf("used after %s: noted %v", use.at, got)
		}
	}

	cookie := bytes.Repeat([]byte{9}, 32)
	p := reverie.PageSession{GroupID: group, SHA256: cookie, TokenID: own.ID, CreatedAt: noon, ExpiresAt: end}
	check(t, w.AddPageSession(ctx, p))
	gotSession, gotToken, err := w.PageSession(ctx, cookie)
	check(t, err)
	if want := must(w.Token(ctx, own.ID))(t); !cmp.Equal(gotSession, p) || !cmp.Equal(gotToken, want) {
		t.Error(cmp.Diff(p, gotSession), cmp.Diff(want, gotToken))
	}
	w.now = noon.Add(time.Hour)
	for range 2 { // again, it changes nothing
		if got := must(w.RevokeToken(ctx, own.ID))(t); got.RevokedAt == nil || !got.RevokedAt.Equal(noon.Add(time.Hour)) {
			t.Errorf("revoked at %v", got.RevokedAt)
		}
		w.now = noon.Add(2 * time.Hour)
	}
	_, _, err = w.PageSession(ctx, cookie)
	wantErr(t, err, reverie.ErrNotFound)
	_, err = w.RevokeToken(ctx, "nobody\x00")
	wantErr(t, err, reverie.ErrNotFound)
	if !must(w.HasTokens(ctx))(t) {
		t.Error("there are no tokens any more")
	}
}

// What is over is forgotten when the next one logs in, and who logs out is.
func TestPageSessions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	check(t, w.AddToken(ctx, reverie.Token{ID: "all000000000", Scope: reverie.ScopeAdmin, SHA256: bytes.Repeat([]byte{0}, 32), CreatedAt: noon}))
	session := func(n byte, from, until time.Duration) reverie.PageSession {
		return reverie.PageSession{SHA256: bytes.Repeat([]byte{n}, 32), TokenID: "all000000000", CreatedAt: noon.Add(from), ExpiresAt: noon.Add(until)}
	}
	first, second, third := session(1, 0, time.Hour), session(2, 0, 3*time.Hour), session(3, time.Hour, 2*time.Hour)
	check(t, w.AddPageSession(ctx, first))
	check(t, w.AddPageSession(ctx, second))
	check(t, w.AddPageSession(ctx, third))
	_, _, err := w.PageSession(ctx, first.SHA256)
	wantErr(t, err, reverie.ErrNotFound)
	check(t, w.EndPageSession(ctx, second.SHA256))
	check(t, w.EndPageSession(ctx, second.SHA256))
	_, _, err = w.PageSession(ctx, second.SHA256)
	wantErr(t, err, reverie.ErrNotFound)
	if _, _, err = w.PageSession(ctx, third.SHA256); err != nil {
		t.Error(err)
	}
	wantErr(t, w.AddPageSession(ctx, reverie.PageSession{SHA256: first.SHA256, TokenID: "nobody", CreatedAt: noon, ExpiresAt: noon}), reverie.ErrNotFound)
}

// The look-ups that stand before each request, beside the shortest read that has a
// transaction around it.
func BenchmarkToken(b *testing.B) {
	w := newWorld(b)
	ctx := b.Context()
	check(b, w.AddToken(ctx, reverie.Token{GroupID: group, ID: "own000000000", Scope: reverie.ScopeRead, SHA256: bytes.Repeat([]byte{1}, 32), CreatedAt: noon}))
	check(b, w.AddPageSession(ctx, reverie.PageSession{GroupID: group, SHA256: bytes.Repeat([]byte{9}, 32), TokenID: "own000000000", CreatedAt: noon, ExpiresAt: noon.Add(time.Hour)}))
	b.Run("token", func(b *testing.B) {
		for b.Loop() {
			must(w.Token(ctx, "own000000000"))(b)
		}
	})
	b.Run("session", func(b *testing.B) {
		for b.Loop() {
			_, _, err := w.PageSession(ctx, bytes.Repeat([]byte{9}, 32))
			check(b, err)
		}
	})
	b.Run("in-a-transaction", func(b *testing.B) {
		for b.Loop() {
			must(w.Group(ctx, group))(b)
		}
	})
}
