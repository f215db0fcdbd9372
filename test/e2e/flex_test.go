package e2e

import (
	"slices"
	"testing"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
)

// A flex tier without capacity is waited for, and what it answers costs half. When the
// patience is over, the standard tier is asked.
func TestFlex(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deadline string
		full     func(refused int) bool // whether flex has no capacity
		want     []string               // of the calls: tier, outcome, cost
	}{
		"later there is capacity": {"1h", func(refused int) bool { return refused < 1 }, []string{"flex|rate_limited|0", "flex|ok|half"}},
		"there is none":           {"1s", func(int) bool { return true }, []string{"flex|rate_limited|0", "standard|ok|whole"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.set("REVERIE_LLM_SERVICE_TIER=flex", "REVERIE_LLM_FLEX_DEADLINE="+c.deadline, "REVERIE_LLM_PRICES=gpt-5-mini=100/1000",
				"REVERIE_EMBED_PROVIDER=offline")
			refused, write := 0, scribe(t)
			s.model.Respond(func(r llmtest.Request) llmtest.Answer {
				if r.Tier == llm.TierFlex && c.full(refused) {
					refused++
					return llmtest.NoCapacity(429)
				}
				return write(r)
			})
			s.bring("g1", chat("2025-03-03", "note Lin drinks tea")...)
			s.run("evolve", "--due").want(t, 0)
			got := s.rows(`select tier, outcome, case cost_usd when 0 then '0' when (input_tokens * 100 + output_tokens * 1000) / 1e6 then 'whole'
				when (input_tokens * 100 + output_tokens * 1000) / 2e6 then 'half' end from llm_calls where purpose = 'evolve' order by created_at`)
			if !slices.Equal(slices.Compact(got), c.want) || refused == 0 {
				t.Errorf("refused %d times, calls %q", refused, got)
			}
			if held := s.rows(`select holder from leases where expires_at > now()`); len(held) > 0 {
				t.Errorf("still held: %q", held)
			}
		})
	}
}
