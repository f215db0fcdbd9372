package decide

import (
	"cmp"
	"fmt"
	"slices"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// planner makes a plan. Its entries are the memories as the plan will leave them.
type planner struct {
	req     Request
	entries []*entry // heads in their order, then memories that facts create
	facts   []fact

	created int // how many facts create a memory
	held    []heldStep
	reasons []string
	dropped []Dropped
}

// entry is a memory as the plan will leave it, or one that the plan creates.
type entry struct {
	head       *reverie.HeadState // nil for one that the plan creates
	id         string             // of the version that the plan writes, "" if it writes none
	action     reverie.Action     // "" while nothing is planned
	line       int                // index of the first line on it
	step       Line               // what the plan writes, as far as it is known
	deleted    bool               // the plan deletes it, or no longer creates it
	locked     bool               // a held step concerns it
	heldDelete bool               // the held step deletes it
	// restated means that a fact has exactly its statement.
	restated bool
	// callerOwned means that a line of the pipeline rewrites it, not a fact.
	callerOwned bool
	facts       []string  // ids of the facts that it contains
	embedding   []float32 // vector of the statement that the plan writes
	model       string    // of embedding: model@dims
}

// fact is a create that the decider decides on.
type fact struct {
	Line
	line   int    // index in Request.Lines
	id     string // id of its probe, "" where a memory has its exact statement
	vector []float32
	model  string             // of vector: model@dims, "" without a vector
	scores map[string]float64 // scores of similar entries, by the id of a memory or of another fact; nil: not looked up

	decision    reverie.Decision // for a Comparer: the reasons of the decision
	outcome     outcome          // as applied; its action is "" until then
	target      *entry           // the entry that it concerns, nil for none
	resultEntry *entry           // the entry with the fact after the plan, nil for none
}

// heldStep is a held step.
type heldStep struct {
	line int
	step reverie.Step
}

// newPlanner makes entries of the heads and applies the lines that are no facts.
func newPlanner(req Request) *planner {
	d := &planner{req: req}
	byID := map[string]*entry{}
	for i := range req.Heads {
		h := &req.Heads[i]
		if h.Kind != req.Kind {
			continue
		}
		e := &entry{head: h, step: Line{Target: h, Statement: h.Statement, ContentHash: h.ContentHash, Tags: h.Tags}}
		d.entries = append(d.entries, e)
		byID[h.ID] = e
	}
	for i := range req.Archived { // after the heads, so that active memories are found first
		h := &req.Archived[i]
		d.entries = append(d.entries, &entry{head: h, step: Line{Target: h, Statement: h.Statement, ContentHash: h.ContentHash, Tags: h.Tags}})
	}
	for i, l := range req.Lines {
		if l.Held && l.Target == nil {
			d.held = append(d.held, heldStep{i, NewStep(l)})
			continue
		}
		if l.Action == reverie.ActionCreate {
			d.facts = append(d.facts, fact{Line: l, line: i})
			continue
		}
		e := byID[l.Target.ID]
		if e == nil { // no head of this kind: facts are not compared with it
			e = &entry{head: l.Target, step: Line{Target: l.Target}}
			d.entries = append(d.entries, e)
			byID[l.Target.ID] = e
		}
		switch {
		case l.Held:
			e.locked, e.heldDelete = true, l.Action == reverie.ActionDelete
			d.held = append(d.held, heldStep{i, NewStep(l)})
		case l.Action == reverie.ActionKeep:
			if len(l.Evidence) > 0 {
				d.support(e, i, l)
			}
		case l.Action == reverie.ActionUpdate:
			d.planAction(e, i, reverie.ActionUpdate)
			e.step, e.id, e.callerOwned = l, reverie.NewID(), true
		case l.Action == reverie.ActionDelete, l.Action == reverie.ActionArchive:
			d.planAction(e, i, l.Action)
			e.step, e.deleted = l, true
		}
	}
	return d
}

// entryWithHash returns the entry of the facts' kind whose statement will have this hash, nil if there is none.
func (d *planner) entryWithHash(hash string) *entry {
	for _, e := range d.entries {
		if !e.deleted && e.step.ContentHash == hash && (e.head == nil || e.head.Kind == d.req.Kind) {
			return e
		}
	}
	return nil
}

// planAction plans an action on an entry.
func (d *planner) planAction(e *entry, line int, action reverie.Action) {
	if e.action == "" {
		e.line = line
	}
	e.action = action
}

// version returns the version of the entry after the plan.
func (e *entry) version() (id string, no int) {
	switch {
	case e.head == nil:
		return e.id, 1
	case e.id != "":
		return e.id, e.head.Version + 1
	}
	return e.head.ID, e.head.Version
}

// result returns the present state of the plan.
func (d *planner) result() Result {
	written := slices.DeleteFunc(slices.Clone(d.entries), func(e *entry) bool {
		return e.action == "" || e.deleted && e.head == nil
	})
	slices.SortStableFunc(written, func(a, b *entry) int { return cmp.Compare(a.line, b.line) })
	r := Result{Facts: d.settled(), HeldReasons: d.reasons, Dropped: d.dropped, Asked: d.req.Asked, EmbeddingsOff: d.req.EmbeddingsOff}
	for _, e := range written {
		l := e.step
		l.Action = e.action
		s := NewStep(l)
		if s.MemoryID != "" {
			s.MemoryID, s.Embedding, s.EmbeddingModel = e.id, e.embedding, e.model
		}
		r.Steps = append(r.Steps, d.ofSession(s))
	}
	slices.SortStableFunc(d.held, func(a, b heldStep) int { return cmp.Compare(a.line, b.line) })
	for _, w := range d.held {
		r.Held = append(r.Held, d.ofSession(w.step))
	}
	return r
}

// ofSession sets the session of a step that creates a lineage.
func (d *planner) ofSession(s reverie.Step) reverie.Step {
	if s.Action == reverie.ActionCreate {
		s.SessionID = d.req.SessionID
	}
	return s
}

// outcome is the decision on a fact, and the reason.
type outcome struct {
	action reverie.DecisionAction
	target *entry // UPDATE, DELETE+ADD, NONE
	merged string // UPDATE: the statement that combines target and fact
	reason string
}

// The reasons why steps on facts are held.
const (
	heldUnquoted  = "new statements that contradict memories, without a quoted message"
	heldLocked    = "new statements that concern memories whose deletion waits for a person"
	heldPending   = "new statements that contradict others of the same batch, without a quoted message"
	heldRestated  = "new statements that contradict what others of the same batch say again"
	heldReworded  = "new statements that say again what others of the same batch reword"
	heldRewritten = "new statements that would leave little of memories, without a quoted message"
	heldUnknown   = "new statements that could not be compared with what the group remembers"
)

// settle decides on all facts. Facts whose exact statement is known come first, so that no other fact replaces those
// memories. The others follow in order, by a rule. A later fact may match what an earlier one has written. Where a
// question waits for a batch, the later facts are asked about too; then settle returns the pending error.
func (d *planner) settle(rule func(*fact) (outcome, error)) error {
	var pending error
	for _, again := range []bool{false, true} {
		for i := range d.facts {
			f := &d.facts[i]
			if f.outcome.action != "" {
				continue
			}
			var err error
			o := outcome{action: reverie.DecisionNone, reason: "same statement"}
			switch o.target = d.entryWithHash(f.ContentHash); {
			case o.target != nil:
				o.target.restated = o.target.restated || !again
			case !again:
				continue
			default:
				if o, err = rule(f); llm.IsPending(err) {
					pending = cmp.Or(pending, err)
					continue
				}
				if err != nil {
					return err
				}
			}
			f.target = o.target
			f.outcome, f.resultEntry = d.applyOutcome(f, o)
		}
	}
	return pending
}

// settled returns the decisions on the facts.
func (d *planner) settled() []Settled {
	list := make([]Settled, len(d.facts))
	for i, f := range d.facts {
		list[i] = Settled{Line: f.line, Action: f.outcome.action}
		if f.target != nil && f.target.head != nil {
			list[i].TargetID = f.target.head.ID
		}
		if f.resultEntry != nil && !f.resultEntry.deleted {
			list[i].MemoryID, _ = f.resultEntry.version()
		}
	}
	return list
}

// applyOutcome applies the decision on a fact to the plan. It returns the decision as applied, and the entry that has
// the fact after the plan, nil for none.
func (d *planner) applyOutcome(f *fact, o outcome) (outcome, *entry) {
	switch o.action {
	case reverie.DecisionNone:
		if o.target.isArchived() {
			return d.update(f, o)
		}
		d.support(o.target, f.line, f.Line)
		return o, o.target
	case reverie.DecisionUpdate:
		return d.update(f, o)
	case reverie.DecisionReplace:
		return d.replace(f, o)
	case reverie.DecisionSkip:
		d.dropped = append(d.dropped, Dropped{f.line, RuleUndecided, o.reason})
		return o, nil
	case reverie.DecisionHold:
		return d.hold(f, o, heldUnknown)
	}
	return d.add(f, o)
}

// support adds a line's evidence to the entry that has its statement.
func (d *planner) support(e *entry, line int, l Line) {
	if e.action == "" || e.action == reverie.ActionKeep {
		d.planAction(e, line, reverie.ActionKeep)
		e.step.Tags, e.step.Reason = l.Tags, l.Reason
	}
	e.step.Evidence = union(e.step.Evidence, l.Evidence)
}

// add creates the fact, unless the limit is reached.
func (d *planner) add(f *fact, o outcome) (outcome, *entry) {
	if why := d.countCreate(f); why != "" {
		return outcome{action: reverie.DecisionSkip, target: o.target, reason: why}, nil
	}
	e := &entry{id: reverie.NewID(), action: reverie.ActionCreate, line: f.line, step: f.Line}
	e.addFact(f)
	e.embedding, e.model = f.vector, f.model
	d.entries = append(d.entries, e)
	return o, e
}

// countCreate counts a fact as created. At the limit it drops the fact and returns the reason.
func (d *planner) countCreate(f *fact) (why string) {
	if d.req.MaxCreates > 0 && d.created >= d.req.MaxCreates {
		why = fmt.Sprintf("beyond the %d new memories that one answer may add", d.req.MaxCreates)
		d.dropped = append(d.dropped, Dropped{f.line, RuleQuota, why})
		return why
	}
	d.created++
	return ""
}

// isArchived reports whether the entry is archived, and nothing has made it active again.
func (e *entry) isArchived() bool {
	return e.head != nil && e.head.Status == reverie.StatusArchived && e.action == ""
}

// addFact lets later facts find the entry by this fact.
func (e *entry) addFact(f *fact) {
	if f.id != "" {
		e.facts = append(e.facts, f.id)
	}
}

// candidateIDs returns the ids by which a fact may find the entry.
func (e *entry) candidateIDs() []string {
	if e.head == nil {
		return e.facts
	}
	return append([]string{e.head.ID}, e.facts...)
}

// update gives the target a statement that combines it with the fact. To replace most of the target's words, the fact
// must quote a message. An archived target becomes active again; for a duplicate it keeps its statement.
func (d *planner) update(f *fact, o outcome) (outcome, *entry) {
	e, back := o.target, o.target.isArchived()
	if o.action == reverie.DecisionNone {
		o.action, o.merged = reverie.DecisionUpdate, e.head.Statement
	}
	switch {
	case e.locked:
		return d.hold(f, o, heldLocked)
	case d.overwrites(f, e):
		return d.unquoted(f, o, "update")
	case !f.Quoted && 2*overlap(e.step.Statement, o.merged) < 1:
		return d.hold(f, o, heldRewritten)
	case back:
		o.reason = joinReasons("said again after it was archived", o.reason)
	}
	tags := safety.CleanTags(slices.Concat(e.step.Tags, f.Tags))
	if e.action == "" || e.action == reverie.ActionKeep {
		tags = safety.CleanTags(slices.Concat(e.head.Tags, f.Tags))
		d.planAction(e, f.line, reverie.ActionUpdate)
		e.id = reverie.NewID()
	}
	e.step.Type, e.step.DueOn = cmp.Or(f.Type, e.step.Type), cmp.Or(f.DueOn, e.step.DueOn)
	e.step.Statement, e.step.ContentHash, e.step.Tags = o.merged, text.ContentHash(o.merged), tags
	if e.action == reverie.ActionUpdate {
		e.step.Reason = o.reason
	}
	e.step.Evidence = union(e.step.Evidence, f.Evidence)
	e.step.Quoted = e.step.Quoted || f.Quoted
	e.addFact(f)
	e.embedding, e.model = nil, ""
	return o, e
}

// overwrites reports whether a fact without a quote would change what a person wrote.
func (d *planner) overwrites(f *fact, e *entry) bool {
	return !f.Quoted && e.head != nil && e.head.ByPerson()
}

// unquoted drops a fact without a quote that would overwrite what a person wrote.
func (d *planner) unquoted(f *fact, o outcome, action string) (outcome, *entry) {
	why := o.target.head.Unquoted(action)
	d.dropped = append(d.dropped, Dropped{f.line, RulePerson, why})
	return outcome{action: reverie.DecisionSkip, target: o.target, reason: why}, nil
}

// replace deletes the target and creates the fact. To delete a memory of the group, the fact must quote a message.
// Otherwise both steps are held.
func (d *planner) replace(f *fact, o outcome) (outcome, *entry) {
	e := o.target
	rewritten := e.head == nil || e.action == reverie.ActionUpdate
	if e.isArchived() { // an archived memory need not be deleted
		o.action, o.target = reverie.DecisionAdd, nil
		return d.add(f, o)
	}
	switch {
	case e.locked:
		return d.hold(f, o, heldLocked)
	case e.restated:
		return d.hold(f, o, heldRestated)
	case d.overwrites(f, e):
		return d.unquoted(f, o, "delete")
	case e.head != nil && e.head.ContentHash == f.ContentHash: // the caller's own line rewords it
		return d.hold(f, o, heldReworded)
	case !f.Quoted && rewritten:
		return d.hold(f, o, heldPending)
	case !f.Quoted:
		e.locked, e.heldDelete = true, true
		end := heldStep{f.line, NewStep(d.deletionOf(e, f, o))}
		o, says := d.hold(f, o, heldUnquoted)
		if e.locked, e.heldDelete = says != nil, says != nil; e.heldDelete {
			d.held = slices.Insert(d.held, len(d.held)-1, end)
		}
		return o, says
	}
	if e.head == nil { // created in this batch: it is dropped without a trace
		d.created--
		o, says := d.add(f, o)
		if e.deleted = says != nil; !e.deleted {
			d.created++
		} else {
			says.step.Replaces = e.step.Replaces
		}
		return o, says
	}
	o, says := d.add(f, o)
	if says != nil {
		d.planAction(e, f.line, reverie.ActionDelete)
		e.step, e.id, e.deleted = d.deletionOf(e, f, o), "", true
		says.step.Replaces = e.head.LineageID
	}
	return o, says
}

// deletionOf is the line that deletes a head which a fact replaces.
func (d *planner) deletionOf(e *entry, f *fact, o outcome) Line {
	return Line{Action: reverie.ActionDelete, Target: e.head, Statement: e.head.Statement,
		ContentHash: e.head.ContentHash,
		Reason:      o.reason, Evidence: f.Evidence, Quoted: f.Quoted}
}

// hold holds the creation of a fact, unless the limit is reached. Its entry is not among the entries of the plan.
func (d *planner) hold(f *fact, o outcome, why string) (outcome, *entry) {
	if full := d.countCreate(f); full != "" {
		return outcome{action: reverie.DecisionSkip, target: o.target, reason: full}, nil
	}
	l := f.Line
	if o.reason != "" {
		l.Reason = safety.CleanReason(joinReasons(l.Reason, o.reason))
	}
	if o.action == reverie.DecisionReplace && o.target.heldDelete {
		l.Replaces = o.target.head.LineageID
	}
	step := NewStep(l)
	d.held = append(d.held, heldStep{f.line, step})
	if !slices.Contains(d.reasons, why) {
		d.reasons = append(d.reasons, why)
	}
	o.action = reverie.DecisionHold
	return o, &entry{id: step.MemoryID}
}

// joinReasons combines two reasons.
func joinReasons(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " (" + b + ")"
}
