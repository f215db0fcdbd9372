package evolve

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"

	"reverie/internal/decide"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// The rules by which evolve refuses a line, besides those for statements (safety.Rule).
const (
	ruleForm          = "form"            // the line is an object, but no action
	ruleUnknownID     = "unknown_id"      // the id is missing, or no active memory of this group has it
	ruleRepeated      = "repeated"        // the answer says the same twice
	ruleContradictory = "contradictory"   // several different actions on one memory, or a create with an id
	ruleRecreated     = "recreated"       // the answer deletes this statement and creates it again
	ruleEvidence      = "evidence"        // none of the cited evidence could be verified
	rulePerson        = decide.RulePerson // it would overwrite what a person wrote, and quotes nothing
	ruleQuota         = decide.RuleQuota  // too many creates in an answer, or memories in a group
)

// line is a proposal whose ids, evidence and statement have been verified.
type line struct {
	proposal
	target   *reverie.HeadState // nil for a create
	evidence []reverie.Evidence
	quoted   bool   // a new message was quoted, not only cited by its number
	silent   bool   // of a delete: the only reason is silence, so the memory is archived
	hash     string // hash of the statement of a create or an update
}

// text returns the text that a create or an update writes: see [reverie.Memory.Text].
func (l line) text() string {
	m := reverie.Memory{Kind: reverie.KindGroup, ContentHash: l.hash}
	if l.target != nil {
		m.Kind = l.target.Kind
	}
	return m.Text()
}

// checked is an answer after all the rules: the accepted lines, the lines held for a person, and the refusals. An
// update that repeats its own memory has become a keep. An update that repeats another memory has become a delete with
// the reason "merged".
type checked struct {
	accepted []line
	held     []line
	refused  []reverie.Refusal
}

// check applies all rules to the proposals, except the limit on active memories. It is pure: the same input and
// proposals always give the same result.
func check(s *chunkInput, proposals []proposal, refused []reverie.Refusal) checked {
	c := &checker{chunkInput: s, byHandle: map[string]*reverie.HeadState{}}
	c.refused = refused
	for i := range s.state.Heads {
		c.byHandle[s.state.Heads[i].ID] = &s.state.Heads[i]
	}
	for i := range s.shown {
		c.byHandle[s.shown[i].ID] = &s.shown[i]
		c.byHandle["m"+strconv.Itoa(i+1)] = &s.shown[i]
	}
	var lines []line
	for _, p := range c.copyToSameText(proposals) {
		if l, ok := c.line(p); ok {
			lines = append(lines, l)
		}
	}
	lines = c.oneActionEach(lines)
	lines = c.keepRecreated(lines)
	c.settle(lines)
	c.endUnsupported()
	return c.checked
}

type checker struct {
	*chunkInput
	checked
	byHandle map[string]*reverie.HeadState
}

// copyToSameText copies a line that cites messages to every shown memory with the same statement as the memory that the
// line names. The prompt does not tell the model the kind of a memory, so a line about one of them applies to all. A
// memory that the answer names itself gets no copy.
func (c *checker) copyToSameText(proposals []proposal) (all []proposal) {
	named := map[string]bool{}
	for _, p := range proposals {
		if h := c.byHandle[p.oldID]; h != nil {
			named[h.ID] = true
		}
	}
	for _, p := range proposals {
		all = append(all, p)
		h := c.byHandle[p.oldID]
		if h == nil || len(p.evidence) == 0 || p.action == reverie.ActionCreate {
			continue
		}
		for _, o := range c.shown {
			if o.ContentHash == h.ContentHash && !named[o.ID] {
				p.oldID = o.ID
				all = append(all, p)
			}
		}
	}
	return all
}

func (c *checker) refuse(p proposal, rule, detail string) {
	c.refused = append(c.refused, p.refusal(rule, detail))
}

func (p proposal) refusal(rule, detail string) reverie.Refusal {
	return reverie.Refusal{Line: p.line, Action: string(p.action), Handle: text.Excerpt(p.oldID, 40), Rule: rule, Detail: detail}
}

