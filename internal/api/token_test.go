package api_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/api"
	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// door is a service and the clock by which its tokens are good.
type door struct {
	*api.Service
	t   *testing.T
	now time.Time
}

func newDoor(t *testing.T) *door {
	t.Helper()
	d := &door{t: t, now: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return d.now }
	d.Service = &api.Service{Store: pgtest.Open(t, pg.Options{Now: clock}), Now: clock, PageSession: time.Hour}
	if _, err := d.Store.EnsureGroup(t.Context(), reverie.Group{ID: "g/1 %2F 群"}); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *door) create(n api.NewToken) (string, reverie.Token) {
	d.t.Helper()
	whole, token, err := d.CreateToken(d.t.Context(), n)
	if err != nil {
		d.t.Fatal(err)
	}
	return whole, token
}

// refused wants a token not to be taken, in the words for any that is not.
func (d *door) refused(what, token string) {
	d.t.Helper()
	const words = "this token is unknown, expired or revoked: not authorized"
	if c, err := d.CallerOfToken(d.t.Context(), token); !errors.Is(err, reverie.ErrUnauthorized) || err.Error() != words || c != (api.Caller{}) {
		d.t.Errorf("%s: %+v, %v", what, c, err)
	}
	if _, _, err := d.Login(d.t.Context(), token); !errors.Is(err, reverie.ErrUnauthorized) || err.Error() != words {
		d.t.Errorf("%s: login: %v", what, err)
	}
}

// A token is taken whole, until it expires or is revoked, and as it was made.
func TestToken(t *testing.T) {
	d := newDoor(t)
	ctx := t.Context()
	end := d.now.Add(time.Minute)
	whole, token := d.create(api.NewToken{GroupID: "g/1 %2F 群", Name: "the bot", Scope: reverie.ScopeWrite, ExpiresAt: &end})
	if !regexp.MustCompile(`^rvr_[A-Za-z0-9]{12}_[A-Za-z0-9]{43}$`).MatchString(whole) || !strings.HasPrefix(whole, "rvr_"+token.ID+"_") {
		t.Fatalf("a token is %q, its id %q", whole, token.ID)
	}
	want := api.Caller{TokenID: token.ID, Name: "the bot", GroupID: "g/1 %2F 群", Scope: reverie.ScopeWrite}
	if c, err := d.CallerOfToken(ctx, whole); err != nil || c != want {
		t.Errorf("%+v, %v", c, err)
	}
	if kept, err := d.Store.Token(ctx, token.ID); err != nil || kept.LastUsedAt == nil || !kept.LastUsedAt.Equal(d.now) {
		t.Errorf("kept is %+v, %v", kept, err)
	}
	otherWhole, other := d.create(api.NewToken{Scope: reverie.ScopeRead})
	if otherWhole[len(otherWhole)-43:] == whole[len(whole)-43:] || other.ID == token.ID {
		t.Error("two tokens are alike")
	}
	for what, bad := range map[string]string{
		"nothing": "", "no token": "hunter2", "the id": token.ID, "cut short": whole[:len(whole)-1], "longer": whole + "x",
		"another's secret": whole[:len(whole)-43] + otherWhole[len(otherWhole)-43:], "another's id": otherWhole[:len(otherWhole)-43] + whole[len(whole)-43:],
		"an unknown id": "rvr_000000000000_" + whole[len(whole)-43:], "a line more": whole + "\n", "a NUL": whole[:20] + "\x00" + whole[21:],
		"10,000 bytes": strings.Repeat("rvr_", 2500), "SQL": "rvr_' or true --_" + whole[len(whole)-43:],
	} {
		d.refused(what, bad)
	}
	d.now = end.Add(-time.Microsecond)
	if _, err := d.CallerOfToken(ctx, whole); err != nil {
		t.Errorf("just before it expires: %v", err)
	}
	d.now = end
	d.refused("expired", whole)
	if _, err := d.CallerOfToken(ctx, otherWhole); err != nil {
		t.Errorf("one that never expires: %v", err)
	}
	if _, err := d.Store.RevokeToken(ctx, other.ID); err != nil {
		t.Fatal(err)
	}
	d.refused("revoked", otherWhole)
}

