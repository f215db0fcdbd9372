package reverie_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// A session in which no bot takes part is due to who asks, and where it was cut short.
func TestSessionRuleWithoutBot(t *testing.T) {
	rule := usual
	rule.Idle = time.Hour
	at, many := lastWord.Add(2*time.Hour), reverie.Tally{Messages: 1e6, Tokens: 1e6}
	s := reverie.Session{Total: many, New: many, LastAt: lastWord}
	if rule.Extract(s, at) {
		t.Error("it is due")
	}
	for _, bot := range []reverie.Tally{{Turns: 1}, {ToolCalls: 1}} {
		with := s
		if with.Total = many.Plus(bot); !rule.Extract(with, at) {
			t.Errorf("with %+v it is not due", bot)
		}
	}
	s.Unfinished = true
	if !rule.Extract(s, at) {
		t.Error("what was cut short is not due")
	}
	s.Unfinished, rule.Asked = false, true
	if !rule.Extract(s, at) {
		t.Error("it is not due to who asks")
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

// cutter keeps the sessions of a group as messages arrive.
type cutter struct {
	sessions []reverie.Session
	of       map[string][]time.Time // messages by session
	fixed    map[string]bool
}

func (c *cutter) arrive(t *testing.T, silence time.Duration, sent ...time.Time) {
	t.Helper()
	cuts := reverie.CutBySilence(c.sessions, c.fixed, sent, silence)
	seen := 0
	for _, cut := range cuts {
		seen += len(cut.Messages)
		if cut.ID == "" {
			cut.ID = reverie.CutID("g", cut.FirstAt, 0)
		} else if !slices.Contains(cut.Was, cut.ID) {
			t.Fatalf("%v goes by %s", cut.Was, cut.ID)
		}
		for _, was := range cut.Was {
			if len(c.of[was]) > len(c.of[cut.ID]) {
				t.Fatalf("%s has %d messages, and becomes part of %s with %d", was, len(c.of[was]), cut.ID, len(c.of[cut.ID]))
			}
		}
		for _, was := range cut.Was {
			c.sessions = slices.DeleteFunc(c.sessions, func(s reverie.Session) bool { return s.ID == was })
			if was != cut.ID {
				c.of[cut.ID] = append(c.of[cut.ID], c.of[was]...)
				delete(c.of, was)
			}
		}
		if slices.ContainsFunc(c.sessions, func(s reverie.Session) bool { return s.ID == cut.ID }) {
			t.Fatalf("%s is there twice", cut.ID)
		}
		c.sessions = append(c.sessions, reverie.Session{ID: cut.ID, Cut: true, FirstAt: cut.FirstAt, LastAt: cut.LastAt})
		for _, i := range cut.Messages {
			c.of[cut.ID] = append(c.of[cut.ID], sent[i])
		}
		c.sessions[len(c.sessions)-1].Total.Messages = len(c.of[cut.ID])
	}
	if seen != len(sent) {
		t.Fatalf("%d of %d messages have a session", seen, len(sent))
	}
}

// components are the sessions as they are with all messages at hand.
func components(sent []time.Time, silence time.Duration) (list [][]time.Time) {
	sent = slices.SortedFunc(slices.Values(sent), time.Time.Compare)
	for i, at := range sent {
		if i == 0 || at.Sub(sent[i-1]) > silence {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], at)
	}
	return list
}

func (c *cutter) sorted() (list [][]time.Time) {
	for _, sent := range c.of {
		list = append(list, slices.SortedFunc(slices.Values(sent), time.Time.Compare))
	}
	slices.SortFunc(list, func(a, b []time.Time) int { return a[0].Compare(b[0]) })
	return list
}

// However messages arrive, and in whatever batches, they make the same sessions.
func TestCutDoesNotDependOnArrival(t *testing.T) {
	const silence = 30 * time.Minute
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		var sent []time.Time
		at := lastWord
		for range 1 + r.IntN(40) {
			at = at.Add([]time.Duration{0, time.Second, 10 * time.Minute, silence, silence + 1, 50 * time.Minute, 9 * time.Hour}[r.IntN(7)])
			sent = append(sent, at)
		}
		for range 4 {
			c := &cutter{of: map[string][]time.Time{}}
			for list := slices.Clone(sent); len(list) > 0; {
				n := min(len(list), 1+r.IntN(6))
				c.arrive(t, silence, list[:n]...)
				list = list[n:]
			}
			if diff := cmp.Diff(components(sent, silence), c.sorted()); diff != "" {
				t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
			}
			r.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
		}
	}
}