// line checks one proposal by itself.
func (c *checker) line(p proposal) (line, bool) {
	l := line{proposal: p}
	l.tags, l.reason = safety.CleanTags(p.tags), safety.CleanReason(p.reason)
	if p.action == reverie.ActionCreate {
		if p.oldID != "" {
			c.refuse(p, ruleContradictory, "a create names no old_id; to change a memory, update it")
			return l, false
		}
	} else if l.target = c.byHandle[p.oldID]; l.target == nil {
		c.refuse(p, ruleUnknownID, "no active memory of this group has this id")
		return l, false
	}
	l.evidence, l.quoted = c.evidence(p)
	if l.target != nil && l.target.Held() && !c.applyToHeld(&l) {
		return l, false
	}
	if l.target != nil && l.target.ByPerson() && l.action != reverie.ActionKeep && !l.quoted {
		c.refuse(p, rulePerson, l.target.Unquoted(string(l.action)))
		return l, false
	}
	switch l.action {
	case reverie.ActionCreate, reverie.ActionUpdate:
		var broken *safety.StatementError
		if err := safety.CheckStatement(l.statement); errors.As(err, &broken) && !broken.Doubtful() {
			c.refuse(p, string(broken.Rule), broken.Detail)
			return l, false
		}
		if len(l.evidence) == 0 {
			c.refuse(p, ruleEvidence, "none of its evidence stands in a new message of this chunk by a member")
			return l, false
		}
		l.hash = text.ContentHash(l.statement)
		if broken != nil && !c.hasStatement(l.hash) {
			c.holdOnce(l, broken.Detail)
			return l, false
		}
	case reverie.ActionDelete:
		l.quoted = l.quoted && !slices.ContainsFunc(l.evidence, isOrder)
		l.silent = !l.quoted && c.silence(*l.target).Stale()
		unproven := !l.quoted && !l.silent
		rule, detail := decide.Asked(*l.target, reverie.Step{Action: reverie.ActionDelete})
		if rule != "" && (unproven || l.target.Waits == c.runID) {
			c.refuse(p, rule, detail)
			return l, false
		}
		if unproven {
			l.reason = heldFor(l.reason, unproved)
			c.held = append(c.held, l)
			return l, false
		}
	}
	return l, true
}

// isOrder reports whether a quote gives orders to the model or imitates one of its roles. Such a quote proves no
// delete.
func isOrder(e reverie.Evidence) bool {
	var broken *safety.StatementError
	return errors.As(safety.CheckStatement(e.Quote), &broken) &&
		(broken.Rule == safety.RuleInstruction || broken.Rule == safety.RuleMarkup)
}

// hasStatement reports whether an active memory already has the statement with this hash. Such a statement has passed
// review before.
func (c *checker) hasStatement(hash string) bool {
	return slices.ContainsFunc(c.state.Heads, func(h reverie.HeadState) bool { return h.ContentHash == hash && !h.Held() })
}

// holdOnce holds a doubtful statement for review. A second line with the same statement is refused.
func (c *checker) holdOnce(l line, why string) {
	if slices.ContainsFunc(c.held, func(o line) bool { return o.hash == l.hash && o.hash != "" }) {
		c.refuse(l.proposal, ruleRepeated, "the answer has already written this statement")
		return
	}
	l.reason = heldFor(l.reason, why)
	c.held = append(c.held, l)
}

// unproved is the reason why a delete is held for review.
const unproved = "no verified quote, and the memory is not stale"

// heldFor is the reason that a reviewer reads beside a held line: the model's own, and why the line is held.
func heldFor(reason, why string) string {
	if reason == "" {
		return why
	}
	return safety.CleanReason(reason + " (" + why + ")")
}

// evidence verifies the citations of a proposal. An earlier message counts only together with a new one. verified
// reports whether a new message was quoted, not only cited by its number.
func (c *checker) evidence(p proposal) (evidence []reverie.Evidence, verified bool) {
	fresh, verified := safety.Cite(p.evidence, c.fresh, c.loc) // the fresh messages have the first numbers
	if len(fresh) == 0 {
		return nil, false
	}
	if evidence, _ = safety.Cite(p.evidence, c.messages(), c.loc); len(evidence) == 0 { // the quote is in an earlier one
		evidence = fresh
	}
	return evidence, verified
}

// oneActionEach refuses lines that name one memory more than once. Of equal actions the first stays; of different
// actions none does.
func (c *checker) oneActionEach(lines []line) []line {
	asked, several := map[string]reverie.Action{}, map[string]bool{} // by memory id
	for _, l := range slices.Concat(lines, c.held) {
		if l.target != nil {
			before, again := asked[l.target.ID]
			several[l.target.ID] = several[l.target.ID] || again && before != l.action
			asked[l.target.ID] = l.action
		}
	}
	said := map[string]bool{}
	once := func(lines []line) (kept []line) {
		for _, l := range lines {
			switch {
			case l.target == nil:
				kept = append(kept, l)
			case several[l.target.ID]:
				c.refuse(l.proposal, ruleContradictory, "the answer asks for different actions on this memory; it stays as it is")
			case said[l.target.ID]:
				c.refuse(l.proposal, ruleRepeated, "the answer has already said this of the memory")
			default:
				said[l.target.ID] = true
				kept = append(kept, l)
			}
		}
		return kept
	}
	kept := once(lines)
	c.held = once(c.held)
	return kept
}

