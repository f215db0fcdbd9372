package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// march is the range of dates that these tests fill in, and later a day after it.
var (
	march = []string{"--from", night(3), "--to", night(12)}
	later = time.Date(2025, 3, 20, 0, 0, 0, 0, time.UTC)
)

// estimateOf is the first line of JSON of a backfill.
func (o outcome) estimateOf(t *testing.T) object {
	t.Helper()
	lines := o.jsonLinesOf(t)
	if len(lines) == 0 || lines[0]["estimate"] == nil {
		t.Fatalf("reverie %s: no estimate\n%s%s", strings.Join(o.args, " "), o.stdout, o.stderr)
	}
	return lines[0]["estimate"].(object)
}

// TestBackfill says first what it will take, does it, and then has nothing to do.
func TestBackfill(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_EVOLVE_MAX_MESSAGES=2")
	s.nightsOf("g1", 3, 6)
	s.bring("g1", chat(night(6), "note one", "note two more", "note three now", "hello")...) // the first is there already
	s.nightsOf("g2", 5, 14)
	s.nightsOf("paused", 3, 3)
	s.run("groups", "pause", "paused").want(t, 0)
	now := instantOf(t, "2025-03-11T20:00:00+08:00")

	before := s.dump()
	dry := s.runAt(now, append([]string{"backfill", "--dry-run", "--json"}, march...)...).want(t, 0).silent(t).estimateOf(t)
	text := s.runAt(now, append([]string{"backfill", "--dry-run"}, march...)...).want(t, 0).silent(t)
	text.shows(t, "13 messages in 10 windows of 2 groups; about 11 calls by openai/gpt-5-mini", "about $", "left out: dates that are not over yet, from 2025-03-11 on")
	if diff := cmp.Diff(before, s.dump()); diff != "" || len(s.questions()) > 0 {
		t.Errorf("a dry run asked %d questions and wrote:\n%s", len(s.questions()), diff)
	}
	for key, want := range map[string]any{"groups": 2.0, "windows": 10.0, "messages": 13.0, "calls": 11.0, "open_from": night(11), "priced": true} {
		if dry[key] != want {
			t.Errorf("the estimate has %s %v, want %v", key, dry[key], want)
		}
	}

	s.runAt(now, "backfill", "--group", "g2", "--from", night(7), "--to", night(8)).want(t, 0).silent(t).shows(t, "2 windows finished, 0 left")
	if got := s.consumed("g2"); got != "2025-03-07-1 2025-03-08-1" {
		t.Errorf("consumed are %s", got)
	}
	o := s.runAt(now, append([]string{"backfill", "--json"}, march...)...).want(t, 0).silent(t)
	if diff := cmp.Diff(summary(object{"done": 2.0, "windows": 8.0}), o.summaryOf(t)); diff != "" {
		t.Errorf("the summary (-want +got):\n%s", diff)
	}
	if n := len(s.questions()); n != 11 {
		t.Errorf("%d questions, the estimate was 11 calls", n)
	}
	if got := s.consumed("g2"); !strings.HasSuffix(got, "2025-03-10-1") || s.pending("g1") != "0" {
		t.Errorf("consumed are %s; %s of g1 are left", got, s.pending("g1"))
	}
	before = s.dump("leases")
	s.runAt(now, append([]string{"backfill", "--yes"}, march...)...).want(t, 0).shows(t, "nothing to do: no date from 2025-03-03 to 2025-03-12 that is over has pending messages")
	if diff := cmp.Diff(before, s.dump("leases")); diff != "" || len(s.questions()) != 11 {
		t.Errorf("a second backfill did something:\n%s", diff)
	}
}

// TestBackfillCosts: what is thought to cost more than the configured limit needs a
// person's word, and writes nothing without it.
func TestBackfillCosts(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_LLM_MODEL=dear", "REVERIE_LLM_PRICES=dear=100/1000", "REVERIE_JOBS_CONFIRM_USD=0.5")
	s.nightsOf("g1", 3, 4)
	before := s.dump()
	args := append([]string{"backfill"}, march...)
	o := s.runAt(later, args...).want(t, 2, "confirm_usd ($0.50)", "--yes")
	if diff := cmp.Diff(before, s.dump()); diff != "" || len(s.questions()) > 0 {
		t.Errorf("it asked or wrote, unconfirmed:\n%s", diff)
	}
	if !strings.Contains(o.stdout, "2 windows") || !strings.Contains(o.stdout, "about $") {
		t.Errorf("it does not say what for: %s", o.stdout)
	}
	free := s.runAt(later, append(args, "--dry-run", "--llm", "offline", "--llm-base-url", "", "--llm-model", "")...).want(t, 0).silent(t)
	free.shows(t, "offline", "at no cost")
	s.runAt(later, append(args, "--dry-run", "--llm-model", "unheard-of")...).want(t, 0).shows(t, "at a price that is not known ([llm] prices)")
	s.runAt(later, append(args, "--yes")...).want(t, 0)
	if s.pending("g1") != "0" {
		t.Error("it did nothing")
	}
}

