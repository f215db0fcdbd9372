package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMemoryPast asks for the past of a group whose memories have been through a lot, as
// text and as JSON, and in ways that cannot be.
func TestMemoryPast(t *testing.T) {
	t.Parallel()
	s := eventful(t)
	const iso = `, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
	second := s.one(`select memory_id from memories where version = 2`)
	then := s.one(`select to_char(updated_at at time zone 'UTC'` + iso + ` from memories where version = 2`)
	group := s.one(`select group_id from memories where version = 2`)

	first := s.run("memory", "blame", second, "--recorded-at", s.one(`select to_char(created_at at time zone 'UTC'`+iso+` from memories where version = 2`), "--json").want(t, 0).document(t)
	if n := len(first["versions"].(list)); n != 1 {
		t.Errorf("%d versions when it came up", n)
	}
	blame := s.run("memory", "blame", second).want(t, 0)
	for _, want := range []string{"\n  v1    Lin drinks tea\n", "\n  v2    , most of all green tea\n", "restored by a person", "none of its words are left", "prompt version"} {
		if !strings.Contains(blame.stdout, want) {
			t.Errorf("blame has no %q:\n%s", want, blame.stdout)
		}
	}

	d := s.run("memory", "diff", "--group", group, "--from", then, "--recorded", "--all", "--json").want(t, 0).document(t)
	steps := map[string][]string{}
	for _, part := range []string{"added", "changed", "gone", "passing"} {
		entries, _ := d[part].(list)
		if n := d["counts"].(object)[part].(float64); int(n) != len(entries) {
			t.Errorf("%v are counted as %s, of %d", n, part, len(entries))
		}
		for _, e := range entries {
			for _, st := range e.(object)["steps"].(list) {
				steps[part] = append(steps[part], st.(object)["action"].(string))
			}
		}
	}
	if diff := cmp.Diff([]string{"delete", "restore"}, steps["passing"]); diff != "" {
		t.Errorf("steps of what changed and changed back (-want +got):\n%s\n%v", diff, steps)
	}
	s.exec(`update memory_change_log set change_summary = E'\x1b[1m'`)
	s.exec(`update memory_evidence set author = E'\x1b]0;owned', quote = E'\x1b[2J'`)
	for _, args := range [][]string{{"diff", "--group", group, "--from", "2020-01-01", "--all"}, {"blame", second}} {
		if o := s.run(append([]string{"memory"}, args...)...).want(t, 0); strings.Contains(o.stdout, "\x1b") {
			t.Errorf("%v drives a terminal: %q", args, o.stdout)
		}
	}
	if o := s.run("memory", "list", "--group", group, "--at", "2020-01-01").want(t, 0); !strings.Contains(o.stdout, "no active memories fit the flags; leave them out to see all") {
		t.Errorf("before the first: %s", o.stdout)
	}
	before := s.one(`select count(*) from memory_usage_log`)
	s.run("context", "--group", group, "--query", "what does Lin drink?", "--recorded-at", then).want(t, 0)
	if after := s.one(`select count(*) from memory_usage_log`); after != before {
		t.Errorf("a context of the past is logged as used: %s rows, then %s", before, after)
	}
	for _, args := range [][]string{
		{"memory", "diff", "--group", group}, {"memory", "diff", "--group", group, "--from", "2100-01-01"}, {"memory", "diff", "--group", group, "--from", "yesterday"},
		{"memory", "diff", "--group", group, "--from", "2020-01-02", "--to", "2020-01-02"}, {"memory", "list", "--group", group, "--at", then, "--status", "held"},
		{"memory", "history", second, "--at", "2020-02-30"},
		{"memory", "list", "--group", group, "--at", "0001-01-01T00:00:00Z"}, {"context", "tea", "--group", group, "--at", "0001-01-01"},
	} {
		if o := s.run(args...).want(t, 2); o.stdout != "" || o.stderr == "" {
			t.Errorf("%v: %q, %q", args, o.stdout, o.stderr)
		}
	}
}