// keepRecreated refuses both lines where the answer deletes a statement and creates it again. The memory stays, with
// its history.
func (c *checker) keepRecreated(lines []line) []line {
	created := map[string]bool{}
	for _, l := range lines {
		if l.action == reverie.ActionCreate {
			created[l.hash] = true
		}
	}
	deleted := map[string]bool{}
	drop := func(lines []line) (kept []line) {
		for _, l := range lines {
			if l.action == reverie.ActionDelete && created[l.target.ContentHash] && !l.target.Held() {
				deleted[l.target.ContentHash] = true
				c.refuse(l.proposal, ruleRecreated, "the answer creates this statement again; the memory stays")
				continue
			}
			kept = append(kept, l)
		}
		return kept
	}
	lines = drop(lines)
	c.held = drop(c.held)
	var kept []line
	for _, l := range lines {
		if l.action == reverie.ActionCreate && deleted[l.hash] {
			c.refuse(l.proposal, ruleRecreated, "the answer deletes this very statement; the memory stays")
			continue
		}
		kept = append(kept, l)
	}
	return kept
}

// settle gives each line its final action, so that no statement becomes active twice.
func (c *checker) settle(lines []line) {
	stands := map[string]bool{} // texts that are active whatever the updates do
	maps.Copy(stands, c.state.Taken)
	for _, h := range c.state.Heads {
		stands[h.Text()] = true
	}
	created := map[string]bool{}
	for _, l := range lines {
		switch {
		case l.action == reverie.ActionCreate:
			created[l.text()] = true
		case l.target.Held(): // a held memory has no active text
		case l.action == reverie.ActionDelete, l.action == reverie.ActionUpdate && l.hash != l.target.ContentHash:
			delete(stands, l.target.Text())
		}
	}
	planned := map[string]bool{} // texts that this answer makes active
	lines = c.settleUpdates(lines, stands, planned, created)
	c.settleCreates(lines, stands, planned)
}

// settleUpdates settles the updates before the creates, so that a memory with a history wins over a create of the same
// statement. An update that repeats its own memory becomes a keep. An update that repeats another memory becomes a
// delete that merges the two. It is refused where the answer also creates the statement that this delete would remove.
func (c *checker) settleUpdates(lines []line, stands, planned, created map[string]bool) (settled []line) {
	for _, l := range lines {
		if l.action == reverie.ActionUpdate {
			own, held := l.target.Text(), l.target.Held()
			switch {
			case l.text() == own && !held:
				l.action = reverie.ActionKeep
			case !stands[l.text()] && !planned[l.text()]:
				planned[l.text()] = true
			case created[own] && !planned[own] && !held:
				stands[own] = true
				c.refuse(l.proposal, ruleRecreated, "another memory says this already, and the answer creates the old statement again; the memory stays")
				continue
			default:
				l.action, l.reason = reverie.ActionDelete, reverie.ReasonMerged
				c.keepHeld(l.text())
			}
		}
		settled = append(settled, l)
	}
	return settled
}

// keepHeld refuses held lines on a memory that another memory merges into. Otherwise a person who approved such a line
// later would lose the statement.
func (c *checker) keepHeld(text string) {
	c.held = slices.DeleteFunc(c.held, func(l line) bool {
		merged := l.target != nil && l.target.Text() == text
		if merged {
			c.refuse(l.proposal, ruleContradictory, "the answer gives another memory this statement, which merges into this one; it stays")
		}
		return merged
	})
}

// settleCreates accepts the lines, and each new statement once. The limit on active memories is applied later, because
// decide turns some creates into updates or support.
func (c *checker) settleCreates(lines []line, stands, planned map[string]bool) {
	for _, l := range lines {
		if l.action == reverie.ActionCreate && !stands[l.text()] { // decide turns others into keeps
			if planned[l.text()] {
				c.refuse(l.proposal, ruleRepeated, "the answer has already written this statement")
				continue
			}
			planned[l.text()] = true
		}
		c.accepted = append(c.accepted, l)
	}
}

