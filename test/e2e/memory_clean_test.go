package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// untidy is a stage whose group has memories of many sorts, put there by hand.
func untidy(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.bring("g1", chat("2025-03-03", "hello")...)
	s.bring("g2")
	s.exec(`insert into memories (group_id, memory_id, lineage_id, kind, session_id, statement, version, status, tags, strength, weight,
			content_hash, created_at, updated_at, said_at, last_supported_at)
		select g, gen_random_uuid(), gen_random_uuid(), kind, session, statement, 1, 'active', tags, strength, weight, statement,
			now() - interval '60 days', now() - interval '60 days', now() - interval '60 days', now() - supported
		from (values ('g1', 'group', '', 'Lin drinks tea', array['tea'], 0.9, 1.0, interval '1 day'),
			('g1', 'group', '', 'Mia is in doubt', '{}', 0.2, 1.0, interval '50 days'),
			('g1', 'group', '', 'Bo is ignored', '{}', 0.9, 0.1, interval '50 days'),
			('g1', 'group', '', 'The group meets on Fridays', '{}', 0.2, 1.6, interval '50 days'),
			('g1', 'session', 's1', 'They planned a trip', array['session', 'summary'], 0.3, 1.0, interval '50 days'),
			('g1', 'session', 's2', 'Lin wants a window seat', array['session', 'tea'], 0.3, 1.0, interval '2 days'),
			('g2', 'group', '', 'Zoe is in doubt', '{}', 0.1, 1.0, interval '50 days'))
			as v (g, kind, session, statement, tags, strength, weight, supported)`)
	s.exec(`insert into memory_usage_log (group_id, usage_id, memory_id, lineage_id, position, score, similarity, weight, strength, recency, was_referenced, judged_at, created_at)
		select group_id, gen_random_uuid(), memory_id, lineage_id, 1, 1, 1, 1, 1, 1, statement = 'Bo is ignored', now(), now() from memories
		where statement in ('Bo is ignored', 'Mia is in doubt')`)
	return s
}

// TestMemoryClean: each filter takes what it says, together they take less, core
// memories stay, and what was taken is in the change log and can come back.
func TestMemoryClean(t *testing.T) {
	t.Parallel()
	s := untidy(t)
	listFiltered(t, s)
	all := s.dump()
	for _, c := range []struct{ filters, want string }{
		{"--below 0.3", "Bo is ignored, Mia is in doubt"},
		{"--below 0.3 --core", "Bo is ignored, Mia is in doubt, The group meets on Fridays"},
		{"--kind session", "Lin wants a window seat, They planned a trip"},
		{"--session s2", "Lin wants a window seat"},
		{"--tag tea", "Lin drinks tea, Lin wants a window seat"},
		{"--tag tea --kind group", "Lin drinks tea"},
		{"--unused-for 720h", "Mia is in doubt, They planned a trip"}, // Bo was of use
		{"--unused-for 720h --below 0.3", "Mia is in doubt"},
		{"--session s3", ""},
	} {
		args := append([]string{"memory", "clean", "--group", "g1", "--dry-run", "--json"}, strings.Fields(c.filters)...)
		var got []string
		for _, m := range s.run(args...).want(t, 0).document(t)["memories"].(list) {
			got = append(got, m.(object)["statement"].(string))
		}
		if diff := cmp.Diff(c.want, strings.Join(sorted(got), ", ")); diff != "" {
			t.Errorf("%s: %s", c.filters, diff)
		}
	}
	if o := s.run("memory", "clean", "--group", "g1", "--below", "0.3").want(t, 2, "2 memories would be deleted", "--yes"); !strings.Contains(o.stdout, "Bo is ignored") {
		t.Errorf("what would be deleted is not shown: %q", o.stdout)
	}
	s.run("memory", "clean", "--group", "g1").want(t, 2, "at least one")
	s.run("memory", "clean", "--group", "g1", "--below", "3").want(t, 2, "0 to 2")
	s.run("memory", "clean", "--group", "nobody", "--below", "0.3").want(t, 1, "groups list")
	if diff := cmp.Diff(all, s.dump()); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
	o := s.run("memory", "clean", "--group", "g1", "--below", "0.3", "--yes", "--reason", "spring").want(t, 0).silent(t)
	if !strings.Contains(o.stdout, "g1: 2 memories deleted") {
		t.Errorf("stdout is %q", o.stdout)
	}
	want := []string{"Lin drinks tea", "Lin wants a window seat", "The group meets on Fridays", "They planned a trip"}
	if diff := cmp.Diff(want, s.active("g1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"delete|Bo is ignored||spring", "delete|Mia is in doubt||spring"},
		s.rows(`select action, old_statement, new_statement, change_summary from memory_change_log order by 2`)); diff != "" {
		t.Error(diff)
	}
	s.run("memory", "clean", "--group", "g1", "--below", "0.3").want(t, 0)
	s.run("memory", "restore", s.head("Mia is in doubt")).want(t, 0)
	if got := len(s.active("g1")); got != 5 {
		t.Errorf("%d are active after one came back", got)
	}
}

// listFiltered: what is at the core, of a session, or tagged, now and then.
func listFiltered(t *testing.T, s *stage) {
	t.Helper()
	for _, c := range []struct {
		filters, want string
	}{
		{"--core", "The group meets on Fridays"},
		{"--session s1", "They planned a trip"},
		{"--tag tea", "Lin drinks tea, Lin wants a window seat"},
		{"--tag te", ""},
		{"--tag tea --session s2", "Lin wants a window seat"},
		{"--core --tag tea", ""},
	} {
		for _, at := range []string{"", " --at " + s.one(`select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`)} {
			var got []string
			doc := s.run(strings.Fields("memory list --group g1 --json "+c.filters+at)...).want(t, 0).document(t)
			for _, m := range doc["memories"].(list) {
				got = append(got, m.(object)["statement"].(string))
			}
			if joined := strings.Join(sorted(got), ", "); joined != c.want || int(doc["total"].(float64)) != len(got) {
				t.Errorf("%s%s: %q of %v, want %q", c.filters, at, joined, doc["total"], c.want)
			}
		}
	}
	if o := s.run("memory", "list", "--group", "g1", "--tag", "te").want(t, 0); !strings.HasPrefix(o.stdout, "g1: no active memories fit the flags") {
		t.Errorf("stdout is %q", o.stdout)
	}
}