func TestBackfillFlags(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--from 2025-03-05 --to 2025-03-03", 2, "--from 2025-03-05 is after --to 2025-03-03"},
		{"--from 2025-02-30 --to 2025-03-03", 2, `--from "2025-02-30" is not a date`},
		{"--from 2025-03-03 --to today", 2, `--to "today" is not a date`},
		{"--from 2025-03-03", 2, "--to is needed"},
		{"--to 2025-03-03", 2, "--from is needed"},
		{"--from 1825-03-03 --to 2025-03-03", 2, "at most"},
		{"--from 2025-03-03 --to 2025-03-03 --shard 3/3", 2, "0/3 to 2/3"},
		{"--from 2025-03-03 --to 2025-03-03 --group nobody", 1, "nobody"},
		{"--from 2025-03-03 --to 2025-03-03 extra", 1, "extra"},
	} {
		s.run(append([]string{"backfill"}, strings.Fields(c.args)...)...).want(t, c.code, c.says)
	}
}

// TestBackfillKilled between two windows, and in the middle of one: the same
// command goes on, and the end is that of one that nothing happened to.
func TestBackfillKilled(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_JOBS_CONCURRENCY=1")
	for _, group := range []string{"undisturbed", "victim"} {
		s.nightsOf(group, 3, 6)
	}
	args := append([]string{"backfill"}, march...)
	s.run(append(args, "--group", "undisturbed")...).want(t, 0)
	asked := make(chan struct{})
	answer := scribe(t)
	n := 0
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if n++; n == 3 {
			close(asked)
			return llmtest.Hang()
		}
		return answer(r)
	})
	p := s.launch(args...)
	await(t, "the third night", asked)
	p.signal(syscall.SIGKILL)
	p.end()
	s.forgotten(p)
	if got := s.consumed("victim"); got != "2025-03-03-1 2025-03-04-1" {
		t.Errorf("consumed are %s", got)
	}
	s.model.Respond(answer)
	o := s.run(args...).want(t, 0).shows(t, "victim  skipped: ", "is busy") // its lease is still alive
	if n := len(s.questions()); n != 7 {
		t.Errorf("%d questions\n%s", n, o.stdout)
	}
	s.exec(`update leases set expires_at = 'epoch'`)
	s.run(args...).want(t, 0)
	want := s.state("undisturbed")
	if diff := cmp.Diff(want, s.state("victim")); diff != "" {
		t.Errorf("the end differs from an undisturbed one's (-want +got):\n%s", diff)
	}
}

// TestBackfillShards do each group once between them.
func TestBackfillShards(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	const groups = 8
	for i := range groups {
		s.bring(fmt.Sprintf("g%d", i), chat(night(3), "hello")...)
	}
	windows := 0.0
	for i := range 3 {
		o := s.runAt(later, append([]string{"backfill", "--json", "--shard", fmt.Sprintf("%d/3", i)}, march...)...).want(t, 0)
		if est := o.estimateOf(t)["windows"]; est != 0.0 {
			windows += o.summaryOf(t)["windows"].(float64)
		}
	}
	if windows != groups || len(s.questions()) != groups {
		t.Errorf("%v windows, %d questions", windows, len(s.questions()))
	}
}

// TestBackfillProgress is a bar on a terminal.
func TestBackfillProgress(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.model.Respond(scribe(t))
	s.nightsOf("g2", 3, 6)
	shown := terminalOutput(t, func(tty *os.File) {
		if err := run(t.Context(), append([]string{"backfill", "--group", "g2"}, march...), s.env, strings.NewReader(""), tty, tty); err != nil {
			t.Error(err)
		}
	})
	for _, want := range []string{"evolving", "(3/4)", "2025-03-06", "4 windows finished"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the screen lacks %q: %q", want, shown)
		}
	}
}

