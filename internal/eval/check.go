package eval

import (
	"cmp"
	"encoding/json"
	"errors"
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
	handlePattern = text.NewPattern(`^[mc][0-9]+$`) // what models call memories
)

// check refuses what no scenario may be, and works out what follows from it.
func (r *reader) check() {
	s := r.s
	r.faults.check(namePattern.MatchString(s.Name), s.Dir, 0, "",
		"the name %q: a scenario's folder is lower-case letters, digits and hyphens", s.Name)
	r.checkMessages()
	var err error
	if s.Nights, err = nights(s); err != nil && !r.unread[scenarioFile] && s.TimeZone != "" {
		r.faults.add(r.file(scenarioFile), r.at("", 0, "time_zone"), "time_zone", "%v", err)
	}
	r.checkMemories()
	if !r.unread[scenarioFile] {
		r.checkHead()
		r.checkLists()
		r.checkExpects()
		r.checkFading()
		r.checkForbids()
		r.checkExamples()
		r.checkQuestions()
	}
	r.checkAnswers()
}

// What a file could not be read for may stand in it all the same: whoever names it is not
// told that it is not there.

func (r *reader) hasMessage(id string) bool { return r.unread[messagesFile] || r.s.hasMessage(id) }

func (r *reader) hasNight(date string) bool {
	return r.unread[messagesFile] || len(r.s.Nights) == 0 || r.s.hasNight(date)
}

func (r *reader) hasMemory(id string) bool {
	_, ok := r.s.memory(id)
	r.misnamed = r.misnamed || !ok
	return ok || r.unread[memoriesFile]
}

// says is a fault of scenario.toml.
func (r *reader) says(table string, n int, key, format string, args ...any) {
	r.faults.add(r.file(scenarioFile), r.at(table, n, key), strings.TrimPrefix(table+"."+key, "."), format, args...)
}

// must tells a fault of scenario.toml unless something is so.
func (r *reader) must(ok bool, table string, n int, key, format string, args ...any) {
	if !ok {
		r.says(table, n, key, format, args...)
	}
}

func (r *reader) checkHead() {
	s := r.s
	for _, f := range []struct{ key, value string }{{"title", s.Title}, {"about", s.About}, {"language", s.Language}, {"time_zone", s.TimeZone}} {
		r.must(strings.TrimSpace(f.value) != "", "", 0, f.key, "is missing")
	}
	r.must(s.Language == "" || s.Language == prompts.English || s.Language == prompts.Chinese, "", 0, "language",
		"%q: it is zh or en", s.Language)
	r.must(len(s.Topics) > 0 && !slices.Contains(s.Topics, ""), "", 0, "topics", "name one or more")
	r.must(len(s.Expects)+len(s.Forbids)+len(s.Gone)+len(s.Stay) > 0, "", 0, "title",
		"nothing is expected, forbidden, to go or to stay: there is nothing to count")
}

func (r *reader) checkMessages() {
	s, seen := r.s, map[string]bool{}
	for i := range s.Messages {
		m, line, file := &s.Messages[i], r.lines[messagesFile][i], r.file(messagesFile)
		if err := m.Normalize(); err != nil {
			r.faults.add(file, line, "", "%v", err)
			r.unread[messagesFile] = true
			continue
		}
		r.faults.check(!seen[m.ID], file, line, "id", "%q is there twice", m.ID)
		r.faults.check(m.ReplyTo == "" || seen[m.ReplyTo] || r.unread[messagesFile], file, line, "reply_to",
			"no message before it is called %q", m.ReplyTo)
		r.faults.check(i == 0 || !m.SentAt.Before(s.Messages[i-1].SentAt), file, line, "sent_at",
			"is before that of the line before it")
		seen[m.ID] = true
	}
	r.faults.check(len(s.Messages) > 0 || r.unread[messagesFile], r.file(messagesFile), 0, "", "nobody says anything")
}

