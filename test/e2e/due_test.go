package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// dueStage is a stage with a scribe for a model and vectors without a server.
func dueStage(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(scribe(t))
	return s
}

// instantOf reads an instant as people write it.
func instantOf(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// night is a date of March 2025.
func night(day int) string { return fmt.Sprintf("2025-03-%02d", day) }

// nightsOf brings one message for each of the dates of March 2025 that each
// teaches something.
func (s *stage) nightsOf(group string, first, last int) {
	s.t.Helper()
	for day := first; day <= last; day++ {
		s.bring(group, chat(night(day), fmt.Sprintf("note the word of day %d is %s", day, strings.Repeat("x", day)))...)
	}
}

// jsonLinesOf reads standard output as one JSON object a line.
func (o outcome) jsonLinesOf(t *testing.T) []object {
	t.Helper()
	var lines []object
	for line := range strings.Lines(o.stdout) {
		doc := object{}
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatalf("reverie %s: %v in line %q", strings.Join(o.args, " "), err, line)
		}
		lines = append(lines, doc)
	}
	return lines
}

// summaryOf is the summary that ends the lines.
func (o outcome) summaryOf(t *testing.T) object {
	t.Helper()
	lines := o.jsonLinesOf(t)
	if len(lines) == 0 {
		t.Fatalf("reverie %s: no lines\nstderr: %s", strings.Join(o.args, " "), o.stderr)
	}
	s, ok := lines[len(lines)-1]["summary"].(object)
	if !ok {
		t.Fatalf("reverie %s: no summary in %v", strings.Join(o.args, " "), lines[len(lines)-1])
	}
	return s
}

// summary is one with only these counts.
func summary(counts object) object {
	s := object{"done": 0.0, "skipped": 0.0, "failed": 0.0, "deferred": 0.0, "windows": 0.0, "left": 0.0, "parked": 0.0}
	for k, v := range counts {
		s[k] = v
	}
	return s
}

// windowsOf are a group's runs by window and attempt, in UTC.
func (s *stage) windowsOf(group string) []string {
	s.t.Helper()
	return s.rows(`select to_char(window_since at time zone 'UTC', 'MM-DD HH24:MI') || ' ' || to_char(window_until at time zone 'UTC', 'MM-DD HH24:MI')
		|| ' #' || attempt || ' ' || status from runs where group_id = $1 order by window_since, attempt`, group)
}

