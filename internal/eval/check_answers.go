package eval

import (
	"encoding/json"
	"errors"
	"slices"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// answerPurposes are what answers can be recorded for.
var answerPurposes = []string{purposeEvolve, purposeCompare}

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
		case !slices.Contains(answerPurposes, a.Purpose):
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
		switch {
		case i < 0:
			r.faults.add(file, a.line, "lines.evidence", "no message is called %q", id)
		case e.Quote != "" && !text.VerifyQuote(e.Quote, r.s.Messages[i].Text):
			r.faults.add(file, a.line, "lines.evidence", "%q does not stand in message %s", e.Quote, id)
		}
	}
}

// said tells whether an answer of a night before states this.
func (r *reader) said(night, statement string) bool {
	return slices.ContainsFunc(r.s.Answers, func(a Answer) bool {
		return a.Night < night && slices.ContainsFunc(a.statements(), func(s string) bool { return s == statement })
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
		if len(s.Answers) > 0 && !slices.ContainsFunc(all, e.pattern.matches) {
			r.says("expect", i, "all", "neither a memory nor a recorded answer says it (%s)", e.ID)
		}
	}
	for i, f := range s.Forbids {
		for _, statement := range said {
			wanted := slices.ContainsFunc(s.Expects, func(e Expect) bool { return e.After == "" && e.pattern.matches(statement) })
			if (wanted || f.When == WhenEver) && f.pattern.matches(statement) {
				r.says("forbid", i, "all", "a recorded answer says it (%s): %q", f.ID, statement)
			}
		}
	}
	for _, w := range s.Nights {
		if len(s.Answers) > 0 && !slices.ContainsFunc(s.Answers, func(a Answer) bool { return a.Night == w.Date && a.Purpose == purposeEvolve }) {
			r.faults.add(r.file(answersFile), 0, "night", "there is no answer for %s", w.Date)
		}
	}
	return errors.Join(r.faults...)
}
