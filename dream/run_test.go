package dream

import (
	"strings"
	"testing"
	"time"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// TestRun takes groups through dreams, each story in a group of its own.
func TestRun(t *testing.T) {
	h := hall(t)
	for name, story := range map[string]func(*stage){
		"one question": oneQuestion, "due": due, "up to a session": upTo, "closing": closing, "again": again, "held": held, "waits": waits,
		"rejected": rejected, "deferred": deferred, "cut off": cutOff, "unusable": unusable, "dry run": dryRun, "late": late,
		"chinese": chinese, "unknown": unknown, "gone": gone, "went on": wentOn,
	} {
		t.Run(name, func(t *testing.T) { story(h.on(t, strings.ReplaceAll(name, " ", "-"))) })
	}
}

// oneQuestion dreams of two sessions and a memory of the group, and then of nothing:
// what a dream has left is not new to the next one.
func oneQuestion(s *stage) {
	s.talk("s1", "They met for tea.", "likes Lin drinks green tea", "topic The group plans the fair | once")
	*s.clock = s.clock.Add(24 * time.Hour)
	s.talk("s2", "They counted the stalls.", "topic The group plans the fair | twice", "must Ana rents the tent")
	s.remember("Lin keeps bees.")
	res := s.dream(Request{})
	s.items("todo: Ana rents the tent v1", "preference: Lin drinks green tea v1", "theme: The group plans the fair v1")
	s.narrative("tea stalls bees. v1")
	if st := res.Stats; st.Created != 4 || st.Sessions != 2 || st.Material != 7 || st.Batches != 1 || st.Asked != 1 || st.Chunks != 1 || st.Refused != 0 {
		s.Errorf("%+v", st)
	}
	if len(res.Changes) != 3 || res.Narrative != "tea stalls bees." || res.SessionID != "s2" || res.RunID == "" || res.Status != reverie.RunSucceeded || res.None != "" {
		s.Errorf("%+v", res)
	}
	s.want(`select tags, strength::numeric(4,2), (select count(*) from memory_sources x where x.memory_id = m.memory_id), (select count(*) from memory_evidence e where e.memory_id = m.memory_id)
		from memories m where group_id = $1 and kind = 'dream' order by statement collate "C"`,
		"{dream,long-term,todo}|0.30|1|1", "{dream,long-term,preference}|0.30|1|1", "{dream,long-term,theme,talk}|0.51|2|2", "{dream,summary}|0.51|3|2")
	s.want(`select job, session_id, status, finished_at is null, (stats->>'material')::int from runs where group_id = $1 and job = 'dream'`, "dream|s2|succeeded|false|7")
	s.want(`select count(*), count(distinct u.run_id) from memory_uses u where group_id = $1`, "7|1")
	s.want(`select session_id from sessions where group_id = $1 and dreamt_until = last_at order by 1`, "s1", "s2")
	*s.clock = s.clock.Add(48 * time.Hour)
	for _, req := range []Request{{}, {Due: true}, {DryRun: true}} {
		if res := s.dream(req); res.None == "" || res.RunID != "" || s.asked() != 1 {
			s.Errorf("%+v: nothing is new: %+v, asked %d times", req, res, s.asked())
		}
	}
	s.want(`select count(*) from runs where group_id = $1 and job = 'dream'`, "1")
}

// due keeps to the rule as it stands under the lease: a second scheduler finds nothing
// to do, and an hour lies between two dreams.
func due(s *stage) {
	s.talk("s1", "They met for tea.")
	ended := s.clock.Add(-time.Minute)
	for _, c := range []struct {
		after  time.Duration
		dreams string
	}{{23*time.Hour + 59*time.Minute, "0"}, {24 * time.Hour, "1"}, {24 * time.Hour, "1"}} {
		*s.clock = ended.Add(c.after)
		if res := s.dream(Request{Due: true}); (res.None == "") == (res.Reason == "") || len(res.Warnings) > 0 {
			s.Errorf("after %s: %+v", c.after, res)
		}
		s.want(`select count(*) from runs where group_id = $1 and job = 'dream'`, c.dreams)
	}
	dreamt := *s.clock
	for i := range 10 {
		s.talk(string(rune('a'+i)), "They met for cake.")
	}
	for _, c := range []struct {
		after  time.Duration
		dreams string
	}{{49 * time.Minute, "1"}, {59 * time.Minute, "1"}, {time.Hour, "2"}} {
		*s.clock = dreamt.Add(c.after)
		s.dream(Request{Due: true})
		s.want(`select count(*) from runs where group_id = $1 and job = 'dream'`, c.dreams)
	}
	s.narrative("cake cake cake cake cake cake cake cake cake cake. v2")
}

// upTo leaves later sessions for another dream.
func upTo(s *stage) {
	s.talk("s1", "They met for tea.")
	s.talk("s2", "They met for cake.")
	if res := s.dream(Request{SessionID: "s1"}); res.SessionID != "s1" || res.Stats.Sessions != 1 {
		s.Errorf("%+v", res)
	}
	s.narrative("tea. v1")
	if res := s.dream(Request{}); res.SessionID != "s2" || res.Stats.Sessions != 1 {
		s.Errorf("%+v", res)
	}
	s.narrative("cake. v2")
}

// closing closes a todo by an update that says what became of it, and lets it come
// back.
func closing(s *stage) {
	s.talk("s1", "They met for tea.", "must Ana rents the tent", "likes Lin drinks green tea")
	s.dream(Request{})
	s.talk("s2", "They met again.", "done Ana rents the tent => Ana has rented the tent.", "change Lin drinks green tea => Lin drinks white tea")
	res := s.dream(Request{})
	s.items("todo: Ana has rented the tent. v2 done", "preference: Lin drinks white tea v2")
	if len(res.Closed) != 1 || res.Stats.Updated != 3 || res.Stats.Rewritten != 2 || res.Stats.Held != 0 {
		s.Errorf("%+v", res)
	}
	s.want(`select statement from memory_sources x join memories m using (group_id, memory_id) where group_id = $1 and version = 2 and 'done' = any (tags)`,
		"Ana has rented the tent.")
	s.talk("s3", "They met once more.", "must Ana has rented the tent.")
	s.dream(Request{})
	s.items("todo: Ana has rented the tent. v3", "preference: Lin drinks white tea v2")
}

// again supports what is remembered already, and shows that it was said again.
func again(s *stage) {
	s.talk("s1", "They met for tea.", "likes Lin drinks green tea")
	s.dream(Request{})
	*s.clock = s.clock.Add(24 * time.Hour)
	s.talk("s2", "They met for cake.", "likes Lin drinks green tea! | again")
	res := s.dream(Request{})
	s.items("preference: Lin drinks green tea v1")
	if len(res.Supported) != 1 || len(res.Refusals) != 1 || res.Refusals[0].Rule != ruleDuplicate || res.Stats.Refused != 1 {
		s.Errorf("%+v", res)
	}
	s.want(`select strength::numeric(4,2) from memories where group_id = $1 and statement = 'Lin drinks green tea'`, "0.51")
	s.want(`select refusals->0->>'rule' from run_chunks where group_id = $1 and memory_ids <> '{}' order by created_at`, "", ruleDuplicate)
}

// late lets a session go on while the group dreams: that is for the next dream.
func late(s *stage) {
	s.talk("s1", "They met for tea.")
	s.talk("s2", "They met for tea.")
	p := s.pipeline(mortal(s, "Apply", func() {
		s.told++
		must(s.store.ImportMessages(s.Context(), s.group, []reverie.Message{{ID: s.group + "-late", Author: "Lin", Text: "And so on.",
			SentAt: s.clock.Add(time.Minute), SessionID: "s1"}}))(s)
	}))
	if _, err := s.runWith(p, Request{}); err != nil {
		s.Fatal(err)
	}
	s.want(`select session_id, dreamt_until = last_at from sessions where group_id = $1 order by 1`, "s1|", "s2|true")
	if res := s.dream(Request{}); res.None == "" {
		s.Errorf("%+v", res)
	}
}

func dryRun(s *stage) {
	s.talk("s1", "They met for tea.", "likes Lin drinks green tea")
	const tables = `select (select count(*) from runs where group_id = $1), (select count(*) from memories where group_id = $1),
		(select count(*) from run_chunks where group_id = $1), (select count(*) from memory_uses where group_id = $1),
		(select count(*) from answers where group_id = $1), (select count(*) from sessions where group_id = $1 and dreamt_until is not null)`
	before := s.rows(tables, s.group)
	res := s.dream(Request{DryRun: true})
	if len(res.Changes) != 1 || res.Narrative != "tea." || res.RunID != "" || !res.DryRun || res.Stats.Created != 2 || res.SessionID != "s1" {
		s.Errorf("%+v", res)
	}
	s.want(tables, before...)
}

// chinese asks in the language of the material.
func chinese(s *stage) {
	language := ""
	must(s.store.ChangeGroup(s.Context(), s.group, reverie.GroupChange{Language: &language}, time.Time{}))(s)
	s.talk("s1", "大家一起商量了春节的市集和摊位。", "likes 小林喜欢喝绿茶")
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if !strings.Contains(r.System, "聊天群") {
			s.Errorf("asked in another language: %.80s", r.System)
		}
		return llmtest.Lines(`{"type":"summary","content":"大家商量了市集。","sources":["s1"]}`, `{"type":"preference","content":"小林喜欢喝绿茶","sources":"f1","confidence":"0.9"}`)
	})
	s.dream(Request{})
	s.items("preference: 小林喜欢喝绿茶 v1")
	s.narrative("大家商量了市集。 v1")
}

func unknown(s *stage) {
	_, err := s.runWith(s.pipe, Request{SessionID: "nowhere"})
	wantErr(s, err, reverie.ErrNotFound)
	s.pipe.Limits.MaxInputTokens = 100
	s.talk("s1", "They met for tea.")
	_, err = s.runWith(s.pipe, Request{})
	wantErr(s, err, reverie.ErrConfiguration)
	s.want(`select count(*) from runs where group_id = $1 and job = 'dream'`, "0")
}