func (r *reader) checkMemories() {
	s, seen, said := r.s, map[string]bool{}, map[string]bool{}
	file, first := r.file(memoriesFile), ""
	if len(s.Nights) > 0 && !r.unread[messagesFile] {
		first = s.Nights[0].Date
	}
	for i, m := range s.Memories {
		line, hash := r.lines[memoriesFile][i], text.ContentHash(m.Statement)
		switch {
		case !namePattern.MatchString(m.ID) || handlePattern.MatchString(m.ID):
			r.faults.add(file, line, "id", "%q: it is lower-case letters, digits and hyphens, and nothing like m1", m.ID)
		case seen[m.ID]:
			r.faults.add(file, line, "id", "%q is there twice", m.ID)
		}
		err := safety.CheckStatement(m.Statement)
		r.faults.check(err == nil, file, line, "statement", "%v", err)
		r.faults.check(err != nil || !said[hash], file, line, "statement", "an earlier memory says this")
		r.faults.check(m.Strength >= 0 && m.Strength <= 1, file, line, "strength", "%v: it is 0 to 1", m.Strength)
		r.faults.check(len(m.Support) > 0, file, line, "support", "name a date on which it was borne out")
		for _, date := range m.Support {
			_, err := time.Parse(time.DateOnly, date)
			r.faults.check(err == nil && (first == "" || date < first), file, line, "support",
				"%q: it is a date, YYYY-MM-DD, before the first night, %s", date, cmp.Or(first, "whenever that is"))
		}
		slices.Sort(m.Support)
		r.faults.check(len(slices.Compact(slices.Clone(m.Support))) == len(m.Support), file, line, "support", "a date is there twice")
		seen[m.ID], said[hash] = true, true
	}
}

// checkFading refuses bystanders that anybody may forget: their point would be lost to a
// model that is right.
func (r *reader) checkFading() {
	loc, err := (reverie.Group{TimeZone: r.s.TimeZone}).Location()
	if err != nil || len(r.s.Nights) == 0 || r.misnamed {
		return // said before, or nobody knows which memories they are
	}
	end := r.s.Nights[len(r.s.Nights)-1].Until
	for _, m := range r.s.bystanders() {
		if !m.step(loc).LastSupportedAt.After(end.Add(-reverie.StaleAfter)) {
			i := slices.IndexFunc(r.s.Memories, func(x Memory) bool { return x.ID == m.ID })
			r.faults.add(r.file(memoriesFile), r.lines[memoriesFile][i], "support",
				"%q is stale by the end, and may be deleted: give it a later date, or name it in gone, stay or may_go", m.ID)
		}
	}
}

// checkLists looks at what is to go and to stay.
func (r *reader) checkLists() {
	where := map[string]string{}
	for _, l := range []struct {
		key string
		ids []string
	}{{"gone", r.s.Gone}, {"stay", r.s.Stay}, {"may_go", r.s.MayGo}} {
		for _, id := range l.ids {
			r.must(r.hasMemory(id), "", 0, l.key, "no memory is called %q", id)
			r.must(where[id] == "", "", 0, l.key, "%q is in %s already", id, where[id])
			where[id] = l.key
		}
	}
	r.checkEvidence("", 0, "extra_ok", r.s.ExtraOK)
}

func (r *reader) checkExpects() {
	seen := map[string]bool{}
	for i := range r.s.Expects {
		e := &r.s.Expects[i]
		r.checkID("expect", i, e.ID, seen)
		var err error
		e.pattern, err = newPattern(e.All, e.None)
		r.must(err == nil, "expect", i, "all", "%v", err)
		r.checkAction(i, e)
		r.checkEvidence("expect", i, "evidence", e.Evidence)
		r.must(e.After == "" || r.hasNight(e.After), "expect", i, "after", "%q is no date on which anybody says anything", e.After)
	}
}

func (r *reader) checkAction(i int, e *Expect) {
	known := []string{Kept, Updated, Created}
	for action := range strings.SplitSeq(e.Action, "|") {
		if e.Action != "" && !slices.Contains(known, action) {
			r.says("expect", i, "action", "%q: it is kept, updated or created, or several with bars between them", e.Action)
			return
		}
	}
	m, ok := r.s.memory(e.Of)
	needs := e.Action != "" && e.Action != Created
	switch {
	case e.Of == "" && needs:
		r.says("expect", i, "of", "is missing: which memory is %s?", e.Action)
	case e.Of == "":
	case !r.hasMemory(e.Of):
		r.says("expect", i, "of", "no memory is called %q", e.Of)
	case !needs:
		r.says("expect", i, "of", "goes with the actions kept and updated")
	case slices.Contains(r.s.Gone, e.Of):
		r.says("expect", i, "of", "%q is to go", e.Of)
	case ok && e.Action == Kept && !e.pattern.matches(m.Statement):
		r.says("expect", i, "all", "the memory that is to be kept (%q) does not match", m.Statement)
	}
}