// TestTenNights: ten nights were missed. One call makes ten runs, in order, each
// with its own window; the next does nothing; a message that is late for one of
// them makes that one due once more, and the date that is open waits.
func TestTenNights(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.nightsOf("g1", 3, 13)
	midnight := instantOf(t, "2025-03-13T00:00:00+08:00")
	o := s.runAt(midnight.Add(-time.Microsecond), "evolve", "--due", "--dry-run").want(t, 0)
	if n := len(s.questions()); n != 9 || strings.Count(o.stdout, "dry run") != 9 || !strings.Contains(o.stdout, "2025-03-11  g1") {
		t.Errorf("a dry run just before midnight asks for %d nights, want nine:\n%s", n, o.stdout)
	}
	lines := s.runAt(midnight, "evolve", "--due", "--json").want(t, 0).silent(t).jsonLinesOf(t)
	var want, dates, asked []string
	for day := 3; day <= 12; day++ {
		want = append(want, fmt.Sprintf("03-%02d 16:00 03-%02d 16:00 #1 succeeded", day-1, day))
		dates = append(dates, night(day))
	}
	if diff := cmp.Diff(want, s.windowsOf("g1")); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	for _, q := range s.questions()[9:] {
		asked = append(asked, readQuestion(t, q).WindowUntil[:10]) // midnight of the next date
	}
	if diff := cmp.Diff(append(dates[1:], "2025-03-13"), asked); diff != "" {
		t.Errorf("the model was asked in another order (-want +got):\n%s", diff)
	}
	var told []string
	for _, l := range lines[:len(lines)-1] {
		if l["success"] != true || l["status"] != "succeeded" || l["group_id"] != "g1" {
			t.Errorf("a line says %v", l)
		}
		told = append(told, l["window"].(object)["date"].(string))
	}
	if diff := cmp.Diff(dates, told); diff != "" {
		t.Errorf("the lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(object{"success": true, "summary": summary(object{"done": 1.0, "windows": 10.0})}, lines[len(lines)-1]); diff != "" {
		t.Errorf("the last line (-want +got):\n%s", diff)
	}
	if got := s.consumed("g1"); strings.Contains(got, night(13)) || s.pending("g1") != "1" {
		t.Errorf("the open date was taken: %s", got)
	}

	before := s.dump("leases")
	s.runAt(midnight, "evolve", "--due").want(t, 0).silent(t).shows(t, "nothing is due")
	if diff := cmp.Diff(before, s.dump("leases")); diff != "" {
		t.Errorf("a second call wrote something:\n%s", diff)
	}

	s.bring("g1", chatLine{ID: "late", Author: "Bo", Text: "note Bo was late", SentAt: "2025-03-06T23:59:59+08:00"})
	s.runAt(midnight.Add(time.Hour), "evolve", "--due").want(t, 0).silent(t).shows(t, "2025-03-06  g1", "1 group done", "1 window finished")
	want = slices.Insert(want, 4, "03-05 16:00 03-06 16:00 #2 succeeded")
	if diff := cmp.Diff(want, s.windowsOf("g1")); diff != "" {
		t.Errorf("runs after a late message (-want +got):\n%s", diff)
	}
	s.runAt(midnight.AddDate(0, 0, 1), "evolve", "--due").want(t, 0).shows(t, "2025-03-13  g1")
	if got := s.pending("g1"); got != "0" {
		t.Errorf("%s messages are left", got)
	}
}

// TestWindowsOfZones: the instants that divide the nights were worked out by hand;
// the first and the last microsecond of each has a message.
func TestWindowsOfZones(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	for _, c := range []struct {
		group, zone, boundary string
		cuts                  []string // one more than windows
	}{
		{"shanghai", "Asia/Shanghai", "00:00", []string{"2025-03-07T16:00:00Z", "2025-03-08T16:00:00Z", "2025-03-09T16:00:00Z"}},
		{"shanghai-4", "Asia/Shanghai", "04:00", []string{"2025-03-07T20:00:00Z", "2025-03-08T20:00:00Z", "2025-03-09T20:00:00Z"}},
		{"new-york-spring", "America/New_York", "00:00", []string{"2025-03-08T05:00:00Z", "2025-03-09T05:00:00Z", "2025-03-10T04:00:00Z", "2025-03-11T04:00:00Z"}},
		{"new-york-autumn", "America/New_York", "00:00", []string{"2025-11-01T04:00:00Z", "2025-11-02T04:00:00Z", "2025-11-03T05:00:00Z", "2025-11-04T05:00:00Z"}},
		{"new-york-4", "America/New_York", "04:00", []string{"2025-03-08T09:00:00Z", "2025-03-09T08:00:00Z", "2025-03-10T08:00:00Z"}},
		{"lord-howe", "Australia/Lord_Howe", "00:00", []string{"2025-04-04T13:00:00Z", "2025-04-05T13:00:00Z", "2025-04-06T13:30:00Z", "2025-04-07T13:30:00Z"}},
	} {
		s.run("groups", "add", c.group, "--time-zone", c.zone, "--day-boundary", c.boundary).want(t, 0)
		var lines []chatLine
		var want []string
		for i := range len(c.cuts) - 1 {
			first, last := instantOf(t, c.cuts[i]), instantOf(t, c.cuts[i+1]).Add(-time.Microsecond)
			lines = append(lines, chatLine{ID: fmt.Sprint(i, "-first"), Author: "Lin", Text: "hello", SentAt: first.Format(time.RFC3339Nano)},
				chatLine{ID: fmt.Sprint(i, "-last"), Author: "Mia", Text: "good night", SentAt: last.Format(time.RFC3339Nano)})
			want = append(want, fmt.Sprintf("%s|%s|1|%d-first %d-last", c.cuts[i], c.cuts[i+1], i, i))
		}
		s.feed(jsonLines(t, lines), "import", "-", "--group", c.group).want(t, 0)
		s.runAt(instantOf(t, c.cuts[len(c.cuts)-1]), "evolve", "--due").want(t, 0).silent(t)
		got := s.rows(`select to_char(window_since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), to_char(window_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
			attempt, (select string_agg(message_id, ' ' order by sent_at) from messages m where m.group_id = r.group_id and m.run_id = r.run_id)
			from runs r where group_id = $1 order by window_since`, c.group)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.group, diff)
		}
	}
}

