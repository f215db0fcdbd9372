package dream

import (
	"fmt"
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
// and the end is one run.
func TestScale(t *testing.T) {
	h := hall(t)
	cost := map[int]float64{}
	for _, n := range []int{30, 120} {
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
		if len(shown) != material || res.Stats.Material != material || res.Stats.Sessions != n+1 || res.Stats.Asked != s.asked() || res.Stats.Chunks != res.Stats.Asked {
			t.Errorf("%d sessions: %d of %d shown, %+v", n, len(shown), material, res.Stats)
		}
		for text, times := range shown {
			if times != 1 {
				t.Errorf("%d sessions: %q was shown %d times", n, text, times)
			}
		}
		s.items("theme: The group plans the fair v1")
		s.want(`select count(*) from memories where group_id = $1 and kind = 'dream' and status = 'active'`, "2")
		s.want(`select (select count(*) from memory_sources x where x.memory_id = m.memory_id) from memories m
			where group_id = $1 and kind = 'dream' and not 'summary' = any (tags)`, fmt.Sprint(n))
		s.want(`select (select count(*) from memory_uses where group_id = $1), (select count(*) from sessions where group_id = $1 and dreamt_until = last_at),
			(select count(*) from runs where group_id = $1 and job = 'dream')`, fmt.Sprintf("%d|%d|1", material, n+1))
		cost[n] = float64(tokens) / float64(material)
		t.Logf("%d sessions: %d versions, %d batches, %d questions, %d tokens, %.0f a version", n, material, res.Stats.Batches, res.Stats.Asked, tokens, cost[n])
	}
	if cost[120] > 1.1*cost[30] {
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
