package e2e

import (
	"encoding/json"
	"reverie/cmd/reverie/command"
	"slices"
	"strings"
	"testing"
)

// aged is a stage with two groups that talked every night, one of them paused, in each of
// which one memory is to be archived: it was said once, 80 nights ago, and never used.
func aged(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	for _, g := range []string{"g1", "g2"} {
		s.bring(g, chat("2026-01-15", "hello")...)
		s.exec(`insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, strength, content_hash, created_at, updated_at, last_supported_at)
			select $1, gen_random_uuid(), gen_random_uuid(), 'group', v.statement, 1, 'active', v.strength, v.statement, now() - v.age, now() - v.age, now() - v.age
			from (values ('drinks tea', 0.8, interval '80 days'), ('lives in <Berlin>', 0.3, interval '80 days'), ('plays go', 0.3, interval '1 day')) v (statement, strength, age)`, g)
		s.exec(`insert into active_nights (group_id, night) select $1, current_date - n from generate_series(1, 70) n`, g)
	}
	s.run("groups", "pause", "g2").want(t, 0)
	return s
}

// One command does it for every group, says what, and does nothing twice.
func TestMaintainCommand(t *testing.T) {
	s := aged(t)
	before := s.dump()
	dry := s.run("maintain", "--dry-run").want(t, 0).silent(t)
	for _, line := range []string{"g1", "g2", "1 archived, 0 pruned", "- lives in <Berlin>", "why: said once, never used in an answer, and silent for 70 of the group's active nights", "dry run: nothing was written"} {
		if !strings.Contains(dry.stdout, line) {
			t.Errorf("no %q in:\n%s", line, dry.stdout)
		}
	}
	if after := s.dump(); !slices.Equal(after, before) {
		t.Error("a dry run wrote something")
	}
	s.set("REVERIE_FORGET_TENTATIVE_NIGHTS=71")
	s.run("maintain", "--group", "g1").want(t, 0).shows(t, "nothing to do")
	s.set("REVERIE_FORGET_TENTATIVE_NIGHTS=70")
	out := s.run("maintain", "--json").want(t, 0).silent(t)
	lines := strings.Split(strings.TrimSpace(out.stdout), "\n")
	if len(lines) != 3 || !strings.Contains(lines[2], `{"job":"maintain","success":true,"summary":{"done":2,"skipped":0,"failed":0,"deferred":0`) {
		t.Fatalf("%s", out.stdout)
	}
	for _, line := range lines[:2] {
		var r struct {
			Success     bool
			Job, Status string
			Archived    int
			Changes     []map[string]any
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || !r.Success || r.Job != "maintain" || r.Status != "succeeded" || r.Archived != 1 ||
			r.Changes[0]["old_statement"] != "lives in <Berlin>" || r.Changes[0]["action"] != "archive" {
			t.Errorf("%v: %s", err, line)
		}
	}
	if again := s.run("maintain").want(t, 0).silent(t); again.stdout != "nothing to do\n" {
		t.Errorf("again: %s", again.stdout)
	}
	if again := s.run("maintain", "--group", "g2", "--json").want(t, 0).document(t); again["message"] != "nothing to do" || again["success"] != true {
		t.Errorf("again: %v", again)
	}
	if runs := s.rows(`select group_id, status, stats->>'archived' from runs order by 1`); !slices.Equal(runs, []string{"g1|succeeded|1", "g2|succeeded|1"}) {
		t.Errorf("runs %q", runs)
	}
	s.run("maintain", "--group", "nowhere").want(t, 1, `"nowhere"`, "reverie groups list")
	s.run("maintain", "--group", "g1", "--shard", "0/2").want(t, 2)

	id := s.one(`select memory_id from memories where group_id = 'g1' and status = 'archived'`)
	s.run("memory", "restore", id).want(t, 0)
	s.run("maintain", "--group", "g1").want(t, 0)
	if got := s.active("g1"); !slices.Equal(got, []string{"drinks tea", "lives in <Berlin>", "plays go"}) {
		t.Errorf("active %q", got)
	}
	shown := s.run("runs", "list", "--job", "maintain", "--group", "g1").want(t, 0)
	if strings.Count(shown.stdout, "succeeded") != 1 {
		t.Errorf("%s", shown.stdout)
	}
}

// What a person takes back from the archive is not archived again by the next run. A replay decides anew.
func TestMaintainAfterUndo(t *testing.T) {
	s := aged(t)
	s.exec(`update memories set type = 'habit' where statement = 'lives in <Berlin>'`)
	for _, tt := range []struct{ reason, left string }{{"it was right", "3"}, {"replay from 2026-01-15 on", "2"}} {
		s.run("maintain", "--group", "g1").want(t, 0)
		run := s.one(`select run_id from runs where group_id = 'g1' order by started_at desc limit 1`)
		s.run("runs", "undo", run, "--reason", tt.reason).want(t, 0)
		s.run("maintain", "--group", "g1").want(t, 0)
		if got := s.one(`select count(*) from memories where group_id = 'g1' and status = 'active'`); got != tt.left {
			t.Errorf("taken back because %s: %s are active, want %s", tt.reason, got, tt.left)
		}
		s.exec(`update memory_change_log set change_summary = 'replay from 2026-01-01 on' where action = 'undo'`)
	}
}

// A group that another run has is passed over and named; alone it is an error. A
// group that fails stops no other.
func TestMaintainPassesOver(t *testing.T) {
	s := aged(t)
	s.exec(`update leases set holder = 'somebody', fence = 7, expires_at = now() + interval '1 hour' where group_id = 'g1'`)
	s.exec(`create function refuse() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end $$`)
	s.exec(`create trigger refuse before update on memories for each row when (old.group_id = 'g2') execute function refuse()`)
	s.bring("g3", chat("2026-01-15", "hello")...)
	s.exec(`insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, strength, content_hash, created_at, updated_at, last_supported_at)
		select 'g3', gen_random_uuid(), gen_random_uuid(), kind, statement, 1, 'active', strength, content_hash, created_at, updated_at, last_supported_at
		from memories where group_id = 'g1' and statement like 'lives%'`)
	s.exec(`insert into active_nights (group_id, night) select 'g3', night from active_nights where group_id = 'g1' on conflict do nothing`)
	out := s.run("maintain").want(t, command.ExitPartial, "g2", "the disk is full")
	for _, part := range []string{"g1  skipped", "somebody", "g3"} {
		if !strings.Contains(out.stdout, part) {
			t.Errorf("no %q in:\n%s", part, out.stdout)
		}
	}
	if n := s.one(`select count(*) from memories where status = 'archived'`); n != "1" {
		t.Errorf("%s memories were archived", n)
	}
	s.run("maintain", "--group", "g1").want(t, command.ExitBusy, "somebody")
}