// history writes the chat of ten nights in which facts are noted, said again,
// changed and dropped, never one of them twice in a night nor many at once.
func chatHistory(r *rand.Rand) map[int][]string {
	nights, facts, next := map[int][]string{}, []string{}, 0
	fact := func() string {
		next++
		said := fmt.Sprintf("member %d plays %s on day %d", next, []string{"chess", "go", "tennis", "the flute"}[r.IntN(4)], r.IntN(30)+1)
		if next%3 == 0 { // what is masked before a model is shown it
			said += fmt.Sprintf(", mail m%d@example.org or call +86 138 0013 %04d", next, next)
		}
		return said
	}
	for day := 3; day <= 12; day++ {
		var lines []string
		known := slices.Clone(facts)
		r.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
		take := func() (f string, ok bool) {
			if len(known) == 0 {
				return "", false
			}
			f, known = known[0], known[1:]
			return f, true
		}
		if f, ok := take(); ok && r.IntN(2) == 0 {
			lines = append(lines, "again "+f)
		}
		if f, ok := take(); ok && r.IntN(2) == 0 {
			to := fact()
			lines = append(lines, "change "+f+" => "+to)
			facts[slices.Index(facts, f)] = to
		}
		if f, ok := take(); ok && len(facts) > 4 && r.IntN(2) == 0 {
			lines = append(lines, "drop "+f)
			facts = slices.DeleteFunc(facts, func(x string) bool { return x == f })
		}
		for range 1 + r.IntN(3) {
			f := fact()
			facts, lines = append(facts, f), append(lines, "note "+f)
		}
		nights[day] = append(lines, "good night")
	}
	return nights
}

// knownTo is what a group knows, and how well.
func (s *stage) knownTo(group string) []string {
	s.t.Helper()
	return s.rows(`select statement, round(strength::numeric, 9), weight, tags, last_supported_at from memories
		where group_id = $1 and status = 'active' order by statement collate "C"`, group)
}

// ledger is what must never go away: versions, changes, evidence, runs, chunks and
// calls, without what a replay may mark in them.
func (s *stage) ledger() map[string]bool {
	s.t.Helper()
	all := map[string]bool{}
	for _, query := range []string{
		`select 'memory', group_id, memory_id, lineage_id, parent_id, statement, version, created_at, run_id from memories`,
		`select 'change', c::text from memory_change_log c`,
		`select 'evidence', (to_jsonb(e) - 'withdrawn_at')::text from memory_evidence e`,
		`select 'run', group_id, run_id, job, window_since, window_until, attempt, stats from runs`,
		`select 'chunk', c::text from run_chunks c`,
		`select 'call', c::text from llm_calls c`,
	} {
		for _, row := range s.rows(query) {
			all[row] = true
		}
	}
	return all
}

// TestReplay: with the same answers, a replay from any night on comes to the same
// memories, and history only grows.
func TestReplay(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	groups := map[string]map[int][]string{}
	for seed := range uint64(2) {
		groups[fmt.Sprintf("g%d", seed)] = chatHistory(rand.New(rand.NewPCG(seed, 7)))
	}
	for id, nights := range groups {
		for day, texts := range nights {
			s.bring(id, chat(night(day), texts...)...)
		}
	}
	s.runAt(later, "evolve", "--due").want(t, 0)
	// Late for the fourth, and so the last that was learnt.
	s.bring("g0", chatLine{ID: "late", Author: "Bo", Text: "note Bo was late that day", SentAt: night(4) + "T23:00:00+08:00"})
	s.runAt(later, "evolve", "--due").want(t, 0).shows(t, "1 window finished")
	want := map[string][]string{}
	for id := range groups {
		if want[id] = s.knownTo(id); len(want[id]) < 5 {
			t.Fatalf("%s knows only %v", id, want[id])
		}
	}
	if got := s.one(`select count(*) from held_plans`); got != "0" {
		t.Fatalf("%s plans are held", got)
	}
	for _, from := range []int{12, 8, 3} {
		args := []string{"backfill", "--replay", "--from", night(from), "--to", night(12)}
		before, asked := s.ledger(), len(s.questions())
		dump := s.dump()
		s.runAt(later, args...).want(t, 2, "--replay undoes", "--yes")
		est := s.runAt(later, append(args, "--dry-run", "--json")...).want(t, 0).silent(t).estimateOf(t)
		if diff := cmp.Diff(dump, s.dump()); diff != "" || len(s.questions()) != asked {
			t.Fatalf("unconfirmed, it asked or wrote:\n%s", diff)
		}
		o := s.runAt(later, append(args, "--yes", "--json")...).want(t, 0).silent(t)
		windows := float64(len(groups)*(13-from)) + 1 // the late one's too
		if from == 3 {
			windows--
		}
		sum := o.summaryOf(t)
		// All messages of the fourth count in the estimate, although most of them stay as they are.
		if sum["windows"] != windows || sum["done"] != float64(len(groups)) || est["windows"].(float64) < windows || est["rewound"] == nil {
			t.Errorf("from %d: done are %v, of which the estimate was %v; want %v windows", from, sum, est, windows)
		}
		for id := range groups {
			if diff := cmp.Diff(want[id], s.knownTo(id)); diff != "" {
				t.Errorf("from %d: %s knows something else (-before +after):\n%s", from, id, diff)
			}
			if s.pending(id) != "0" {
				t.Errorf("from %d: %s messages of %s are left", from, s.pending(id), id)
			}
		}
		after := s.ledger()
		for row := range maps.Keys(before) {
			if !after[row] {
				t.Errorf("from %d: gone or changed: %s", from, row)
			}
		}
		if len(after) <= len(before) {
			t.Errorf("from %d: nothing was added", from)
		}
	}
	s.run("audit").want(t, 0)
}

