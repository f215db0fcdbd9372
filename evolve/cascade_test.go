package evolve

import (
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// dreams leaves a memory of kind dream that rests on another one, as a dream does.
func (s *stage) dreams(statement, source string) {
	s.Helper()
	h := s.hold()
	defer s.release(h)
	run := must(s.store.StartRun(s.Context(), h.lease, reverie.Run{Job: reverie.JobDream, WindowSince: s.now, WindowUntil: s.now}))(s)
	if err := s.store.SaveChunk(s.Context(), h.lease, reverie.Chunk{RunID: run.ID, No: 1, Status: reverie.ChunkAnswered}); err != nil {
		s.Fatal(err)
	}
	list, _, err := s.store.ListMemories(s.Context(), reverie.MemoryQuery{GroupID: s.group, Status: reverie.StatusActive})
	if err != nil {
		s.Fatal(err)
	}
	m := list[slices.IndexFunc(list, func(m reverie.Memory) bool { return m.Statement == source })]
	must(s.store.Apply(s.Context(), h.lease, reverie.Plan{GroupID: s.group, RunID: run.ID, ChunkNo: 1, Kind: reverie.KindDream, Steps: []reverie.Step{{
		Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(), Statement: statement, ContentHash: text.ContentHash(statement),
		Strength: reverie.EstablishedStrength, LastSupportedAt: s.now, Sources: []reverie.Source{{MemoryID: m.ID, LineageID: m.LineageID}}}}}))(s)
	run.Status = reverie.RunSucceeded
	must(s.store.FinishRun(s.Context(), h.lease, run))(s)
}

// TestCascade has a night rewrite what a dream rests on: the next one shows the dream
// first, with the reason, in the group's language, and what the model says of it holds,
// even if that is nothing. Then nobody asks again.
func TestCascade(t *testing.T) {
	s := newStage(t)
	const moved = "a memory that it rests on was updated: “Lin lives in Lisbon.” -> “Lin lives in Porto.”"
	for name, c := range map[string]struct {
		language, said string
		want           string // the dream afterwards
		reason         string
	}{
		"kept":      {"en", "small talk", "Lin has settled by the sea. v1 active", moved},
		"supported": {"en", "again Lin has settled by the sea.", "Lin has settled by the sea. v1 active", moved},
		"reworded":  {"en", "change Lin has settled by the sea. => Lin moves along the coast.", "Lin moves along the coast. v2 active", moved},
		"ended":     {"en", "drop Lin has settled by the sea.", "Lin has settled by the sea. v1 deprecated", moved},
		"chinese":   {"zh", "闲聊一下", "Lin has settled by the sea. v1 active", "它所依据的一条记忆已更新：“Lin lives in Lisbon.” -> “Lin lives in Porto.”"},
	} {
		g := s.beside(t, name)
		g.rows(`update groups set language = $2 where group_id = $1 returning 1`, name, c.language)
		g.say(g.now.Add(-day), "note Lin lives in Lisbon.", "note Ana sings.", "note Bo cooks.", "note The group meets on Mondays.")
		g.evolve()
		g.dreams("Lin has settled by the sea.", "Lin lives in Lisbon.")
		night := func(texts ...string) question {
			t.Helper()
			g.now = g.now.Add(day)
			g.say(g.now.Add(-day/2), texts...)
			g.evolve()
			asked := g.questions()
			return asked[len(asked)-1]
		}
		judged := func(q question) (list []string) {
			for _, m := range q.ExistingMemories {
				if m.JudgeAgain != "" {
					list = append(list, m.Statement+" "+m.JudgeAgain)
				}
			}
			return list
		}
		if got := judged(night("change Lin lives in Lisbon. => Lin lives in Porto.")); len(got) > 0 {
			t.Errorf("%s: judged while it changed: %q", name, got)
		}
		q := night(c.said)
		if got := judged(q); !slices.Equal(got, []string{"Lin has settled by the sea. " + c.reason}) || q.ExistingMemories[0].JudgeAgain == "" ||
			!strings.Contains(q.System, map[string]string{"en": "To be judged again", "zh": "需要重新判断的记忆"}[c.language]) {
			t.Errorf("%s: judged are %q", name, got)
		}
		if got := g.rows(`select statement || ' v' || version || ' ' || status from memories where group_id = $1 and kind = 'dream' order by version desc limit 1`, name); got[0] != c.want {
			t.Errorf("%s: the dream is %q, want %q", name, got, c.want)
		}
		for range 2 {
			if got := judged(night("small talk")); len(got) > 0 {
				t.Errorf("%s: judged again are %q", name, got)
			}
		}
	}
}
