//go:build torture

package e2e

import (
	"fmt"
	"reverie/cmd/reverie/command"
	"testing"
	"time"
)

// draw is the next deed; nil where chance wants what there is nothing of.
func (c *chronicle) draw(t *testing.T) *deed {
	t.Helper()
	group := chronicled[c.random.IntN(len(chronicled))]
	due := &deed{name: "evolve", args: invocation("evolve", "--due")}
	switch n := c.random.IntN(20); {
	case n < 5:
		return c.night(group)
	case n < 9:
		return due
	case n < 10:
		due.name, due.beside = "evolve and a daemon", []string{"run"}
		return due
	case n < 11:
		due.name, due.beside = "evolve twice", []string{"evolve", "--due"}
		return due
	case n < 13:
		return &deed{name: "extract", args: invocation("extract", "--all", "--group", group)}
	case n < 14:
		return &deed{name: "dream", args: invocation("dream", "--group", group)}
	case n < 15:
		return &deed{name: "impression", args: invocation("impression", "--group", "g2")}
	case n < 16:
		return c.undo(group)
	case n < 17:
		return c.decide()
	case n < 18:
		return &deed{name: "maintain", args: invocation("maintain", "--group", group)}
	case n < 19:
		return &deed{name: "backfill", args: invocation("backfill", "--group", group, "--from", c.date(c.day-3), "--to", c.date(c.day), "--yes")}
	default:
		return c.edit(group)
	}
}

// date is the day-th of this history.
func (c *chronicle) date(day int) string {
	return time.Date(2025, 1, 1+max(day, 0), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// night is one that is brought: of what the group remembers some is said again, changed
// or dropped, and something is new. Now and then it is a night that has gone by.
func (c *chronicle) night(group string) *deed {
	if c.day++; c.random.IntN(6) == 0 && c.day > 3 {
		c.day--
	}
	known := c.calm.rows(`select statement from memories where group_id = $1 and kind = 'group' and status = 'active' order by statement collate "C"`, group)
	var texts []string
	for _, verb := range []string{"again %s", "change %s => %[1]s!", "drop %s", "forget %s"} {
		if len(known) > 0 && c.random.IntN(3) == 0 {
			texts = append(texts, fmt.Sprintf(verb, known[c.random.IntN(len(known))]))
		}
	}
	for range 1 + c.random.IntN(3) {
		texts = append(texts, fmt.Sprintf("note Somebody found %s number %d", []string{"a key", "一只猫", "the map", "两本书"}[c.random.IntN(4)], c.random.IntN(1_000_000)))
	}
	if n := c.random.IntN(1_000_000); n%3 == 0 { // what is masked before a model is shown it
		texts = append(texts, fmt.Sprintf("note Room %d is free, ask +86 138 %04d 8000 | room%d@example.org, the password is Xk7-%d", n, n%10_000, n, n))
	}
	texts = append(texts, fmt.Sprintf("self city C%d", c.random.IntN(100)), "good night")
	name := fmt.Sprintf("night-%d.jsonl", len(c.deeds))
	lines := chat(c.date(c.day), texts...)
	for i := range lines {
		lines[i].ID = fmt.Sprintf("%d-%s", len(c.deeds), lines[i].ID)
	}
	c.calm.file(name, jsonLines(c.calm.t, lines)) // both have one home
	return &deed{name: "a night of " + group, args: func(s *stage) []string {
		return []string{"import", s.path(name), "--group", group, "--time-zone", "Asia/Shanghai"}
	}}
}

// undo takes the last run of a group back.
func (c *chronicle) undo(group string) *deed {
	const last = `select run_id from runs where group_id = $1 and job = 'evolve' and status = 'succeeded' and undone_at is null
		order by window_since desc, attempt desc limit 1`
	if len(c.calm.rows(last, group)) == 0 {
		return nil
	}
	words := []string{"runs", "undo"}
	if c.random.IntN(2) == 0 {
		words = append(words, "--requeue")
	}
	return &deed{name: "undo in " + group, done: []int{command.ExitError}, args: func(s *stage) []string { return append(words, s.one(last, group)) }}
}

// decide approves or rejects what has waited longest.
func (c *chronicle) decide() *deed {
	const waits = `select h.run_id from held_plans h join runs r using (group_id, run_id) where h.status = 'waiting' order by r.window_since, h.group_id, h.chunk_no limit 1`
	if len(c.calm.rows(waits)) == 0 {
		return nil
	}
	verb := []string{"approve", "reject"}[c.random.IntN(2)]
	return &deed{name: verb, done: []int{command.ExitError}, args: func(s *stage) []string { return []string{"runs", verb, s.one(waits)} }}
}

// edit is a person's: a memory is deleted.
func (c *chronicle) edit(group string) *deed {
	const oldest = `select memory_id from memories where group_id = $1 and kind = 'group' and status = 'active' order by statement collate "C" limit 1`
	if len(c.calm.rows(oldest, group)) == 0 {
		return nil
	}
	return &deed{name: "edit in " + group, done: []int{command.ExitError}, args: func(s *stage) []string {
		return []string{"memory", "delete", s.one(oldest, group), "--reason", "nobody needs it"}
	}}
}
