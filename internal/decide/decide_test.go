package decide_test

import (
	"slices"
	"testing"
	"time"

	"reverie/internal/decide"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

func head(kind reverie.Kind, id, statement string) reverie.HeadState {
	return reverie.HeadState{Memory: reverie.Memory{ID: id, LineageID: "lineage of " + id, Kind: kind, Statement: statement, Version: 1,
		Strength: reverie.TentativeStrength, ContentHash: text.ContentHash(statement)}}
}

func fact(statement string) decide.Line {
	return decide.Line{Action: reverie.ActionCreate, Statement: statement, ContentHash: text.ContentHash(statement),
		Evidence: []reverie.Evidence{evidence("said")}, Quoted: true}
}

func evidence(id string) reverie.Evidence {
	return reverie.Evidence{MessageID: id, Author: "Lin", Quote: "so it is", SentAt: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC), LocalDate: "2026-01-15"}
}

// did is what a result's steps do, by what the memory said before.
func did(steps []reverie.Step) (list []string) {
	list = []string{}
	for _, s := range steps {
		text := string(s.Action)
		if s.OldStatement != "" {
			text += " " + s.OldStatement
		}
		if s.Statement != "" {
			text += " => " + s.Statement
		}
		list = append(list, text)
	}
	return list
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, append([]string{}, want...)) {
		t.Errorf("%s\n got %q\nwant %q", what, got, want)
	}
}

func plain(t *testing.T, req decide.Request) decide.Result {
	t.Helper()
	res, err := decide.Plain{}.Decide(t.Context(), req)
	if err != nil || len(res.Decisions) > 0 || len(res.Warnings) > 0 || res.Asked != req.Asked {
		t.Fatalf("%+v, %v", res, err)
	}
	return res
}

// TestPlain knows a fact again by its hash, however it is written, and nothing
// else: a number, a weekday, a negation or another kind make another fact.
func TestPlain(t *testing.T) {
	heads := []reverie.HeadState{
		head(reverie.KindGroup, "badminton", "The group plays badminton on Thursdays."), head(reverie.KindGroup, "zh", "群里每周四打羽毛球。"),
		head(reverie.KindSession, "session", "Maya lives in Lisbon."), head(reverie.KindGroup, "price", "The court costs 3.5 euros."),
	}
	for _, c := range []struct {
		kind      reverie.Kind
		statement string
		want      string // the memory that says it already
	}{
		{reverie.KindGroup, "The group plays badminton on Thursdays.", "badminton"},
		{reverie.KindGroup, "the  GROUP plays badminton, on thursdays", "badminton"},
		{reverie.KindGroup, "羣裏每週四打羽毛球", "zh"},
		{reverie.KindGroup, "The group plays badminton on Fridays.", ""},
		{reverie.KindGroup, "The group does not play badminton on Thursdays.", ""},
		{reverie.KindGroup, "The court costs 35 euros.", ""},
		{reverie.KindGroup, "群里每周五打羽毛球。", ""},
		{reverie.KindGroup, "群里每周四不打羽毛球。", ""},
		{reverie.KindGroup, "Maya lives in Lisbon.", ""}, // known, but of another kind
		{reverie.KindSession, "Maya lives in Lisbon.", "session"},
		{reverie.KindDream, "The group plays badminton on Thursdays.", ""},
	} {
		res := plain(t, decide.Request{Kind: c.kind, Heads: heads, Lines: []decide.Line{fact(c.statement)}})
		if len(res.Steps) != 1 {
			t.Fatalf("%q: %+v", c.statement, res)
		}
		if s := res.Steps[0]; s.Head.MemoryID != c.want || (s.Action == reverie.ActionKeep) != (c.want != "") || (s.Action == reverie.ActionCreate) != (c.want == "") {
			t.Errorf("%s %q: %s %q, want %q", c.kind, c.statement, s.Action, s.Head.MemoryID, c.want)
		}
	}
}