// boundArchives keeps at most this many archives for silence: those of the memories that have been silent longest. The
// others are refused, and the next night may archive them.
func (c *checked) boundArchives(most int) {
	oldest := slices.Clone(c.accepted)
	oldest = slices.DeleteFunc(oldest, func(l line) bool { return !l.silent })
	if len(oldest) <= most {
		return
	}
	slices.SortStableFunc(oldest, func(a, b line) int { return a.target.LastSupportedAt.Compare(b.target.LastSupportedAt) })
	for _, late := range oldest[max(most, 0):] {
		c.refused = append(c.refused, late.refusal(ruleQuota, "the run has archived as many memories for silence as it may"))
		c.accepted = slices.DeleteFunc(c.accepted, func(l line) bool { return l.silent && l.target.ID == late.target.ID })
	}
}

// A memory is judged again when its evidence has changed or was removed. When the evidence was erased, the memory is
// held meanwhile: searches do not find it, and only a quoted message makes it active again. All messages left of its
// evidence count, in whichever chunk or run they come. Judging ends with the last of them.

// leaveWaiting removes memories from judging that a held plan writes. They are judged again if a person rejects that
// plan.
func leaveWaiting(state *reverie.State) {
	state.Again = slices.DeleteFunc(state.Again, func(h reverie.HeadState) bool { return h.Waits != "" })
	for i := range state.Heads {
		if h := &state.Heads[i]; h.Waits != "" {
			h.JudgeAgain, h.Awaits = "", nil
		}
	}
}

// toJudge chooses the memories that this chunk judges again, and returns the other memories that may be shown. Memories
// whose evidence has messages in this chunk come first. Memories whose evidence has messages only in other chunks are
// left to those chunks. Memories that await no message are judged as far as the limit leaves room.
func (s *chunkInput) toJudge(limit int) (again, others []reverie.HeadState) {
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

// has reports whether any of the message ids belongs to this chunk.
func (s *chunkInput) has(ids []string) bool { return len(s.without(ids)) < len(ids) }

// without returns the message ids that do not belong to this chunk.
func (s *chunkInput) without(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(s.state.Pending, func(m reverie.Message) bool { return m.ID == id })
	})
}

// applyToHeld applies a line to a held memory and reports whether it counts. With a quote, a keep writes the statement
// again as a new version, and a delete ends the memory. Without a quote a keep or a delete has no effect, and an update
// is refused.
func (c *checker) applyToHeld(l *line) bool {
	switch {
	case l.quoted && l.action == reverie.ActionKeep:
		l.action, l.statement = reverie.ActionUpdate, l.target.Statement
	case !l.quoted && l.action == reverie.ActionUpdate:
		c.refuse(l.proposal, ruleEvidence, "the memory is held, and no new message is quoted that brings it back")
	}
	l.reason = judgedReason(l.reason, l.target)
	return l.quoted
}

// judgedReason is the reason of a line about a memory that was judged again.
func judgedReason(reason string, h *reverie.HeadState) string {
	again := "judged again: " + h.JudgeAgain
	if reason == "" {
		return safety.CleanReason(again)
	}
	return safety.CleanReason(reason + " (" + again + ")")
}

// endUnsupported ends the held memories that this chunk judged and that no accepted or held line names. A memory that
// awaits a message outside the chunk stays held.
func (c *checker) endUnsupported() {
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

// judgedKept returns the lineages that the chunk judged again and left as they are. Lineages that a held plan writes
// are not among them.
func (s *chunkInput) judgedKept(plan reverie.Plan) (lineages []string) {
	for _, h := range s.shown[:s.judging] {
		written := func(step reverie.Step) bool { return step.LineageID == h.LineageID }
		if !h.Held() && !slices.ContainsFunc(plan.Steps, written) && !slices.ContainsFunc(plan.Held, written) {
			lineages = append(lineages, h.LineageID)
		}
	}
	return lineages
}

// noteJudged notes the outcome of a plan on the memories of a dry run: which are judged, which are held for review, and
// which awaited messages are consumed.
func (s *chunkInput) noteJudged(list []reverie.HeadState, plan reverie.Plan) {
	done := map[string]bool{}
	for _, id := range plan.Judged {
		done[id] = true
	}
	for _, step := range slices.Concat(plan.Steps, plan.Held) {
		done[step.LineageID] = true
	}
	waits := map[string]bool{}
	for _, step := range plan.Held {
		waits[step.LineageID] = true
	}
	for i := range list {
		h := &list[i]
		if h.Awaits = s.without(h.Awaits); done[h.LineageID] {
			h.JudgeAgain = ""
		}
		if waits[h.LineageID] {
			h.Waits = cmp.Or(plan.RunID, decide.ThisPlan)
		}
	}
}
