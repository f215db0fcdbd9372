package evolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/decide"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// chunk makes the plan of a chunk, on what those before will have left.
func (h *hand) chunk(c *reverie.PlanChunk) {
	s := h.sheet(c)
	b := &chunkHand{hand: h, sheet: s, chunk: c, lineages: map[string]bool{}, passed: map[string]bool{}, named: map[string]string{}}
	for _, step := range c.Steps {
		if l, ok := b.line(step); ok {
			b.add(step, l)
		}
	}
	if len(h.unsound) > 0 {
		return
	}
	plan := b.plan()
	b.checkRoom(plan)
	if len(h.unsound) > 0 {
		return
	}
	h.shadowApply(s, plan)
	b.checkTwins()
	plan.Stats = h.count(s, plan)
	h.life.Stats = plan.Stats
	h.plans = append(h.plans, plan)
	chunk := reverie.Chunk{RunID: plan.RunID, No: c.No, InputSHA256: c.InputSHA256, Answer: h.Privacy.Mask(c.Answer), Status: reverie.ChunkAnswered}
	for _, m := range s.state.Pending {
		chunk.MessageIDs = append(chunk.MessageIDs, m.ID)
	}
	h.chunks = append(h.chunks, chunk)
	for name, id := range b.named {
		h.written[name] = id
	}
}

// sheet is the group as the chunk finds it.
func (h *hand) sheet(c *reverie.PlanChunk) *sheet {
	s := &sheet{no: c.No, state: h.state, loc: h.loc, staleAfter: h.Limits.StaleAfter, maxActive: h.Limits.MaxActive, compared: c.Compared,
		createsLeft: max(h.Limits.MaxCreates-h.life.Stats.Created, 0)}
	if h.shadow != nil {
		h.shadow.read(&s.state)
	}
	of := map[string]int{}
	for _, m := range h.file.Messages {
		of[m.MessageID] = m.Chunk
	}
	s.state.Pending, s.asOf = nil, h.file.Until
	for _, read := range h.is.Messages { // in their order
		switch m := h.own[read.ID]; {
		case of[m.ID] == 0:
			s.earlier = append(s.earlier, m)
		case of[m.ID] != c.No:
		case m.Speaks():
			s.state.Pending, s.fresh = append(s.state.Pending, m), append(s.fresh, m)
		default:
			s.state.Pending, s.filtered = append(s.state.Pending, m), append(s.filtered, m)
		}
	}
	if n := len(s.state.Pending); n > 0 && (h.file.OpenEnded || c.No < h.file.Chunks[len(h.file.Chunks)-1].No || s.asOf.After(h.now)) {
		s.asOf = s.state.Pending[n-1].SentAt
	}
	return s
}

// chunkHand is a chunk of a plan in hand while its steps are checked.
type chunkHand struct {
	*hand
	sheet    *sheet
	chunk    *reverie.PlanChunk
	lineages map[string]bool // that a step writes
	passed   map[string]bool // of them, those that a line writes which would be held, but for approve
	steps    []reverie.Step
	held     []reverie.Step
	doubts   []string          // why lines are held that the file does not hold
	named    map[string]string // names of what the chunk writes -> version ids
}

