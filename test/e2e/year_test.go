package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"reverie/internal/llm/llmtest"
)

// lore is something that the group of a year has to say, and what a good model makes of it.
type lore struct {
	name, kind, due, statement string
	cue                        string                // what a message holds that says it
	known                      func(time.Month) bool // at the end of the month
}

var year = []lore{
	{"allergy", "fact", "", "Lin is allergic to peanuts", "allergic to peanuts", func(time.Month) bool { return true }},
	{"games", "habit", "", "The group plays board games at Mia's on the first Saturday of the month", "board games at Mia's", func(m time.Month) bool { return m > time.January }},
	{"choir", "habit", "", "Mia sings in the choir on Wednesdays", "choir", func(time.Month) bool { return true }},
	{"run", "habit", "", "Lin and Mia run round the lake on Tuesdays", "round the lake", func(m time.Month) bool { return m < time.May }},
	{"zine", "plan", "2025-05-20", "The group hands in its zine by May 20, 2025", "hand in the zine", func(m time.Month) bool { return m == time.March || m == time.April }},
	{"joke", "culture", "", "A pigeon is called the chairman", "the chairman", func(m time.Month) bool { return m >= time.February && m < time.June }},
}

// holiday tells whether nobody talks: five weeks from 2025-07-14 on.
func holiday(day time.Time) bool {
	date := day.Format(time.DateOnly)
	return date >= "2025-07-14" && date < "2025-08-18"
}

// saidOn are the messages of a date. The group talks daily in January, and then on three days of
// a week.
func saidOn(day time.Time) []string {
	talks := []time.Weekday{time.Tuesday, time.Wednesday, time.Saturday}
	quiet := !slices.Contains(talks, day.Weekday())
	if date := day.Format(time.DateOnly); holiday(day) || quiet && day.Month() > time.January && date != "2025-02-03" && date != "2025-03-10" {
		return nil
	}
	texts := []string{fmt.Sprintf("nothing much on day %d, and the weather is fine", day.YearDay())}
	date := day.Format(time.DateOnly)
	switch first := day.Day() <= 7; {
	case date == "2025-01-06":
		texts = append(texts, "remember that I am allergic to peanuts, even a trace")
	case date == "2025-02-03":
		texts = append(texts, "ha, that pigeon is the chairman now")
	case date == "2025-03-10":
		texts = append(texts, "it is settled, we hand in the zine by May 20")
	case day.Weekday() == time.Saturday && first && day.Month()%2 == 0:
		texts = append(texts, "today board games at Mia's, each month's first Saturday as ever")
	case day.Weekday() == time.Saturday && first:
		texts = append(texts, "board games at Mia's today, first Saturday of the month")
	case day.Weekday() == time.Wednesday:
		texts = append(texts, "off to choir, as on all Wednesdays")
	case day.Weekday() == time.Tuesday && date <= "2025-03-25":
		texts = append(texts, "Tuesday, so once round the lake with Mia")
	}
	return texts
}

// goodModel creates what it does not remember, cites what supports a memory, and says nothing
// else: it lets go of nothing by itself.
func goodModel(t testing.TB) func(llmtest.Request) llmtest.Answer {
	return func(r llmtest.Request) llmtest.Answer {
		q := readQuestion(t, r)
		if q.Fact != nil {
			return llmtest.Text(compareLore(q))
		}
		var lines []string
		for _, m := range q.Messages {
			for _, l := range year {
				if !strings.Contains(m.Text, l.cue) {
					continue
				}
				evidence := fmt.Sprintf(`"evidence":[{"message":%d,"quote":%q}]`, m.ID, m.Text)
				if id := q.remembers(l); id != "" {
					lines = append(lines, fmt.Sprintf(`{"action":"keep","old_id":%q,%s}`, id, evidence))
					continue
				}
				statement := l.statement
				if strings.HasPrefix(m.Text, "today") { // in other words
					statement = "On the first Saturday of each month the group plays board games at Mia's"
				}
				lines = append(lines, fmt.Sprintf(`{"action":"create","statement":%q,"type":%q,"due":%q,"change_reason":"said so",%s}`,
					statement, l.kind, l.due, evidence))
			}
		}
		if len(lines) == 0 {
			return llmtest.Text(`{"action":"none"}`)
		}
		return llmtest.Text(strings.Join(lines, "\n"))
	}
}

// loreOf finds what a statement is about.
func loreOf(statement string) (lore, bool) {
	i := slices.IndexFunc(year, func(l lore) bool { return l.statement == statement || strings.Contains(statement, l.cue) })
	if i < 0 {
		return lore{}, false
	}
	return year[i], true
}

func (q question) remembers(l lore) string {
	for _, m := range q.Memories {
		if of, ok := loreOf(m.Statement); ok && of.name == l.name {
			return m.ID
		}
	}
	return ""
}

// compareLore calls two statements on one subject duplicates.
func compareLore(q question) string {
	var lines []string
	fact, _ := loreOf(q.Fact.Statement)
	for _, c := range q.Candidates {
		relation := "unrelated"
		if of, ok := loreOf(c.Statement); ok && of.name == fact.name {
			relation = "duplicate"
		}
		lines = append(lines, fmt.Sprintf(`{"id":%q,"reason":"by their subject","relation":%q}`, c.ID, relation))
	}
	return strings.Join(lines, "\n")
}

