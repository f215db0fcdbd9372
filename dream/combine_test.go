package dream

import (
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// TestParts has what parts came to outlive answers that would lose it, and what is
// remembered change as often as it may in one dream.
func TestParts(t *testing.T) {
	h := hall(t)
	for name, story := range map[string]func(*stage){"bad answers": badAnswers, "left out": leftOut, "borne out": borneOut, "all closed": allClosed, "in taken words": inTakenWords, "back": back} {
		t.Run(name, func(t *testing.T) { story(h.on(t, strings.ReplaceAll(name, " ", "-"))) })
	}
}

// combining has the model give these answers to questions that combine parts, then its
// own.
func (s *stage) combining(answers ...llmtest.Answer) {
	s.Helper()
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		q := s.read(r)
		if len(q.Parts) > 0 && len(answers) > 0 {
			answer := answers[0]
			answers = answers[1:]
			return answer
		}
		return llmtest.Text(muse(q))
	})
}

const (
	badItems   = `{"type":"preference","content":"Lin drinks green tea","sources":["f1"],"confidence":0.9}`
	goodItem   = `{"type":"preference","content":"Lin drinks tea","sources":["c1","c2"],"confidence":0.9}`
	badSummary = `{"type":"summary","content":"<b>They met.</b>"}`
	summary    = `{"type":"summary","content":"They met twice."}`
)

// badAnswers asks once more where nothing of an answer that combines parts can be kept,
// saying why, then fails: what the parts came to stays new.
func badAnswers(s *stage) {
	s.small()
	s.talk("s1", "They met for s1.", "likes Lin drinks green tea")
	s.talk("s2", "They met for s2.", "likes Lin drinks white tea")
	s.combining(llmtest.Lines(summary, badItems), llmtest.Lines(badSummary, goodItem))
	res, err := s.runWith(s.pipe, Request{})
	wantErr(s, err, reverie.ErrUnusable)
	if res.Stats.Asked != 4 {
		s.Errorf("%+v", res.Stats)
	}
	if again := s.read(s.model.Requests()[3]).Again; len(again) != 1 || !strings.Contains(again[0], "line 2 (preference f1): it cites what was not shown") {
		s.Errorf("again: %q", again)
	}
	s.want(`select count(*) from memory_uses where group_id = $1`, "0")
	s.combining(llmtest.Lines(goodItem), llmtest.Lines(summary, goodItem))
	if res = s.dream(Request{}); res.Stats.Material != 4 || len(res.Refusals) != 0 {
		s.Errorf("%+v", res)
	}
	s.items("preference: Lin drinks tea v1")
	s.narrative("They met twice. v1")
}

// leftOut closes and keeps what parts do, though the answer that combines them does not
// speak of it.
func leftOut(s *stage) {
	s.talk("s0", "They met.", "must Ana rents the tent", "likes Lin drinks tea")
	s.dream(Request{})
	*s.clock = s.clock.Add(24 * time.Hour)
	s.small()
	s.pipe.Limits.MaxInputTokens += 200 // for what is known already
	long := strings.Repeat("They went through the list for the fair. ", 11)
	s.talk("s1", long+"They met for s1.", "done Ana rents the tent => Ana has rented the tent.")
	s.talk("s2", long+"They met for s2.", "still Lin drinks tea")
	s.combining(llmtest.Lines(summary))
	if res := s.dream(Request{}); res.Stats.Asked != 3 || len(res.Closed) != 1 || len(res.Supported) != 1 || len(res.Refusals) != 0 {
		s.Errorf("%+v", res)
	}
	s.items("todo: Ana has rented the tent. v2 done", "preference: Lin drinks tea v1")
	s.want(`select strength::numeric(4,2) from memories where group_id = $1 and statement = 'Lin drinks tea'`, "0.51")
}

// borneOut strengthens an item that new material bears out.
func borneOut(s *stage) {
	s.talk("s1", "They met for tea.", "must Ana rents the tent")
	s.dream(Request{})
	*s.clock = s.clock.Add(24 * time.Hour)
	said := *s.clock
	s.talk("s2", "They met for cake.", "still Ana rents the tent")
	if res := s.dream(Request{}); len(res.Supported) != 1 || len(res.Refusals) != 0 {
		s.Errorf("%+v", res)
	}
	s.items("todo: Ana rents the tent v1")
	s.want(`select strength::numeric(4,2), last_supported_at = '`+said.Format(time.RFC3339)+`' from memories where group_id = $1 and statement = 'Ana rents the tent'`, "0.51|true")
}

