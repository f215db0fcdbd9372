package evolve

import (
	"slices"

	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// A memory is to be judged again where what it rests on has changed or gone. Where
// that was erased, it is held until then: nobody recalls it, and only a quoted
// message brings it back. What the messages say that are left of its evidence
// counts, whichever chunk or run has them, so that it ends with the last of them.

// leaveWaiting leaves alone what a plan writes that waits for a person: it is judged
// again when that person has said no.
func leaveWaiting(state *reverie.State) {
	state.Again = slices.DeleteFunc(state.Again, func(h reverie.HeadState) bool { return h.Waits })
	for i := range state.Heads {
		if h := &state.Heads[i]; h.Waits {
			h.JudgeAgain, h.Awaits = "", nil
		}
	}
}

// toJudge chooses what this chunk judges again, those first of whose evidence it has
// messages, and the other memories that may be shown. What only messages of other
// chunks can bear out is left to those. Of what no message waits for, as many are
// judged as the limit leaves room for.
func (s *sheet) toJudge(limit int) (again, others []reverie.HeadState) {
	var whenever []reverie.HeadState
	for _, h := range s.state.Heads {
		switch {
		case h.JudgeAgain != "" && s.has(h.Awaits):
			again = append(again, h)
		case h.JudgeAgain != "" && len(h.Awaits) == 0:
			whenever = append(whenever, h)
		default:
			others = append(others, h)
		}
	}
	for _, h := range s.state.Again {
		switch {
		case s.has(h.Awaits):
			again = append(again, h)
		case len(h.Awaits) == 0:
			whenever = append(whenever, h)
		}
	}
	room := min(max(limit-len(again), 0), len(whenever))
	for _, h := range whenever[room:] {
		if h.Kind == reverie.KindGroup && !h.Held() {
			others = append(others, h)
		}
	}
	return append(again, whenever[:room]...), others
}

// has tells whether any of the messages is the chunk's own.
func (s *sheet) has(ids []string) bool { return len(s.without(ids)) < len(ids) }

// without are those of the messages that are not the chunk's own.
func (s *sheet) without(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(s.state.Pending, func(m reverie.Message) bool { return m.ID == id })
	})
}

// ofHeld says what a line means for a held memory: by a quote a keep brings it back as
// a new version of what it said, and a delete ends it at once. Without one they say
// nothing, and an update is refused.
func (c *checker) ofHeld(l *line) bool {
	switch {
	case l.quoted && l.action == reverie.ActionKeep:
		l.action, l.statement = reverie.ActionUpdate, l.target.Statement
	case !l.quoted && l.action == reverie.ActionUpdate:
		c.refuse(l.proposal, ruleEvidence, "the memory is held, and no new message is quoted that brings it back")
	}
	l.reason = judgedReason(l.reason, l.target)
	return l.quoted
}

// judgedReason is why something became of what was judged again.
func judgedReason(reason string, h *reverie.HeadState) string {
	again := "judged again: " + h.JudgeAgain
	if reason == "" {
		return safety.CleanReason(again)
	}
	return safety.CleanReason(reason + " (" + again + ")")
}

// lapse ends what is held, was judged by this chunk and has not come back, nor may by
// a person's word, where no message is pending beyond the chunk that could still bear
// it out.
func (c *checker) lapse() {
	for i := range c.judging {
		h := &c.shown[i]
		about := func(l line) bool { return l.target != nil && l.target.LineageID == h.LineageID }
		settled := slices.ContainsFunc(c.accepted, about) || slices.ContainsFunc(c.held, about)
		if !h.Held() || settled || len(c.without(h.Awaits)) > 0 {
			continue
		}
		c.accepted = append(c.accepted, line{target: h,
			proposal: proposal{action: reverie.ActionDelete, reason: judgedReason("no message that is left says it", h)}})
	}
}

// asKept are the lineages that the chunk judged again and left as they are, unless
// a plan that waits for a person writes them.
func (s *sheet) asKept(plan reverie.Plan) (lineages []string) {
	for _, h := range s.shown[:s.judging] {
		written := func(step reverie.Step) bool { return step.LineageID == h.LineageID }
		if !h.Held() && !slices.ContainsFunc(plan.Steps, written) && !slices.ContainsFunc(plan.Held, written) {
			lineages = append(lineages, h.LineageID)
		}
	}
	return lineages
}

// judged notes on the memories what a plan has judged of them, or waits with to a
// person, and which messages are consumed by it.
func (s *sheet) judged(list []reverie.HeadState, plan reverie.Plan) {
	done := map[string]bool{}
	for _, id := range plan.Judged {
		done[id] = true
	}
	for _, step := range slices.Concat(plan.Steps, plan.Held) {
		done[step.LineageID] = true
	}
	for i := range list {
		h := &list[i]
		if h.Awaits = s.without(h.Awaits); done[h.LineageID] {
			h.JudgeAgain = ""
		}
	}
}
