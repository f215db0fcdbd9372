package eval

import (
	"cmp"
	"fmt"
	"reflect"
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
	MarkExtra      = "extra" // a deducted point
)

// The outcomes of an expected fact.
const (
	OutcomeRight       = "right"
	OutcomeMissing     = "missing"
	OutcomeTwice       = "twice"
	OutcomeWrongAction = "wrong action"
	OutcomeFound       = "found"   // of a forbidden fact
	OutcomeDeleted     = "deleted" // of a memory that was to stay
	OutcomeHeld        = "held"    // of a memory that was to stay, and stays only because a person is asked
	OutcomeThere       = "there"   // of a memory that was to be deleted
	OutcomeUnexpected  = "unexpected"
)

// Mark is one point, earned or not, with the reason.
type Mark struct {
	Kind    string `json:"kind"`
	ID      string `json:"id,omitempty"`
	Right   bool   `json:"right"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitempty"`
}

// Result is the score of a scenario.
type Result struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Language string   `json:"language"`
	Topics   []string `json:"topics"`
	Marks    []Mark   `json:"marks"`
	Figures
	Refusals []reverie.Refusal `json:"refusals,omitempty"`
	Error    string            `json:"error,omitempty"` // why it was not played to the end
}

// judge scores one scenario.
type judge struct {
	s      *Scenario
	played Played
	names  map[string]string // lineage -> name in the scenario
	end    []reverie.Memory  // active
	found  map[string]bool   // lineages that cost a point as a forbidden fact
	passed int               // number of further memories that are allowed
	res    *Result
}

// Score compares the outcome of a scenario with its expectations. It has no side effects.
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

// expect scores an expected fact.
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
	outcome, detail, facts := OutcomeRight, "", &j.res.Facts
	switch {
	case len(found) == 0:
		outcome = OutcomeMissing
	case len(found) > 1:
		outcome, detail = OutcomeTwice, quoted(found)
		j.res.Duplicates += len(found) - 1
	default:
		if action, right := j.actionOf(found[0], e); !right {
			outcome, detail = OutcomeWrongAction, fmt.Sprintf("%s instead of %s: %s", action, cmp.Or(strings.ReplaceAll(e.Action, "|", " or "), "either"), quoted(found))
		}
	}
	facts.Expected++
	*map[string]*int{OutcomeRight: &facts.Right, OutcomeMissing: &facts.Missing, OutcomeTwice: &facts.Twice,
		OutcomeWrongAction: &facts.WrongAction}[outcome]++
	j.mark(MarkExpect, e.ID, outcome, outcome == OutcomeRight, detail)
	j.evidence(e, found)
}

// actionOf returns the action that led to a memory's final state, and whether it was expected. A memory that a run
// would have deleted does not count as that run's work.
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

// evidence compares what the runs cited for a fact with what they may and should cite.
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

// saidBy reports whether a message was sent up to a night; "" is the last one.
func (j *judge) saidBy(night, id string) bool {
	w := slices.IndexFunc(j.s.Nights, func(w reverie.Window) bool { return w.Date == night })
	m := slices.IndexFunc(j.s.Messages, func(m reverie.Message) bool { return m.ID == id })
	return w < 0 || m < 0 || j.s.Messages[m].SentAt.Before(j.s.Nights[w].Until)
}

// forbid scores a forbidden fact.
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

// count adds the counts of playing.
func (j *judge) count() {
	p, r := j.played, j.res
	r.Refused, r.Held, r.Unusable, r.Refusals = p.Refused, p.Held, p.Unusable, p.Refusals
	r.RefusedBy = Tally{}
	for _, f := range p.Refusals {
		r.RefusedBy[f.Rule]++
	}
	for _, a := range p.Questions {
		addNumbers(reflect.ValueOf(&r.Recall).Elem(), reflect.ValueOf(a.Recall))
	}
	r.Nights = len(p.Nights)
	r.Spend, r.Embedding, r.Seconds = p.Spend, p.Embedding, p.Took.Seconds()
}

// Failed returns the result of a scenario that was not played to the end: it earns no points.
func Failed(s *Scenario, played Played, err error) Result {
	res := Result{Name: s.Name, Title: s.Title, Language: s.Language, Topics: s.Topics, Marks: []Mark{}, Error: err.Error()}
	res.Points, res.Seconds = s.Points(), played.Took.Seconds()
	res.Spend, res.Embedding = played.Spend, played.Embedding
	return res
}

// stands reports whether an initial memory still exists.
func (j *judge) stands(name string) bool {
	return slices.ContainsFunc(j.end, func(m reverie.Memory) bool { return j.names[m.LineageID] == name })
}

// asked returns the action on a memory that was held; "" is none.
func (j *judge) asked(name string) reverie.Action { return j.played.Asked[j.played.Lineages[name]] }

