package decide_test

import (
	"testing"

	"reverie"
	"reverie/decide"
)

func head(kind reverie.Kind, id, statement string) reverie.HeadState {
	return reverie.HeadState{Memory: reverie.Memory{ID: id, Kind: kind, Statement: statement, ContentHash: reverie.ContentHash(statement)}}
}

func fact(kind reverie.Kind, statement string) decide.Fact {
	return decide.Fact{Kind: kind, Statement: statement, ContentHash: reverie.ContentHash(statement)}
}

// TestPlain knows a fact again by its hash, however it is written, and nothing
// else: a number, a weekday, a negation or another kind make another fact.
func TestPlain(t *testing.T) {
	heads := []reverie.HeadState{
		head(reverie.KindGroup, "badminton", "The group plays badminton on Thursdays."), head(reverie.KindGroup, "zh", "群里每周四打羽毛球。"),
		head(reverie.KindSession, "session", "Maya lives in Lisbon."), head(reverie.KindGroup, "price", "The court costs 3.5 euros."),
	}
	for _, c := range []struct {
		fact decide.Fact
		want string // the memory that says it already
	}{
		{fact(reverie.KindGroup, "The group plays badminton on Thursdays."), "badminton"},
		{fact(reverie.KindGroup, "the  GROUP plays badminton, on thursdays"), "badminton"},
		{fact(reverie.KindGroup, "羣裏每週四打羽毛球"), "zh"},
		{fact(reverie.KindGroup, "The group plays badminton on Fridays."), ""},
		{fact(reverie.KindGroup, "The group does not play badminton on Thursdays."), ""},
		{fact(reverie.KindGroup, "The court costs 35 euros."), ""},
		{fact(reverie.KindGroup, "群里每周五打羽毛球。"), ""},
		{fact(reverie.KindGroup, "群里每周四不打羽毛球。"), ""},
		{fact(reverie.KindGroup, "Maya lives in Lisbon."), ""}, // known, but of another kind
		{fact(reverie.KindSession, "Maya lives in Lisbon."), "session"},
		{fact(reverie.KindDream, "The group plays badminton on Thursdays."), ""},
	} {
		got, err := decide.Plain{}.Decide(t.Context(), heads, []decide.Fact{c.fact})
		if err != nil || len(got) != 1 {
			t.Fatalf("%q: %+v, %v", c.fact.Statement, got, err)
		}
		if d := got[0]; d.Target.ID != c.want || (d.Verdict == decide.None) != (c.want != "") || (d.Verdict == decide.Add) != (c.want == "") {
			t.Errorf("%s %q: %s %q, want %q", c.fact.Kind, c.fact.Statement, d.Verdict, d.Target.ID, c.want)
		}
	}
}

func TestPlainKeepsOrder(t *testing.T) {
	heads := []reverie.HeadState{head(reverie.KindGroup, "a", "A is so."), head(reverie.KindGroup, "b", "B is so.")}
	facts := []decide.Fact{fact(reverie.KindGroup, "New."), fact(reverie.KindGroup, "B is so."), fact(reverie.KindGroup, "A is so."), fact(reverie.KindGroup, "A is so.")}
	got, err := decide.Plain{}.Decide(t.Context(), heads, facts)
	if err != nil || len(got) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []string{"", "b", "a", "a"} {
		if got[i].Target.ID != want {
			t.Errorf("fact %d: %q, want %q", i+1, got[i].Target.ID, want)
		}
	}
	if none, err := (decide.Plain{}).Decide(t.Context(), nil, nil); err != nil || len(none) != 0 {
		t.Errorf("no facts: %+v, %v", none, err)
	}
}
