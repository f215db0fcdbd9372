package e2e

import (
	"strings"
	"testing"
)

// TestNothingSaysWhy: a list without rows says in one line why it has none, and what to do next:
// no group, no messages, no night, nothing that was asked for, or nothing that the flags leave in.
func TestNothingSaysWhy(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.run("runs", "list").want(t, 0).shows(t, "no runs: there is no group yet; `reverie import FILE")
	s.run("groups", "add", "bare").want(t, 0)
	s.bring("heard", chat("2025-03-03", "good morning", "good night")...)
	s.bring("read", chat("2025-03-03", "good morning", "good night")...)
	s.run("evolve", "--group", "read").want(t, 0)
	const left = " fit the flags; leave them out to see all"
	s.run("groups", "list", "--state", "paused").want(t, 0).shows(t, "no groups"+left)
	for _, c := range []struct {
		args []string
		what string
		next string // once a night has read the messages
	}{
		{strings.Fields("memory list"), "no active memories", "`--status all` shows"},
		{strings.Fields("memory list --status archived"), "no memories", left},
		{strings.Fields("memory list --tag x --kind dream"), "no active memories", left},
		{strings.Fields("memory list --at 2024-01-01"), "no active memories", left},
		{strings.Fields("memory search projector"), "no memories to search", "memory list --status all"},
		{strings.Fields("memory search --kind dream projector"), "no memories to search", left},
		{strings.Fields("runs list --status held"), "no runs", left},
		{strings.Fields("memory changes --days 30"), "no changes in 30 days", "looks further back"},
		{strings.Fields("memory diff --from 2025-01-01"), "no memories then or now", "--status all"},
		{strings.Fields("memory stats"), "no memories", "reverie runs list"},
		{strings.Fields("entity waiting"), "no observations that wait", "reverie entity list"},
	} {
		for group, next := range map[string]string{"bare": "it has no messages to work on; `reverie import FILE --group bare`",
			"heard": "no night has read its 2 messages; `reverie evolve --group heard`", "read": c.next} {
			o := s.run(append(c.args, "--group", group)...).want(t, 0).silent(t).shows(t, group+": "+c.what, next)
			if n := strings.Count(o.stdout, "\n"); n != 1 {
				t.Errorf("%v has %d lines:\n%s", o.args, n, o.stdout)
			}
			s.run(append(c.args, "--group", group, "--json")...).want(t, 0).silent(t).document(t)
		}
		s.run(append(c.args, "--group", "nobody")...).want(t, 1, `group "nobody" not found`)
		s.run(append(c.args, "--group", "nobody", "--json")...).want(t, 1, `group "nobody" not found`)
	}
}
