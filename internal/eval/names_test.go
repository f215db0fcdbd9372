package eval

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// asks is a question about two memories and three messages, one of them masked.
func asks(t *testing.T) (*Scenario, llm.Request) {
	t.Helper()
	at := time.Date(2026, 3, 2, 19, 0, 0, 0, time.UTC)
	s := &Scenario{Name: "paper", Messages: []reverie.Message{
		{ID: "a", Author: "Anna", Role: reverie.RoleUser, Text: "yes", SentAt: at}, {ID: "b", Author: "Anna", Role: reverie.RoleUser, Text: "no", SentAt: at},
		{ID: "c", Author: "Ben", Role: reverie.RoleUser, Text: "my number is 1", SentAt: at}}}
	user := prompts.EvolveUser{ExistingMemories: []prompts.MemoryView{{ID: "m1", Statement: "Anna lives in Rome."}, {ID: "m2", Statement: "Ben sings."}}}
	for i, no := range []int{1, 0, 2} { // the order of arrival is not that of the file
		user.NewDiscussions = append(user.NewDiscussions, prompts.Message(i+1, 0, s.Messages[no], time.FixedZone("", 3600)))
	}
	user.NewDiscussions[2].Text = "my number is [masked]"
	raw, err := json.Marshal(user)
	if err != nil {
		t.Fatal(err)
	}
	return s, llm.Request{User: "Here it is:\n" + string(raw) + "\nGo.", Prompt: "memory_evolve.zh"}
}

const told = `{"action":"update","evidence":[{"message":"a","quote":"yes"},{"message":"c"}],"old_id":"city"}`
const asked = `{"action":"update","evidence":[{"message":2,"quote":"yes"},{"message":3}],"old_id":"m1"}`

func standing(context.Context) (map[string]string, error) {
	return map[string]string{"city": "Anna lives in Rome."}, nil
}

// TestNames: what a scenario calls things and what a model calls them lead to each other,
// and what is unknown stays.
func TestNames(t *testing.T) {
	s, req := asks(t)
	now, _ := standing(t.Context())
	n := namesIn(req.User, s.Messages, now)
	for _, c := range [][2]string{{told, asked}, {`{"old_id":"Ben sings."}`, `{"old_id":"m2"}`}} {
		if got := string(n.asked.line(json.RawMessage(c[0]))); got != c[1] {
			t.Errorf("asked %s, want %s", got, c[1])
		}
		if got := string(n.told.line(json.RawMessage(c[1]))); got != c[0] {
			t.Errorf("told %s, want %s", got, c[0])
		}
	}
	for _, same := range []string{`{"old_id":"m9"}`, `{"evidence":[{"message":99}]}`, `{"evidence":"none"}`, `[1]`, `{"evidence":[{"message":"zz"}]}`} {
		if a, b := string(n.asked.line(json.RawMessage(same))), string(n.told.line(json.RawMessage(same))); a != same || b != same {
			t.Errorf("%s became %s and %s", same, a, b)
		}
	}
}

// says is a model that always answers the same.
type says struct{ llm.Response }

func (says) Name() string { return "test/says" }
func (s says) Generate(context.Context, llm.Meta, llm.Request) (llm.Response, error) {
	return s.Response, nil
}

// TestRecordAndPlay: what is recorded of a model plays as what it said.
func TestRecordAndPlay(t *testing.T) {
	s, req := asks(t)
	s.Dir = t.TempDir()
	for _, c := range []struct {
		said llm.Response
		want Answer
	}{
		{llm.Response{Text: asked, Finish: llm.FinishStop}, Answer{Lines: []json.RawMessage{json.RawMessage(told)}}},
		{llm.Response{Text: "I would rather not.", Finish: llm.FinishStop}, Answer{Text: "I would rather not."}},
		{llm.Response{Finish: llm.FinishStop}, Answer{Finish: "stop"}},
		{llm.Response{Text: `{"action":"upd`, Finish: llm.FinishLength}, Answer{Text: `{"action":"upd`, Finish: "length"}},
	} {
		var r Recorder
		r.At(s, "2026-03-02", standing)
		if _, err := r.Of(says{c.said}).Generate(t.Context(), llm.Meta{}, req); err != nil || r.Err() != nil {
			t.Fatal(err, r.Err())
		}
		c.want.Night, c.want.Purpose = "2026-03-02", purposeEvolve
		if d := cmp.Diff([]Answer{c.want}, r.answers); d != "" {
			t.Errorf("recorded (-want +got)\n%s", d)
		}
		if err := r.Save(); err != nil {
			t.Fatal(err)
		}
		s.Answers = r.answers
		play := &Recorded{}
		play.At(s, "2026-03-02", standing)
		if got, err := play.Generate(t.Context(), req); err != nil || got != c.said {
			t.Errorf("played %+v, %v; it was %+v", got, err, c.said)
		}
		_, err := play.Generate(t.Context(), req)
		if !errors.Is(err, reverie.ErrInvalid) || !errors.Is(play.Err(), reverie.ErrInvalid) || !strings.Contains(err.Error(), "answer 2 for evolve") {
			t.Errorf("asked for more than there is: %v", err)
		}
	}
}