// allClosed holds a dream that closes more of the open todos than may pass.
func allClosed(s *stage) {
	s.talk("s1", "They met for tea.", "must Ana rents one", "must Ana rents two", "must Ana rents three", "must Ana rents four", "must Ana rents five")
	s.dream(Request{})
	s.talk("s2", "They met for cake.", "done Ana rents one => One is rented.", "done Ana rents two => Two is rented.", "done Ana rents three => Three is rented.")
	if res := s.dream(Request{}); len(res.Closed) != 3 || len(res.Held) != 0 {
		s.Errorf("%+v", res)
	}
	s.talk("s3", "They met for pie.", "must Ana rents six", "must Ana rents seven")
	s.dream(Request{})
	s.talk("s4", "They met for pie.", "done Ana rents four => Four is rented.", "done Ana rents five => Five is rented.",
		"done Ana rents six => Six is rented.", "done Ana rents seven => Seven is rented.")
	res := s.dream(Request{})
	if res.Status != reverie.RunHeld || len(res.Held) != 1 || res.Held[0] != "the dream would close 4 of the 4 open todos of the group; at most 3 pass without a person" {
		s.Errorf("%+v", res)
	}
	s.want(`select count(*) from memories where group_id = $1 and status = 'active' and 'todo' = any (tags) and not 'done' = any (tags)`, "4")
}

// inTakenWords closes todos whatever words that is said in, and deletes no item for the
// words of one of another type.
func inTakenWords(s *stage) {
	s.talk("s1", "They met for tea.", "must Ana rents one", "must Ana rents two", "must Ana rents three", "likes Ana likes tents", "topic The fair")
	s.dream(Request{})
	s.talk("s2", "They met for cake.", "done Ana rents one => It went as planned")
	s.dream(Request{})
	s.talk("s3", "They met for pie.", "done Ana rents two => It went as planned", "change The fair => Ana likes tents")
	if res := s.dream(Request{}); len(res.Closed) != 1 || res.Stats.Deleted != 0 || len(res.Supported) != 1 || !slices.Equal(rules(res.Refusals), []string{ruleDuplicate}) {
		s.Errorf("%+v", res)
	}
	s.talk("s4", "They met for soup.", "done Ana rents three => Ana likes tents")
	if res := s.dream(Request{}); len(res.Closed) != 1 || res.Stats.Deleted != 0 || len(res.Refusals) != 0 {
		s.Errorf("%+v", res)
	}
	s.talk("s5", "They met for rice.", "must Ana rents two | again")
	s.dream(Request{})
	s.talk("s6", "They met for figs.", "done Ana rents two => It went as planned | again")
	s.dream(Request{})
	s.items("preference: Ana likes tents v1", "todo: Done (2): Ana rents two v2 done", "todo: Done: Ana rents three v2 done", "todo: Done: Ana rents two v2 done",
		"todo: It went as planned v2 done", "theme: The fair v1")
}

// back gives the words of what is done, or is closed now, to what says them next: the
// todo is open again, a theme takes its place.
func back(s *stage) {
	s.pipe.Limits.HoldMin = 10
	s.talk("s1", "They met for tea.", "must Ana rents the tent", "must Ana buys ropes", "must The tent leaks")
	s.dream(Request{})
	s.talk("s2", "They met for cake.", "done Ana rents the tent => The tent is there", "done The tent leaks => The tent was mended")
	s.dream(Request{})
	s.talk("s3", "They met for pie.", "change Ana buys ropes => The tent is there", "topic The tent was mended")
	if res := s.dream(Request{}); len(res.Refusals) != 0 || res.Stats.Deleted != 2 {
		s.Errorf("%+v", res)
	}
	s.items("todo: The tent is there v3", "theme: The tent was mended v1")
	s.talk("s4", "They met for soup.", "done The tent is there => The tent went back", "topic The tent is there")
	if res := s.dream(Request{}); len(res.Refusals) != 0 {
		s.Errorf("%+v", res)
	}
	s.items("theme: The tent is there v1", "theme: The tent was mended v1", "todo: The tent went back v4 done")
}