// What somebody has worked with keeps its id and its messages, and whatever comes,
// sessions never overlap.
func TestCutKeepsWhatIsFixed(t *testing.T) {
	const silence = 30 * time.Minute
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 6))
		c := &cutter{of: map[string][]time.Time{}, fixed: map[string]bool{}}
		for range 30 {
			before := map[string][]time.Time{}
			for id := range c.fixed {
				before[id] = slices.Clone(c.of[id])
			}
			c.arrive(t, silence, lastWord.Add(time.Duration(r.IntN(1200))*time.Minute), lastWord.Add(time.Duration(r.IntN(1200))*time.Minute))
			for id, had := range before {
				if now := c.of[id]; len(now) < len(had) || !slices.Equal(now[:len(had)], had) {
					t.Fatalf("seed %d: %s had %v and has %v", seed, id, had, now)
				}
			}
			slices.SortFunc(c.sessions, func(a, b reverie.Session) int { return a.FirstAt.Compare(b.FirstAt) })
			for i, s := range c.sessions[1:] {
				if !c.sessions[i].LastAt.Before(s.FirstAt) {
					t.Fatalf("seed %d: %+v and %+v overlap", seed, c.sessions[i], s)
				}
			}
			if r.IntN(4) == 0 {
				c.fixed[c.sessions[r.IntN(len(c.sessions))].ID] = true
			}
		}
	}
}

func TestCutBySilence(t *testing.T) {
	const silence = 30 * time.Minute
	at := func(minutes ...int) (list []time.Time) {
		for _, m := range minutes {
			list = append(list, lastWord.Add(time.Duration(m)*time.Minute))
		}
		return list
	}
	known := []reverie.Session{{ID: "one", FirstAt: at(0)[0], LastAt: at(10)[0]}, {ID: "two", FirstAt: at(60)[0], LastAt: at(70)[0]}}
	known[0].Total.Messages, known[1].Total.Messages = 5, 6
	for _, tt := range []struct {
		name  string
		fixed string
		sent  []time.Time
		want  string // of each cut: its id, what it was, and its messages
	}{
		{"no message", "", nil, ""},
		{"at the limit", "", at(40), "two[one two][0]"}, // 30 minutes after the one, 20 before the other, which is larger
		{"beyond it", "", at(101), "[][0]"},
		{"within", "", at(65), "two[two][0]"},
		{"before", "", at(-30), "one[one][0]"},
		{"between, the earlier fixed", "one", at(35), "one[one][0]"},
		{"between, the later fixed", "two", at(35), "one[one][0]"},
		{"nearer the fixed one alone", "two", at(41), "two[two][0]"},
		{"far apart", "", at(300, -300, 310), "[][1] [][0 2]"},
		{"a longer way", "", at(20, 45), "two[one two][0 1]"},
		{"two fixed", "one two", at(20, 45), "one[one][0 1]"},
	} {
		fixed := map[string]bool{"one": tt.fixed == "one" || tt.fixed == "one two", "two": tt.fixed == "two" || tt.fixed == "one two"}
		var got []string
		for _, c := range reverie.CutBySilence(known, fixed, tt.sent, silence) {
			got = append(got, fmt.Sprintf("%s%v%v", c.ID, c.Was, c.Messages))
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	ids := map[string]bool{}
	for _, group := range []string{"g", "h"} {
		for try := range 3 {
			ids[reverie.CutID(group, lastWord, try)] = true
		}
	}
	if !ids["cut-20260115T120000Z-8efd7b73"] || len(ids) != 6 {
		t.Errorf("the first sessions of groups may be %v", ids)
	}
}

// FuzzCut: messages make the same sessions in whatever order and batches they arrive,
// and sessions tile the line: each silence that is long enough lies between two, and
// no shorter one does.
func FuzzCut(f *testing.F) {
	f.Add([]byte{0, 1, 30, 31, 30, 255, 0, 0, 30}, uint8(30), uint64(1), uint8(3))
	f.Add([]byte{29, 29, 29, 60, 1}, uint8(29), uint64(2), uint8(1))
	f.Add([]byte{5, 0, 0, 9}, uint8(0), uint64(3), uint8(2))
	f.Fuzz(func(t *testing.T, gaps []byte, minutes uint8, seed uint64, batch uint8) {
		silence := time.Duration(minutes) * time.Minute
		var sent []time.Time
		at := lastWord
		for _, gap := range gaps[:min(len(gaps), 40)] {
			at = at.Add(time.Duration(gap) * time.Minute)
			sent = append(sent, at)
		}
		want := components(sent, silence)
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
		c := &cutter{of: map[string][]time.Time{}}
		for list := range slices.Chunk(sent, 1+int(batch%8)) {
			c.arrive(t, silence, list...)
		}
		if diff := cmp.Diff(want, c.sorted()); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
		slices.SortFunc(c.sessions, func(a, b reverie.Session) int { return a.FirstAt.Compare(b.FirstAt) })
		for i := 1; i < len(c.sessions); i++ {
			if c.sessions[i].FirstAt.Sub(c.sessions[i-1].LastAt) <= silence {
				t.Fatalf("%+v and %+v are one session", c.sessions[i-1], c.sessions[i])
			}
		}
	})
}
