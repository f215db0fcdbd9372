package evolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// brief is a model that runs out of room beyond three messages, and else does
// what the chat says.
func brief(t *testing.T) func(llmtest.Request) llmtest.Answer {
	return func(r llmtest.Request) llmtest.Answer {
		q := readQuestion(t, r)
		if len(q.NewDiscussions) > 3 {
			return llmtest.Truncated(`{"action":"create","statement":"Half a`)
		}
		return llmtest.Text(transcribe(q))
	}
}

// TestHalvingSurvivesACrash kills a run whose answers are cut off before the first
// and the last of each sort of its calls: the chunks after the crash are as small as they would have been.
func TestHalvingSurvivesACrash(t *testing.T) {
	s := newStage(t)
	s.model.Respond(brief(t))
	s.pipe.Limits.MaxMessages = 12
	story := func() {
		var texts []string
		for i := range 14 {
			texts = append(texts, fmt.Sprintf("note Fact number %d.", i))
		}
		s.say(evening.Add(-day), texts...)
	}
	story()
	undisturbed := pgtest.NewMortal(s.store, -1)
	if _, err := s.runWith(t.Context(), s.pipelineOf(undisturbed, s.pipe.Limits), Request{}); err != nil {
		t.Fatal(err)
	}
	want := s.account()
	s.want(`select chunk_no, cardinality(message_ids) from run_chunks order by 1`, "1|3", "2|3", "3|3", "4|3", "5|2")
	for n, call := range undisturbed.Ends() {
		s.group = fmt.Sprintf("crash%d", n)
		s.addGroup(s.group)
		story()
		if _, err := s.runWith(t.Context(), s.pipelineOf(pgtest.NewMortal(s.store, n), s.pipe.Limits), Request{}); !errors.Is(err, pgtest.ErrDead) {
			t.Fatalf("before call %d (%s): %v", n+1, call, err)
		}
		s.evolve()
		if got := s.account(); !slices.Equal(got, want) {
			t.Fatalf("crash before call %d (%s):\n got %s\nwant %s", n+1, call, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

// TestLateMessageKeepsThePaidAnswer lets a message of the window arrive between a
// crash and the next run: the chunk that was answered is applied from its stored
// answer, and only the late message is asked about.
func TestLateMessageKeepsThePaidAnswer(t *testing.T) {
	s := newStage(t)
	window := Request{Since: evening.Add(-20 * time.Hour), Until: evening.Add(-time.Hour)}
	s.say(evening.Add(-10*time.Hour), "note One.", "note Two.")
	dying := pgtest.NewMortal(s.store, -1)
	dying.Before = func(call string) {
		if call == "Apply" {
			dying.Left = 0
		}
	}
	if _, err := s.runWith(t.Context(), s.pipelineOf(dying, s.pipe.Limits), window); !errors.Is(err, pgtest.ErrDead) {
		t.Fatal(err)
	}
	s.want(`select status from run_chunks`, "answered")
	s.say(evening.Add(-5*time.Hour), "note Three.")
	res, err := s.run(window)
	if err != nil {
		t.Fatal(err)
	}
	if q := s.questions(); len(q) != 2 || len(q[1].NewDiscussions) != 1 {
		t.Errorf("asked %+v", q)
	}
	if res.Stats.Created != 3 || len(res.Changes) != 3 {
		t.Errorf("%d created, %d changes, want 3", res.Stats.Created, len(res.Changes))
	}
}

// TestContinuedRunTellsAll lists, after a crash, the changes and refusals of the
// chunks before it too.
func TestContinuedRunTellsAll(t *testing.T) {
	s := newStage(t)
	s.pipe.Limits.MaxMessages = 2
	s.say(evening.Add(-day), "note One.", "note See https://example.com", "note Two.")
	dying := pgtest.NewMortal(s.store, -1)
	applied := 0
	dying.Before = func(call string) {
		if call == "Apply" {
			if applied++; applied == 2 {
				dying.Left = 0
			}
		}
	}
	if _, err := s.runWith(t.Context(), s.pipelineOf(dying, s.pipe.Limits), Request{}); !errors.Is(err, pgtest.ErrDead) {
		t.Fatal(err)
	}
	res := s.evolve()
	if res.Stats.Created != 2 || len(res.Changes) != 2 || res.Stats.Refused != 1 || len(res.Refusals) != 1 {
		t.Errorf("stats %+v, changes %+v, refusals %+v", res.Stats, res.Changes, res.Refusals)
	}
}

// TestUnboundedRunLeavesABoundedOneAlone ends an interrupted run of one date
// rather than stretch its window.
func TestUnboundedRunLeavesABoundedOneAlone(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-10*time.Hour), "note One.")
	dying := pgtest.NewMortal(s.store, -1)
	dying.Before = func(call string) {
		if call == "Apply" {
			dying.Left = 0
		}
	}
	window := Request{Since: evening.Add(-20 * time.Hour), Until: evening.Add(-time.Hour)}
	if _, err := s.runWith(t.Context(), s.pipelineOf(dying, s.pipe.Limits), window); !errors.Is(err, pgtest.ErrDead) {
		t.Fatal(err)
	}
	s.evolve()
	s.want(`select status, window_until = $$`+window.Until.Format(time.RFC3339)+`$$ from runs order by started_at, run_id`, "failed|true", "succeeded|false")
}

// TestUntilAheadMakesNothingStale counts staleness from the messages where the
// window's end lies in the future.
func TestUntilAheadMakesNothingStale(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-2*day), "note One.", "note Two.", "note Three.")
	s.evolve()
	s.say(evening.Add(-day), "forget One.")
	res, err := s.run(Request{Until: evening.AddDate(50, 0, 0)})
	if err != nil || res.Status != reverie.RunHeld || res.Stats.Deleted != 0 {
		t.Errorf("status %s, stats %+v, error %v", res.Status, res.Stats, err)
	}
}
