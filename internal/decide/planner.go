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

// planner is a plan in the making: the memories as it will leave them.
type planner struct {
	req     Request
	entries []*entry // heads in their order, then what facts create
	facts   []fact

	created int // facts
	held    []waiting
	reasons []string
	dropped []Dropped
}

// entry is a memory as the plan will leave it, or one that the plan creates.
type entry struct {
	head    *reverie.HeadState // nil for one that the plan creates
	id      string             // of the version that the plan writes, "" if it writes none
	action  reverie.Action     // "" while nothing is planned
	line    int                // index of the first line that concerns it
	step    Line               // what is to be written, as far as it is known
	deleted bool               // the plan deletes it, or creates it no more
	locked  bool               // what becomes of it waits for a person
	ends    bool               // and that is its deletion
	// restated says that a fact says it word for word.
	restated bool
	// callerOwned says that the pipeline's own line rewrites it, not a fact.
	callerOwned bool
	facts       []string  // ids of those that have come into it
	embedding   []float32 // of exactly the statement that the plan writes
	model       string    // of embedding: model@dims
}

// fact is a create that is decided on.
type fact struct {
	Line
	line   int    // index in Request.Lines
	id     string // as a probe, "" where it is known word for word
	vector []float32
	model  string             // of vector: model@dims, "" where there is none
	scores map[string]float64 // of what comes near it, by the id of a memory or another fact; nil: nothing was looked for

	decision reverie.Decision // of a Comparer: what it rests on
	outcome  outcome          // as it came to be; its action is "" until then
	target   *entry           // that it concerns, nil for none
	says     *entry           // what says it after the plan, nil for nothing
}

// waiting is a step that waits for a person.
type waiting struct {
	line int
	step reverie.Step
}

// newPlanner lays out the heads and does the lines that are no facts.
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
	for i := range req.Archived { // after the heads: what is active comes first
		h := &req.Archived[i]
		d.entries = append(d.entries, &entry{head: h, step: Line{Target: h, Statement: h.Statement, ContentHash: h.ContentHash, Tags: h.Tags}})
	}
	for i, l := range req.Lines {
		if l.Held && l.Target == nil {
			d.held = append(d.held, waiting{i, NewStep(l)})
			continue
		}
		if l.Action == reverie.ActionCreate {
			d.facts = append(d.facts, fact{Line: l, line: i})
			continue
		}
		e := byID[l.Target.ID]
		if e == nil { // no head of this kind: no fact is held against it
			e = &entry{head: l.Target, step: Line{Target: l.Target}}
			d.entries = append(d.entries, e)
			byID[l.Target.ID] = e
		}
		switch {
		case l.Held:
			e.locked, e.ends = true, l.Action == reverie.ActionDelete
			d.held = append(d.held, waiting{i, NewStep(l)})
		case l.Action == reverie.ActionKeep:
			if len(l.Evidence) > 0 {
				d.support(e, i, l)
			}
		case l.Action == reverie.ActionUpdate:
			d.touch(e, i, reverie.ActionUpdate)
			e.step, e.id, e.callerOwned = l, reverie.NewID(), true
		case l.Action == reverie.ActionDelete, l.Action == reverie.ActionArchive:
			d.touch(e, i, l.Action)
			e.step, e.deleted = l, true
		}
	}
	return d
}

// knows finds what of the facts' kind will say the statement of a hash, nil if nothing
// does.
func (d *planner) knows(hash string) *entry {
	for _, e := range d.entries {
		if !e.deleted && e.step.ContentHash == hash && (e.head == nil || e.head.Kind == d.req.Kind) {
			return e
		}
	}
	return nil
}

// touch plans an action on an entry.
func (d *planner) touch(e *entry, line int, action reverie.Action) {
	if e.action == "" {
		e.line = line
	}
	e.action = action
}

// version names the version that says the entry after the plan.
func (e *entry) version() (id string, no int) {
	switch {
	case e.head == nil:
		return e.id, 1
	case e.id != "":
		return e.id, e.head.Version + 1
	}
	return e.head.ID, e.head.Version
}

// result is the plan as it stands.
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
	slices.SortStableFunc(d.held, func(a, b waiting) int { return cmp.Compare(a.line, b.line) })
	for _, w := range d.held {
		r.Held = append(r.Held, d.ofSession(w.step))
	}
	return r
}

// ofSession is a step that writes a new lineage down under the request's session.
func (d *planner) ofSession(s reverie.Step) reverie.Step {
	if s.Action == reverie.ActionCreate {
		s.SessionID = d.req.SessionID
	}
	return s
}

// outcome is what becomes of a fact, and why.
type outcome struct {
	action reverie.DecisionAction
	target *entry // UPDATE, DELETE+ADD, NONE
	merged string // UPDATE: what target and fact say together
	reason string
}

// Why steps on facts wait for a person.
const (
	heldUnquoted  = "new statements that contradict memories, without a quoted message"
	heldLocked    = "new statements that concern memories whose deletion waits for a person"
	heldPending   = "new statements that contradict others of the same batch, without a quoted message"
	heldRestated  = "new statements that contradict what others of the same batch say again"
	heldReworded  = "new statements that say again what others of the same batch reword"
	heldRewritten = "new statements that would leave little of memories, without a quoted message"
	heldUnknown   = "new statements that could not be compared with what the group remembers"
)