// A year of a group, night by night and in one go: what is to be known at the end of each month
// is, and what is to be gone has gone, for what the group talked since and not for its holiday.
func TestYear(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(goodModel(t))
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	var whole []chatLine
	for month := time.January; month <= time.December; month++ {
		first := time.Date(2025, month, 1, 0, 0, 0, 0, zone)
		end := first.AddDate(0, 1, 0)
		var said []chatLine
		for day := first; day.Before(end); day = day.AddDate(0, 0, 1) {
			said = append(said, chat(day.Format(time.DateOnly), saidOn(day)...)...)
		}
		s.bring("nightly", said...)
		whole = append(whole, said...)
		for day := first; day.Before(end); day = day.AddDate(0, 0, 1) {
			now := day.AddDate(0, 0, 1).Add(4 * time.Hour)
			if len(saidOn(day)) > 0 {
				s.runAt(now, "evolve", "--due").want(t, 0).silent(t)
			}
			if day.Weekday() == time.Sunday || day.AddDate(0, 0, 1).Equal(end) {
				s.runAt(now, "maintain", "--group", "nightly").want(t, 0).silent(t)
			}
		}
		s.knows("nightly", month, end.Add(5*time.Hour))
		s.yearAnswers(month, end.Add(6*time.Hour))
		if month == time.April && s.one(`select count(*) from memories where group_id = 'nightly' and status = 'active'
				and statement ~ 'board games' and strength >= 0.5`) != "1" {
			t.Error("a habit of four months is not established")
		}
	}

	s.bring("whole", whole...)
	later := time.Date(2026, 1, 1, 4, 0, 0, 0, zone)
	s.runAt(later, "backfill", "--group", "whole", "--from", "2025-01-01", "--to", "2025-12-31", "--yes").want(t, 0)
	s.runAt(later, "maintain", "--group", "whole").want(t, 0).silent(t)
	s.knows("whole", time.December, later.Add(time.Hour))
	for month := time.January; month <= time.December; month++ {
		s.wantLore("whole", month, later, "--at", time.Date(2025, month+1, 1, 0, 0, 0, 0, zone).Format(time.DateOnly))
	}
	one := s.lineages("nightly")
	if diff := cmp.Diff(one, s.lineages("whole")); diff != "" || len(one) != len(year) {
		t.Errorf("night by night (-) and in one go (+), %d lineages:\n%s", len(one), diff)
	}
	archived := []string{"Lin and Mia run", "The group hands in", "A pigeon is called", "The group plays board"}
	slices.Sort(archived)
	if diff := cmp.Diff(archived, s.rows(`select left(old_statement, length(v)) from memory_change_log
			join unnest($1::text[]) v on old_statement like v || '%' where group_id = 'nightly' and action = 'archive' order by 1`, pq.StringArray(archived))); diff != "" ||
		s.one(`select count(*) from memory_change_log where group_id = 'nightly' and action = 'archive'`) != "4" {
		t.Errorf("archived, each once (-want +got):\n%s", diff)
	}
}

// lineages are what a group has said of each subject in all, and how sure it is of it.
func (s *stage) lineages(group string) []string {
	s.t.Helper()
	return s.rows(`select min(statement), count(distinct statement), round(max(strength)::numeric, 6),
			bool_or(status = 'active'), bool_or(status = 'archived')
		from memories where group_id = $1 group by lineage_id order by 1`, group)
}

// knows fails the test where a group does not know what it should at the end of a month, or
// where a bot that asks what Lin may eat is not told.
func (s *stage) knows(group string, month time.Month, now time.Time) {
	s.t.Helper()
	s.wantLore(group, month, now)
	told := s.runAt(now, "context", "--group", group, "--query", "what can Lin eat?").want(s.t, 0).silent(s.t)
	if !strings.Contains(told.stdout, "Lin is allergic to peanuts") {
		s.t.Errorf("%s, end of %s: a bot is not told of the allergy:\n%s", group, month, told.stdout)
	}
}

// wantLore fails the test where a group remembers something else at the end of a month, or one
// thing twice.
func (s *stage) wantLore(group string, month time.Month, now time.Time, args ...string) {
	s.t.Helper()
	page := s.runAt(now, append([]string{"memory", "list", "--group", group, "--kind", "group", "--json"}, args...)...).want(s.t, 0).document(s.t)
	known := map[string]int{}
	for _, m := range page["memories"].(list) {
		l, _ := loreOf(m.(object)["statement"].(string))
		known[l.name]++
	}
	for _, l := range year {
		if l.name == "games" && month == time.January { // said once, three weeks ago or more
			continue
		}
		if want := l.known(month); known[l.name] > 1 || known[l.name] == 1 != want {
			s.t.Errorf("%s, end of %s: %s is known %d times, and to be known: %t", group, month, l.name, known[l.name], want)
		}
	}
}

// answers has a bot use what it is told, once a month.
func (s *stage) yearAnswers(month time.Month, now time.Time) {
	s.t.Helper()
	session := fmt.Sprintf("bot-%d", month)
	s.runAt(now, "context", "--group", "nightly", "--session", session, "--query", "what can Lin eat?").want(s.t, 0)
	s.runAt(now, "feedback", "--group", "nightly", "--session", session, "--response", "No satay: Lin is allergic to peanuts.").want(s.t, 0).shows(s.t, "used")
}
