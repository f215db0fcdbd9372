package e2e

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
	"reverie/jobs"
)

// TestForbiddenText: a server that refuses what one group wrote stops no other
// group, and the group is not blamed; one that refuses everything ends the round.
func TestForbiddenText(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_JOBS_CONCURRENCY=1")
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if strings.Contains(r.User, "cursed") {
			return llmtest.Failure(403, "blocked by policy")
		}
		return llmtest.Text(transcribe(t, r))
	})
	groups := []string{"a", "b", "c", "d", "e", "f", "g"}
	for _, g := range groups {
		s.bring(g, chat("2025-03-03", "note Lin drinks tea", map[string]string{"b": "cursed"}[g])...)
	}
	s.run("evolve", "--due").want(t, 4, `group "b" deferred`, "blocked by policy")
	if got := s.rows(`select group_id from messages where outcome is null group by 1`); !cmp.Equal(got, []string{"b"}) {
		t.Errorf("pending are the messages of %q, want those of b", got)
	}
	if got := s.one(`select count(*) from setbacks`); got != "0" {
		t.Errorf("%s groups are blamed", got)
	}
	s.run("evolve", "--group", "b").want(t, 2, "blocked by policy")

	for _, g := range groups {
		s.bring(g, chat("2025-03-04", "note Mia hosts the game nights")...)
	}
	s.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Failure(403, "no credit") })
	before := len(s.questions())
	s.run("evolve", "--due").want(t, 2, "no credit")
	if n := len(s.questions()) - before; n != jobs.MaxRefused {
		t.Errorf("%d questions were asked, want %d", n, jobs.MaxRefused)
	}
}

// TestReaderGone: a reader that has gone does not end the work.
func TestReaderGone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(scribe(t))
	for _, g := range []string{"a", "b", "c"} {
		s.bring(g, chat("2025-03-03", "note Lin drinks tea")...)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	cmd := exec.CommandContext(t.Context(), self, "evolve", "--due")
	cmd.Env, cmd.Stdout, cmd.Stderr = append(slices.Clone(s.env), envMain+"=1", "GORACE=atexit_sleep_ms=0"), write, write
	err = cmd.Run()
	_ = write.Close()
	if err != nil {
		t.Fatalf("evolve --due: %v", err)
	}
	if got := s.pending("a") + s.pending("b") + s.pending("c"); got != "000" {
		t.Errorf("pending are %s, want none", got)
	}
}

// TestNothingProvesNothing: a window without messages does not undo a parking.
func TestNothingProvesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea")...)
	s.park("g1", 5, parkedAt)
	s.run("evolve", "--group", "g1", "--since", "2020-01-01", "--until", "2020-01-02").want(t, 0)
	if got := s.one(`select count(*) from setbacks`); got != "1" {
		t.Errorf("%s setbacks are left, want 1", got)
	}
	s.model.Respond(scribe(t))
	s.run("evolve", "--group", "g1").want(t, 0)
	if got := s.one(`select count(*) from setbacks`); got != "0" {
		t.Errorf("%s setbacks are left after a success", got)
	}
}

// TestEmptyShard: a variable that is not set must not mean all groups.
func TestEmptyShard(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run("evolve", "--due", "--shard=").want(t, 2, "--shard is empty")
	s.run("backfill", "--from", "2025-01-01", "--to", "2025-01-02", "--shard", "").want(t, 2, "--shard is empty")
}

// TestUnknownPrice: where the price is not known, somebody has to say yes, and a
// limit in USD is said to bound nothing.
func TestUnknownPrice(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_LLM_MODEL=homegrown", "REVERIE_BUDGET_USD_PER_DAY=1")
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea")...)
	args := []string{"backfill", "--from", "2025-03-01", "--to", "2025-03-05"}
	s.run(args...).want(t, 2, "homegrown", "--yes", "no limit in USD")
	if n := len(s.questions()); n != 0 {
		t.Errorf("%d questions were asked", n)
	}
	s.run(append(args, "--yes")...).want(t, 0)
}
