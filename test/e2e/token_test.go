package e2e

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"reverie/internal/api"
	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// TestTokens makes, lists and revokes tokens as an operator does.
func TestTokens(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	noon := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	kept := pgtest.New(t)
	const odd = "-1/2 %2F 群"
	s.run("groups", "add", "--", odd).want(t, 0)
	s.run("token", "list").want(t, 0).silent(t).shows(t, "no tokens", "reverie token create")

	o := s.runAt(noon, "token", "create", "--group="+odd, "--name", "the \x1b bot", "--expires", "90d").
		want(t, 0, "group "+odd, "scope read", "expires 2026-04-15 12:00 UTC", "not shown again", "it is the first")
	whole, _ := strings.CutSuffix(o.stdout, "\n") // and nothing else, for $(...)
	caller := func(at time.Time) (api.Caller, error) {
		return (&api.Service{Store: kept, Now: func() time.Time { return at }}).CallerOfToken(t.Context(), whole)
	}
	c, err := caller(noon)
	if err != nil || c.GroupID != odd || c.Scope != reverie.ScopeRead || c.Name != "the \x1b bot" {
		t.Fatalf("%q is %+v, %v", whole, c, err)
	}
	var made struct {
		Success bool
		Token   string
		TokenID string `json:"token_id"`
		GroupID string `json:"group_id"`
		State   string
	}
	o = s.runAt(noon, "token", "create", "--all-groups", "--scope", "admin", "--expires", "2026-01-15", "--json").want(t, 0).silent(t)
	if err := json.Unmarshal([]byte(o.stdout), &made); err != nil || !made.Success || made.GroupID != "" || made.State != "good" || !strings.Contains(made.Token, "_"+made.TokenID+"_") {
		t.Errorf("%v: %s", err, o.stdout)
	}
	if o = s.runAt(noon, "token", "create", "--all-groups").want(t, 0, "all groups", "never expires"); strings.Contains(o.stderr, "the first") {
		t.Errorf("it is not the first: %s", o.stderr)
	}
	o = s.runAt(noon.Add(12*time.Hour), "token", "list").want(t, 0).silent(t).shows(t,
		"TOKEN", odd, "the � bot", "2026-01-16 00:00", "2026-01-15 12:00", "expired", "(all)", "admin")
	if n := strings.Count(o.stdout, "\n"); n != 4 || strings.Contains(o.stdout, whole) {
		t.Errorf("%d lines:\n%s", n, o.stdout)
	}

	s.runAt(noon, "token", "revoke", c.TokenID).want(t, 0).silent(t).shows(t, c.TokenID+": revoked")
	if _, err := caller(noon); !errors.Is(err, reverie.ErrUnauthorized) {
		t.Errorf("a revoked one: %v", err)
	}
	s.runAt(noon.Add(time.Hour), "token", "revoke", c.TokenID, "--json").want(t, 0).silent(t).
		shows(t, `"state": "revoked"`, `"success": true`)
	s.run("token", "list", "--group="+odd, "--json").want(t, 0).silent(t).shows(t, `"state": "revoked"`, made.TokenID)
}

// TestTokenMistakes are told apart, and make nothing.
func TestTokenMistakes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run("groups", "add", "g1").want(t, 0)
	for _, c := range []struct {
		args  []string
		code  int
		words []string
	}{
		{[]string{"create"}, 2, []string{"--group", "--all-groups"}},
		{[]string{"create", "--group", "g1", "--all-groups"}, 2, []string{"--all-groups"}},
		{[]string{"create", "--group", ""}, 2, []string{"empty"}},
		{[]string{"create", "--group", "nobody"}, 1, []string{"not found", "reverie groups list"}},
		{[]string{"create", "--group", "g1", "--scope", "root"}, 2, []string{"read, write or admin"}},
		{[]string{"create", "--group", "g1", "--expires", "soon"}, 2, []string{"90d", "never"}},
		{[]string{"create", "--group", "g1", "--expires", "2020-01-01"}, 2, []string{"is in the past"}},
		{[]string{"create", "--group", "g1", "--expires", "-3d"}, 2, []string{"--expires"}},
		{[]string{"create", "--group", "g1", "--name", strings.Repeat("x", 101)}, 2, []string{"100 characters"}},
		{[]string{"list", "--group", "nobody"}, 1, []string{"not found"}},
		{[]string{"revoke"}, 2, nil},
		{[]string{"revoke", "rvr_nobody"}, 1, []string{"not found", "reverie token list"}},
	} {
		s.run(append([]string{"token"}, c.args...)...).want(t, c.code, c.words...)
	}
	if n := s.one(`select count(*) from api_tokens`); n != "0" {
		t.Errorf("%s tokens were made", n)
	}
}
