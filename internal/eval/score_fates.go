package eval

import (
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// stands tells whether a memory of the scenario is still there.
func (j *judge) stands(name string) bool {
	return slices.ContainsFunc(j.end, func(m reverie.Memory) bool { return j.names[m.LineageID] == name })
}

// asked is what a run would have done to a memory, had it not been held; "" is nothing.
func (j *judge) asked(name string) reverie.Action { return j.played.Asked[j.played.Lineages[name]] }

// fates looks at what was to go, to stay, or not to be touched. A model that asks for a
// wrong delete is wrong, whether or not the product has held it.
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
	for _, e := range j.s.Expects { // has a point of its own
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

// fate counts what became of a memory that was to stay, and may not even be rewritten
// where nothing is said of it.
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

// extras looks for what nobody expected: new memories, and bystanders in other words. Each
// takes a point away, for it is worth less than nothing. Of the messages of which
// something more may be made, each lets one pass; what has cost a point as a forbidden
// fact costs no other one.
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

// expected tells whether a memory says an expected fact, at the end or after a night.
func (j *judge) expected(m reverie.Memory) bool {
	return slices.ContainsFunc(j.s.Expects, func(e Expect) bool { return e.pattern.matches(m.Statement) })
}

// actions counts how memories ended, and how they were to. What is left open is to be as
// it came. A memory of several facts is wanted once.
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

// deleted is how a memory ends that no longer is.
const deleted = "deleted"

// endings are the ways in which a memory of the scenario may end, the likeliest first.
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
