package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// What a point is for.
const (
	MarkExpect     = "expect"
	MarkForbid     = "forbid"
	MarkGone       = "gone"
	MarkStay       = "stay"
	MarkBystanders = "bystanders"
	MarkExtra      = "extra" // a point that was taken away
)

// What became of an expected fact.
const (
	OutcomeRight       = "right"
	OutcomeMissing     = "missing"
	OutcomeTwice       = "twice"
	OutcomeWrongAction = "wrong action"
	OutcomeFound       = "found"   // of what is forbidden
	OutcomeDeleted     = "deleted" // of what was to stay
	OutcomeHeld        = "held"    // of what was to stay, and only stays because a person is asked
	OutcomeThere       = "there"   // of what was to go
	OutcomeUnexpected  = "unexpected"
)

// Mark is one point, earned or not, and why.
type Mark struct {
	Kind    string `json:"kind"`
	ID      string `json:"id,omitempty"`
	Right   bool   `json:"right"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitempty"`
}

// Result is how well a scenario went.
type Result struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Language string   `json:"language"`
	Topics   []string `json:"topics"`
	Marks    []Mark   `json:"marks"`
	Figures
	Error string `json:"error,omitempty"` // why it could not be played to the end
}

// judge is one scenario being scored.
type judge struct {
	s      *Scenario
	played Played
	names  map[string]string // lineage -> name in the scenario
	end    []reverie.Memory  // active
	found  map[string]bool   // lineages that cost the point of a forbidden fact
	passed int               // further memories that may be made
	res    *Result
}

// Score holds what came of a scenario against what was expected. It is pure.
func Score(s *Scenario, played Played) Result {
	res := Result{Name: s.Name, Title: s.Title, Language: s.Language, Topics: s.Topics, Marks: []Mark{}}
	j := &judge{s: s, played: played, names: map[string]string{}, found: map[string]bool{}, res: &res}
	for name, lineage := range played.Lineages {
		j.names[lineage] = name
	}
	if n := len(played.Nights); n > 0 {
		j.end = played.Nights[n-1].Active
	}
	for _, e := range s.Expects {
		j.expect(e)
	}
	for _, f := range s.Forbids {
		j.forbid(f)
	}
	j.fates()
	j.extras()
	j.actions()
	j.count()
	return res
}

func (j *judge) mark(kind, id, outcome string, right bool, detail string) {
	j.res.Marks = append(j.res.Marks, Mark{kind, id, right, outcome, detail})
	if j.res.Points++; right {
		j.res.Right++
	}
}

// expect looks for an expected fact.
func (j *judge) expect(e Expect) {
	active := j.end
	if e.After != "" {
		i := slices.IndexFunc(j.played.Nights, func(n Night) bool { return n.Date == e.After })
		if active = nil; i >= 0 {
			active = j.played.Nights[i].Active
		}
	}
	var found []reverie.Memory
	for _, m := range active {
		if e.pattern.matches(m.Statement) {
			found = append(found, m)
		}
	}
	outcome, detail := OutcomeRight, ""
	switch {
	case len(found) == 0:
		outcome = OutcomeMissing
		j.res.Facts.Missing++
	case len(found) > 1:
		outcome, detail = OutcomeTwice, quoted(found)
		j.res.Facts.Twice++
		j.res.Duplicates += len(found) - 1
	default:
		if action, right := j.actionOf(found[0], e); !right {
			outcome, detail = OutcomeWrongAction, fmt.Sprintf("%s instead of %s: %s", action, cmp.Or(strings.ReplaceAll(e.Action, "|", " or "), "either"), quoted(found))
			j.res.Facts.WrongAction++
		}
	}
	if j.res.Facts.Expected++; outcome == OutcomeRight {
		j.res.Facts.Right++
	}
	j.mark(MarkExpect, e.ID, outcome, outcome == OutcomeRight, detail)
	j.evidence(e, found)
}