// TestLines does what the other lines say, in their order, and joins what
// concerns one memory.
func TestLines(t *testing.T) {
	heads := []reverie.HeadState{head(reverie.KindGroup, "a", "A is so."), head(reverie.KindGroup, "b", "B is so."),
		head(reverie.KindGroup, "c", "C is so."), head(reverie.KindGroup, "d", "D is so.")}
	again := fact("a is so")
	again.Evidence = []reverie.Evidence{evidence("other"), evidence("said")}
	res := plain(t, decide.Request{Kind: reverie.KindGroup, Heads: heads, Lines: []decide.Line{
		fact("New."),
		{Action: reverie.ActionKeep, Target: &heads[0], Evidence: []reverie.Evidence{evidence("said")}},
		{Action: reverie.ActionUpdate, Target: &heads[1], Statement: "B is more.", ContentHash: text.ContentHash("B is more."), Evidence: []reverie.Evidence{evidence("said")}},
		{Action: reverie.ActionDelete, Target: &heads[2], Evidence: []reverie.Evidence{evidence("said")}},
		{Action: reverie.ActionDelete, Target: &heads[3], Held: true},
		again, fact("B is more!"), fact("NEW"), fact("B is so."), {Action: reverie.ActionKeep, Target: &heads[3]},
	}})
	same(t, "steps", did(res.Steps), "create => New.", "keep A is so.", "update B is so. => B is more.", "delete C is so.", "create => B is so.")
	same(t, "held", did(res.Held), "delete D is so.")
	if ids := res.Steps[1].Evidence; len(ids) != 2 || ids[0].MessageID != "said" || ids[1].MessageID != "other" {
		t.Errorf("evidence %+v", ids)
	}
	lineages := map[string]bool{}
	for _, s := range res.Steps {
		lineages[s.LineageID] = true
	}
	if len(lineages) != len(res.Steps) {
		t.Errorf("%d lineages in %d steps", len(lineages), len(res.Steps))
	}
}

// TestRoom refuses what would be created beyond it, and takes what is support.
func TestRoom(t *testing.T) {
	heads := []reverie.HeadState{head(reverie.KindGroup, "a", "A is so.")}
	res := plain(t, decide.Request{Kind: reverie.KindGroup, Heads: heads, Lines: []decide.Line{fact("One."), fact("Two."), fact("A is so.")}, MaxCreates: 1})
	same(t, "steps", did(res.Steps), "create => One.", "keep A is so.")
	if len(res.Dropped) != 1 || res.Dropped[0] != (decide.Dropped{Line: 1, Rule: decide.RuleQuota, Detail: "beyond the 1 new memories that one answer may add"}) {
		t.Errorf("dropped %+v", res.Dropped)
	}
}

// TestStrength grows with the dates of evidence that are new to the memory.
func TestStrength(t *testing.T) {
	later := evidence("later")
	later.LocalDate, later.SentAt = "2026-01-16", later.SentAt.AddDate(0, 0, 1)
	h := head(reverie.KindGroup, "a", "A is so.")
	h.SupportDates = []string{"2026-01-15"}
	both := fact("New.")
	both.Evidence = []reverie.Evidence{evidence("said"), later}
	res := plain(t, decide.Request{Kind: reverie.KindGroup, Heads: []reverie.HeadState{h}, Lines: []decide.Line{both,
		{Action: reverie.ActionKeep, Target: &h, Evidence: []reverie.Evidence{evidence("said"), later}}}})
	for i, want := range []float64{reverie.Reinforce(reverie.TentativeStrength, 1), reverie.Reinforce(reverie.TentativeStrength, 1)} {
		if s := res.Steps[i]; s.Strength != want || !s.LastSupportedAt.Equal(later.SentAt) {
			t.Errorf("step %d: strength %v, supported %s", i+1, s.Strength, s.LastSupportedAt)
		}
	}
}
