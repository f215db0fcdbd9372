package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// crowd is many groups in several zones, each with a few nights that are over.
type crowd struct {
	groups []string
	dates  []string
}

func crowdOf(groups, nights int) crowd {
	var c crowd
	for i := range groups {
		c.groups = append(c.groups, fmt.Sprintf("g%02d", i+1))
	}
	for i := range nights {
		c.dates = append(c.dates, fmt.Sprintf("2025-03-%02d", 3+i))
	}
	return c
}

// windows is how many runs the crowd makes for.
func (c crowd) windows() int { return len(c.groups) * len(c.dates) }

var crowdZones = []string{"Asia/Shanghai", "America/New_York", "Europe/Berlin", "Pacific/Auckland"}

// settle gives each group of a crowd what night, counted from 0, says; the first
// word of what follows the verb should be the group, so that a model server knows
// who asks.
func (s *stage) settle(c crowd, night func(group string, n int) []string) {
	s.t.Helper()
	type row struct {
		Group  string    `json:"g"`
		Zone   string    `json:"z"`
		ID     string    `json:"id"`
		Author string    `json:"author"`
		Text   string    `json:"text"`
		SentAt time.Time `json:"sent_at"`
	}
	var rows []row
	for i, g := range c.groups {
		zone := crowdZones[i%len(crowdZones)]
		loc, err := time.LoadLocation(zone)
		if err != nil {
			s.t.Fatal(err)
		}
		for n, date := range c.dates {
			begin, err := time.ParseInLocation(time.DateOnly, date, loc)
			if err != nil {
				s.t.Fatal(err)
			}
			for k, text := range night(g, n) {
				rows = append(rows, row{g, zone, fmt.Sprintf("%s-%d", date, k+1), []string{"Lin", "Mia"}[k%2], text,
					begin.Add(20*time.Hour + time.Duration(k)*time.Minute)})
			}
		}
	}
	doc, err := json.Marshal(rows)
	if err != nil {
		s.t.Fatal(err)
	}
	s.exec(`insert into groups (group_id, time_zone) select distinct r.g, r.z from jsonb_to_recordset($1::jsonb) as r (g text, z text)`, string(doc))
	s.exec(`insert into messages (group_id, message_id, author_id, author, role, text, sent_at)
		select r.g, r.id, lower(r.author), r.author, 'user', r.text, r.sent_at
		from jsonb_to_recordset($1::jsonb) as r (g text, id text, author text, text text, sent_at timestamptz) order by r.sent_at, r.g`, string(doc))
}

// oneFact is a night that teaches one thing.
func oneFact(group string, n int) []string {
	return []string{fmt.Sprintf("note %s did thing %d", group, n+1), "hello"}
}

// life is three nights in which what was learnt is supported, changed and
// dropped; with two messages a chunk it takes chunksOfLife questions.
func life(group string, n int) []string {
	return [][]string{
		{"note " + group + " drinks green tea", "note " + group + " meets on Mondays", "note " + group + " has a cat"},
		{"again " + group + " drinks green tea", "change " + group + " meets on Mondays => " + group + " meets on Tuesdays", "note " + group + " plays chess"},
		{"change " + group + " meets on Tuesdays => " + group + " meets on Fridays", "drop " + group + " has a cat"},
	}[n]
}

const chunksOfLife = 5

// asker is the group whose messages a question of a crowd shows.
func asker(t testing.TB, r llmtest.Request) string {
	for _, m := range readQuestion(t, r).Messages {
		for _, word := range strings.Fields(m.Text) {
			if len(word) == 3 && word[0] == 'g' {
				return word
			}
		}
	}
	t.Errorf("nobody asks: %s", r.User)
	return ""
}

// states is what all groups have come to.
func (s *stage) states(c crowd) []string {
	s.t.Helper()
	var out []string
	for _, g := range c.groups {
		for _, row := range s.state(g) {
			if !strings.HasPrefix(row, "lease ") { // one that ran out may bear the name of who died with all done
				out = append(out, g+" "+row)
			}
		}
	}
	for _, row := range s.rows(`select group_id, job, failures, error from setbacks order by 1, 2`) {
		out = append(out, "setback "+row)
	}
	return out
}

// once fails the test unless each window of a crowd was worked on once, in order,
// and nothing is left or held.
func (s *stage) once(c crowd) {
	s.t.Helper()
	var want []string
	for _, g := range c.groups {
		for _, d := range c.dates {
			want = append(want, g+"|evolve|"+d+"|1 day|succeeded|1")
		}
	}
	got := s.rows(`select group_id, job, (window_since at time zone time_zone)::date::text,
			(window_until at time zone time_zone)::date - (window_since at time zone time_zone)::date || ' day', status, attempt
		from runs join groups using (group_id) order by group_id, window_since, started_at`)
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("the windows that were run (-want +got):\n%s", diff)
	}
	for what, query := range map[string]string{
		"messages are pending":                     `select count(*) from messages where run_id is null or outcome is null`,
		"messages were consumed in another window": `select count(*) from messages m join runs r using (group_id, run_id) where m.sent_at < r.window_since or m.sent_at >= r.window_until`,
		"runs began before the one before ended": `select count(*) from (select started_at, lag(finished_at) over (partition by group_id order by window_since) as before
			from runs) r where started_at < before`,
		"runs have no end":            `select count(*) from runs where finished_at is null`,
		"leases are not free":         `select count(*) from leases where expires_at > clock_timestamp()`,
		"groups have a setback":       `select count(*) from setbacks`,
		"messages are in two chunks":  `select count(*) from (select c.group_id, m from run_chunks c, unnest(c.message_ids) m group by 1, 2 having count(*) > 1) x`,
		"statements are active twice": `select count(*) from (select group_id, statement from memories where status = 'active' group by 1, 2 having count(*) > 1) x`,
	} {
		if n := s.one(query); n != "0" {
			s.t.Errorf("%s %s", n, what)
		}
	}
}

// until asks again and again whether something has come about.
func until(t testing.TB, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond) // leaves the processors to those who are waited for
	defer again.Stop()
	for !so() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s has not come about", what)
		}
	}
}

// says waits until a process has said something on standard error so many times.
func (p *process) says(what string, times int) {
	p.t.Helper()
	until(p.t, fmt.Sprintf("%q %d times in:\n%s", what, times, p.err.String()), func() bool {
		select {
		case <-p.done:
			if strings.Count(p.err.String(), what) < times {
				p.t.Fatalf("the process has ended without saying %q %d times:\n%s", what, times, p.err.String())
			}
		default:
		}
		return strings.Count(p.err.String(), what) >= times
	})
}

// stop ends a daemon as Kubernetes does, and wants it to go in peace.
func (p *process) stop() outcome {
	p.t.Helper()
	p.signal(sigterm)
	return p.end().want(p.t, 0, "stopped")
}

// fork is the stage with a longer environment, for a process of its own.
func (s *stage) fork(env ...string) *stage {
	own := *s
	own.env = append(slices.Clone(s.env), env...)
	return &own
}

// forgotten waits until the server has finished what a process that is gone had
// told it.
func (s *stage) forgotten(p *process) {
	s.t.Helper()
	until(s.t, "the end of the connections of a process", func() bool {
		return s.one(`select count(*) from pg_stat_activity where datname = current_database() and application_name = $1`, p.name) == "0"
	})
}