// fates scores the initial memories that were to be deleted, to stay, or not to be touched. A model that requests a
// wrong delete is wrong, even if the product holds it.
func (j *judge) fates() {
	for _, name := range j.s.Gone {
		if j.stands(name) {
			j.mark(MarkGone, name, OutcomeThere, false, fmt.Sprintf("%q", j.statement(name)))
		} else {
			j.mark(MarkGone, name, OutcomeRight, true, "")
		}
	}
	for _, name := range j.s.Stay {
		outcome := j.fate(name, false)
		detail := ""
		if outcome != OutcomeRight {
			detail = fmt.Sprintf("%q", j.statement(name))
		}
		j.mark(MarkStay, name, outcome, outcome == OutcomeRight, detail)
	}
	seen := map[string]bool{}
	for _, e := range j.s.Expects { // it has a point of its own
		if e.Of != "" && !seen[e.Of] && !slices.Contains(j.s.Stay, e.Of) && !slices.Contains(j.s.MayGo, e.Of) {
			j.fate(e.Of, false)
		}
		seen[e.Of] = true
	}
	bystanders, worst := j.s.bystanders(), OutcomeRight
	var names []string
	for _, m := range bystanders {
		outcome := j.fate(m.ID, true)
		if outcome == OutcomeRight {
			continue
		}
		if names = append(names, m.ID); worst != OutcomeDeleted {
			worst = outcome
		}
	}
	if len(bystanders) > 0 {
		j.mark(MarkBystanders, "", worst, worst == OutcomeRight, strings.Join(names, ", "))
	}
}

// fate returns the outcome of a memory that was to stay. With untouched it must not be reworded either.
func (j *judge) fate(name string, untouched bool) string {
	asked := j.asked(name)
	switch {
	case !j.stands(name):
		j.res.WrongDeletes++
		return OutcomeDeleted
	case asked == reverie.ActionDelete || untouched && asked == reverie.ActionUpdate:
		j.res.WrongHeld++
		return OutcomeHeld
	}
	return OutcomeRight
}

// extras deducts a point for each unexpected memory: a new one, or a reworded bystander. Each message with an
// allowed further memory excuses one. A memory that cost a point as a forbidden fact costs no other one.
func (j *judge) extras() {
	left := slices.Clone(j.s.ExtraOK)
	bystanders := j.s.bystanders()
	for _, m := range j.end {
		name, was := j.names[m.LineageID]
		bystander := slices.ContainsFunc(bystanders, func(b Memory) bool { return b.ID == name && b.Statement != m.Statement })
		if was && !bystander || j.expected(m) || j.found[m.LineageID] {
			continue
		}
		cited := j.played.Cited[m.LineageID]
		if i := slices.IndexFunc(left, func(id string) bool { return cited[id] }); i >= 0 {
			left = slices.Delete(left, i, i+1)
			j.passed++
			continue
		}
		j.res.Extra++
		j.res.Evidence.Cited += len(cited)
		j.res.Marks = append(j.res.Marks, Mark{MarkExtra, name, false, OutcomeUnexpected, fmt.Sprintf("%q", m.Statement)})
	}
	j.res.Deducted = min(j.res.Extra, j.res.Right)
	j.res.Right -= j.res.Deducted
}

// expected reports whether a memory states an expected fact, at the end or after a night.
func (j *judge) expected(m reverie.Memory) bool {
	return slices.ContainsFunc(j.s.Expects, func(e Expect) bool { return e.pattern.matches(m.Statement) })
}

// actions counts final and expected actions of memories. If several are allowed, the actual one counts as expected.
// A memory of several facts counts once.
func (j *judge) actions() {
	a := &j.res.Actions
	count := map[string]*Count{Kept: &a.Kept, Updated: &a.Updated, deleted: &a.Deleted}
	for _, m := range j.s.Memories {
		got := deleted
		if i := slices.IndexFunc(j.end, func(x reverie.Memory) bool { return j.names[x.LineageID] == m.ID }); i >= 0 {
			if got = Updated; j.end[i].Statement == m.Statement {
				got = Kept
			}
		}
		want := j.s.endings(m.ID)
		count[got].Got++
		if slices.Contains(want, got) {
			count[got].Want++
		} else {
			count[want[0]].Want++
		}
	}
	a.Created.Want = j.passed
	wanted := map[string]bool{}
	for _, e := range j.s.Expects {
		if !e.may(Created) {
			continue
		}
		found := slices.IndexFunc(j.end, func(m reverie.Memory) bool {
			_, was := j.names[m.LineageID]
			return !was && e.pattern.matches(m.Statement)
		})
		switch {
		case found >= 0:
			wanted[j.end[found].LineageID] = true
		case e.Action == Created && e.After == "":
			a.Created.Want++
		}
	}
	a.Created.Want += len(wanted)
	for _, m := range j.end {
		if _, was := j.names[m.LineageID]; !was {
			a.Created.Got++
		}
	}
}

// deleted is the ending of a memory that no longer exists.
const deleted = "deleted"

// endings returns the possible endings of an initial memory, most likely first.
func (s *Scenario) endings(name string) (ways []string) {
	if slices.Contains(s.Gone, name) {
		return []string{deleted}
	}
	for _, e := range s.Expects {
		for _, way := range []string{Updated, Kept} {
			if e.Of == name && e.may(way) && !slices.Contains(ways, way) {
				ways = append(ways, way)
			}
		}
	}
	switch {
	case slices.Contains(s.MayGo, name):
		return append(ways, Kept, Updated, deleted)
	case len(ways) > 0:
		return ways
	case slices.Contains(s.Stay, name):
		return []string{Kept, Updated}
	}
	return []string{Kept}
}
