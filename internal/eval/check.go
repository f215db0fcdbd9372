package eval

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
	"reverie/prompts"
)

var (
	namePattern   = text.NewPattern(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	handlePattern = text.NewPattern(`^[mc][0-9]+$`) // handles that models use for memories
)

// checker checks a scenario's format, and collects its mistakes.
type checker struct {
	*Scenario
	faults []error
}

// check refuses an invalid scenario, and computes its derived fields.
func (s *Scenario) check() error {
	c := &checker{Scenario: s}
	if !namePattern.MatchString(s.Name) {
		c.says(".", "", "the name %q: a scenario's folder is lower-case letters, digits and hyphens", s.Name)
	}
	c.checkMessages()
	var err error
	if s.Nights, err = Nights(s); err != nil {
		c.says(scenarioFile, "time_zone", "%v", err)
	}
	c.checkMemories()
	c.checkHead()
	c.checkLists()
	c.checkExpects()
	c.checkForbids()
	c.checkExamples()
	c.checkQuestions()
	c.checkAnswers()
	if len(c.faults) == 0 {
		c.checkFading()
	}
	return errors.Join(c.faults...)
}

// says records a mistake in a file; what is "" for the file as a whole.
func (c *checker) says(file, what, format string, args ...any) {
	if what != "" {
		format = what + ": " + format
	}
	c.faults = append(c.faults, c.wrong(file, 0, format, args...))
}

// in returns a function that records a mistake in a file unless ok.
func (c *checker) in(file, what string) func(ok bool, format string, args ...any) {
	return func(ok bool, format string, args ...any) {
		if !ok {
			c.says(file, what, format, args...)
		}
	}
}

// must records a mistake in scenario.toml unless ok.
func (c *checker) must(ok bool, what, format string, args ...any) {
	c.in(scenarioFile, what)(ok, format, args...)
}

func (c *checker) checkHead() {
	for _, f := range []struct{ key, value string }{{"title", c.Title}, {"about", c.About}, {"language", c.Language}, {"time_zone", c.TimeZone}} {
		c.must(strings.TrimSpace(f.value) != "", f.key, "is missing")
	}
	c.must(c.Language == "" || c.Language == prompts.English || c.Language == prompts.Chinese, "language",
		"%q: it is zh or en", c.Language)
	c.must(len(c.Topics) > 0 && !slices.Contains(c.Topics, ""), "topics", "name one or more")
	c.must(len(c.Expects)+len(c.Forbids)+len(c.Gone)+len(c.Stay) > 0, "title",
		"nothing is expected, forbidden, to go or to stay: there is nothing to count")
}

func (c *checker) checkMessages() {
	seen := map[string]bool{}
	for i := range c.Messages {
		m := &c.Messages[i]
		must := c.in(messagesFile, cmp.Or(m.ID, fmt.Sprintf("message %d", i+1)))
		m.GroupID = c.Name
		err := m.Normalize()
		must(err == nil, "%v", err)
		must(!seen[m.ID], "the id is there twice")
		must(m.ReplyTo == "" || seen[m.ReplyTo], "reply_to: no message before it is called %q", m.ReplyTo)
		must(i == 0 || !m.SentAt.Before(c.Messages[i-1].SentAt), "sent_at: is before that of the line before it")
		seen[m.ID] = true
	}
	if len(c.Messages) == 0 {
		c.says(messagesFile, "", "nobody says anything")
	}
}

func (c *checker) checkMemories() {
	seen, said, first := map[string]bool{}, map[string]bool{}, "9999"
	if len(c.Nights) > 0 {
		first = c.Nights[0].Date
	}
	for i, m := range c.Memories {
		must := c.in(memoriesFile, cmp.Or(m.ID, fmt.Sprintf("memory %d", i+1)))
		must(namePattern.MatchString(m.ID) && !handlePattern.MatchString(m.ID),
			"id: it is lower-case letters, digits and hyphens, and nothing like m1")
		must(!seen[m.ID], "the id is there twice")
		err, hash := safety.CheckStatement(m.Statement), text.ContentHash(m.Statement)
		must(err == nil, "statement: %v", err)
		must(err != nil || !said[hash], "statement: an earlier memory says this")
		must(m.Strength >= 0 && m.Strength <= 1, "strength: %v: it is 0 to 1", m.Strength)
		must(m.Type == "" || reverie.TypeOf(string(m.Type)) == m.Type, "type: %q: it is one of %v", m.Type, reverie.Types())
		must(m.Due == "" || m.Type == reverie.TypePlan && reverie.DueOf(m.Due) != nil,
			"due: %q: it is a date, YYYY-MM-DD, of a plan", m.Due)
		must(len(m.Support) > 0, "support: name a date on which it was borne out")
		for _, date := range m.Support {
			_, err := time.Parse(time.DateOnly, date)
			must(err == nil && date < first, "support: %q: it is a date, YYYY-MM-DD, before the first night, %s", date, first)
		}
		slices.Sort(m.Support)
		must(len(slices.Compact(slices.Clone(m.Support))) == len(m.Support), "support: a date is there twice")
		seen[m.ID], said[hash] = true, true
	}
}

// defaultRule is the default of [forget].
var defaultRule = reverie.ForgetRule{Habit: 21, HabitGaps: 2, Plan: 21, Opinion: 120}

// checkFading refuses bystanders that may be forgotten: a correct model would lose their point.
func (c *checker) checkFading() {
	loc, _ := (reverie.Group{TimeZone: c.TimeZone}).Location() // the zone was checked with the nights
	nights := c.talked()
	for _, n := range c.Nights {
		nights = append(nights, n.Date)
	}
	for _, m := range c.bystanders() {
		step := m.step(loc)
		h := reverie.HeadState{SupportDates: m.Support,
			Memory: reverie.Memory{Type: step.Type, DueOn: step.DueOn, LastSupportedAt: step.LastSupportedAt}}
		if defaultRule.Silence(h, nights, loc, c.Nights[len(c.Nights)-1].Until).Stale() {
			c.says(memoriesFile, m.ID,
				"support: it is stale by the end, and may be deleted: give it a later date, or name it in gone, stay or may_go")
		}
	}
}

// checkLists checks the lists of memories to be deleted and to stay.
func (c *checker) checkLists() {
	where := map[string]string{}
	for _, l := range []struct {
		key string
		ids []string
	}{{"gone", c.Gone}, {"stay", c.Stay}, {"may_go", c.MayGo}} {
		for _, id := range l.ids {
			_, ok := c.memory(id)
			c.must(ok, l.key, "no memory is called %q", id)
			c.must(where[id] == "", l.key, "%q is in %s already", id, where[id])
			where[id] = l.key
		}
	}
	c.checkEvidence("extra_ok", c.ExtraOK)
}

func (c *checker) checkExpects() {
	seen := map[string]bool{}
	for i := range c.Expects {
		e := &c.Expects[i]
		c.checkID("expect", e.ID, seen)
		var err error
		e.pattern, err = newPattern(e.All, e.None)
		c.must(err == nil, "expect "+e.ID, "%v", err)
		c.checkAction(e)
		c.checkEvidence("expect "+e.ID, e.Evidence)
		c.must(e.After == "" || c.hasNight(e.After), "expect "+e.ID, "after: %q is no date on which anybody says anything", e.After)
	}
}

func (c *checker) checkAction(e *Expect) {
	what := "expect " + e.ID
	for action := range strings.SplitSeq(e.Action, "|") {
		if e.Action != "" && !slices.Contains([]string{Kept, Updated, Created}, action) {
			c.says(scenarioFile, what, "action: %q: it is kept, updated or created, or several with bars between them", e.Action)
			return
		}
	}
	m, ok := c.memory(e.Of)
	needs := e.Action != "" && e.Action != Created
	switch {
	case e.Of == "":
		c.must(!needs, what, "of: is missing: which memory is %s?", e.Action)
	case !ok:
		c.says(scenarioFile, what, "of: no memory is called %q", e.Of)
	case !needs:
		c.says(scenarioFile, what, "of: goes with the actions kept and updated")
	case slices.Contains(c.Gone, e.Of):
		c.says(scenarioFile, what, "of: %q is to go", e.Of)
	case e.Action == Kept && !e.pattern.matches(m.Statement):
		c.says(scenarioFile, what, "all: the memory that is to be kept (%q) does not match", m.Statement)
	}
}

func (c *checker) checkID(table, id string, seen map[string]bool) {
	c.must(namePattern.MatchString(id), table, "id: %q: it is lower-case letters, digits and hyphens", id)
	c.must(!seen[id], table, "id: %q is there twice", id)
	seen[id] = true
}

func (c *checker) checkEvidence(what string, ids []string) {
	for _, id := range ids {
		c.must(c.hasMessage(id), what, "no message is called %q", id)
	}
}

// checkForbids refuses a forbidden fact that matches a memory that is to be kept.
func (c *checker) checkForbids() {
	seen := map[string]bool{}
	for i := range c.Forbids {
		f := &c.Forbids[i]
		what := "forbid " + f.ID
		c.checkID("forbid", f.ID, seen)
		var err error
		f.pattern, err = newPattern(f.All, f.None)
		c.must(err == nil, what, "%v", err)
		f.When = cmp.Or(f.When, WhenEnd)
		c.must(f.When == WhenEnd || f.When == WhenEver, what, "when: %q: it is end or ever", f.When)
		for _, e := range c.Expects {
			m, ok := c.memory(e.Of)
			c.must(!ok || e.Action != Kept || !f.pattern.matches(m.Statement), what,
				"all: matches the memory %q, which is to be kept", m.ID)
		}
		for _, m := range c.Memories {
			c.must(f.When != WhenEver || !f.pattern.matches(m.Statement) || slices.Contains(c.Gone, m.ID), what,
				"when: the memory %q says it before the first night: use end", m.ID)
		}
	}
}

func (c *checker) checkQuestions() {
	for i, q := range c.Questions {
		what := fmt.Sprintf("question %d", i+1)
		c.must(strings.TrimSpace(q.Text) != "", what, "text: is missing")
		c.must(len(q.Evidence) > 0, what, "evidence: name the messages that answer it")
		c.checkEvidence(what, q.Evidence)
		known := slices.ContainsFunc(c.Expects, func(e Expect) bool { return e.ID == q.Expect })
		c.must(q.Expect == "" || known, what, "expect: no expected fact is called %q", q.Expect)
	}
}

// checkAnswers refuses recorded answers that could not be played.
func (c *checker) checkAnswers() {
	night := ""
	for i, a := range c.Answers {
		what := fmt.Sprintf("answer %d", i+1)
		switch {
		case !c.hasNight(a.Night):
			c.says(answersFile, what, "night: %q is no date on which anybody says anything", a.Night)
		case a.Night < night:
			c.says(answersFile, what, "night: %s comes after %s", a.Night, night)
		case a.Purpose != purposeEvolve && a.Purpose != purposeCompare:
			c.says(answersFile, what, "purpose: %q: it is evolve or compare", a.Purpose)
		case (len(a.Lines) == 0) == (a.Text == "") && a.Finish == "":
			c.says(answersFile, what, "give lines, or the text of an answer")
		}
		night = a.Night
	}
}

// checkExamples tests the terms of facts with the example statements: those that must match and those that must
// not. A correct wording of an expected fact must not be forbidden.
func (c *checker) checkExamples() {
	for _, e := range c.Expects {
		c.tryTerms("expect "+e.ID, e.pattern, e.Matches, e.Passes)
		for _, f := range c.Forbids {
			for _, says := range e.Matches {
				c.must(e.After != "" && f.When != WhenEver || !f.pattern.matches(says), "expect "+e.ID,
					"matches: %q is forbidden as %s", says, f.ID)
			}
		}
	}
	for _, f := range c.Forbids {
		c.tryTerms("forbid "+f.ID, f.pattern, f.Matches, f.Passes)
	}
}

func (c *checker) tryTerms(what string, p pattern, matches, passes []string) {
	for _, says := range matches {
		c.must(p.matches(says), what, "matches: %q does not match", says)
	}
	for _, says := range passes {
		c.must(!p.matches(says), what, "passes: %q matches", says)
	}
}
