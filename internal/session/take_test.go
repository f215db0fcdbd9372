package session

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// TestTake divides random dialogues into chunks: every message is taken once and in
// order, turns are divided only where they are longer than a chunk, and what waits
// for an answer stays, unless nothing was answered or no answer is to come.
func TestTake(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 500 {
		var all []reverie.Message
		for i := range rng.IntN(30) {
			role := []reverie.Role{reverie.RoleUser, reverie.RoleAssistant, reverie.RoleAssistant, reverie.RoleTool}[rng.IntN(4)]
			all = append(all, reverie.Message{ID: fmt.Sprint(i), Role: role, Text: "x", SentAt: evening})
		}
		whole, limit, silent := outlineOf(all, false), 1+rng.IntN(8), rng.IntN(2) == 0
		r := &run{Pipeline: &Pipeline{}, now: evening.Add(time.Minute)}
		if silent {
			r.now = evening.Add(time.Hour)
		}
		rest := all
		for len(rest) > 0 {
			s := &chunkInput{}
			s.state.Session = reverie.Session{LastAt: evening, New: reverie.Tally{Messages: len(rest), Turns: len(whole.ends) - whole.turns(len(all)-len(rest))}}
			if r.recorder.Stats.Chunks == 0 {
				r.recorder.Stats.Unanswered = s.state.Session.New.Turns == 0
			}
			s.messages = rest[:min(limit, len(rest))]
			s.state.More = len(s.messages) < len(rest)
			if err := r.take(s); err != nil {
				t.Fatal(err)
			}
			if len(s.messages) == 0 {
				break
			}
			at := len(all) - len(rest) + len(s.messages)
			begins := at - len(s.messages)
			if start := whole.startOf(at); at < whole.open && start != at && start > begins && whole.turns(at) == whole.turns(start) {
				t.Fatalf("dialogue %d: the turn at %d is divided at %d before its answer, chunks of %d", n, start, at, limit)
			}
			if s.more != (at < len(all)) && s.more != s.state.More {
				t.Fatalf("dialogue %d: more is %v", n, s.more)
			}
			rest = rest[len(s.messages):]
			r.recorder.Stats.Chunks++
		}
		left := len(all) - whole.open
		if silent || len(whole.ends) == 0 {
			left = 0
		}
		if len(rest) != left {
			t.Fatalf("dialogue %d: %d messages left, want %d", n, len(rest), left)
		}
	}
}

// TestDue takes nothing where the session is to be due and is not.
func TestDue(t *testing.T) {
	r := &run{Pipeline: &Pipeline{Rule: reverie.SessionRule{Turns: 5}}, now: evening, req: Request{Due: true}}
	for turns, want := range map[int]int{4: 0, 5: 2} {
		s := &chunkInput{messages: []reverie.Message{{Role: reverie.RoleUser}, {Role: reverie.RoleAssistant}}}
		fresh := reverie.Tally{Messages: 2, Turns: turns}
		s.state.Session = reverie.Session{LastAt: evening, Total: fresh, New: fresh}
		if err := r.take(s); err != nil || len(s.messages) != want {
			t.Errorf("%d turns: %d messages, %v", turns, len(s.messages), err)
		}
	}
}