func (b *chunkHand) refuse(line int, format string, args ...any) {
	b.unsound = append(b.unsound, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
}

// head finds the memory that a line names: one that the plan rests on, or one that an
// earlier chunk writes.
func (b *chunkHand) head(name string) *reverie.HeadState {
	id, ok := b.written[name]
	if !ok && !reverie.IsID(name) {
		return nil
	}
	if !ok {
		id = name
	}
	for _, list := range [][]reverie.HeadState{b.sheet.state.Heads, b.sheet.state.Again} {
		if i := slices.IndexFunc(list, func(h reverie.HeadState) bool { return h.ID == id }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// line checks a step by itself, by the rules that hold for a model's.
func (b *chunkHand) line(s reverie.PlanStep) (l decide.Line, ok bool) {
	n := len(b.unsound)
	l = decide.Line{Action: s.Action, Tags: safety.CleanTags(s.Tags), Reason: safety.CleanReason(b.Privacy.Mask(s.Reason)), Held: s.Held}
	if s.Action != reverie.ActionCreate {
		if l.Target = b.head(s.MemoryID); l.Target == nil {
			b.refuse(s.Line, "memory %q is no head that the plan rests on, nor one that an applied line of an earlier chunk writes", text.Excerpt(s.MemoryID, 40))
			return l, false
		}
		if s.OldStatement != "" && s.OldStatement != l.Target.Statement {
			b.refuse(s.Line, "memory %s says something else than old_statement; edit statement, not that", s.MemoryID)
		}
	}
	if s.No != 0 || len(s.Sources) > 0 {
		b.refuse(s.Line, "step and sources belong to what a run holds")
	}
	if s.Replaces != "" {
		replaced := b.head(s.Replaces)
		if replaced == nil {
			b.refuse(s.Line, "replaces %q, which is no head that the plan rests on", text.Excerpt(s.Replaces, 40))
			return l, false
		}
		l.Replaces = replaced.LineageID
	}
	var fresh bool
	l.Evidence, fresh = b.evidence(s)
	l.Quoted = fresh
	b.statement(s, &l)
	b.grounds(s, &l, fresh)
	return l, len(b.unsound) == n
}

// evidence verifies what a step cites. fresh tells whether a message of the chunk is among it.
func (b *chunkHand) evidence(s reverie.PlanStep) (list []reverie.Evidence, fresh bool) {
	for _, e := range s.Evidence {
		name := text.Excerpt(e.MessageID, 60)
		find := func(list []reverie.Message) int {
			return slices.IndexFunc(list, func(m reverie.Message) bool { return m.ID == e.MessageID })
		}
		var m reverie.Message
		if i := find(b.sheet.fresh); i >= 0 {
			m, fresh = b.sheet.fresh[i], true
		} else if i := find(b.sheet.earlier); i >= 0 {
			m = b.sheet.earlier[i]
		} else {
			b.refuse(s.Line, "message %q is none of chunk %d, nor of its context", name, s.Chunk)
			continue
		}
		whole := safety.EvidenceOf(m, "", b.loc)
		switch {
		case m.Role != reverie.RoleUser:
			b.refuse(s.Line, "message %q is no member's", name)
		case e.Author != "" && e.Author != m.Author:
			b.refuse(s.Line, "message %q is not by %q", name, text.Excerpt(e.Author, 40))
		case e.Quote != "" && e.Quote != whole.Quote && !text.VerifyQuote(e.Quote, m.Text):
			b.refuse(s.Line, "“%s” does not stand in message %q", text.Excerpt(b.Privacy.Mask(e.Quote), 60), name)
		default:
			list = append(list, safety.EvidenceOf(m, e.Quote, b.loc))
		}
	}
	return list, fresh
}

// statement checks what a step writes. What may be there to lead a model astray waits for
// a person.
func (b *chunkHand) statement(s reverie.PlanStep, l *decide.Line) {
	if s.Statement == "" {
		return
	}
	body, err := b.Privacy.Statement(strings.TrimSpace(s.Statement))
	if l.Target != nil && body == l.Target.Statement {
		err = nil // it stands there already
	}
	if broken := (*safety.StatementError)(nil); errors.As(err, &broken) && !broken.Doubtful() {
		b.refuse(s.Line, "%v", err)
		return
	}
	l.Statement, l.ContentHash = body, text.ContentHash(body)
	known := slices.ContainsFunc(b.sheet.state.Heads, func(h reverie.HeadState) bool { return h.ContentHash == l.ContentHash })
	if err != nil && !known && !l.Held {
		l.Held = true
		b.doubts = append(b.doubts, err.Error())
	}
}

// grounds refuses a step without what it needs to rest on, as a run does.
func (b *chunkHand) grounds(s reverie.PlanStep, l *decide.Line, fresh bool) {
	held := l.Target != nil && l.Target.Held()
	switch {
	case s.Action == reverie.ActionKeep && held:
		b.refuse(s.Line, "memory %s is held: it comes back by an update, or ends", s.MemoryID)
	case s.Action != reverie.ActionDelete && !fresh:
		b.refuse(s.Line, "it needs evidence from a message of chunk %d by a member", s.Chunk)
	case s.Action != reverie.ActionDelete || fresh:
	case held && len(b.sheet.without(l.Target.Awaits)) > 0:
		b.refuse(s.Line, "memory %s may still be borne out by messages that are pending", s.MemoryID)
	case !held && !l.Held && !b.sheet.stale(*l.Target):
		l.Held = true
		b.doubts = append(b.doubts, unproved)
	}
}

// add makes a step of a line.
func (b *chunkHand) add(s reverie.PlanStep, l decide.Line) {
	step := decide.NewStep(l)
	if s.As != "" {
		b.named[s.As] = step.MemoryID
	}
	switch {
	case l.Held && !b.approve:
		b.held = append(b.held, step)
		return
	case l.Held:
		b.passed[step.LineageID] = true
		if step.Action != reverie.ActionKeep {
			b.letPass++
		}
	}
	b.steps = append(b.steps, step)
}

// plan is what the chunk's steps come to.
func (b *chunkHand) plan() reverie.Plan {
	c := b.chunk
	b.onceEach()
	b.placesOnce()
	plan := reverie.Plan{GroupID: b.file.GroupID, RunID: b.life.Row.ID, ChunkNo: c.No, Kind: reverie.KindGroup, Steps: b.steps, Held: b.held,
		Impressions: b.Impressions}
	if len(b.held) > 0 {
		reasons := append([]string{safety.CleanReason(b.Privacy.Mask(c.Held))}, b.doubts...)
		plan.HeldReason = strings.Join(slices.DeleteFunc(reasons, func(r string) bool { return r == "" }), "; ")
		plan.HeldAll = c.Whole && len(b.steps) == 0
	}
	if !plan.HeldAll {
		b.holdMass(&plan)
	}
	for _, name := range c.Judged {
		h := b.head(name)
		if h == nil || h.JudgeAgain == "" || h.Held() || b.lineages[h.LineageID] {
			b.unsound = append(b.unsound, fmt.Sprintf("chunk %d: memory %q is none that was to be judged again and stays as it is", c.No, text.Excerpt(name, 40)))
			continue
		}
		plan.Judged = append(plan.Judged, h.LineageID)
	}
	for _, r := range c.Refusals {
		r.Detail, r.Handle, r.Rule = text.Excerpt(b.Privacy.Mask(r.Detail), reverie.MaxStatement), text.Excerpt(r.Handle, 40), text.Excerpt(r.Rule, 40)
		r.Action = text.Excerpt(r.Action, 40)
		plan.Refusals = append(plan.Refusals, r.Refusal)
	}
	plan.Decisions = b.decisions()
	plan.Outcomes = outcomes(b.sheet, plan)
	return plan
}

// holdMass holds a plan that changes too much at once, unless a person lets it pass.
func (b *chunkHand) holdMass(plan *reverie.Plan) {
	whole := *plan
	whole.Steps, whole.Held = slices.Clone(plan.Steps), slices.Clone(plan.Held)
	holdMassChange(&whole, b.life.Stats, b.sheet.state.Heads, b.Limits)
	switch {
	case !whole.HeldAll:
	case !b.approve:
		*plan = whole
	default:
		for _, s := range plan.Steps {
			if s.Action != reverie.ActionKeep && !b.passed[s.LineageID] {
				b.letPass++
			}
		}
	}
}

// onceEach refuses several steps on one memory. Support of one whose deletion waits goes
// with that once it is let pass.
func (b *chunkHand) onceEach() {
	ended := map[string]bool{}
	for _, s := range b.steps {
		if s.Action == reverie.ActionDelete && b.passed[s.LineageID] {
			ended[s.LineageID] = true
		}
	}
	b.steps = slices.DeleteFunc(b.steps, func(s reverie.Step) bool { return s.Action == reverie.ActionKeep && ended[s.LineageID] })
	supported := map[string]bool{}
	for i, s := range slices.Concat(b.steps, b.held) {
		waits := i >= len(b.steps) && s.Action == reverie.ActionDelete && supported[s.LineageID]
		if b.lineages[s.LineageID] && !waits {
			b.unsound = append(b.unsound, fmt.Sprintf("chunk %d: several lines write memory %s", b.chunk.No, s.Head.MemoryID))
		}
		b.lineages[s.LineageID] = true
		supported[s.LineageID] = i < len(b.steps) && s.Action == reverie.ActionKeep && !supported[s.LineageID]
	}
}

// placesOnce refuses a create that takes the place of a memory which the chunk does not
// delete with it, and several that take the same one.
func (b *chunkHand) placesOnce() {
	taken := map[string]bool{}
	for _, list := range [][]reverie.Step{b.steps, b.held} {
		for _, s := range list {
			if s.Replaces == "" {
				continue
			}
			with := slices.ContainsFunc(list, func(o reverie.Step) bool { return o.LineageID == s.Replaces && o.Action == reverie.ActionDelete })
			if !with || taken[s.Replaces] {
				b.unsound = append(b.unsound, fmt.Sprintf("chunk %d: “%s” takes the place of a memory that is not deleted with it, or whose place another takes: take replaces out",
					b.chunk.No, text.Excerpt(s.Statement, 60)))
			}
			taken[s.Replaces] = true
		}
	}
}

// decisions are those of the chunk, with the ids of what it writes. One whose memory is
// not written any more names none.
func (b *chunkHand) decisions() (list []reverie.Decision) {
	find := func(name string) string {
		if id := b.named[name]; id != "" {
			return id
		}
		if h := b.head(name); h != nil {
			return h.ID
		}
		return ""
	}
	body := func(s string, most int) string { return text.Excerpt(b.Privacy.Mask(s), most) }
	for _, d := range b.chunk.Decisions {
		decision := reverie.Decision{GroupID: b.file.GroupID, RunID: b.life.Row.ID, ChunkNo: b.chunk.No, No: d.No, Kind: reverie.KindGroup,
			Statement: body(d.Statement, reverie.MaxStatement), ContentHash: text.ContentHash(d.Statement), Action: d.Action, Basis: d.Basis,
			TargetID: find(d.TargetID), MemoryID: find(d.MemoryID), Reason: body(d.Reason, reverie.MaxReason), Model: text.Excerpt(d.Model, 100),
			PromptVersion: text.Excerpt(d.PromptVersion, 100), PromptSHA256: text.Excerpt(d.PromptSHA256, 100), Calls: max(d.Calls, 0)}
		for _, c := range d.Candidates {
			if c.MemoryID = find(c.MemoryID); c.MemoryID != "" {
				c.Statement, c.Reason, c.Merged = body(c.Statement, reverie.MaxStatement), body(c.Reason, reverie.MaxReason), body(c.Merged, reverie.MaxStatement)
				decision.Candidates = append(decision.Candidates, c)
			}
		}
		list = append(list, decision)
	}
	return list
}

// checkRoom refuses more creates than a run may make, or a group has room for.
func (b *chunkHand) checkRoom(plan reverie.Plan) {
	created, room := 0, b.Limits.MaxActive-len(b.sheet.state.Heads)
	for _, s := range append(slices.Clone(plan.Steps), plan.Held...) {
		switch {
		case s.Action == reverie.ActionCreate:
			created++
		case s.Action == reverie.ActionDelete && s.Judged != reverie.StatusHeld:
			room++
		}
	}
	if created > b.sheet.createsLeft {
		b.unsound = append(b.unsound, fmt.Sprintf("chunk %d: it creates %d memories, and %d are left of the %d that a run may create", b.chunk.No, created, b.sheet.createsLeft, b.Limits.MaxCreates))
	}
	if created > 0 && created > room {
		b.unsound = append(b.unsound, fmt.Sprintf("chunk %d: the group would have more than %d active memories", b.chunk.No, b.Limits.MaxActive))
	}
}

// checkTwins refuses a plan after which two active memories would say the same, and one
// that deletes what it creates again.
func (b *chunkHand) checkTwins() {
	said := map[string]bool{}
	for text := range b.shadow.taken {
		said[text] = true
	}
	for _, h := range b.shadow.heads {
		if said[h.Text()] {
			b.unsound = append(b.unsound, fmt.Sprintf("chunk %d: two memories would say “%s”", b.chunk.No, text.Excerpt(h.Statement, 60)))
		}
		said[h.Text()] = true
	}
	deleted := map[string]bool{}
	for _, s := range b.steps {
		if s.Action == reverie.ActionDelete {
			deleted[text.ContentHash(s.OldStatement)] = true
		}
	}
	for _, s := range b.steps {
		if s.Action == reverie.ActionCreate && deleted[s.ContentHash] {
			b.unsound = append(b.unsound, fmt.Sprintf("chunk %d: it deletes “%s” and creates it again", b.chunk.No, text.Excerpt(s.Statement, 60)))
		}
	}
}
