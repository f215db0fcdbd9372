//go:build torture

package e2e

import (
	"fmt"
	"slices"

	"reverie/internal/fault"
)

// inBatches evolves a crowd by batches, each of which is out for some time. None of its questions may be paid for twice,
// whatever dies.
var inBatches = &play{name: "evolve in batches", past: func(s *stage) {
	s.set("REVERIE_LLM_API_KEY=key", "REVERIE_LLM_MODEL=fake", "REVERIE_EVOLVE_MAX_MESSAGES=2", "REVERIE_LLM_BATCH_POLL=10ms")
	s.run("migrate", "up").want(s.t, 0)
	s.settle(crowdOf(2, 2), life)
}, args: invocation("evolve", "--due", "--batch"), ends: func(s *stage) []string {
	return slices.Concat(s.crowdState(crowdOf(2, 2)), s.charged())
}, control: control{fault.Batch, "submit a batch: answered", "looking for a batch before it is handed in again", "billed 2 times: "}}

// charged is what was billed, how often, and whether the ledger knows.
func (s *stage) charged() (rows []string) {
	s.t.Helper()
	times := map[string]int{}
	for _, c := range s.model.Bill() {
		times[c.User]++
	}
	for asked, n := range times {
		rows = append(rows, fmt.Sprintf("billed %d times: %s", n, asked))
	}
	slices.Sort(rows)
	return append(rows, s.rows(`select purpose, tier, count(*), sum(input_tokens) from llm_calls where provider <> 'offline' group by 1, 2 order by 1`)...)
}