// TestReplayStops at --to: what came after is pending, and the next night does it
// in order. What a person did stands, and a parked group is left alone.
func TestReplayStops(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.nightsOf("g1", 2, 8)
	s.nightsOf("parked", 2, 8)
	s.runAt(later, "evolve", "--due").want(t, 0)
	memory := func(day int) string {
		return s.one(`select memory_id from memories where group_id = 'g1' and status = 'active' and statement like $1`, fmt.Sprintf("%%day %d %%", day))
	}
	s.run("memory", "delete", memory(3), "--reason", "nobody needs it").want(t, 0)
	s.run("memory", "strength", memory(2), "0.9").want(t, 0)
	before := s.knownTo("parked")
	s.park("parked", 5, parkedAt)
	args := []string{"backfill", "--replay", "--from", night(4), "--to", night(6)}
	s.runAt(later, append(args, "--dry-run")...).want(t, 0).shows(t, "what 5 runs did is undone", "1 group parked", "3 windows of 1 group")
	s.runAt(later, append(args, "--yes")...).want(t, 0).silent(t).shows(t, "parked  skipped: parked: failed 5 times", "3 windows finished")
	if got := s.consumed("g1"); got != "2025-03-02-1 2025-03-03-1 2025-03-04-1 2025-03-05-1 2025-03-06-1" {
		t.Errorf("consumed are %s", got)
	}
	if diff := cmp.Diff(before, s.knownTo("parked")); diff != "" {
		t.Errorf("the parked group was touched:\n%s", diff)
	}
	asked := len(s.questions())
	s.runAt(later, "evolve", "--due").want(t, 0).shows(t, "2 windows finished")
	var until []string
	for _, q := range s.questions()[asked:] {
		until = append(until, readQuestion(t, q).WindowUntil[:10])
	}
	if diff := cmp.Diff([]string{night(8), night(9)}, until); diff != "" {
		t.Errorf("the nights after --to (-want +got):\n%s", diff)
	}
	want := []string{"the word of day 2 is xx|0.9"}
	for day := 4; day <= 8; day++ {
		want = append(want, fmt.Sprintf("the word of day %d is %s|0.3", day, strings.Repeat("x", day)))
	}
	if diff := cmp.Diff(want, s.rows(`select statement, strength from memories where group_id = 'g1' and status = 'active' order by 1`)); diff != "" {
		t.Errorf("what persons did does not stand (-want +got):\n%s", diff)
	}
}

// TestReplayKilled in the middle: a plain backfill of the same dates finishes it.
func TestReplayKilled(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	for day, texts := range chatHistory(rand.New(rand.NewPCG(9, 9))) {
		s.bring("g1", chat(night(day), texts...)...)
	}
	s.runAt(later, "evolve", "--due").want(t, 0)
	want := s.knownTo("g1")
	asked, answer, n := make(chan struct{}), scribe(t), 0
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if n++; n == 3 {
			close(asked)
			return llmtest.Hang()
		}
		return answer(r)
	})
	args := []string{"backfill", "--from", night(5), "--to", night(12)}
	p := s.launch(append(args, "--replay", "--yes")...)
	await(t, "the third night", asked)
	p.signal(syscall.SIGKILL)
	p.end()
	s.forgotten(p)
	s.model.Respond(answer)
	s.exec(`update leases set expires_at = 'epoch'`)
	s.runAt(later, args...).want(t, 0).shows(t, "6 windows finished")
	if diff := cmp.Diff(want, s.knownTo("g1")); diff != "" || s.pending("g1") != "0" {
		t.Errorf("%s are pending; it knows something else (-before +after):\n%s", s.pending("g1"), diff)
	}
}
