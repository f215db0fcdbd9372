package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm"
	"reverie/internal/llm/lines"
	"reverie/internal/reverie"
)

// deed reads "create L1 text", "held update L2 text", "delete L3", "keep L3".
func deed(text string) reverie.Deed {
	var d reverie.Deed
	if rest, held := strings.CutPrefix(text, "held "); held {
		d.Held, text = true, rest
	}
	parts := strings.SplitN(text, " ", 3)
	d.Action, d.LineageID, d.MemoryID = reverie.Action(parts[0]), parts[1], text
	if len(parts) == 3 {
		d.NewStatement = parts[2]
	}
	return d
}

func deeds(texts ...string) (s side) {
	for _, t := range texts {
		s.deeds = append(s.deeds, deed(t))
	}
	return s
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		live, shadow side
		agree        int
		want         []string
	}{
		"nothing":               {deeds(), deeds(), 0, nil},
		"the same":              {deeds("create a tea", "update b 周五", "delete c", "keep d"), deeds("keep d", "create a tea", "delete c", "update b 周五"), 4, nil},
		"the same but for form": {deeds("create a Likes tea."), deeds("create b likes tea"), 1, nil},
		"a create by its text":  {deeds("create a tea"), deeds("create x tea"), 1, nil},
		"other words":           {deeds("update b 周五"), deeds("update b 周六"), 0, []string{"words b"}},
		"another action":        {deeds("update b tea"), deeds("delete b"), 0, []string{"action b"}},
		"held by one":           {deeds("held delete b"), deeds("delete b"), 0, []string{"held b"}},
		"only one":              {deeds("create a tea", "delete b"), deeds("create c go"), 0, []string{"only_live a", "only_live b", "only_shadow c"}},
		"one of two alike":      {deeds("create a tea"), deeds("create a tea", "create b tea"), 1, []string{"only_shadow b"}},
		"in two chunks":         {deeds("update a one", "update a two"), deeds("update a two"), 1, []string{"only_live a"}},
		"a delete has no text":  {deeds("delete a"), deeds("delete b"), 0, []string{"only_live a", "only_shadow b"}},
		"a create as an update": {deeds("create a tea"), deeds("update b tea"), 0, []string{"action a"}},
	} {
		n := compare(c.live, c.shadow)
		var got []string
		for _, d := range n.Differences {
			got = append(got, d.Kind+" "+d.LineageID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || n.Agree != c.agree || n.Differ != len(c.want) {
			t.Errorf("%s: %d agree, want %d; differences (-want +got):\n%s", name, n.Agree, c.agree, diff)
		}
		back := compare(c.shadow, c.live)
		if back.Agree != n.Agree || back.Differ != n.Differ {
			t.Errorf("%s: the other way round %d agree and %d differ", name, back.Agree, back.Differ)
		}
	}
}

// TestHeldByAPersonsHand: what a person changed of what a run held says nothing of the run.
func TestHeldByAPersonsHand(t *testing.T) {
	live, shadow := deeds("keep a"), deeds("keep a", "held delete b")
	live.Run.Stats.Edited = true
	if n := compare(live, shadow); n.Differ != 0 || n.Agree != 1 {
		t.Errorf("%+v", n)
	}
	live, shadow = deeds("keep a", "delete b"), deeds("keep a", "held delete b")
	live.Run.Stats.Approved = 1
	if n := compare(live, shadow); n.Differ != 0 || n.Agree != 2 {
		t.Errorf("let pass with the plan: %+v", n)
	}
}

func TestStageGivesIDs(t *testing.T) {
	s := &stage{live: deeds("create a tea", "create b go", "update c 周六", "held create h chess")}
	step := func(action reverie.Action, lineage, memory, text string) reverie.Step {
		return reverie.Step{Action: action, LineageID: lineage, MemoryID: memory, Statement: text}
	}
	plan := reverie.Plan{Steps: []reverie.Step{step(reverie.ActionCreate, "x1", "v1", "go"), step(reverie.ActionUpdate, "c", "v2", "周六"),
		step(reverie.ActionUpdate, "other", "v3", "周六"), step(reverie.ActionCreate, "x4", "v4", "go"), {Action: reverie.ActionKeep, LineageID: "d"}},
		Held:      []reverie.Step{step(reverie.ActionCreate, "x5", "v5", "chess"), step(reverie.ActionCreate, "x6", "v6", "tea")},
		Decisions: []reverie.Decision{{MemoryID: "v1", TargetID: "old", Candidates: []reverie.Candidate{{MemoryID: "v2"}, {MemoryID: "old"}}}}}
	got := s.named(plan)
	var ids []string
	for _, st := range append(got.Steps, got.Held...) {
		ids = append(ids, st.LineageID+" "+st.MemoryID)
	}
	want := []string{"b create b go", "c update c 周六", "other v3", "x4 v4", "d ", "h create h chess", "x6 v6"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	d := got.Decisions[0]
	if said := fmt.Sprint(d.MemoryID, "|", d.TargetID, "|", d.Candidates[0].MemoryID, "|", d.Candidates[1].MemoryID); said != "create b go|old|update c 周六|old" {
		t.Errorf("the decision names %s", said)
	}
	if plan.Steps[0].MemoryID != "v1" || plan.Decisions[0].MemoryID != "v1" {
		t.Error("the pipeline's own plan was changed")
	}
}

// TestStandIn: a question in other words is answered by what was decided on the fact.
func TestStandIn(t *testing.T) {
	asked := 0
	m := standIn{name: "p/m", asked: &asked, decisions: []reverie.Decision{
		{Statement: "likes green tea", Basis: reverie.BasisCompared, Candidates: []reverie.Candidate{
			{Statement: "likes tea", Relation: reverie.RelationUpdate, Reason: "more", Merged: "likes tea, green above all"}, {Statement: "no verdict"}}},
		{Statement: "plays go", Basis: reverie.BasisFallback, Reason: "not compared"},
	}}
	ask := func(user string) (llm.Response, error) {
		return m.Generate(t.Context(), llm.Meta{Purpose: "compare"}, llm.Request{User: user})
	}
	resp, err := ask(`Look: {"fact":{"statement":"likes green tea"},"candidates":[{"id":"c1","statement":"likes tea"},{"id":"c2","statement":"no verdict"}]} Thanks`)
	if err != nil || resp.Finish != llm.FinishStop {
		t.Fatal(resp, err)
	}
	want := []string{`{"id":"c1","reason":"more","relation":"update","statement":"likes tea, green above all"}`,
		`{"id":"c2","reason":"it was not compared with this then","relation":"unrelated"}`}
	var got []string
	for _, l := range lines.Read(resp.Text).Lines {
		got = append(got, string(l.Object))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if _, err := ask(`{"fact":{"statement":"plays go"},"candidates":[{"id":"c1","statement":"plays"}]}`); err == nil {
		t.Error("a question that came to nothing then was answered")
	}
	if _, err := ask("no question"); err == nil || asked != 2 {
		t.Errorf("%v, %d stood in", err, asked)
	}
}

func TestUnfit(t *testing.T) {
	chunk := func(status reverie.ChunkStatus, input, answer string) reverie.PastChunk {
		return reverie.PastChunk{Chunk: reverie.Chunk{Status: status, InputSHA256: input, Answer: answer, MessageIDs: []string{"1"}}}
	}
	edited, passed := reverie.Stats{Plan: "abc", Edited: true}, reverie.Stats{Plan: "abc", Approved: 1}
	for name, c := range map[string]struct {
		past             reverie.PastNight
		recorded, others bool // it cannot be run again
	}{
		"answered":        {reverie.PastNight{Chunks: []reverie.PastChunk{chunk(reverie.ChunkApplied, "in", "{}")}}, false, false},
		"held":            {reverie.PastNight{Chunks: []reverie.PastChunk{chunk(reverie.ChunkHeld, "in", "{}")}}, false, false},
		"nothing to say":  {reverie.PastNight{Chunks: []reverie.PastChunk{chunk(reverie.ChunkApplied, "", "")}}, false, false},
		"answer removed":  {reverie.PastNight{Chunks: []reverie.PastChunk{chunk(reverie.ChunkApplied, "in", "")}}, true, false},
		"failed":          {reverie.PastNight{Chunks: []reverie.PastChunk{chunk(reverie.ChunkFailed, "in", "x")}}, true, true},
		"without a chunk": {reverie.PastNight{}, true, true},
		"a plan let pass": {reverie.PastNight{Run: reverie.Run{Stats: passed}, Chunks: []reverie.PastChunk{chunk(reverie.ChunkApplied, "in", "{}")}}, true, false},
		"its texts gone":  {reverie.PastNight{Gone: 1, Chunks: []reverie.PastChunk{chunk(reverie.ChunkApplied, "in", "{}")}}, true, false},
		"an edited plan":  {reverie.PastNight{Run: reverie.Run{Stats: edited}, Chunks: []reverie.PastChunk{chunk(reverie.ChunkApplied, "in", "{}")}}, true, false},
	} {
		if got := Unfit(c.past, true) != ""; got != c.recorded {
			t.Errorf("%s, recorded: %q", name, Unfit(c.past, true))
		}
		if got := Unfit(c.past, false) != ""; got != c.others {
			t.Errorf("%s, by another model: %q", name, Unfit(c.past, false))
		}
	}
}
