package decide

import (
	"slices"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// outcome is what becomes of a fact, and why.
type outcome struct {
	action reverie.DecisionAction
	target *entry // UPDATE, DELETE+ADD, NONE
	merged string // UPDATE: what target and fact say together
	reason string
}

// or is the outcome of a fact that an entry says word for word, if there is one.
func (o outcome) or(e *entry) outcome {
	if e == nil {
		return o
	}
	return outcome{action: reverie.DecisionNone, target: e, reason: "same statement"}
}

// Why steps on facts wait for a person.
const (
	heldUnquoted  = "new statements that contradict memories, without a quoted message"
	heldLocked    = "new statements that concern memories whose deletion waits for a person"
	heldPending   = "new statements that contradict others of the same batch, without a quoted message"
	heldRestated  = "new statements that contradict what others of the same batch say again"
	heldRewritten = "new statements that would leave little of memories, without a quoted message"
	heldUnknown   = "new statements that could not be compared with what the group remembers"
)

// enact changes the plan by what becomes of a fact. It returns that as it came
// to be, and what says the fact after the plan, nil if nothing does.
func (d *planner) enact(f *fact, o outcome) (outcome, *entry) {
	switch o.action {
	case reverie.DecisionNone:
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
		return d.hold(f, o, heldUnknown, 0)
	}
	return d.add(f, o, 0)
}

// support joins a line's evidence to what says it already.
func (d *planner) support(e *entry, line int, l Line) {
	if e.action == "" || e.action == reverie.ActionKeep {
		d.touch(e, line, reverie.ActionKeep)
		e.step.Tags, e.step.Reason = l.Tags, l.Reason
	}
	e.step.Evidence = union(e.step.Evidence, l.Evidence)
}

// add creates the fact, if there is room beside freed further memories.
func (d *planner) add(f *fact, o outcome, freed int) (outcome, *entry) {
	if why := d.full(f, freed); why != "" {
		return outcome{action: reverie.DecisionSkip, target: o.target, reason: why}, nil
	}
	e := &entry{id: reverie.NewID(), action: reverie.ActionCreate, line: f.line, step: f.Line}
	e.known(f)
	e.embedding, e.model = f.vector, f.model
	d.entries = append(d.entries, e)
	return o, e
}

// full counts a fact as created, or drops it and says why there is no room.
func (d *planner) full(f *fact, freed int) (why string) {
	if d.req.Full != nil {
		why = d.req.Full(d.created, d.freed+freed)
	}
	if why != "" {
		d.dropped = append(d.dropped, Dropped{f.line, RuleQuota, why})
		return why
	}
	d.created++
	d.freed += freed
	return ""
}

// known lets later facts find the entry by this one.
func (e *entry) known(f *fact) {
	if f.vector != nil {
		e.vectors = append(e.vectors, f.vector)
	}
}

// update gives the target a statement that says both. It takes the place of most
// of what the target says only by a quoted message.
func (d *planner) update(f *fact, o outcome) (outcome, *entry) {
	e := o.target
	switch {
	case e.locked:
		return d.hold(f, o, heldLocked, 0)
	case !f.Quoted && 2*overlap(e.step.Statement, o.merged) < 1:
		return d.hold(f, o, heldRewritten, 0)
	}
	tags := safety.CleanTags(slices.Concat(e.step.Tags, f.Tags))
	if e.action == "" || e.action == reverie.ActionKeep {
		tags = safety.CleanTags(slices.Concat(e.head.Tags, f.Tags))
		d.touch(e, f.line, reverie.ActionUpdate)
		e.id = reverie.NewID()
	}
	e.step.Statement, e.step.ContentHash, e.step.Tags = o.merged, text.ContentHash(o.merged), tags
	if e.action == reverie.ActionUpdate {
		e.step.Reason = o.reason
	}
	e.step.Evidence = union(e.step.Evidence, f.Evidence)
	e.step.Quoted = e.step.Quoted || f.Quoted
	e.known(f)
	e.embedding, e.model = nil, ""
	return o, e
}

// replace ends the target and creates the fact. What the group remembers ends
// only by a quoted message; otherwise both wait for a person.
func (d *planner) replace(f *fact, o outcome) (outcome, *entry) {
	e := o.target
	rewritten := e.head == nil || e.action == reverie.ActionUpdate
	switch {
	case e.locked:
		return d.hold(f, o, heldLocked, 0)
	case e.restated:
		return d.hold(f, o, heldRestated, 0)
	case !f.Quoted && rewritten:
		return d.hold(f, o, heldPending, 0)
	case !f.Quoted:
		e.locked = true
		end := waiting{f.line, NewStep(d.end(e, f, o))}
		o, says := d.hold(f, o, heldUnquoted, 1)
		if e.locked = says != nil; e.locked {
			d.held = slices.Insert(d.held, len(d.held)-1, end)
		}
		return o, says
	}
	if e.head == nil { // of this very batch: it makes way without a trace
		d.created--
		o, says := d.add(f, o, 0)
		if e.deleted = says != nil; !e.deleted {
			d.created++
		} else {
			says.step.Replaces = e.step.Replaces
		}
		return o, says
	}
	o, says := d.add(f, o, 1)
	if says != nil {
		d.touch(e, f.line, reverie.ActionDelete)
		e.step, e.id, e.deleted = d.end(e, f, o), "", true
		says.step.Replaces = e.head.LineageID
	}
	return o, says
}

// end is the deletion of a head that a fact takes the place of.
func (d *planner) end(e *entry, f *fact, o outcome) Line {
	return Line{Action: reverie.ActionDelete, Target: e.head, Statement: e.head.Statement,
		ContentHash: e.head.ContentHash,
		Reason:      o.reason, Evidence: f.Evidence, Quoted: f.Quoted}
}

// hold lets the creation of a fact wait for a person, if there is room beside
// freed further memories. What says it once it is approved is among no entries.
func (d *planner) hold(f *fact, o outcome, why string, freed int) (outcome, *entry) {
	if full := d.full(f, freed); full != "" {
		return outcome{action: reverie.DecisionSkip, target: o.target, reason: full}, nil
	}
	l := f.Line
	if o.reason != "" {
		l.Reason = safety.CleanReason(joined(l.Reason, o.reason))
	}
	if o.action == reverie.DecisionReplace && o.target.locked {
		l.Replaces = o.target.head.LineageID
	}
	step := NewStep(l)
	d.held = append(d.held, waiting{f.line, step})
	if !slices.Contains(d.reasons, why) {
		d.reasons = append(d.reasons, why)
	}
	o.action = reverie.DecisionHold
	return o, &entry{id: step.MemoryID}
}

// joined is two reasons as one.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " (" + b + ")"
}