// actionOf says how a memory came to be what it is, and whether that was expected. One
// that a run would have deleted is not what it is by that run's doing.
func (j *judge) actionOf(m reverie.Memory, e Expect) (action string, right bool) {
	name, was := j.names[m.LineageID]
	switch {
	case !was:
		action = Created
	case m.Statement == j.statement(name):
		action = Kept
	default:
		action = Updated
	}
	switch {
	case was && e.Of != "" && name != e.Of:
		return action + " (" + name + ")", false
	case was && e.After == "" && j.played.Asked[m.LineageID] == reverie.ActionDelete && !slices.Contains(j.s.MayGo, name):
		return action + " (to be deleted, and held)", false
	}
	return action, e.may(action)
}

func (j *judge) statement(name string) string {
	m, _ := j.s.memory(name)
	return m.Statement
}

// evidence counts what the runs cited for a fact against what they may and should cite.
func (j *judge) evidence(e Expect, found []reverie.Memory) {
	if len(e.Evidence) == 0 {
		return
	}
	right := map[string]bool{}
	for _, m := range found {
		for id := range j.played.Cited[m.LineageID] {
			if !j.saidBy(e.After, id) {
				continue
			}
			if j.res.Evidence.Cited++; slices.Contains(e.Evidence, id) {
				j.res.Evidence.CitedRight++
				right[id] = true
			}
		}
	}
	j.res.Evidence.Expected += len(e.Evidence)
	j.res.Evidence.Found += len(right)
}

// saidBy tells whether a message was said on a night or before it; "" is the last one.
func (j *judge) saidBy(night, id string) bool {
	w := slices.IndexFunc(j.s.Nights, func(w reverie.Window) bool { return w.Date == night })
	m := slices.IndexFunc(j.s.Messages, func(m reverie.Message) bool { return m.ID == id })
	return w < 0 || m < 0 || j.s.Messages[m].SentAt.Before(j.s.Nights[w].Until)
}

// forbid looks for what must not be there.
func (j *judge) forbid(f Forbid) {
	nights := j.played.Nights
	if f.When == WhenEnd && len(nights) > 0 {
		nights = nights[len(nights)-1:]
	}
	j.res.Forbidden.Forbidden++
	for _, n := range nights {
		for _, m := range n.Active {
			if f.pattern.matches(m.Statement) {
				j.res.Forbidden.Found++
				j.found[m.LineageID] = true
				j.mark(MarkForbid, f.ID, OutcomeFound, false, quoted([]reverie.Memory{m}))
				return
			}
		}
	}
	j.mark(MarkForbid, f.ID, OutcomeRight, true, "")
}

func quoted(list []reverie.Memory) string {
	var parts []string
	for _, m := range list {
		parts = append(parts, fmt.Sprintf("%q", m.Statement))
	}
	return strings.Join(parts, ", ")
}

// count adds what was counted while it was played.
func (j *judge) count() {
	p, r := j.played, j.res
	r.Refused, r.Held, r.Unusable = p.Refused, p.Held, p.Unusable
	for _, a := range p.Questions {
		r.Recall.Questions++
		for _, place := range []struct {
			at  int
			sum *int
		}{{a.Search, &r.Recall.Search}, {a.Context, &r.Recall.Context}, {a.BM25, &r.Recall.BM25}} {
			if place.at > 0 {
				*place.sum++
			}
		}
	}
	r.Nights = len(p.Nights)
	r.Spend, r.Embedding, r.Seconds = p.Spend, p.Embedding, p.Took.Seconds()
}

// Failed is the result of a scenario that could not be played to the end: none of its
// points is earned.
func Failed(s *Scenario, played Played, err error) Result {
	res := Result{Name: s.Name, Title: s.Title, Language: s.Language, Topics: s.Topics, Marks: []Mark{}, Error: err.Error()}
	res.Points, res.Seconds = s.Points(), played.Took.Seconds()
	res.Spend, res.Embedding = played.Spend, played.Embedding
	return res
}
