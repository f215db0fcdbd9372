package replay

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/evolve"
	"reverie/internal/reverie"
)

// effect reads "create L1 text", "held update L2 text", "delete L3", "keep L3".
func effect(text string) reverie.RunEffect {
	var d reverie.RunEffect
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

func does(texts ...string) (s side) {
	for _, t := range texts {
		s.effects = append(s.effects, effect(t))
	}
	return s
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		recorded, replayed side
		agree              int
		want               []string
	}{
		"nothing":               {does(), does(), 0, nil},
		"the same":              {does("create a tea", "update b 周五", "delete c", "keep d"), does("keep d", "create a tea", "delete c", "update b 周五"), 4, nil},
		"the same but for form": {does("create a Likes tea."), does("create b likes tea"), 1, nil},
		"a create by its text":  {does("create a tea"), does("create x tea"), 1, nil},
		"other words":           {does("update b 周五"), does("update b 周六"), 0, []string{"words b"}},
		"another action":        {does("update b tea"), does("delete b"), 0, []string{"action b"}},
		"held by one":           {does("held delete b"), does("delete b"), 0, []string{"held b"}},
		"only one":              {does("create a tea", "delete b"), does("create c go"), 0, []string{"only_recorded a", "only_recorded b", "only_replayed c"}},
		"one of two alike":      {does("create a tea"), does("create a tea", "create b tea"), 1, []string{"only_replayed b"}},
		"in two chunks":         {does("update a one", "update a two"), does("update a two"), 1, []string{"only_recorded a"}},
		"a delete has no text":  {does("delete a"), does("delete b"), 0, []string{"only_recorded a", "only_replayed b"}},
		"a create as an update": {does("create a tea"), does("update b tea"), 0, []string{"action a"}},
	} {
		n := compare(c.recorded, c.replayed)
		var got []string
		for _, d := range n.Differences {
			got = append(got, d.Kind+" "+d.LineageID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || n.Agree != c.agree || n.Differ != len(c.want) {
			t.Errorf("%s: %d agree, want %d; differences (-want +got):\n%s", name, n.Agree, c.agree, diff)
		}
		back := compare(c.replayed, c.recorded)
		if back.Agree != n.Agree || back.Differ != n.Differ {
			t.Errorf("%s: the other way round %d agree and %d differ", name, back.Agree, back.Differ)
		}
	}
}

func TestUnfit(t *testing.T) {
	chunk := func(input, answer string) pastRun {
		return pastRun{chunks: []evolve.PastChunk{{Chunk: reverie.Chunk{InputSHA256: input, Answer: answer, MessageIDs: []string{"1"}}}}, same: 1}
	}
	with := func(change func(*pastRun)) pastRun {
		p := chunk("in", "{}")
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		past             pastRun
		recorded, others bool // it cannot be replayed
	}{
		"answered":          {chunk("in", "{}"), false, false},
		"nothing to say":    {chunk("", ""), false, false},
		"answer removed":    {chunk("in", ""), true, false},
		"without a chunk":   {pastRun{}, true, true},
		"taken back":        {with(func(p *pastRun) { p.Run.UndoneAt = &time.Time{} }), true, true},
		"a plan let pass":   {with(func(p *pastRun) { p.Run.Stats.Approved = 1 }), true, false},
		"an edited plan":    {with(func(p *pastRun) { p.Run.Stats.Edited = true }), true, false},
		"its texts gone":    {with(func(p *pastRun) { p.missing = []string{"1"} }), true, false},
		"a memory erased":   {with(func(p *pastRun) { p.erased = 1 }), true, false},
		"no one knows what": {with(func(p *pastRun) { p.unknown = "the record does not say" }), true, true},
		"a changed context": {with(func(p *pastRun) { p.same, p.Run.Stats.Days = 0, 2 }), true, false},
		"a changed prompt":  {with(func(p *pastRun) { p.same = 0 }), false, false},
	} {
		if got := c.past.unfit(true) != ""; got != c.recorded {
			t.Errorf("%s, recorded: %q", name, c.past.unfit(true))
		}
		if got := c.past.unfit(false) != ""; got != c.others {
			t.Errorf("%s, by another model: %q", name, c.past.unfit(false))
		}
	}
}