func (r *reader) checkID(table string, i int, id string, seen map[string]bool) {
	switch {
	case !namePattern.MatchString(id):
		r.says(table, i, "id", "%q: it is lower-case letters, digits and hyphens", id)
	case seen[id]:
		r.says(table, i, "id", "%q is there twice", id)
	}
	seen[id] = true
}

func (r *reader) checkEvidence(table string, i int, key string, ids []string) {
	for _, id := range ids {
		r.must(r.hasMessage(id), table, i, key, "no message is called %q", id)
	}
}

// checkForbids refuses what forbids a memory that is to be kept, too.
func (r *reader) checkForbids() {
	seen := map[string]bool{}
	for i := range r.s.Forbids {
		f := &r.s.Forbids[i]
		r.checkID("forbid", i, f.ID, seen)
		var err error
		if f.pattern, err = newPattern(f.All, f.None); err != nil {
			r.says("forbid", i, "all", "%v", err)
			continue
		}
		f.When = cmp.Or(f.When, WhenEnd)
		r.must(f.When == WhenEnd || f.When == WhenEver, "forbid", i, "when", "%q: it is end or ever", f.When)
		for _, e := range r.s.Expects {
			m, ok := r.s.memory(e.Of)
			r.must(!ok || e.Action != Kept || !f.pattern.matches(m.Statement), "forbid", i, "all",
				"matches the memory %q, which is to be kept", m.ID)
		}
		for _, m := range r.s.Memories {
			r.must(f.When != WhenEver || !f.pattern.matches(m.Statement) || slices.Contains(r.s.Gone, m.ID), "forbid", i, "when",
				"the memory %q says it before the first night: use end", m.ID)
		}
	}
}

func (r *reader) checkQuestions() {
	for i, q := range r.s.Questions {
		r.must(strings.TrimSpace(q.Text) != "", "question", i, "text", "is missing")
		r.must(len(q.Evidence) > 0, "question", i, "evidence", "name the messages that answer it")
		r.checkEvidence("question", i, "evidence", q.Evidence)
		known := slices.ContainsFunc(r.s.Expects, func(e Expect) bool { return e.ID == q.Expect })
		r.must(q.Expect == "" || known, "question", i, "expect", "no expected fact is called %q", q.Expect)
	}
}

// checkAnswers refuses answers that could not be played.
func (r *reader) checkAnswers() {
	night := ""
	for _, a := range r.s.Answers {
		file := r.file(answersFile)
		switch {
		case !r.hasNight(a.Night):
			r.faults.add(file, a.line, "night", "%q is no date on which anybody says anything", a.Night)
		case a.Night < night:
			r.faults.add(file, a.line, "night", "%s comes after %s", a.Night, night)
		case a.Purpose != purposeEvolve && a.Purpose != purposeCompare:
			r.faults.add(file, a.line, "purpose", "%q: it is evolve or compare", a.Purpose)
		case (len(a.Lines) == 0) == (a.Text == "") && a.Finish == "":
			r.faults.add(file, a.line, "lines", "give lines, or the text of an answer")
		}
		night = a.Night
	}
}

