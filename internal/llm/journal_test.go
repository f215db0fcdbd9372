package llm_test

import (
	"context"
	"errors"
	"testing"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// teller answers every question with what it is told to, and counts.
type teller struct {
	resp  llm.Response
	err   error
	asked int
}

func (m *teller) Name() string { return "test/teller" }

func (m *teller) Generate(context.Context, llm.Meta, llm.Request) (llm.Response, error) {
	m.asked++
	return m.resp, m.err
}

// shelf keeps answers in memory.
type shelf struct {
	kept  map[string]string // by run, purpose and hash
	reads int
	err   error
}

func (s *shelf) Answers(_ context.Context, groupID, runID, purpose string) (map[string]string, error) {
	s.reads++
	found := map[string]string{}
	prefix := groupID + "/" + runID + "/" + purpose + "/"
	for k, v := range s.kept {
		if len(k) > len(prefix) && k[:len(prefix)] == prefix {
			found[k[len(prefix):]] = v
		}
	}
	return found, s.err
}

func (s *shelf) SaveAnswer(_ context.Context, lease reverie.Lease, a reverie.Answer) error {
	if lease.Fence != 7 {
		return reverie.ErrLeaseLost
	}
	s.kept[a.GroupID+"/"+a.RunID+"/"+a.Purpose+"/"+a.InputSHA256] = a.Text
	return nil
}

func asker(m *teller, s *shelf, run, purpose string) *llm.Asker {
	return &llm.Asker{Model: m, Journal: s, Lease: func() reverie.Lease { return reverie.Lease{Fence: 7} },
		Meta: llm.Meta{GroupID: "g", RunID: &run, Purpose: purpose}}
}

// A run that is continued gets the answers that it had, and pays for those only
// that it had not: another question, run or purpose is asked anew.
func TestAskerKeepsAnswers(t *testing.T) {
	m := &teller{resp: llm.Response{Text: "yes", Finish: llm.FinishStop}}
	s := &shelf{kept: map[string]string{}}
	ask := func(run, purpose, user string, wantAsked int) {
		t.Helper()
		a := asker(m, s, run, purpose) // a new process
		for range 2 {
			resp, _, err := a.Ask(t.Context(), llm.Request{System: "s", User: user})
			if err != nil || resp.Text != "yes" || resp.Finish != llm.FinishStop {
				t.Fatalf("%s %s %s: %+v, %v", run, purpose, user, resp, err)
			}
		}
		if m.asked != wantAsked {
			t.Errorf("%s %s %s: asked %d times, want %d", run, purpose, user, m.asked, wantAsked)
		}
	}
	ask("r1", "compare", "a", 1)
	ask("r1", "compare", "a", 1)
	ask("r1", "compare", "b", 2)
	ask("r1", "observe", "a", 3)
	ask("r2", "compare", "a", 4)
	if s.reads != 5 {
		t.Errorf("the journal was read %d times for 5 runs", s.reads)
	}
}

// What is no whole answer is not kept, and neither is anything of a dry run.
func TestAskerKeepsOnlyWholeAnswers(t *testing.T) {
	run := "r"
	for name, c := range map[string]struct {
		m      *teller
		change func(*llm.Asker)
		want   int // questions for two calls
	}{
		"cut off": {m: &teller{resp: llm.Response{Text: "{", Finish: llm.FinishLength}}, want: 2},
		"refused": {m: &teller{resp: llm.Response{Finish: llm.FinishRefused}}, want: 2},
		"failed":  {m: &teller{err: errors.New("gone")}, want: 2},
		"no run":  {m: &teller{resp: llm.Response{Text: "x", Finish: llm.FinishStop}}, change: func(a *llm.Asker) { a.Meta.RunID = nil }, want: 2},
		"dry run": {m: &teller{resp: llm.Response{Text: "x", Finish: llm.FinishStop}}, change: func(a *llm.Asker) { a.Lease = nil }, want: 2},
		"whole":   {m: &teller{resp: llm.Response{Text: "x", Finish: llm.FinishStop}}, want: 1},
	} {
		s := &shelf{kept: map[string]string{}}
		for range 2 {
			a := asker(c.m, s, run, "compare")
			if c.change != nil {
				c.change(a)
			}
			_, fresh, err := a.Ask(t.Context(), llm.Request{User: "q"})
			if !errors.Is(err, c.m.err) || c.want == 2 && !fresh {
				t.Errorf("%s: fresh %v, %v", name, fresh, err)
			}
		}
		if kept := len(s.kept) == 1; c.m.asked != c.want || kept != (c.want == 1) {
			t.Errorf("%s: asked %d times, want %d; kept %v", name, c.m.asked, c.want, s.kept)
		}
	}
}

// An answer that cannot be kept is not used: what rests on it could not be
// continued.
func TestAskerNeedsItsJournal(t *testing.T) {
	m := &teller{resp: llm.Response{Text: "x", Finish: llm.FinishStop}}
	a := asker(m, &shelf{kept: map[string]string{}}, "r", "compare")
	a.Lease = func() reverie.Lease { return reverie.Lease{Fence: 6} }
	if resp, _, err := a.Ask(t.Context(), llm.Request{User: "q"}); !errors.Is(err, reverie.ErrLeaseLost) || resp.Text != "" {
		t.Errorf("lease lost: %+v, %v", resp, err)
	}
	gone := errors.New("no database")
	if _, _, err := asker(m, &shelf{err: gone}, "r", "compare").Ask(t.Context(), llm.Request{User: "q"}); !errors.Is(err, gone) || m.asked != 1 {
		t.Errorf("unreadable journal: %v, asked %d times", err, m.asked)
	}
}
