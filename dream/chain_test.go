package dream

import (
	"fmt"
	"testing"
	"time"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// An item that rests on what a person deletes while the model thinks is not written,
// and neither is anything else: it is dreamt of once more, without that. So it is with
// an item that is borne out by that, in so many words or by saying it again.
func TestDeletedMeanwhile(t *testing.T) {
	h := hall(t)
	s := h.on(t, "deleted")
	s.pipe.Embeddings = nil
	s.talk("s1", "They met for s1.", "likes Lin drinks tea")
	s.deletedMeanwhile("likes%")
	s.want(`select count(*) from memories where group_id = $1 and kind = 'dream'`, "0")
	s.answers(9)
	if res := s.dream(Request{}); res.Stats.Material != 1 || res.Stats.Sessions != 1 {
		t.Errorf("%+v", res.Stats)
	}
	s.items()

	for _, says := range []string{"still Lin drinks tea | out", "likes Lin drinks tea | again"} {
		s := h.on(t, says)
		s.pipe.Embeddings = nil
		s.talk("s1", "They met for s1.", "likes Lin drinks tea")
		s.dream(Request{})
		*s.clock = s.clock.Add(48 * time.Hour)
		s.talk("s2", "", says)
		s.deletedMeanwhile(says)
		s.want(`select count(*), max(strength) from memory_evidence e join memories m using (group_id, memory_id)
			where group_id = $1 and kind = 'dream' and not 'summary' = any (tags)`, "1|0.3")
	}
}

// deletedMeanwhile dreams while a person deletes a fact: nothing comes of it.
func (s *stage) deletedMeanwhile(like string) {
	s.Helper()
	fact := s.rows(`select memory_id from memories where group_id = $1 and statement like $2 and kind = 'session'`, s.group, like)[0]
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		_, err := s.store.Edit(s.Context(), reverie.Edit{GroupID: s.group, MemoryID: fact, Action: reverie.ActionDelete, Reason: "wrong"})
		if err != nil {
			s.Error(err)
		}
		return llmtest.Text(muse(s.read(r)))
	})
	_, err := s.runWith(s.pipe, Request{})
	wantErr(s, err, reverie.ErrConflict)
}

// What bears an item out is among what it rests on, whichever line says so, and each of
// its messages is evidence once, however many versions tell of it.
func TestBorneOut(t *testing.T) {
	s := hall(t).on(t, "borne out")
	s.pipe.Embeddings = nil
	s.talk("s1", "They met for s1.", "likes Lin drinks tea")
	s.dream(Request{})
	for i, says := range []string{"still Lin drinks tea | yes", "likes Lin drinks tea | too"} {
		*s.clock = s.clock.Add(24 * time.Hour)
		s.talk(fmt.Sprint("k", i), "", says)
		s.dream(Request{})
	}
	s.rows(`update memories set status = 'deprecated', ended_at = now() where group_id = $1 and statement like 'still%' returning 1`, s.group)
	s.rows(`insert into memories (group_id, memory_id, lineage_id, parent_id, kind, session_id, statement, version, status, tags, strength, weight, content_hash, run_id,
			created_at, updated_at, last_supported_at)
		select group_id, gen_random_uuid(), lineage_id, memory_id, kind, session_id, 'still Lin drinks tea | indeed', 2, 'active', tags, strength, weight, 'indeed', run_id,
			created_at, updated_at, last_supported_at
		from memories where group_id = $1 and statement like 'still%' returning 1`, s.group)
	if res := s.dream(Request{}); len(res.Supported) != 1 {
		t.Errorf("%+v", res)
	}
	s.want(`select s.position, b.statement from memory_sources s join memories m using (group_id, memory_id)
			join memories b on b.group_id = s.group_id and b.memory_id = s.source_id
		where s.group_id = $1 and not 'summary' = any (m.tags) order by 1`,
		"1|likes Lin drinks tea", "2|still Lin drinks tea | yes", "3|likes Lin drinks tea | too", "4|still Lin drinks tea | indeed")
	s.want(`select count(*), count(distinct message_id) from memory_evidence e join memories m using (group_id, memory_id)
		where group_id = $1 and m.kind = 'dream' and not 'summary' = any (tags)`, "3|3")
}
