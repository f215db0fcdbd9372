package reverie_test

import (
	"testing"
	"time"

	"reverie/internal/reverie"
)

// said is a session in which these have spoken, u for a user, a for an assistant, t
// for a tool, a minute apart and ten tokens each.
func said(roles string) reverie.Session {
	var s reverie.Session
	at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	for i, r := range roles {
		role := map[rune]reverie.Role{'u': reverie.RoleUser, 'a': reverie.RoleAssistant, 't': reverie.RoleTool}[r]
		s.Add(reverie.Message{Role: role, SentAt: at.Add(time.Duration(i) * time.Minute)}, 10)
	}
	return s
}

func TestSessionAdd(t *testing.T) {
	for roles, want := range map[string]struct {
		turns, tools int
		asking       bool
	}{
		"":        {0, 0, false},
		"u":       {0, 0, true},
		"ua":      {1, 0, false},
		"uuua":    {1, 0, false}, // all that was said before the answer
		"uaaa":    {1, 0, false}, // an answer in three messages
		"a":       {0, 0, false}, // nobody has asked
		"aua":     {1, 0, false},
		"uta":     {1, 1, false}, // a tool is called within a turn
		"utt":     {0, 2, true},
		"uatua":   {2, 1, false},
		"uauauau": {3, 0, true},
	} {
		s := said(roles)
		tally := reverie.Tally{Messages: len(roles), Tokens: 10 * len(roles), ToolCalls: want.tools, Turns: want.turns}
		if s.Total != tally || s.New != tally || s.Asking != want.asking || s.Folded != (reverie.Tally{}) || s.Unfolded() != tally {
			t.Errorf("%q counts %+v", roles, s)
		}
		if n := len(roles); n > 0 && s.LastAt.Sub(s.FirstAt) != time.Duration(n-1)*time.Minute {
			t.Errorf("%q lasts from %v to %v", roles, s.FirstAt, s.LastAt)
		}
	}
}

var (
	lastWord = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	usual    = reverie.SessionRule{Tokens: 12000, ToolCalls: 24, Turns: 5, KeepTurns: 6, FoldTurns: 12, FoldTokens: 6000, ShortTermTTL: 7 * 24 * time.Hour}
)

// At a threshold, just under it and just over, and with the rule switched off.
func TestSessionRuleExtract(t *testing.T) {
	idle := usual
	idle.Idle = time.Hour
	for _, tt := range []struct {
		name  string
		rule  reverie.SessionRule
		fresh reverie.Tally
		later time.Duration
		want  bool
	}{
		{"nothing", idle, reverie.Tally{}, 1000 * time.Hour, false},
		{"tokens under", usual, reverie.Tally{Messages: 1, Tokens: 11999}, 0, false},
		{"tokens at", usual, reverie.Tally{Messages: 1, Tokens: 12000}, 0, true},
		{"tokens over", usual, reverie.Tally{Messages: 1, Tokens: 12001}, 0, true},
		{"tools under", usual, reverie.Tally{Messages: 23, ToolCalls: 23}, 0, false},
		{"tools at", usual, reverie.Tally{Messages: 24, ToolCalls: 24}, 0, true},
		{"tools over", usual, reverie.Tally{Messages: 25, ToolCalls: 25}, 0, true},
		{"turns under", usual, reverie.Tally{Messages: 8, Turns: 4}, 0, false},
		{"turns at", usual, reverie.Tally{Messages: 10, Turns: 5}, 0, true},
		{"turns over", usual, reverie.Tally{Messages: 12, Turns: 6}, 0, true},
		{"all just under", usual, reverie.Tally{Messages: 40, Tokens: 11999, ToolCalls: 23, Turns: 4}, 1000 * time.Hour, false},
		{"off", reverie.SessionRule{}, reverie.Tally{Messages: 1e6, Tokens: 1e6, ToolCalls: 1e6, Turns: 1e6}, 1e9, false},
		{"idle under", idle, reverie.Tally{Messages: 1}, time.Hour - 1, false},
		{"idle at", idle, reverie.Tally{Messages: 1}, time.Hour, true},
		{"idle over", idle, reverie.Tally{Messages: 1}, time.Hour + 1, true},
	} {
		s := reverie.Session{Total: reverie.Tally{Messages: 1e6, Tokens: 1e6, ToolCalls: 1e6, Turns: 1e6}, New: tt.fresh, LastAt: lastWord}
		if got := tt.rule.Extract(s, lastWord.Add(tt.later)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestSessionRuleFold(t *testing.T) {
	forever := usual
	forever.ShortTermTTL = 0
	off := usual
	off.FoldTurns, off.FoldTokens = 0, 0
	for _, tt := range []struct {
		name  string
		rule  reverie.SessionRule
		open  reverie.Tally
		later time.Duration
		want  bool
	}{
		{"turns at", usual, reverie.Tally{Turns: 12}, 0, false},
		{"turns over", usual, reverie.Tally{Turns: 13}, 0, true},
		{"tokens at", usual, reverie.Tally{Turns: 7, Tokens: 6000}, 0, false},
		{"tokens over", usual, reverie.Tally{Turns: 7, Tokens: 6001}, 0, true},
		{"no turn but those that are kept", usual, reverie.Tally{Turns: 6, Tokens: 60000}, 0, false},
		{"off", off, reverie.Tally{Turns: 1000, Tokens: 1e6}, 0, false},
		{"remembered", usual, reverie.Tally{Turns: 13}, 7 * 24 * time.Hour, true},
		{"over", usual, reverie.Tally{Turns: 13}, 7*24*time.Hour + 1, false},
		{"never over", forever, reverie.Tally{Turns: 13}, 700 * 24 * time.Hour, true},
	} {
		folded := reverie.Tally{Messages: 70, Tokens: 7000, ToolCalls: 7, Turns: 30}
		s := reverie.Session{Total: tt.open.Plus(folded), Folded: folded, LastAt: lastWord}
		if got := tt.rule.Fold(s, lastWord.Add(tt.later)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
