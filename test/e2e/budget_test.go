package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// budgetStage is a stage with groups g00, g01, ... that have a night to catch up
// with, and what evolves them one after the other.
func budgetStage(t *testing.T, groups int) *stage {
	t.Helper()
	s := dueStage(t)
	s.set("REVERIE_JOBS_CONCURRENCY=1")
	for i := range groups {
		s.bring(fmt.Sprintf("g%02d", i), chat(night(3), "note tea is drunk")...)
	}
	return s
}

// left are the groups with pending messages.
func (s *stage) left() int {
	s.t.Helper()
	return len(s.rows(`select distinct group_id from messages where run_id is null and outcome is null`))
}

// TestCallsPerRun: exactly as many calls are made as may be; what is left stays
// pending, and the next run goes on with it.
func TestCallsPerRun(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, 10)
	s.set("REVERIE_BUDGET_CALLS_PER_RUN=5", "REVERIE_JOBS_CONCURRENCY=4")
	o := s.run("evolve", "--due", "--json").want(t, 4, "the budget of 5 calls a run is spent", "calls_per_run", "stays pending")
	if n := len(s.questions()); n != 5 || s.left() != 5 {
		t.Errorf("%d calls, %d groups left, want five of each", n, s.left())
	}
	if got := o.summaryOf(t); got["done"] != 5.0 || got["failed"] != 0.0 || !strings.Contains(fmt.Sprint(got["stopped"]), "5 calls a run") {
		t.Errorf("the summary is %v", got)
	}
	s.run("evolve", "--due").want(t, 0)
	if n := len(s.questions()); n != 10 || s.left() != 0 {
		t.Errorf("%d calls, %d groups left after the second run", n, s.left())
	}
	if got := s.rows(`select group_id from setbacks`); len(got) > 0 {
		t.Errorf("a spent budget counts against %v", got)
	}
	if got := s.rows(`select group_id from runs where status not in ('succeeded', 'deferred')`); len(got) > 0 {
		t.Errorf("runs of %v ended otherwise", got)
	}
}

// TestCallsPerDay is shared by processes, of which the second finds it spent; a day
// later there is a new one.
func TestCallsPerDay(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, 5)
	s.set("REVERIE_BUDGET_CALLS_PER_DAY=3")
	s.launch("evolve", "--due").end().want(t, 4, "the budget of 3 calls a day is spent", "next day")
	s.launch("evolve", "--due").end().want(t, 4, "the budget of 3 calls a day is spent")
	if n := len(s.questions()); n != 3 || s.left() != 2 {
		t.Errorf("%d calls, %d groups left", n, s.left())
	}
	s.exec(`update llm_calls set created_at = created_at - interval '1 day'`)
	s.launch("evolve", "--due").end().want(t, 0)
	if s.left() != 0 {
		t.Errorf("%d groups are left", s.left())
	}
}

// TestTokensAndMoney: an answer takes 100 tokens in and 20 out, and costs 3 dollars.
// What has begun may end beyond the limit; nothing is begun behind it.
func TestTokensAndMoney(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit, says string
	}{
		{"REVERIE_BUDGET_TOKENS_PER_RUN=230", "the budget of 230 tokens a run is spent (240 so far)"},
		{"REVERIE_BUDGET_USD_PER_RUN=5", "the budget of 5 USD a run is spent (6 so far): raise [budget] usd_per_run"},
		{"REVERIE_BUDGET_TOKENS_PER_DAY=230", "the budget of 230 tokens a day is spent (240 so far)"},
		{"REVERIE_BUDGET_USD_PER_DAY=5", "the budget of 5 USD a day is spent (6 so far)"},
	} {
		t.Run(c.limit, func(t *testing.T) {
			t.Parallel()
			s := budgetStage(t, 4)
			s.set(c.limit, "REVERIE_LLM_MODEL=dear", "REVERIE_LLM_PRICES=dear=20000/50000")
			s.run("evolve", "--due").want(t, 4, c.says)
			if n := len(s.questions()); n != 2 || s.left() != 2 {
				t.Errorf("%d calls, %d groups left, want two of each", n, s.left())
			}
		})
	}
}

// TestBudgetOfOneGroup: a run that a person asks for is deferred too, and its group
// is not blamed.
func TestBudgetOfOneGroup(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_BUDGET_CALLS_PER_RUN=1", "REVERIE_EVOLVE_MAX_MESSAGES=1", "REVERIE_JOBS_PARK_AFTER=1")
	s.bring("g1", chat(night(3), "note Lin drinks tea", "note Mia hosts the game nights")...)
	s.run("evolve", "--group", "g1").want(t, 4, "the budget of 1 calls a run is spent")
	if diff := cmp.Diff([]string{"deferred"}, s.rows(`select status from runs`)); diff != "" {
		t.Error(diff)
	}
	if got := s.one(`select count(*) from setbacks`) + s.pending("g1"); got != "01" {
		t.Errorf("setbacks and pending messages are %s, want 0 and 1", got)
	}
	s.run("evolve", "--group", "g1").want(t, 0)
	if diff := cmp.Diff([]string{"Lin drinks tea", "Mia hosts the game nights"}, s.active("g1")); diff != "" {
		t.Error(diff)
	}
}

// TestFairBudget: a budget that is spent every night does not hit the same groups;
// none gets less than half of its share.
func TestFairBudget(t *testing.T) {
	t.Parallel()
	const groups, nights, calls = 5, 10, 3
	s := dueStage(t)
	s.set(fmt.Sprintf("REVERIE_BUDGET_CALLS_PER_RUN=%d", calls), "REVERIE_JOBS_CONCURRENCY=1")
	var lines []chatLine
	for day := 3; day < 3+nights; day++ {
		lines = append(lines, chat(night(day), "hello")...)
	}
	for i := range groups {
		s.bring(fmt.Sprintf("g%02d", i), lines...)
	}
	for day := 3; day < 3+nights; day++ {
		s.runAt(instantOf(t, night(day)+"T17:00:00Z"), "evolve", "--due").want(t, 4)
	}
	got := s.rows(`select group_id, count(*) filter (where status = 'succeeded') from runs group by 1 order by 1`)
	least := nights
	for _, row := range got {
		var group string
		var turns int
		if _, err := fmt.Sscanf(strings.ReplaceAll(row, "|", " "), "%s %d", &group, &turns); err != nil {
			t.Fatal(err)
		}
		least = min(least, turns)
	}
	if len(got) != groups || least < nights*calls/groups/2 || len(s.questions()) != nights*calls {
		t.Errorf("%d calls in %d nights, of which the groups had %v", len(s.questions()), nights, got)
	}
}
