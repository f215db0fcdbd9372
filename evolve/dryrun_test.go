package evolve

import (
	"fmt"
	"slices"
	"testing"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// deeds are the changes of a result without the ids that are new each time.
func deeds(res Result) (list []string) {
	for _, c := range res.Changes {
		quote := ""
		if len(c.Evidence) > 0 {
			quote = c.Evidence[0].MessageID + " " + c.Evidence[0].Quote
		}
		list = append(list, fmt.Sprintf("%s v%d %q -> %q (%s) %s", c.Action, c.Version, c.OldStatement, c.NewStatement, c.Summary, quote))
	}
	for _, st := range res.Supported {
		list = append(list, fmt.Sprintf("keep %q %.4f", st.OldStatement, st.Strength))
	}
	return list
}

// TestDryRun plans the whole story, each chunk on what the one before would have
// written, and leaves no trace but its calls and cached embeddings. The run after
// it does what was planned.
func TestDryRun(t *testing.T) {
	s := newStage(t)
	crashStory(s)
	before := s.dump("llm_calls", "embedding_cache")
	calls := len(s.rows(`select 1 from llm_calls`))
	planned, err := s.run(Request{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.dump("llm_calls", "embedding_cache"); !slices.Equal(got, before) {
		t.Errorf("the dry run has written: %q", got)
	}
	s.want(`select count(*), count(run_id) from llm_calls where created_at = (select max(created_at) from llm_calls)`, "1|0")
	if n := len(s.rows(`select 1 from llm_calls`)) - calls; n != 3 {
		t.Errorf("%d calls of a dry run of three chunks", n)
	}
	if planned.RunID != "" || !planned.DryRun || planned.Status != reverie.RunHeld || !planned.Reply().DryRun {
		t.Errorf("run %q, status %s", planned.RunID, planned.Status)
	}
	done := s.evolve()
	if done.Stats != planned.Stats {
		t.Errorf("planned %+v\n   did %+v", planned.Stats, done.Stats)
	}
	if got, want := deeds(done), deeds(planned); !slices.Equal(got, want) {
		t.Errorf("planned %q\n   did %q", want, got)
	}
	if len(planned.Refusals) != 1 || len(planned.Held) != 1 {
		t.Errorf("refused %+v, held %q", planned.Refusals, planned.Held)
	}
}

// TestDryRunFails counts what it has not come to as pending.
func TestDryRunFails(t *testing.T) {
	s := newStage(t)
	s.pipe.Limits.MaxMessages = 2
	s.say(evening.Add(-day), "talk", "talk", "talk", "talk", "talk")
	s.model.Script(llmtest.Text(`{"action":"none"}`), llmtest.Failure(500, "oops"))
	res, err := s.run(Request{DryRun: true})
	wantErr(t, err, reverie.ErrDeferred)
	if want := (reverie.Stats{Considered: 2, Deferred: 3, Chunks: 1}); res.Stats != want {
		t.Errorf("stats %+v, want %+v", res.Stats, want)
	}
}

// TestDryRunOfAHalvedChunk passes over exactly the messages it has planned for.
func TestDryRunOfAHalvedChunk(t *testing.T) {
	s := newStage(t)
	s.model.Respond(limited(t, 3, llmtest.Truncated("{")))
	texts := numbered(10)
	s.say(evening.Add(-day), texts...)
	res, err := s.run(Request{DryRun: true})
	if err != nil || res.Stats.Considered != 10 {
		t.Errorf("stats %+v, %v", res.Stats, err)
	}
	var shown []string
	for _, q := range s.questions() {
		if len(q.NewDiscussions) <= 3 {
			shown = append(shown, shownTexts([]question{q})...)
		}
	}
	if !slices.Equal(shown, texts) {
		t.Errorf("shown: %q", shown)
	}
}
