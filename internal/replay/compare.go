package replay

import (
	"slices"

	"reverie/evolve"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// side is what a run did, or what its replayed questions come to.
type side struct {
	outcome Outcome
	effects []reverie.RunEffect
}

// recordedSide returns what a run did, including the lines that it held.
func recordedSide(past pastRun) side {
	row := past.Run
	s := side{effects: past.effects, outcome: Outcome{Model: row.Model, PromptVersion: row.PromptVersion, PromptSHA256: row.PromptSHA256,
		Chunks: len(past.chunks), Refused: row.Stats.Refused, Spend: past.Spend,
		Cited: row.Stats.Cited, Considered: row.Stats.Considered, Filtered: row.Stats.Filtered}}
	for _, plan := range past.Held {
		s.effects = append(s.effects, effects(plan.Steps, true)...)
	}
	return s
}

// replayedSide returns what the replayed questions come to.
func replayedSide(asked *meter, plans []evolve.Replayed) side {
	s := side{outcome: Outcome{Model: asked.Name(), Chunks: len(plans), Spend: asked.spent}}
	o := &s.outcome
	for _, plan := range plans {
		o.PromptVersion, o.PromptSHA256 = plan.PromptVersion, plan.PromptSHA256
		o.Refused += len(plan.Refusals)
		for _, outcome := range plan.Outcomes {
			switch outcome {
			case reverie.OutcomeCited:
				o.Cited++
			case reverie.OutcomeConsidered:
				o.Considered++
			case reverie.OutcomeFiltered:
				o.Filtered++
			}
		}
		s.effects = append(s.effects, effects(plan.Steps, false)...)
		s.effects = append(s.effects, effects(plan.Held, true)...)
	}
	return s
}

// effects returns what steps do, or would do after approval.
func effects(steps []reverie.Step, held bool) (list []reverie.RunEffect) {
	for _, s := range steps {
		e := reverie.RunEffect{Action: s.Action, LineageID: s.LineageID, OldStatement: s.OldStatement, NewStatement: s.Statement, Held: held}
		if s.Action == reverie.ActionKeep {
			e.NewStatement = s.OldStatement
		}
		list = append(list, e)
	}
	return list
}

// compare returns what both sides do, what they do differently, and what only one side does. It is pure. Effects on the
// same lineage are compared with each other. Other creates and updates are compared if they write the same text.
func compare(recorded, replayed side) Night {
	n := Night{Recorded: recorded.counted(), Replayed: replayed.counted(), Differences: []Difference{}, Missing: []string{}}
	pair, taken := match(recorded.effects, replayed.effects)
	for i, r := range recorded.effects {
		d := Difference{Kind: DiffOnlyRecorded, LineageID: r.LineageID, Recorded: actOf(r)}
		if pair[i] >= 0 {
			other := replayed.effects[pair[i]]
			if agree(r, other) {
				n.Agree++
				continue
			}
			d.Kind, d.Replayed = kindOf(r, other), actOf(other)
		}
		n.Differences = append(n.Differences, d)
	}
	for i, r := range replayed.effects {
		if !taken[i] {
			n.Differences = append(n.Differences, Difference{Kind: DiffOnlyReplayed, LineageID: r.LineageID, Replayed: actOf(r)})
		}
	}
	n.Differ = len(n.Differences)
	return n
}

// match returns for each recorded effect the index of the most similar replayed effect, -1 for none, and which replayed
// effects are matched. The most similar pairs are matched first.
func match(recorded, replayed []reverie.RunEffect) (pair []int, taken []bool) {
	pair, taken = slices.Repeat([]int{-1}, len(recorded)), make([]bool, len(replayed))
	for _, alike := range []func(a, b reverie.RunEffect) bool{
		func(a, b reverie.RunEffect) bool { return a.LineageID == b.LineageID && agree(a, b) },
		func(a, b reverie.RunEffect) bool { return a.LineageID == b.LineageID && a.Action == b.Action },
		func(a, b reverie.RunEffect) bool { return a.LineageID == b.LineageID },
		func(a, b reverie.RunEffect) bool { return writes(a) && writes(b) && sameText(a, b) },
	} {
		for i, r := range recorded {
			if pair[i] >= 0 {
				continue
			}
			for j, other := range replayed {
				if !taken[j] && alike(r, other) {
					pair[i], taken[j] = j, true
					break
				}
			}
		}
	}
	return pair, taken
}

// agree reports whether two effects are the same, word for word.
func agree(a, b reverie.RunEffect) bool {
	return a.Action == b.Action && a.Held == b.Held && sameText(a, b)
}

func sameText(a, b reverie.RunEffect) bool {
	return a.NewStatement == b.NewStatement || text.ContentHash(a.NewStatement) == text.ContentHash(b.NewStatement)
}

// writes reports whether an effect writes a statement.
func writes(e reverie.RunEffect) bool {
	return e.Action == reverie.ActionCreate || e.Action == reverie.ActionUpdate
}

// kindOf returns how two effects on one memory differ.
func kindOf(recorded, replayed reverie.RunEffect) string {
	switch {
	case recorded.Action != replayed.Action:
		return DiffAction
	case recorded.Held != replayed.Held:
		return DiffHeld
	}
	return DiffWords
}

func actOf(e reverie.RunEffect) *Act {
	return &Act{Action: e.Action, OldStatement: e.OldStatement, NewStatement: e.NewStatement, Held: e.Held}
}

// counted returns the outcome of a side with its effects counted.
func (s side) counted() Outcome {
	o := s.outcome
	for _, e := range s.effects {
		switch {
		case e.Held && e.Action != reverie.ActionKeep:
			o.Held++
		case e.Held:
		case e.Action == reverie.ActionCreate:
			o.Created++
		case e.Action == reverie.ActionUpdate:
			o.Updated++
		case e.Action == reverie.ActionDelete:
			o.Deleted++
		case e.Action == reverie.ActionKeep:
			o.Supported++
		}
	}
	return o
}
