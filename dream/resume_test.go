package dream

import (
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
	"reverie/prompts"
	"reverie/store/pgtest"
)

// TestResume asks for a dream after one that was begun and not applied: it goes on with what
// that had chosen, then with what has come since, and what was answered is not paid for again.
func TestResume(t *testing.T) {
	h := hall(t)
	for name, story := range map[string]func(*stage){
		"unanswered": unanswered, "cut before": cutBefore, "narrower": narrower, "off": off, "same": sameAgain, "future": future,
	} {
		t.Run(name, func(t *testing.T) { story(h.on(t, strings.ReplaceAll(name, " ", "-"))) })
	}
}

// answers has the model answer so many questions, and none after; what it was asked
// about is returned as it comes, the last words of each session.
func (s *stage) answers(n int) *[]string {
	asked := &[]string{}
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if n--; n < 0 {
			return llmtest.RateLimited(0)
		}
		q := s.read(r)
		*asked = append(*asked, about(q))
		return llmtest.Text(muse(q))
	})
	return asked
}

// about is what a question is about.
func about(q prompts.DreamUser) string {
	m := &musing{at: map[string]int{}, known: map[string]prompts.DreamItemView{}}
	for _, v := range q.Sessions {
		m.say(v.Summary)
	}
	return strings.Join(m.words, " ")
}

// die has a dream end before a call to the store.
func (s *stage) die(call string, req Request) {
	s.Helper()
	m := pgtest.NewMortal(s.store, -1)
	m.Before = func(next string) {
		if next == call {
			m.Left = 0
		}
	}
	if _, err := s.runWith(s.dying(m), req); err == nil {
		s.Fatal("it went on")
	}
}

// unanswered asks first about what was chosen before.
func unanswered(s *stage) {
	s.talk("s1", "They met for s1.")
	s.answers(0)
	_, err := s.runWith(s.pipe, Request{})
	wantErr(s, err, reverie.ErrDeferred)
	s.talk("s2", "They met for s2.")
	asked := s.answers(9)
	if res := s.dream(Request{}); res.Stats.Material != 2 || res.SessionID != "s2" || !slices.Equal(*asked, []string{"s1", "s2"}) {
		s.Errorf("asked about %q: %+v", *asked, res)
	}
	s.narrative("s2. v2")
}

// cutBefore asks nothing whole again that was halved before.
func cutBefore(s *stage) {
	s.talk("s1", "They met for s1.")
	s.talk("s2", "They met for s2.")
	s.answers(1)
	s.model.Script(llmtest.Truncated(""))
	_, err := s.runWith(s.pipe, Request{})
	wantErr(s, err, reverie.ErrDeferred)
	asked := s.answers(9)
	if s.dream(Request{}); !slices.Equal(*asked, []string{"s2"}) {
		s.Errorf("asked about %q", *asked)
	}
}

// narrower goes on with a dream that was interrupted as that was asked for.
func narrower(s *stage) {
	s.small()
	for _, id := range []string{"s1", "s2", "s3"} {
		s.talk(id, "They met for "+id+".", "likes Lin drinks tea number "+id)
	}
	s.answers(9)
	s.die("Apply", Request{SessionID: "s2"})
	begun := s.rows(`select run_id from runs where group_id = $1 and job = 'dream'`, s.group)[0]
	asked := s.answers(9)
	res := s.dream(Request{SessionID: "s1"})
	if res.SessionID != "s2" || res.Stats.Sessions != 2 || res.Stats.Material != 4 || res.RunID != begun || !slices.Equal(*asked, []string{"s2"}) {
		s.Errorf("asked about %q: %+v", *asked, res)
	}
	if res = s.dream(Request{}); res.SessionID != "s3" || res.Stats.Material != 2 {
		s.Errorf("%+v", res)
	}
	pgtest.Sound(s, s.store, s.group, uncounted)
}

// off finishes what was begun where the group is not to dream any more, and nothing
// else.
func off(s *stage) {
	s.talk("s1", "They met for s1.", "likes Lin drinks tea")
	s.answers(9)
	s.die("Apply", Request{})
	s.rows(`update groups set dream_idle = 'off', dream_sessions = 'off' where group_id = $1 returning 1`, s.group)
	s.rows(`update memories set status = 'deprecated', ended_at = now() where group_id = $1 and statement like 'likes%' returning 1`, s.group)
	s.talk("s2", "They met for s2.")
	*s.clock = s.clock.Add(48 * time.Hour)
	if res := s.dream(Request{Due: true}); res.Reason != interrupted || res.SessionID != "s1" || res.Stats.Material != 1 || res.Stats.Sessions != 1 {
		s.Errorf("%+v", res)
	}
	s.narrative("s1. v1")
	if res := s.dream(Request{Due: true}); res.None == "" {
		s.Errorf("%+v", res)
	}
}

// sameAgain goes on under the same id where only a session has begun that nothing is of
// yet, and leaves that to the next dream; so it does where a request does not reach it.
func sameAgain(s *stage) {
	s.talk("s1", "They met for s1.")
	s.answers(9)
	s.die("Apply", Request{})
	begun := s.rows(`select run_id from runs where group_id = $1 and job = 'dream'`, s.group)[0]
	s.told++
	must(s.store.ImportMessages(s.Context(), s.group, []reverie.Message{{ID: s.group + "-new", Author: "Lin", Text: "Hello.", SentAt: *s.clock, SessionID: "s2"}}))(s)
	if res := s.dream(Request{Due: true}); res.RunID != begun || res.SessionID != "s1" || res.Stats.Sessions != 1 || s.asked() != 1 {
		s.Errorf("asked %d times: %+v", s.asked(), res)
	}
	s.talk("s3", "They met for s3.")
	s.die("Apply", Request{SessionID: "s3"})
	s.talk("s4", "")
	asked := s.asked()
	if res := s.dream(Request{}); res.SessionID != "s3" || s.asked() != asked {
		s.Errorf("asked %d times: %+v", s.asked(), res)
	}
	s.want(`select session_id from sessions where group_id = $1 and dreamt_until = last_at order by 1`, "s1", "s2", "s3")
	s.want(`select count(*) from runs where group_id = $1 and job = 'dream'`, "2")
}

// future dates nothing later than now, whatever a clock has said.
func future(s *stage) {
	now := *s.clock
	*s.clock = now.AddDate(73, 0, 0)
	s.talk("f1", "They met for f1.", "likes Lin drinks tea")
	*s.clock = now
	s.talk("s1", "They met for s1.")
	*s.clock = s.clock.Add(48 * time.Hour)
	s.dream(Request{})
	if q := s.read(s.model.Requests()[0]); q.AsOf != "2026-01-17" {
		s.Errorf("as of %s", q.AsOf)
	}
	if got := s.rows(`select window_until <= $2 from runs where group_id = $1 and job = 'dream'`, s.group, *s.clock); !slices.Equal(got, []string{"true"}) {
		s.Errorf("the window ends in the future: %q", got)
	}
}