// settle decides on all facts: on those that are known word for word first, so that no
// other fact takes their place, then on the others in order, by a rule. What an earlier
// fact has become may be what a later one says. Where a question waits for a batch, those
// of the facts behind it are asked too, and then it is the error.
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
			switch o.target = d.knows(f.ContentHash); {
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
			f.outcome, f.says = d.enact(f, o)
		}
	}
	return pending
}

// settled is what became of the facts.
func (d *planner) settled() []Settled {
	list := make([]Settled, len(d.facts))
	for i, f := range d.facts {
		list[i] = Settled{Line: f.line, Action: f.outcome.action}
		if f.target != nil && f.target.head != nil {
			list[i].TargetID = f.target.head.ID
		}
		if f.says != nil && !f.says.deleted {
			list[i].MemoryID, _ = f.says.version()
		}
	}
	return list
}

// enact changes the plan by what becomes of a fact. It returns that as it came
// to be, and what says the fact after the plan, nil if nothing does.
func (d *planner) enact(f *fact, o outcome) (outcome, *entry) {
	switch o.action {
	case reverie.DecisionNone:
		if o.target.resting() {
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

// support joins a line's evidence to what says it already.
func (d *planner) support(e *entry, line int, l Line) {
	if e.action == "" || e.action == reverie.ActionKeep {
		d.touch(e, line, reverie.ActionKeep)
		e.step.Tags, e.step.Reason = l.Tags, l.Reason
	}
	e.step.Evidence = union(e.step.Evidence, l.Evidence)
}

// add creates the fact, if it may.
func (d *planner) add(f *fact, o outcome) (outcome, *entry) {
	if why := d.full(f); why != "" {
		return outcome{action: reverie.DecisionSkip, target: o.target, reason: why}, nil
	}
	e := &entry{id: reverie.NewID(), action: reverie.ActionCreate, line: f.line, step: f.Line}
	e.known(f)
	e.embedding, e.model = f.vector, f.model
	d.entries = append(d.entries, e)
	return o, e
}

// full counts a fact as created, or drops it and says why it cannot be.
func (d *planner) full(f *fact) (why string) {
	if d.req.MaxCreates > 0 && d.created >= d.req.MaxCreates {
		why = fmt.Sprintf("beyond the %d new memories that one answer may add", d.req.MaxCreates)
		d.dropped = append(d.dropped, Dropped{f.line, RuleQuota, why})
		return why
	}
	d.created++
	return ""
}

// resting tells whether the entry is archived, and nothing has brought it back.
func (e *entry) resting() bool {
	return e.head != nil && e.head.Status == reverie.StatusArchived && e.action == ""
}

// known lets later facts find the entry by this one.
func (e *entry) known(f *fact) {
	if f.id != "" {
		e.facts = append(e.facts, f.id)
	}
}

// foundBy are the ids under which a fact may have come near the entry.
func (e *entry) foundBy() []string {
	if e.head == nil {
		return e.facts
	}
	return append([]string{e.head.ID}, e.facts...)
}

// update gives the target a statement that says both. It takes the place of most
// of what the target says only by a quoted message. An archived target is back with it;
// by a duplicate it says what it said.
func (d *planner) update(f *fact, o outcome) (outcome, *entry) {
	e, back := o.target, o.target.resting()
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
		o.reason = joined("said again after it was archived", o.reason)
	}
	tags := safety.CleanTags(slices.Concat(e.step.Tags, f.Tags))
	if e.action == "" || e.action == reverie.ActionKeep {
		tags = safety.CleanTags(slices.Concat(e.head.Tags, f.Tags))
		d.touch(e, f.line, reverie.ActionUpdate)
		e.id = reverie.NewID()
	}
	e.step.Type, e.step.DueOn = cmp.Or(f.Type, e.step.Type), cmp.Or(f.DueOn, e.step.DueOn)
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

// overwrites tells whether a fact that quotes nothing would change what a person wrote.
func (d *planner) overwrites(f *fact, e *entry) bool {
	return !f.Quoted && e.head != nil && e.head.ByPerson()
}

// unquoted drops a fact that would overwrite what a person wrote, and quotes nothing.
func (d *planner) unquoted(f *fact, o outcome, action string) (outcome, *entry) {
	why := o.target.head.Unquoted(action)
	d.dropped = append(d.dropped, Dropped{f.line, RulePerson, why})
	return outcome{action: reverie.DecisionSkip, target: o.target, reason: why}, nil
}

// replace ends the target and creates the fact. What the group remembers ends
// only by a quoted message; otherwise both wait for a person.
func (d *planner) replace(f *fact, o outcome) (outcome, *entry) {
	e := o.target
	rewritten := e.head == nil || e.action == reverie.ActionUpdate
	if e.resting() { // nobody goes by it: it needs no end
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
		e.locked, e.ends = true, true
		end := waiting{f.line, NewStep(d.end(e, f, o))}
		o, says := d.hold(f, o, heldUnquoted)
		if e.locked, e.ends = says != nil, says != nil; e.ends {
			d.held = slices.Insert(d.held, len(d.held)-1, end)
		}
		return o, says
	}
	if e.head == nil { // of this very batch: it makes way without a trace
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

// hold lets the creation of a fact wait for a person, if it may. What says it once it is
// approved is among no entries.
func (d *planner) hold(f *fact, o outcome, why string) (outcome, *entry) {
	if full := d.full(f); full != "" {
		return outcome{action: reverie.DecisionSkip, target: o.target, reason: full}, nil
	}
	l := f.Line
	if o.reason != "" {
		l.Reason = safety.CleanReason(joined(l.Reason, o.reason))
	}
	if o.action == reverie.DecisionReplace && o.target.ends {
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
