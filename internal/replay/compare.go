package replay

import (
	"slices"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// side is what a run did, live or in the shadow.
type side struct {
	reverie.RunDetail
	deeds []reverie.Deed
}

// heldDeeds are what a run would do if a person let it.
func heldDeeds(d reverie.RunDetail) (list []reverie.Deed) {
	if d.Run.Stats.Edited { // by a person: what the run held stands nowhere any more
		return nil
	}
	for _, plan := range d.Held {
		for _, s := range plan.Steps {
			deed := reverie.Deed{ChunkNo: plan.ChunkNo, Action: s.Action, LineageID: s.LineageID, MemoryID: s.MemoryID,
				OldStatement: s.OldStatement, NewStatement: s.Statement, Held: true, At: plan.CreatedAt}
			if s.Action == reverie.ActionKeep {
				deed.NewStatement = s.OldStatement
			}
			if deed.MemoryID == "" {
				deed.MemoryID = s.Head.MemoryID
			}
			list = append(list, deed)
		}
	}
	return list
}

// compare tells what both runs did, what they did otherwise, and what only one did. It is
// pure. Deeds belong together where they are about one lineage; where neither is, creates
// and updates that write the same text.
func compare(live, shadow side) Night {
	n := Night{RunID: live.Run.ID, WindowSince: live.Run.WindowSince, WindowUntil: live.Run.WindowUntil,
		Live: outcome(live), Shadow: outcome(shadow), Differences: []Difference{}}
	n.Questions = questions(live.Chunks, shadow.Chunks)
	theirs := shadow.deeds
	if live.Run.Stats.Edited {
		theirs = slices.DeleteFunc(slices.Clone(theirs), func(d reverie.Deed) bool { return d.Held })
	}
	if live.Run.Stats.Approved > 0 { // what would have been held was let pass with the plan
		theirs = slices.Clone(theirs)
		for i := range theirs {
			theirs[i].Held = false
		}
	}
	pair, taken := match(live.deeds, theirs)
	for i, d := range live.deeds {
		switch {
		case pair[i] < 0:
			n.Differences = append(n.Differences, Difference{Kind: DiffOnlyLive, LineageID: d.LineageID, Live: actOf(d)})
		case agree(d, theirs[pair[i]]):
			n.Agree++
		default:
			n.Differences = append(n.Differences, difference(d, theirs[pair[i]]))
		}
	}
	for i, d := range theirs {
		if !taken[i] {
			n.Differences = append(n.Differences, Difference{Kind: DiffOnlyShadow, LineageID: d.LineageID, Shadow: actOf(d)})
		}
	}
	n.Differ = len(n.Differences)
	return n
}

// match gives each live deed the index of its like in the shadow, -1 for none, and tells
// which of those are taken. What is alike in more is matched first.
func match(live, shadow []reverie.Deed) (pair []int, taken []bool) {
	pair, taken = make([]int, len(live)), make([]bool, len(shadow))
	for i := range pair {
		pair[i] = -1
	}
	for _, alike := range []func(a, b reverie.Deed) bool{
		func(a, b reverie.Deed) bool { return a.LineageID == b.LineageID && agree(a, b) },
		func(a, b reverie.Deed) bool { return a.LineageID == b.LineageID && a.Action == b.Action },
		func(a, b reverie.Deed) bool { return a.LineageID == b.LineageID },
		func(a, b reverie.Deed) bool { return writes(a) && writes(b) && sameText(a, b) },
	} {
		for i, d := range live {
			if pair[i] >= 0 {
				continue
			}
			j := 0
			for j < len(shadow) && (taken[j] || !alike(d, shadow[j])) {
				j++
			}
			if j < len(shadow) {
				pair[i], taken[j] = j, true
			}
		}
	}
	return pair, taken
}

// agree tells whether two deeds do the same, in the same words.
func agree(a, b reverie.Deed) bool {
	return a.Action == b.Action && a.Held == b.Held && sameText(a, b)
}

func sameText(a, b reverie.Deed) bool {
	return a.NewStatement == b.NewStatement || text.ContentHash(a.NewStatement) == text.ContentHash(b.NewStatement)
}

// writes tells whether a deed writes a statement.
func writes(d reverie.Deed) bool {
	return d.Action == reverie.ActionCreate || d.Action == reverie.ActionUpdate
}

// difference says how two deeds on one memory are not the same.
func difference(live, shadow reverie.Deed) Difference {
	d := Difference{Kind: DiffWords, LineageID: live.LineageID, Live: actOf(live), Shadow: actOf(shadow)}
	switch {
	case live.Action != shadow.Action:
		d.Kind = DiffAction
	case live.Held != shadow.Held:
		d.Kind = DiffHeld
	}
	return d
}

func actOf(d reverie.Deed) *Act {
	return &Act{Action: d.Action, OldStatement: d.OldStatement, NewStatement: d.NewStatement, Held: d.Held}
}

// outcome sums up a side.
func outcome(s side) Outcome {
	row := s.Run
	o := Outcome{Status: row.Status, Model: row.Model, PromptVersion: row.PromptVersion, PromptSHA256: row.PromptSHA256,
		Refused: row.Stats.Refused, Cited: row.Stats.Cited, Considered: row.Stats.Considered, Filtered: row.Stats.Filtered, Spend: s.Spend}
	for _, c := range s.Chunks {
		if c.Status == reverie.ChunkApplied || c.Status == reverie.ChunkHeld {
			o.Chunks++
		}
	}
	for _, d := range s.deeds {
		switch {
		case d.Held && d.Action != reverie.ActionKeep:
			o.Held++
		case d.Held:
		case d.Action == reverie.ActionCreate:
			o.Created++
		case d.Action == reverie.ActionUpdate:
			o.Updated++
		case d.Action == reverie.ActionDelete:
			o.Deleted++
		case d.Action == reverie.ActionKeep:
			o.Supported++
		}
	}
	return o
}

// questions counts the chunks that were asked about in the same words: model, prompt,
// memories and messages.
func questions(live, shadow []reverie.Chunk) (q Questions) {
	for _, c := range live {
		if c.InputSHA256 == "" || c.Status == reverie.ChunkFailed {
			continue
		}
		if slices.ContainsFunc(shadow, func(o reverie.Chunk) bool { return o.No == c.No && o.InputSHA256 == c.InputSHA256 }) {
			q.Same++
		} else {
			q.Other++
		}
	}
	return q
}