// TestZoneChanges between two nights: the open date ends as it would have, and the
// next reaches to the new zone's midnight.
func TestZoneChanges(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.nightsOf("g1", 3, 7)
	s.runAt(instantOf(t, "2025-03-04T12:30:00Z"), "evolve", "--due").want(t, 0)
	s.runAt(instantOf(t, "2025-03-04T12:30:00Z"), "groups", "set", "g1", "--time-zone", "America/New_York").want(t, 0)
	s.runAt(instantOf(t, "2025-03-06T04:59:59Z"), "evolve", "--due").want(t, 0)
	want := []string{"03-02 16:00 03-03 16:00 #1 succeeded", "03-03 16:00 03-04 16:00 #1 succeeded"}
	if diff := cmp.Diff(want, s.windowsOf("g1")); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	s.runAt(instantOf(t, "2025-03-08T05:00:00Z"), "evolve", "--due").want(t, 0)
	want = append(want, "03-04 16:00 03-06 05:00 #1 succeeded", "03-06 05:00 03-07 05:00 #1 succeeded", "03-07 05:00 03-08 05:00 #1 succeeded")
	if diff := cmp.Diff(want, s.windowsOf("g1")); diff != "" || s.pending("g1") != "0" {
		t.Errorf("runs after the change (-want +got):\n%s", diff)
	}
}

// TestMissedNightsCap: what is beyond the cap is named, and done by the runs that
// follow.
func TestMissedNightsCap(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_JOBS_MISSED_NIGHTS=3")
	s.nightsOf("g1", 3, 9)
	now := instantOf(t, "2025-03-20T00:00:00Z")
	o := s.runAt(now, "evolve", "--due", "--json").want(t, 0, `"g1" has 4 more nights to make up`, "missed_nights", "reverie backfill")
	if diff := cmp.Diff(summary(object{"done": 1.0, "windows": 3.0, "left": 4.0}), o.summaryOf(t)); diff != "" {
		t.Errorf("the summary (-want +got):\n%s", diff)
	}
	if got := s.consumed("g1"); got != "2025-03-03-1 2025-03-04-1 2025-03-05-1" {
		t.Errorf("consumed are %s, want the three oldest", got)
	}
	s.runAt(now, "evolve", "--due").want(t, 0, "1 more night to make up").shows(t, "3 windows finished, 1 left")
	s.runAt(now, "evolve", "--due").want(t, 0).silent(t)
	if got := s.pending("g1"); got != "0" {
		t.Errorf("%s messages are left", got)
	}
}

