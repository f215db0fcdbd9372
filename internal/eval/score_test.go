package eval

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/eval/dataset"
	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// paper is a scenario of four memories, and an end that is right in all of it.
func paper(t *testing.T) (*Scenario, Played) {
	t.Helper()
	pattern := func(all ...string) pattern {
		p, err := newPattern(all, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	day := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	s := &Scenario{Name: "paper", Gone: []string{"old"}, Stay: []string{"rule"},
		Expects: []Expect{
			{ID: "city", Action: "updated", Of: "city", Evidence: []string{"a", "b"}, pattern: pattern("anna", "berlin")},
			{ID: "cat", Action: "created", Evidence: []string{"b"}, pattern: pattern("cat")}},
		Forbids: []Forbid{{ID: "joke", When: WhenEver, pattern: pattern("moon")}},
		Memories: []Memory{{ID: "city", Statement: "Anna lives in Munich."}, {ID: "old", Statement: "The list is public."},
			{ID: "rule", Statement: "No calls after ten."}, {ID: "tea", Statement: "Ben drinks tea."}},
		Questions: []Question{{Text: "?"}, {Text: "?"}},
		Nights:    []reverie.Window{{Date: "2026-03-02", Since: day, Until: day.Add(time.Hour)}, {Date: "2026-03-03", Since: day.Add(time.Hour), Until: day.Add(2 * time.Hour)}},
		Messages:  []reverie.Message{{ID: "a", SentAt: day}, {ID: "b", SentAt: day.Add(time.Hour)}}}
	p := Played{Lineages: map[string]string{"city": "L1", "old": "L2", "rule": "L3", "tea": "L4"},
		Nights: []Night{
			{"2026-03-02", []reverie.Memory{memory("L1", "Anna lives in Berlin."), memory("L2", "The list is public."), memory("L3", "No calls after ten."), memory("L4", "Ben drinks tea.")}},
			{"2026-03-03", []reverie.Memory{memory("L1", "Anna lives in Berlin."), memory("L3", "No calls after ten."), memory("L4", "Ben drinks tea."), memory("L5", "Mia has a cat.")}}},
		Refused: 3, Refusals: []reverie.Refusal{{Rule: "evidence"}, {Rule: "form"}, {Rule: "evidence"}},
		Cited:     map[string]map[string]bool{"L1": {"a": true, "b": true}, "L5": {"b": true}},
		Questions: []Looked{{Recall: Recall{Questions: 1, Search: 1, Context: 1, BM25: 1}}, {Recall: Recall{Questions: 1, BM25: 1}}}}
	return s, p
}

func memory(lineage, statement string) reverie.Memory {
	return reverie.Memory{LineageID: lineage, Statement: statement}
}

func TestScoreOfWhatIsRight(t *testing.T) {
	s, p := paper(t)
	got := Score(s, p)
	want := Figures{Right: 6, Points: 6, Nights: 2, Facts: Facts{Expected: 2, Right: 2}, Forbidden: Forbidden{Forbidden: 1},
		Actions: Actions{Kept: Count{2, 2}, Updated: Count{1, 1}, Created: Count{1, 1}, Deleted: Count{1, 1}},
		Refused: 3, RefusedBy: Tally{"evidence": 2, "form": 1},
		Evidence: Evidence{Cited: 3, CitedRight: 3, Expected: 3, Found: 3}, Recall: Recall{Questions: 2, Search: 1, Context: 1, BM25: 2}}
	if d := cmp.Diff(want, got.Figures); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if s.Points() != got.Points {
		t.Errorf("%d points are announced, %d counted", s.Points(), got.Points)
	}
	twice := got.Figures
	twice.Add(got.Figures)
	if twice.Points != 12 || twice.Evidence.Found != 6 || twice.Actions.Kept.Want != 4 || twice.Recall.BM25 != 4 ||
		twice.RefusedBy["evidence"] != 4 || got.RefusedBy["evidence"] != 2 {
		t.Errorf("added to itself: %+v", twice)
	}
}

// TestEachFaultHasItsFigure makes one mistake at a time and looks at what moves.
func TestEachFaultHasItsFigure(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(p *Played)
		right int // of 6
		moved func(f Figures) bool
		mark  Mark
	}{
		"missing": {func(p *Played) { drop(p, "L5") }, 5, func(f Figures) bool { return f.Facts.Missing == 1 && f.Actions.Created.Got == 0 },
			Mark{MarkExpect, "cat", false, OutcomeMissing, ""}},
		"twice": {func(p *Played) { add(p, "L6", "Mia's cat is black.") }, 5, func(f Figures) bool { return f.Facts.Twice == 1 && f.Duplicates == 1 && f.Extra == 0 },
			Mark{MarkExpect, "cat", false, OutcomeTwice, `"Mia has a cat.", "Mia's cat is black."`}},
		"deleted and created instead of updated": {func(p *Played) { drop(p, "L1"); add(p, "L6", "Anna lives in Berlin.") }, 5,
			func(f Figures) bool {
				return f.Facts.WrongAction == 1 && f.WrongDeletes == 1 && f.Actions.Updated.Got == 0
			},
			Mark{MarkExpect, "city", false, OutcomeWrongAction, `created instead of updated: "Anna lives in Berlin."`}},
		"another memory updated": {func(p *Played) { drop(p, "L1"); drop(p, "L4"); add(p, "L4", "Anna and Berlin.") }, 5,
			func(f Figures) bool { return f.Facts.WrongAction == 1 },
			Mark{MarkExpect, "city", false, OutcomeWrongAction, `updated (tea) instead of updated: "Anna and Berlin."`}},
		"a joke for one night": {func(p *Played) {
			p.Nights[0].Active = append(p.Nights[0].Active, memory("L7", "Ben lives on the moon."))
		}, 5,
			func(f Figures) bool { return f.Forbidden.Found == 1 }, Mark{MarkForbid, "joke", false, OutcomeFound, `"Ben lives on the moon."`}},
		"not gone": {func(p *Played) { add(p, "L2", "The list is public.") }, 5, func(f Figures) bool { return f.Actions.Deleted.Got == 0 && f.Extra == 0 },
			Mark{MarkGone, "old", false, OutcomeThere, `"The list is public."`}},
		"not there": {func(p *Played) { drop(p, "L3") }, 5, func(f Figures) bool { return f.WrongDeletes == 1 },
			Mark{MarkStay, "rule", false, OutcomeDeleted, `"No calls after ten."`}},
		"a bystander lost": {func(p *Played) { drop(p, "L4") }, 5, func(f Figures) bool { return f.WrongDeletes == 1 },
			Mark{MarkBystanders, "", false, OutcomeDeleted, "tea"}},
		"invented": {func(p *Played) {
			add(p, "L6", "Everybody likes snow.")
			p.Cited["L6"] = map[string]bool{"a": true}
		}, 5, func(f Figures) bool {
			return f.Extra == 1 && f.Deducted == 1 && f.Duplicates == 0 && f.Evidence.Cited == 4 && f.Evidence.CitedRight == 3 && f.Actions.Created == Count{2, 1}
		}, Mark{MarkExtra, "", false, OutcomeUnexpected, `"Everybody likes snow."`}},
		"more than invented": {func(p *Played) {
			for i := range 9 {
				add(p, fmt.Sprint("N", i), fmt.Sprintf("Everybody likes the number %d.", i))
			}
		}, 0, func(f Figures) bool { return f.Extra == 9 && f.Deducted == 6 }, Mark{}},
		"further, once for each message": {func(p *Played) {
			add(p, "L6", "Mia's dog is white.")
			add(p, "L7", "Mia's dog barks.")
			p.Cited["L6"], p.Cited["L7"] = map[string]bool{"c": true}, map[string]bool{"b": true, "c": true}
		}, 5, func(f Figures) bool { return f.Extra == 1 && f.Evidence.Cited == 5 && f.Actions.Created == Count{3, 2} },
			Mark{MarkExtra, "", false, OutcomeUnexpected, `"Mia's dog barks."`}},
		"a bystander rewritten": {func(p *Played) { drop(p, "L4"); add(p, "L4", "Ben drinks coffee.") }, 5, func(f Figures) bool { return f.Extra == 1 && f.WrongDeletes == 0 },
			Mark{MarkExtra, "tea", false, OutcomeUnexpected, `"Ben drinks coffee."`}},
		"forbidden, and not punished twice": {func(p *Played) { add(p, "L7", "Ben lives on the moon.") }, 5, func(f Figures) bool { return f.Extra == 0 && f.Forbidden.Found == 1 }, Mark{}},
		"wrong deletes that were held": {func(p *Played) {
			p.Asked = map[string]reverie.Action{"L1": reverie.ActionDelete, "L2": reverie.ActionDelete, "L3": reverie.ActionDelete, "L4": reverie.ActionDelete}
		}, 3, func(f Figures) bool { return f.WrongHeld == 3 && f.WrongDeletes == 0 && f.Facts.WrongAction == 1 },
			Mark{MarkBystanders, "", false, OutcomeHeld, "tea"}},
		"rewritings that were held": {func(p *Played) {
			p.Asked = map[string]reverie.Action{"L3": reverie.ActionUpdate, "L4": reverie.ActionUpdate}
		}, 5, func(f Figures) bool { return f.WrongHeld == 1 }, Mark{MarkStay, "rule", true, OutcomeRight, ""}},
		"wrong evidence": {func(p *Played) { p.Cited["L5"] = map[string]bool{"a": true} }, 6,
			func(f Figures) bool {
				return f.Evidence.CitedRight == 2 && f.Evidence.Cited == 3 && f.Evidence.Found == 2
			}, Mark{}},
		"no evidence":    {func(p *Played) { p.Cited = nil }, 6, func(f Figures) bool { return f.Evidence.Cited == 0 && f.Evidence.Found == 0 }, Mark{}},
		"nothing at all": {func(p *Played) { p.Nights[1].Active = nil }, 2, func(f Figures) bool { return f.WrongDeletes == 3 && f.Facts.Missing == 2 }, Mark{}},
	} {
		s, p := paper(t)
		s.ExtraOK = []string{"c"}
		c.do(&p)
		got := Score(s, p)
		if got.Right != c.right || got.Points != 6 || !c.moved(got.Figures) {
			t.Errorf("%s: %d of %d points, want %d; %+v", name, got.Right, got.Points, c.right, got.Figures)
		}
		found := c.mark == Mark{}
		for _, m := range got.Marks {
			found = found || m == c.mark
		}
		if !found {
			t.Errorf("%s: no mark %+v among %+v", name, c.mark, got.Marks)
		}
	}
}

func drop(p *Played, lineage string) {
	end := &p.Nights[len(p.Nights)-1]
	var left []reverie.Memory
	for _, m := range end.Active {
		if m.LineageID != lineage {
			left = append(left, m)
		}
	}
	end.Active = left
}

func add(p *Played, lineage, statement string) {
	end := &p.Nights[len(p.Nights)-1]
	end.Active = append(end.Active, memory(lineage, statement))
}

// TestScoreAfterANight: an expectation about a night looks at that night alone, its
// evidence included.
func TestScoreAfterANight(t *testing.T) {
	s, p := paper(t)
	s.Expects[0].After, s.Expects[0].Evidence = "2026-03-02", []string{"a"}
	drop(&p, "L1")
	got := Score(s, p)
	if m := got.Marks[0]; !m.Right || got.Evidence.Cited != 2 || got.Evidence.CitedRight != 2 {
		t.Errorf("%+v, %+v", m, got.Evidence)
	}
}

// TestOpenActions: where a scenario leaves open how a memory ends, what came of it is what
// was wanted, and a memory of two facts is wanted once.
func TestOpenActions(t *testing.T) {
	s, p := paper(t)
	s.Expects[0].Action, s.Expects[1].Action, s.MayGo = "kept|updated", "", []string{"tea"}
	s.Expects = append(s.Expects, Expect{ID: "cat-again", pattern: s.Expects[1].pattern})
	for _, do := range []func(*Played){
		func(*Played) {},
		func(p *Played) {
			drop(p, "L1")
			add(p, "L1", "Anna lives in Munich.")
			drop(p, "L3")
			add(p, "L3", "No calls after nine.")
		},
		func(p *Played) { drop(p, "L4") },
		func(p *Played) { drop(p, "L5"); drop(p, "L4"); add(p, "L4", "Ben and his cat drink tea.") },
	} {
		played := p
		played.Nights = append([]Night{}, p.Nights...)
		do(&played)
		a := Score(s, played).Actions
		for _, c := range []Count{a.Kept, a.Updated, a.Created, a.Deleted} {
			if c.Got != c.Want {
				t.Errorf("%+v", a)
			}
		}
	}
	s.MayGo = nil
	drop(&p, "L4")
	if a := Score(s, p).Actions; a.Kept != (Count{1, 2}) || a.Deleted != (Count{2, 1}) {
		t.Errorf("a memory that was to stay has gone: %+v", a)
	}
}

// TestWilson compares with published values.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		right, n int
		want     string
	}{{0, 0, "0.0 0.0 100.0"}, {0, 10, "0.0 0.0 27.8"}, {10, 10, "100.0 72.2 100.0"}, {5, 10, "50.0 23.7 76.3"}, {81, 263, "30.8 25.5 36.6"}, {170, 200, "85.0 79.4 89.3"}} {
		s := Wilson(c.right, c.n)
		if got := fmt.Sprintf("%.1f %.1f %.1f", s.Percent, s.Low, s.High); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.right, c.n, got, c.want)
		}
	}
}

