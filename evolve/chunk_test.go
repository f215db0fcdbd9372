package evolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
	"reverie/store/pgtest"
)

// sizes are how many new messages each question showed.
func sizes(questions []question) (n []int) {
	for _, q := range questions {
		n = append(n, len(q.NewDiscussions))
	}
	return n
}

// shownTexts are the new messages of all questions, in order.
func shownTexts(questions []question) (texts []string) {
	for _, q := range questions {
		for _, m := range q.NewDiscussions {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

func numbered(n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf("message number %d", i+1))
	}
	return texts
}

// TestChunksInOrder takes more messages than one chunk holds, with empty ones
// and tools' output among them, and misses none.
func TestChunksInOrder(t *testing.T) {
	s := newStage(t)
	texts := numbered(450)
	texts[7], texts[449] = "note One.", "change One. => One, refined."
	s.say(evening.Add(-10*day), texts...)
	s.bring(reverie.Message{Author: "Lin", Text: " \n ", SentAt: evening.Add(-20 * day)},
		reverie.Message{Author: "calc", Role: reverie.RoleTool, Text: "42", SentAt: evening.Add(-10*day + 1)},
		reverie.Message{Author: "bot", Role: reverie.RoleAssistant, Text: "note The bot's own.", SentAt: evening.Add(-20 * day)})
	res := s.evolve()

	if got, want := sizes(s.questions()), []int{198, 200, 53}; !slices.Equal(got, want) {
		t.Errorf("chunks of %v, want %v", got, want)
	}
	if got := shownTexts(s.questions()); !slices.Equal(got, append([]string{"note The bot's own."}, texts...)) {
		t.Errorf("%d messages were shown, not each of them once and in order", len(got))
	}
	want := reverie.Stats{Created: 1, Updated: 1, Refused: 1, Cited: 2, Considered: 449, Filtered: 2, Chunks: 3}
	if res.Stats != want {
		t.Errorf("stats %+v, want %+v", res.Stats, want)
	}
	s.want(`select chunk_no, status, cardinality(message_ids) from run_chunks order by 1`, "1|applied|200", "2|applied|200", "3|applied|53")
	if q := s.questions()[2]; q.ExistingMemories[0].Statement != "One." || !strings.Contains(q.System, "At most 20 creates") {
		t.Error("the third chunk does not rest on what the first has written")
	}
}

// TestTokenBudget keeps each question within the budget of input tokens, save
// one that holds a single message.
func TestTokenBudget(t *testing.T) {
	s := newStage(t)
	s.pipe.Limits.MaxInputTokens = 2500
	var texts []string
	for i := range 40 {
		texts = append(texts, fmt.Sprintf("%d: %s", i, strings.Repeat([]string{"long talk ", "一段很长的话"}[i%2], 12)))
	}
	texts[20] = strings.Repeat("a pasted novel, ", 2000)
	s.say(evening.Add(-day), texts...)
	res := s.evolve()
	if res.Stats.Considered != 40 || res.Stats.Chunks < 4 {
		t.Errorf("stats %+v", res.Stats)
	}
	alone := 0
	for i, r := range s.model.Requests() {
		q := readQuestion(t, r)
		tokens := text.EstimateTokens(r.System) + text.EstimateTokens(r.User)
		if n := len(q.NewDiscussions); n == 1 {
			alone++
		} else if tokens > 2500 {
			t.Errorf("question %d shows %d messages with %d tokens", i+1, n, tokens)
		}
	}
	if alone > 2 {
		t.Errorf("%d questions show a single message", alone)
	}
	if got := shownTexts(s.questions()); len(got) != 40 {
		t.Errorf("%d messages were shown", len(got))
	}
}

// limited answers like the scribe, but is cut off beyond n messages.
func limited(t testing.TB, n int, cut llmtest.Answer) func(llmtest.Request) llmtest.Answer {
	return func(r llmtest.Request) llmtest.Answer {
		if len(readQuestion(t, r).NewDiscussions) > n {
			return cut
		}
		return scribe(t)(r)
	}
}

// TestCutOffAnswer throws a cut-off answer away whole, however good its first
// lines look, and asks about half as many messages.
func TestCutOffAnswer(t *testing.T) {
	for name, cut := range map[string]llmtest.Answer{
		"truncated": llmtest.Truncated(`{"action":"create","statement":"From a cut-off answer.","evidence":[{"message":1}]}` + "\n" + `{"action":"del`),
		"too large": llmtest.Failure(413, "the request is too large"),
		"context":   llmtest.Failure(400, "This model's maximum context length is 8192 tokens"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.model.Respond(limited(t, 3, cut))
			texts := numbered(10)
			texts[0], texts[9] = "note One.", "note Two."
			s.say(evening.Add(-day), texts...)
			res := s.evolve()
			if got, want := sizes(s.questions()), []int{10, 5, 2, 2, 2, 2, 2}; !slices.Equal(got, want) {
				t.Errorf("asked about %v, want %v", got, want)
			}
			if res.Stats.Considered != 8 || res.Stats.Cited != 2 || res.Stats.Created != 2 || s.pending() != 0 {
				t.Errorf("stats %+v", res.Stats)
			}
			s.want(`select count(*) from llm_calls where purpose = 'evolve'`, "7")
			if got := s.active(); !slices.Equal(got, []string{"One. v1", "Two. v1"}) {
				t.Errorf("active: %q", got)
			}
		})
	}
}