// What no token can be made of makes none.
func TestNoToken(t *testing.T) {
	d := newDoor(t)
	for what, c := range map[string]struct {
		of   api.NewToken
		kind error
	}{
		"an unknown group": {api.NewToken{GroupID: "nobody", Scope: reverie.ScopeRead}, reverie.ErrNotFound},
		"no scope":         {api.NewToken{}, reverie.ErrInvalid},
		"a long name":      {api.NewToken{Scope: reverie.ScopeRead, Name: strings.Repeat("群", 101)}, reverie.ErrInvalid},
		"no UTF-8":         {api.NewToken{Scope: reverie.ScopeRead, Name: "\xff"}, reverie.ErrInvalid},
		"one that is over": {api.NewToken{Scope: reverie.ScopeRead, ExpiresAt: &d.now}, reverie.ErrInvalid},
	} {
		if whole, _, err := d.CreateToken(t.Context(), c.of); !errors.Is(err, c.kind) || whole != "" {
			t.Errorf("%s: %q, %v", what, whole, err)
		}
	}
	if found, err := d.Store.HasTokens(t.Context()); found || err != nil {
		t.Errorf("a token was made: %v, %v", found, err)
	}
}

// A login is good for its time, as long as its token is, and until it is ended.
func TestLogin(t *testing.T) {
	d := newDoor(t)
	ctx := t.Context()
	early := d.now.Add(30 * time.Minute)
	whole, token := d.create(api.NewToken{Name: "op", Scope: reverie.ScopeAdmin})
	brief, _ := d.create(api.NewToken{Scope: reverie.ScopeRead, ExpiresAt: &early})
	login := func(token string, want time.Time) string {
		t.Helper()
		session, expires, err := d.Login(ctx, token)
		if err != nil || !expires.Equal(want) {
			t.Fatalf("until %s, want %s: %v", expires, want, err)
		}
		return session
	}
	good := func(session string, want bool) {
		t.Helper()
		c, err := d.CallerOfSession(ctx, session)
		if want && (err != nil || c.Scope == "") || !want && (!errors.Is(err, reverie.ErrUnauthorized) || c != (api.Caller{})) {
			t.Errorf("%+v, %v; want it to be good: %v", c, err, want)
		}
	}
	hour := d.now.Add(time.Hour)
	first, second, third := login(whole, hour), login(whole, hour), login(brief, early)
	if c, err := d.CallerOfSession(ctx, first); err != nil || c != (api.Caller{TokenID: token.ID, Name: "op", Scope: reverie.ScopeAdmin}) {
		t.Errorf("%+v, %v", c, err)
	}
	if err := d.Logout(ctx, second); err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]bool{first: true, second: false, third: true, "": false, whole: false, "\x00\xff": false} {
		good(session, want)
	}
	d.now = early
	good(first, true)
	good(third, false)
	d.now = hour
	good(first, false)
	last := login(whole, hour.Add(time.Hour))
	good(last, true)
	if _, err := d.Store.RevokeToken(ctx, token.ID); err != nil {
		t.Fatal(err)
	}
	good(last, false)
}

// A form is of one login, and shows nothing of it.
func TestFormToken(t *testing.T) {
	sessions := []string{"", "a", "b"}
	for i, session := range sessions {
		token := api.FormToken(session)
		if session != "" && strings.Contains(token, session) && len(session) > 10 || len(token) != 43 {
			t.Errorf("the form of %q carries %q", session, token)
		}
		for j, other := range sessions {
			if got := api.IsFormToken(other, token); got != (i == j) {
				t.Errorf("the form of %q is one of %q: %v", session, other, got)
			}
		}
		if api.IsFormToken(session, "") || api.IsFormToken(session, session) {
			t.Errorf("a form without a token is one of %q", session)
		}
	}
	if slices.Contains(sessions, api.FormToken("a")) {
		t.Error("a form carries the session itself")
	}
}