// TestStages: evidence is lost where the last memory that cites it is, and found where it is quoted.
func TestStages(t *testing.T) {
	turn := &turn{played: &Played{Cited: map[string]map[string]bool{"forgotten": {"1": true, "2": true}, "far": {"2": true},
		"no room": {"3": true}, "given": {"4": true}}}}
	memory := func(lineage string) reverie.Memory { return reverie.Memory{LineageID: lineage} }
	candidate := func(lineage, fate string) reverie.RecallCandidate {
		return reverie.RecallCandidate{ContextMemory: reverie.ContextMemory{LineageID: lineage}, Fate: fate}
	}
	got := turn.stages([]string{"1", "2", "3", "4", "5", "6", "7", "8"}, []reverie.Memory{memory("far"), memory("no room"), memory("given")},
		reverie.Recalled{Candidates: []reverie.RecallCandidate{candidate("given", recall.FateOffered),
			candidate("no room", recall.FateBeyondTokens), candidate("far", recall.FateBelow)}}, []string{"4", "5"})
	want := dataset.Stages{Questions: 1, Remembered: 4. / 8, Active: 3. / 8, Ranked: 2. / 8, Offered: 1. / 8, Given: 2. / 8}
	if got != want || got.Percent(got.Active) != "37.5%" || (turn.stages(nil, nil, reverie.Recalled{}, nil) != dataset.Stages{}) {
		t.Errorf("%+v", got)
	}
}