// TestShardsTogether: the shards of a count do every group once, beside each
// other, what is due and everything alike.
func TestShardsTogether(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	const groups = 12
	for i := range groups {
		s.bring(fmt.Sprintf("g%02d", i), append(chat(night(3), "note tea is drunk"), chat(night(5), "hello")...)...)
	}
	now := instantOf(t, "2025-03-05T13:00:00Z") // the fifth is open
	for _, c := range []struct {
		flag string
		runs int
	}{{"--due", groups}, {"--all", 2 * groups}} {
		var together sync.WaitGroup
		done := make([]float64, 3)
		for i := range done {
			together.Go(func() {
				o := s.runAt(now, "evolve", c.flag, "--shard", fmt.Sprintf("%d/3", i), "--json")
				if o.code != 0 {
					t.Errorf("%s: exit code %d: %s", c.flag, o.code, o.stderr)
					return
				}
				done[i], _ = o.summaryOf(t)["done"].(float64)
			})
		}
		together.Wait()
		if done[0]+done[1]+done[2] != groups || slices.Min(done) == 0 {
			t.Errorf("%s: the shards did %v groups", c.flag, done)
		}
		if n := len(s.questions()); n != c.runs {
			t.Errorf("%s: %d questions, want %d", c.flag, n, c.runs)
		}
	}
	if got := s.rows(`select group_id from runs group by group_id having count(*) <> 2 or count(*) filter (where attempt > 1) > 0`); len(got) > 0 {
		t.Errorf("not two runs, each the first of its window: %v", got)
	}
	if got := s.one(`select count(*) from messages where run_id is null`); got != "0" {
		t.Errorf("%s messages are left", got)
	}
}

// TestHeldNights: a night that waits for a person does not keep the later ones, and
// a paused group is left alone.
func TestHeldNights(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.bring("g1", chat(night(3), "note Lin drinks tea")...)
	s.bring("g1", chat(night(4), "drop Lin drinks tea")...)
	s.bring("g1", chat(night(5), "note Mia hosts the game nights")...)
	s.bring("paused", chat(night(3), "note nobody sees this")...)
	s.run("groups", "pause", "paused").want(t, 0)
	o := s.runAt(instantOf(t, "2025-03-09T00:00:00Z"), "evolve", "--due", "--json").want(t, 0, "warning: lines of run", `of group "g1" are pending review`)
	var statuses []any
	for _, l := range o.jsonLinesOf(t) {
		statuses = append(statuses, l["status"])
	}
	if diff := cmp.Diff([]any{"succeeded", "held", "succeeded", nil}, statuses); diff != "" {
		t.Errorf("the lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(summary(object{"done": 1.0, "windows": 3.0}), o.summaryOf(t)); diff != "" {
		t.Errorf("the summary (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Lin drinks tea", "Mia hosts the game nights"}, s.active("g1")); diff != "" {
		t.Error(diff)
	}
	if got := s.pending("paused"); got != "1" {
		t.Errorf("the paused group was worked on")
	}
	s.runAt(instantOf(t, "2025-03-09T00:00:00Z"), "evolve", "--all").want(t, 0).shows(t, "nothing is pending")
	s.run("evolve", "--group", "paused").want(t, 0) // a person asks for it by name
}

// TestDueFlags: flags that do not go together, and shards that are none.
func TestDueFlags(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		args string
		says string
	}{
		{"evolve --due --all", "--due and --all do not go together"},
		{"evolve --due --group g1", "--due and --group do not go together"},
		{"evolve --due --since 2025-03-03", "--due and --since do not go together"},
		{"evolve --group g1 --shard 0/2", "--group and --shard do not go together"},
		{"evolve --due --shard 2/2", "0/2 to 1/2"},
		{"evolve --due --shard half", "0/8"},
		{"evolve --due --shard 0/0", "count"},
		{"evolve --all --since yesterday", "neither a date"},
	} {
		s.run(strings.Fields(c.args)...).want(t, 2, c.says)
	}
}

// A signal that comes during the last answer leaves nothing undone: neither of evolve, nor of
// the impressions that follow it.
func TestStoppedDuringTheLastAnswer(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.bring("g1", chat(night(3), "note Lin drinks tea")...)
	asked, gate := make(chan string, 10), make(chan struct{})
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		asked <- r.User
		return llmtest.Text(transcribe(t, r)).After(gate)
	})
	p := s.fork(newYear).launch("evolve", "--due")
	await(t, "the question", asked)
	p.signal(sigterm)
	p.says("stopping", 1)
	close(gate)
	o := p.end()
	if o.code != 0 || strings.Contains(o.stderr, "pending") {
		t.Errorf("all is done, and it ends with %d, saying\n%s%s", o.code, o.stdout, o.stderr)
	}
}
