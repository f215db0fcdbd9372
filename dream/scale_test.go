package dream

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm/llmtest"
	"reverie/internal/text"
	"reverie/prompts"
)

// fill writes sessions and what they have left, on the server: a summary, a fact that
// all share and one of their own.
func (s *stage) fill(sessions int) {
	s.Helper()
	for _, query := range []string{
		`insert into sessions (group_id, session_id, cut, first_at, last_at, messages, tokens, turns, created_at, updated_at)
			select $1, 's' || n, false, $3::timestamptz + n * interval '1 hour', $3::timestamptz + n * interval '1 hour', 2, 60, 1, now(), now()
			from generate_series(1, $2::int) n returning 1`,
		`insert into memories (group_id, memory_id, lineage_id, kind, session_id, statement, version, status, tags, strength, weight, content_hash,
				created_at, updated_at, last_supported_at)
			select $1, gen_random_uuid(), gen_random_uuid(), 'session', 's' || n, x.statement, 1, 'active', x.tags, 0.3, 1, md5(x.statement), a.at, a.at, a.at
			from generate_series(1, $2::int) n
			cross join lateral (select $3::timestamptz + n * interval '1 hour' as at) a
			cross join lateral (values
				('They went through the list for the fair and counted the stalls once more, for time number ' || n || '.', '{session,summary}'::text[]),
				('topic The group plans the fair | ' || n, '{session,fact}'), ('Ana has sold ticket number ' || n || '.', '{session,fact}')) x (statement, tags)
			returning 1`,
		`insert into memory_evidence (group_id, lineage_id, memory_id, message_id, author, quote, sent_at, local_date, action, created_at)
			select group_id, lineage_id, memory_id, session_id, 'Lin', statement, last_supported_at, last_supported_at::date, 'create', now()
			from memories where group_id = $1 and $2 > 0 and $3::timestamptz is not null returning 1`,
	} {
		s.rows(query, s.group, sessions, evening)
	}
	*s.clock = evening.Add(time.Duration(sessions+1) * time.Hour)
}

// TestScale dreams of ever more sessions with a small budget: each version is shown in
// exactly one question and taken in, what is asked grows no faster than the material,
// and the end is one dream.
func TestScale(t *testing.T) {
	h := hall(t)
	cost := map[int]float64{}
	for _, n := range []int{50, 100, 200} {
		s := h.on(t, fmt.Sprintf("scale%d", n))
		s.small()
		s.pipe.Limits.MaxInputTokens += 500
		s.fill(n)
		long := make([]string, 30)
		for i := range long {
			long[i] = fmt.Sprintf("Ben has told of journey number %d, of those that went on for longer than anybody had thought.", i)
		}
		s.talk("long", "Ben told of his journeys.", long...)
		shown, tokens := map[string]int{}, 0
		s.model.Respond(func(r llmtest.Request) llmtest.Answer {
			q := s.read(r)
			asked := text.EstimateTokens(r.System) + text.EstimateTokens(r.User)
			if tokens += asked; asked > s.pipe.Limits.MaxInputTokens {
				t.Errorf("%d sessions: a question of %d tokens, of %d", n, asked, s.pipe.Limits.MaxInputTokens)
			}
			for _, text := range statements(q) {
				shown[text]++
			}
			return llmtest.Text(muse(q))
		})
		res := s.dream(Request{})
		material := 3*n + 31
		if len(shown) != material || res.Stats.Material != material || res.Stats.Sessions != n+1 || res.Stats.Asked != s.asked() || res.Stats.Chunks != 1 {
			t.Errorf("%d sessions: %d of %d shown, %+v", n, len(shown), material, res.Stats)
		}
		for text, times := range shown {
			if times != 1 {
				t.Errorf("%d sessions: %q was shown %d times", n, text, times)
			}
		}
		s.items("theme: The group plans the fair v1")
		s.want(`select count(*) from memories where group_id = $1 and kind = 'dream'`, "2")
		s.want(`select (select count(*) from memory_sources x where x.memory_id = m.memory_id) from memories m
			where group_id = $1 and kind = 'dream' and not 'summary' = any (tags)`, fmt.Sprint(n))
		s.want(`select (select count(*) from memory_uses where group_id = $1), (select count(*) from sessions where group_id = $1 and dreamt_until = last_at),
			(select count(*) from runs where group_id = $1 and job = 'dream')`, fmt.Sprintf("%d|%d|1", material, n+1))
		cost[n] = float64(tokens) / float64(material)
		t.Logf("%d sessions: %d versions, %d batches, %d questions, %d tokens, %.0f a version", n, material, res.Stats.Batches, res.Stats.Asked, tokens, cost[n])
	}
	if cost[200] > 1.1*cost[50] || cost[200] > 1.1*cost[100] {
		t.Errorf("tokens a version: %v", cost)
	}
}

// statements are those of what is new in a question.
func statements(q prompts.DreamUser) (list []string) {
	for _, v := range q.Sessions {
		if v.Summary != "" {
			list = append(list, v.Summary)
		}
		for _, f := range v.Facts {
			list = append(list, f.Statement)
		}
	}
	for _, v := range q.Memories {
		if v.New {
			list = append(list, v.Statement)
		}
	}
	return list
}

// TestCombined makes one dream of parts: what two of them say is said once and rests
// on the sources of both, and what closes a todo still does.
func TestCombined(t *testing.T) {
	s := hall(t).on(t, "combined")
	s.talk("s0", "They met.", "must Ana rents the tent", "likes Lin drinks tea")
	s.dream(Request{})
	s.small()
	s.pipe.Limits.MaxInputTokens += 200 // for what is known already
	long := strings.Repeat("They went through the list for the fair. ", 11)
	s.talk("s1", long+"They met for one.", "topic The group plans the fair | once")
	s.talk("s2", long+"They met for two.", "topic The group plans the fair | twice")
	s.talk("s3", long+"They met for three.", "done Ana rents the tent => Ana has rented the tent.")
	var parts prompts.DreamUser
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		q := s.read(r)
		if len(q.Parts) == 0 {
			return llmtest.Text(muse(q))
		}
		parts = q
		for i := range q.Parts {
			for j := range q.Parts[i].Items {
				q.Parts[i].Items[j].Replace, q.Parts[i].Items[j].Done = "", false // a model that forgets what it was told
			}
		}
		return llmtest.Text(muse(q) + "\n" + `{"type":"theme","content":"The group likes fairs","sources":["s1","c1"],"confidence":0.9}`)
	})
	res := s.dream(Request{})
	if len(parts.Parts) != 3 || res.Stats.Batches != 3 || res.Stats.Asked != 4 || len(res.Closed) != 1 {
		t.Errorf("%+v, %+v", parts.Parts, res.Stats)
	}
	if len(res.Refusals) != 1 || res.Refusals[0].Rule != ruleUnknownSource || !strings.HasPrefix(res.Refusals[0].Detail, "question 4: ") {
		t.Errorf("%+v", res.Refusals)
	}
	s.items("todo: Ana has rented the tent. v2 done", "preference: Lin drinks tea v1", "theme: The group plans the fair v1")
	s.narrative("one two three. v2")
	s.want(`select string_agg(x.statement, ', ' order by position) from memory_sources o join memories m using (group_id, memory_id)
		join memories x on x.group_id = o.group_id and x.memory_id = o.source_id where o.group_id = $1 and m.tags[3] = 'theme'`,
		"topic The group plans the fair | once, topic The group plans the fair | twice")
}
