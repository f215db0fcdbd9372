package decide_test

import (
	"slices"
	"strings"
	"testing"

	"reverie/internal/decide"
	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// TestMergedLosesNothing asks once more where a merged statement drops what both
// of the two say, denies what neither denies, or is about something else; without
// a better one the fact stands beside the memory.
func TestMergedLosesNothing(t *testing.T) {
	for _, c := range []struct{ remembered, fact, merged, again string }{
		{"Club meets on Fridays at 8 pm in the library.", "Club nights are on Fridays at 8 pm.", "Club meets in the library.", `lacks "fridays"`},
		{"Club meets on Fridays at 8 pm.", "Club nights are on Fridays at 8 pm.", "Club meets on Fridays at night.", `lacks "8 pm"`},
		{"Maya likes tea.", "Maya likes green tea.", "Maya does not like green tea.", "a negation (not)"},
		{"小林 不吃牛肉和羊肉。", "小林 不吃牛肉。", "小林吃牛肉和羊肉。", "lacks a negation (不)"},
		{"Maya likes tea.", "Maya likes tea a lot.", "Bob owes Alice a house in Berlin.", "mostly stands in neither"},
		{"小林 喜欢喝茶。", "小林 很喜欢喝绿茶。", "老张欠小陈一套柏林的房子。", "mostly stands in neither"},
		{"Maya likes tea.", "Maya likes tea in the morning.", "Maya likes tea.", "says no more than the memory"},
	} {
		b := newBench(t, c.remembered)
		b.says("c1 update " + c.merged)
		b.says("c1 update " + c.merged)
		same(t, c.merged, did(b.decide(b.request(fact(c.fact))).Steps), "create => "+c.fact)
		if asked := b.questions(); len(asked) != 2 || !strings.Contains(strings.Join(asked[1].Again, ""), c.again) {
			t.Errorf("%s: asked %+v", c.merged, asked)
		}
	}
}

// TestFaithfulMerges are taken at the first answer.
func TestFaithfulMerges(t *testing.T) {
	for _, c := range []struct{ remembered, fact, merged string }{
		{"Club has two hundred members.", "Club has two hundred members in Berlin.", "Club has 200 members in Berlin."},
		{"Club has 3,500 members.", "Club has three thousand five hundred members in Berlin.", "Club has 3500 members in Berlin."},
		{"小林 喜欢喝茶。", "小林 的朋友小陈也喜欢喝茶。", "小林和小陈两人都喜欢喝茶。"},
		{"Maya plays chess.", "Maya plays go.", "Maya plays two games, chess and go."},
		{"Maya likes tea.", "Maya likes green tea most.", "Maya likes tea, green tea most of all."},
		{"Maya works as a translator.", "Maya works from Lisbon.", "Maya works from Lisbon as a translator."},
		{"Badminton 每周五在体育馆。", "Badminton is on Fridays at 8 pm.", "Badminton 每周五晚上八点在体育馆。"},
	} {
		b := newBench(t, c.remembered)
		b.says("c1 update " + c.merged)
		same(t, c.merged, did(b.decide(b.request(fact(c.fact))).Steps), "update "+c.remembered+" => "+c.merged)
		if asked := b.questions(); len(asked) != 1 {
			t.Errorf("%s: asked %+v", c.merged, asked[1].Again)
		}
	}
}

// TestUnquotedRewrite waits for a person where most of a memory would go; a
// quoted message, or a memory that stays, needs none.
func TestUnquotedRewrite(t *testing.T) {
	const memory, news, rest = "Maya plays the violin in the city orchestra.", "Maya sold her violin.", "Maya sold her violin."
	for _, c := range []struct {
		quoted bool
		merged string
		held   bool
	}{
		{false, rest, true},
		{true, rest, false},
		{false, "Maya played the violin in the city orchestra and sold it.", false},
	} {
		b := newBench(t, memory)
		f := fact(news)
		f.Quoted = c.quoted
		b.says("c1 update " + c.merged)
		res := b.decide(b.request(f))
		steps, held := []string{"update " + memory + " => " + c.merged}, []string{}
		if c.held {
			steps, held = held, []string{"create => " + news}
		}
		same(t, "steps", did(res.Steps), steps...)
		same(t, "held", did(res.Held), held...)
		if c.held && !slices.Equal(res.HeldReasons, []string{"new statements that would leave little of memories, without a quoted message"}) {
			t.Errorf("held because %q", res.HeldReasons)
		}
	}
}

// TestMergedIntoAnother does not join a fact to a memory that its own verdict
// keeps apart from it.
func TestMergedIntoAnother(t *testing.T) {
	b := newBench(t, "Tea is liked by Maya.", "Tea is drunk by Lin.")
	b.model.Script(llmtest.Lines(verdictLines("c1 update Tea is drunk by Lin.", "c2 unrelated")...), llmtest.Prose())
	res := b.decide(b.request(fact("Tea is what Maya likes.")))
	same(t, "steps", did(res.Steps), "create => Tea is what Maya likes.")
	if d := res.Decisions[0]; d.Action != reverie.DecisionAdd || d.Basis != reverie.BasisFallback {
		t.Errorf("decision %+v", d)
	}
}

// TestWordsOfAPerson: what a person wrote is neither rewritten nor replaced by a fact that
// quotes nothing; a quote does both, and the same said again is support.
func TestWordsOfAPerson(t *testing.T) {
	const memory, news = "Maya plays the violin in the city orchestra.", "Maya plays in the city orchestra, and sold her violin."
	for _, c := range []struct {
		verdict string
		quoted  bool
		steps   []string
		action  string
	}{
		{"c1 update " + news, false, nil, "update"},
		{"c1 update " + news, true, []string{"update " + memory + " => " + news}, ""},
		{"c1 conflict", false, nil, "delete"},
		{"c1 conflict", true, []string{"delete " + memory, "create => " + news}, ""},
		{"c1 duplicate", false, []string{"keep " + memory}, ""},
	} {
		b := newBench(t, memory)
		f := fact(news)
		f.Quoted = c.quoted
		req := b.request(f)
		req.Heads[0].Author = "Ann"
		b.says(c.verdict)
		res := b.decide(req)
		same(t, c.verdict, did(res.Steps), c.steps...)
		same(t, "held", did(res.Held))
		if c.action == "" {
			continue
		}
		if len(res.Dropped) != 1 || res.Dropped[0].Rule != decide.RulePerson || !strings.Contains(res.Dropped[0].Detail, "Ann wrote") ||
			!strings.Contains(res.Dropped[0].Detail, "to "+c.action+" it") {
			t.Errorf("%s: dropped %+v", c.verdict, res.Dropped)
		}
	}
}