func TestCutOffAtOneMessage(t *testing.T) {
	s := newStage(t)
	s.model.Respond(limited(t, 0, llmtest.Truncated(`{"action":"none"}`)))
	s.say(evening.Add(-day), numbered(4)...)
	res, err := s.run(Request{})
	wantErr(t, err, reverie.ErrUnusable)
	if res.Status != reverie.RunFailed || res.Stats.Deferred != 4 || s.pending() != 4 {
		t.Errorf("status %s, stats %+v", res.Status, res.Stats)
	}
	s.want(`select status, stats->>'deferred', error <> '' from runs`, "failed|4|true")
	s.want(`select status, cardinality(message_ids) from run_chunks`, "failed|1")
	if got, want := sizes(s.questions()), []int{4, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("asked about %v, want %v", got, want)
	}
}

// TestChunkOfNothingToShow consumes what is never shown without asking.
func TestChunkOfNothingToShow(t *testing.T) {
	s := newStage(t)
	s.bring(reverie.Message{Author: "Lin", Text: "", SentAt: evening.Add(-day)},
		reverie.Message{Author: "calc", Role: reverie.RoleTool, Text: "42", SentAt: evening.Add(-day)})
	res := s.evolve()
	if res.Stats.Filtered != 2 || len(s.model.Requests()) != 0 || res.Status != reverie.RunSucceeded {
		t.Errorf("stats %+v after %d requests", res.Stats, len(s.model.Requests()))
	}
}

// TestMoreMemoriesThanAreShown shows the 50 nearest to the chunk, and leaves the
// others as they are.
func TestMoreMemoriesThanAreShown(t *testing.T) {
	s := newStage(t)
	s.pipe.Limits.MaxCreates, s.pipe.Limits.MaxActive = 100, 100
	var notes []string
	for i := range 60 {
		notes = append(notes, fmt.Sprintf("note Memory number %d.", i+1))
	}
	s.say(evening.Add(-3*day), notes...)
	s.evolve()
	// The fake server's vectors are the same for the same text and unrelated
	// otherwise: what the chat repeats word for word is nearest.
	for i, text := range []string{"Memory number 3.", "Memory number 59."} {
		s.say(evening.Add(-day), text)
		s.evolve()
		q := s.questions()[i+1]
		if len(q.ExistingMemories) != 50 || !strings.Contains(q.System, "60 active memories (50 of them are shown") {
			t.Fatalf("%d memories are shown", len(q.ExistingMemories))
		}
		if !slices.ContainsFunc(q.ExistingMemories, func(m prompts.MemoryView) bool { return m.Statement == text }) {
			t.Errorf("the memory nearest to %q is not shown", text)
		}
	}
	s.want(`select count(*), max(version) from memories where status = 'active'`, "60|1")

	// Without an embedder the ones supported last are shown, and it is said.
	s.say(evening.Add(-day), "again Memory number 3.", "again Memory number 59.")
	s.model.ScriptEmbeddings(llmtest.Failure(500, "no vectors today"))
	s.pipe.EmbeddingsOptional = true
	if res := s.evolve(); len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "not by relevance") {
		t.Errorf("warnings: %q", res.Warnings)
	}
}

// TestAnswerSurvivesTheCut holds a chunk that was cut, in a group with more
// memories than are shown and with two languages, to the same question after an
// interruption: the answer is paid for.
func TestAnswerSurvivesTheCut(t *testing.T) {
	s := newStage(t)
	s.pipe.Limits.MaxCreates, s.pipe.Limits.MaxActive, s.pipe.Limits.MaxShown = 100, 100, 5
	var notes []string
	for i := range 12 {
		notes = append(notes, fmt.Sprintf("note Memory number %d.", i+1))
	}
	s.say(evening.Add(-3*day), notes...)
	s.evolve()
	asked := len(s.questions())
	// The first half is English, the whole is Chinese; and each half is nearest
	// to other memories.
	s.say(evening.Add(-day), "Memory number 1.", "Memory number 2.", strings.Repeat("群里每周四打羽毛球", 30), strings.Repeat("群里每周四打羽毛球。", 30))
	s.model.Respond(limited(t, 2, llmtest.Truncated("{")))
	s.model.ScriptEmbeddings(llmtest.Answer{}, llmtest.Answer{}) // the probes
	m := pgtest.NewMortal(s.store, -1)
	m.Before = func(call string) { // dies after the answer to the half is stored
		if call == "Apply" {
			m.Left = 0
		}
	}
	if _, err := s.runWith(t.Context(), s.pipelineOf(m, s.pipe.Limits), Request{}); err == nil {
		t.Fatal("the run outlived its store")
	}
	s.want(`select status, cardinality(message_ids) from run_chunks where status <> 'applied'`, "answered|2")
	if n := len(s.questions()) - asked; n != 2 {
		t.Fatalf("asked %d times before the interruption", n)
	}
	s.evolve()
	if got, want := sizes(s.questions()[asked:]), []int{4, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("asked about %v, want %v", got, want)
	}
}

var _ llm.Ledger = (*pgtest.Mortal)(nil)
