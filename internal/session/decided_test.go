package session

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"reverie/evolve"
	"reverie/internal/decide"
	"reverie/internal/llm/llmtest"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/prompts"
	"reverie/store/pgtest"
)

// TestDecided has facts compared with what is remembered, of the same kind and
// without summaries, and lets a person approve what is held.
func TestDecided(t *testing.T) {
	h := hall(t)
	t.Run("compared", func(t *testing.T) { compared(h.on(t, "compared")) })
	t.Run("approved", func(t *testing.T) { approved(h.on(t, "approved")) })
	t.Run("refused", func(t *testing.T) { refused(h.on(t, "refused")) })
}

func compared(s *stage) {
	m := pgtest.NewMortal(s.store, -1)
	s.pipe.Decider = &decide.Comparer{Store: m, Model: s.pipe.Model, Embeddings: s.pipe.Embeddings, Prompts: s.pipe.Prompts, Journal: m,
		Calibration: reverie.Calibration{Floor: -1, Ceiling: 1}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Options: decide.Options{TopK: 5, MinScore: 0, Fallback: decide.FallbackAdd, MaxCalls: 10, MaxOutputTokens: 4096}}
	s.chat("note Lin keeps bees")
	s.extract(Request{})
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if !strings.Contains(r.User, `"candidates"`) {
			return scribe(s)(r)
		}
		if strings.Contains(r.User, `"c2"`) || !strings.Contains(r.User, `"statement":"Lin keeps bees"`) {
			s.Errorf("compared with %s", r.User)
		}
		return llmtest.Text(`{"id":"c1","reason":"Both say that Lin keeps bees.","relation":"duplicate"}`)
	})
	s.id, s.told = "s2", 0
	s.chat("note Bees are what Lin keeps")
	res := s.extract(Request{})
	s.facts("Lin keeps bees v1")
	s.want(`select action, basis, kind from decisions where group_id = $1 order by created_at desc limit 1`, "NONE|compared|session")
	if len(res.Supported) != 1 || res.Stats.Compared != 1 {
		s.Errorf("%+v", res)
	}
}

// approved lets facts pass that a run holds: they are their session's.
func approved(s *stage) {
	s.chat("note Fact 1.", "note Fact 2.", "note Fact 3.")
	s.extract(Request{})
	s.chat("change Fact 1. => One.", "change Fact 2. => Two.", "change Fact 3. => Three.", "note Fact 4.")
	res := s.extract(Request{})
	d := must(s.store.Run(s.Context(), s.group, res.RunID))(s)
	lease := must(s.store.AcquireLease(s.Context(), s.group, reverie.LeaseGroup, "test", 60e9))(s)
	p := &evolve.Pipeline{Store: s.store, Now: s.pipe.Now, Log: s.pipe.Log, EmbeddingsOptional: true, Limits: evolve.Limits{MaxActive: 1}}
	if done, err := p.Approve(s.Context(), s.store, holding{lease}, d.Run, d.Held); err != nil || len(done.Refusals) > 0 || done.Stats.Updated != 3 {
		s.Errorf("%+v, %v", done, err)
	}
	s.facts("Fact 4. v1", "One. v2", "Three. v2", "Two. v2")
	s.want(`select distinct session_id from memories where group_id = $1`, "s1")
}

// refused gives messages back whose facts a run holds: the next run reads them again.
// What was written beside them, support and the summary, does no harm.
func refused(s *stage) {
	s.chat("note Fact 1.", "note Fact 2.", "note Fact 3.", "note Fact 0.")
	s.extract(Request{})
	s.chat("change Fact 1. => One.", "change Fact 2. => Two.", "change Fact 3. => Three.", "note Fact 0.")
	const strength = `select strength from memories where group_id = $1 and statement = 'Fact 0.' and status = 'active'`
	res := s.extract(Request{})
	before, waited := pgtest.Rows(s, s.db, strength, s.group), s.session().New
	lease := must(s.store.AcquireLease(s.Context(), s.group, reverie.LeaseGroup, "test", 60e9))(s)
	if n := must(s.store.RejectHeld(s.Context(), lease, s.group, res.RunID, true))(s); n != 8 || waited.Messages != 0 || s.session().New.Turns != 4 {
		s.Fatalf("%d wait again: %+v", n, s.session().New)
	}
	if err := s.store.ReleaseLease(s.Context(), lease); err != nil {
		s.Fatal(err)
	}
	s.facts("Fact 0. v1", "Fact 1. v1", "Fact 2. v1", "Fact 3. v1")
	s.pipe.Limits.HoldMin = 100
	if again := s.extract(Request{}); again.Stats.Updated != 4 || again.RunID == res.RunID { // with the summary
		s.Errorf("%+v", again)
	}
	s.facts("Fact 0. v1", "One. v2", "Three. v2", "Two. v2")
	s.want(strength, before...)
}

// TestLanguage asks in the language that is spoken, and of words alone: what tools
// return does not count.
func TestLanguage(t *testing.T) {
	set := must(prompts.Open(""))(t)
	r := &run{Pipeline: &Pipeline{Prompts: set, Limits: limits()}}
	s := paper()
	for text, want := range map[string]string{"我们下周搬到波尔图": "session_extract.zh", "we move to Porto next week": "session_extract.en"} {
		messages := []reverie.Message{{ID: "1", Role: reverie.RoleUser, Text: text, SentAt: evening},
			{ID: "2", Role: reverie.RoleTool, Text: strings.Repeat("工具 tool ", 100), SentAt: evening}}
		var err error
		if s.locale, err = localeOf(reverie.Group{ID: "g"}, messages); err != nil {
			t.Fatal(err)
		}
		prompt, err := r.render(s, pipeline.Shown(messages), nil)
		if err != nil || prompt.Name != want || strings.Contains(prompt.User, "tool") || !strings.Contains(prompt.User, `"id":"m4"`) {
			t.Errorf("%s: %s, %v\n%s", text, prompt.Name, err, prompt.User)
		}
	}
	if _, err := localeOf(reverie.Group{ID: "g", TimeZone: "Mars/Olympus"}, nil); err == nil {
		t.Error("no such time zone")
	}
}

// TestChoose keeps facts that are shown in one order.
func TestChoose(t *testing.T) {
	var heads []reverie.HeadState
	for i := range 6 {
		h := reverie.HeadState{Memory: reverie.Memory{ID: fmt.Sprint(i), LastSupportedAt: evening.AddDate(0, 0, i)}}
		if i == 2 || i == 4 {
			h.SessionID = "s1"
		}
		heads = append(heads, h)
	}
	for _, c := range []struct {
		near  map[string]float64
		limit int
		want  []string
	}{
		{nil, 10, []string{"2", "4", "0", "1", "3", "5"}},
		{nil, 3, []string{"2", "4", "5"}},
		{nil, 1, []string{"4"}},
		{map[string]float64{"0": -0.5, "1": 0.1}, 4, []string{"2", "4", "0", "1"}},
		{map[string]float64{"0": -0.5, "1": 0.1}, 3, []string{"2", "4", "1"}},
	} {
		var got []string
		for _, h := range choose(heads, "s1", c.near, c.limit) {
			got = append(got, h.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v, %d: %q, want %q", c.near, c.limit, got, c.want)
		}
	}
}
