package e2e

import (
	"strings"
	"testing"
	"time"
)

// TestImportSaysWhatIsAhead: an import ends with what the nights of the chat take and the
// command that does them, which then leaves nothing to say.
func TestImportSaysWhatIsAhead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_LLM_PRICES=gpt-5-mini=0.25/2.00")
	s.model.Respond(scribe(t))
	lines := append(chat("2025-03-03", "note Lin drinks tea"), chat("2025-03-05", "note Mia likes jazz")...)
	load := func(s *stage, args ...string) outcome {
		args = append([]string{"import", "-", "--group", "my group", "--time-zone", "Asia/Shanghai"}, args...)
		return s.feed(jsonLines(t, lines), args...).want(t, 0).silent(t)
	}
	if o := load(s, "--dry-run"); strings.Contains(o.stdout, "backfill") {
		t.Errorf("nothing is imported, and %s", o.stdout)
	}
	const command = "reverie backfill --from 2025-03-03 --to 2025-03-05 'my group'"
	load(s).shows(t, "2 nights, about 2 calls by openai/gpt-5-mini, less than $0.01:\n  "+command+"\n")
	ahead := load(s, "--json").document(t)["ahead"].(object)
	if ahead["windows"] != 2.0 || ahead["command"] != command || ahead["cost_usd"].(float64) <= 0 {
		t.Errorf("%v", ahead)
	}
	load(s.fork("REVERIE_LLM_BASE_URL=")).shows(t, "\nno model is configured: `reverie init` sets one up")
	load(s.fork("REVERIE_JOBS_CONFIRM_USD=0")).shows(t, "\n  reverie backfill --yes --from")
	s.feed(jsonLines(t, chat("2025-03-04", "note Ben cooks")), "import", "-", "--group", "other").want(t, 0).
		shows(t, "1 night, about 1 call", "\n  reverie evolve other\n")

	s.run("backfill", "--from", "2025-03-03", "--to", "2025-03-05", "my group").want(t, 0).shows(t, "2 messages in 2 windows")
	if o := load(s); strings.Count(o.stdout, "\n") != 1 {
		t.Errorf("all is done, and\n%s", o.stdout)
	}
	lines = chat(time.Now().UTC().Format(time.DateOnly), "note Lin is back") // its date is not over anywhere
	lines[0].SentAt = time.Now().UTC().Format(time.RFC3339)
	load(s).shows(t, "this date is not over; to take it in now:\n  reverie evolve 'my group'\n")
}
