package dream

import (
	"fmt"
	"slices"
	"testing"

	"reverie"
	"reverie/llm/llmtest"
)

// What a dream that was deferred has paid for is with each that goes on with it,
// wherever they are killed.
func TestAnswersOutliveAChain(t *testing.T) {
	s := hall(t).on(t, "chain")
	s.small()
	s.pipe.Embeddings = nil
	for i := range 6 {
		s.talk(fmt.Sprint("s", i), fmt.Sprintf("They met for s%d.", i), fmt.Sprintf("likes Lin drinks tea number %d", i))
	}
	first := s.answers(4)
	_, err := s.runWith(s.pipe, Request{})
	wantErr(t, err, reverie.ErrDeferred)
	paid := *first
	for _, call := range []string{"AdoptAnswers", "SaveChunk", "Answers", "SaveAnswer"} {
		asked := s.answers(1)
		s.die(call, Request{})
		if len(*asked) > 0 && call != "SaveAnswer" {
			t.Errorf("before %s it asked about %q", call, *asked)
		}
	}
	asked := s.answers(99)
	res := s.dream(Request{})
	if slices.ContainsFunc(paid, func(q string) bool { return slices.Contains(*asked, q) }) || len(paid) != 4 || res.Stats.Material != 12 {
		t.Errorf("paid for %q, and then asked about %q: %+v", paid, *asked, res.Stats)
	}
}

// An item that rests on what a person deletes while the model thinks is not written,
// and neither is anything else: it is dreamt of once more, without that.
func TestDeletedMeanwhile(t *testing.T) {
	s := hall(t).on(t, "deleted")
	s.pipe.Embeddings = nil
	s.talk("s1", "They met for s1.", "likes Lin drinks tea")
	fact := s.rows(`select memory_id from memories where group_id = $1 and statement like 'likes%'`, s.group)[0]
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		_, err := s.store.Edit(t.Context(), reverie.Edit{GroupID: s.group, MemoryID: fact, Action: reverie.ActionDelete, Reason: "wrong"})
		if err != nil {
			t.Error(err)
		}
		return llmtest.Text(muse(s.read(r)))
	})
	_, err := s.runWith(s.pipe, Request{})
	wantErr(t, err, reverie.ErrConflict)
	s.want(`select count(*) from memories where group_id = $1 and kind = 'dream'`, "0")
	s.answers(9)
	if res := s.dream(Request{}); res.Stats.Material != 1 || res.Stats.Sessions != 1 {
		t.Errorf("%+v", res.Stats)
	}
	s.items()
}