// checkLine refuses a line that names what is not there, or quotes what nobody said.
func (r *reader) checkLine(a Answer, raw json.RawMessage) {
	file := r.file(answersFile)
	var l answerLine
	if err := json.Unmarshal(raw, &l); err != nil || l.Action == "" && a.Purpose == purposeEvolve {
		r.faults.add(file, a.line, "lines", "%s: it is an object with an action", text.Excerpt(string(raw), 60))
		return
	}
	if _, ok := r.s.memory(l.OldID); l.OldID != "" && !ok && !handlePattern.MatchString(l.OldID) && !r.said(a.Night, l.OldID) {
		r.faults.add(file, a.line, "lines.old_id", "%q is no memory, and no statement of an earlier night", l.OldID)
	}
	for _, e := range l.Evidence {
		var id string
		if json.Unmarshal(e.Message, &id) != nil {
			continue // a number, as a model wrote it
		}
		i := slices.IndexFunc(r.s.Messages, func(m reverie.Message) bool { return m.ID == id })
		r.faults.check(i >= 0, file, a.line, "lines.evidence", "no message is called %q", id)
		r.faults.check(i < 0 || e.Quote == "" || text.VerifyQuote(e.Quote, r.s.Messages[i].Text), file, a.line, "lines.evidence",
			"%q does not stand in message %s", e.Quote, id)
	}
}

// said tells whether an answer of a night before states this.
func (r *reader) said(night, statement string) bool {
	return slices.ContainsFunc(r.s.Answers, func(a Answer) bool {
		return a.Night < night && slices.Contains(a.statements(), statement)
	})
}

// statements are what the lines of an answer would have remembered.
func (a Answer) statements() (list []string) {
	for _, raw := range a.Lines {
		var l answerLine
		if json.Unmarshal(raw, &l) == nil && l.Statement != "" {
			list = append(list, l.Statement)
		}
	}
	return list
}

// CheckAnswers holds recorded answers against the scenario: names that are none, quotes
// that nobody said, expected facts that they never say and forbidden ones that they do.
// A model may make all of these mistakes; answers that are to show how it is done may not.
// Whether they get it right is shown by playing them. Of a scenario that Load refused,
// nothing is said.
func (s *Scenario) CheckAnswers() error {
	if s.faulty {
		return nil // Load has said so
	}
	r := &reader{s: s}
	var said []string
	for _, a := range s.Answers {
		said = append(said, a.statements()...)
		for _, l := range a.Lines {
			r.checkLine(a, l)
		}
	}
	for i, e := range s.Expects {
		all := said
		for _, m := range s.Memories {
			if !slices.Contains(s.Gone, m.ID) {
				all = append(all, m.Statement)
			}
		}
		r.must(len(s.Answers) == 0 || slices.ContainsFunc(all, e.pattern.matches), "expect", i, "all",
			"neither a memory nor a recorded answer says it (%s)", e.ID)
	}
	for i, f := range s.Forbids {
		for _, statement := range said {
			wanted := slices.ContainsFunc(s.Expects, func(e Expect) bool { return e.After == "" && e.pattern.matches(statement) })
			r.must(!wanted && f.When != WhenEver || !f.pattern.matches(statement), "forbid", i, "all",
				"a recorded answer says it (%s): %q", f.ID, statement)
		}
	}
	for _, w := range s.Nights {
		answers := func(a Answer) bool { return a.Night == w.Date && a.Purpose == purposeEvolve }
		r.faults.check(len(s.Answers) == 0 || slices.ContainsFunc(s.Answers, answers), r.file(answersFile), 0, "night",
			"there is no answer for %s", w.Date)
	}
	return errors.Join(r.faults...)
}

// checkExamples tries the terms of facts on the statements that are given with them: what
// matches and what passes. A right wording of an expected fact is no forbidden one.
func (r *reader) checkExamples() {
	for i, e := range r.s.Expects {
		r.tryTerms("expect", i, e.pattern, e.Matches, e.Passes)
		for _, f := range r.s.Forbids {
			for _, says := range e.Matches {
				r.must(e.After != "" && f.When != WhenEver || !f.pattern.matches(says), "expect", i, "matches",
					"%q is forbidden as %s", says, f.ID)
			}
		}
	}
	for i, f := range r.s.Forbids {
		r.tryTerms("forbid", i, f.pattern, f.Matches, f.Passes)
	}
}

func (r *reader) tryTerms(table string, i int, p pattern, matches, passes []string) {
	if len(p.all) == 0 {
		return // its terms are refused
	}
	for _, says := range matches {
		r.must(p.matches(says), table, i, "matches", "%q does not match", says)
	}
	for _, says := range passes {
		r.must(!p.matches(says), table, i, "passes", "%q matches", says)
	}
}
