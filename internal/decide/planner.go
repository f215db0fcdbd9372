package decide

import (
	"cmp"
	"slices"

	"reverie/internal/reverie"
)

// planner is a plan in the making: the memories as it will leave them.
type planner struct {
	req     Request
	entries []*entry // heads in their order, then what facts create
	facts   []fact

	created, freed int // facts created, and heads deleted for them
	held           []waiting
	reasons        []string
	dropped        []Dropped
}

// entry is a memory as the plan will leave it, or one that the plan creates.
type entry struct {
	head    *reverie.HeadState // nil for one that the plan creates
	id      string             // of the version that the plan writes, "" if it writes none
	action  reverie.Action     // "" while nothing is planned
	line    int                // index of the first line that concerns it
	step    Line               // what is to be written, as far as it is known
	deleted bool               // the plan deletes it, or creates it no more
	locked  bool               // its deletion waits for a person
	// restated says that a fact says it word for word.
	restated bool
	// callerOwned says that the pipeline's own line rewrites it, not a fact.
	callerOwned bool
	// vectors are what it may be found by: of its statement, or of the facts that
	// have come into it.
	vectors   [][]float32
	embedding []float32 // of exactly the statement that the plan writes
	model     string    // of embedding: model@dims
}

// fact is a create that is decided on.
type fact struct {
	Line
	line   int // index in Request.Lines
	vector []float32
	model  string             // of vector: model@dims
	hits   map[string]float64 // cosine by memory id, of those that the store found near
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
			e.locked = true
			d.held = append(d.held, waiting{i, NewStep(l)})
		case l.Action == reverie.ActionKeep:
			if len(l.Evidence) > 0 {
				d.support(e, i, l)
			}
		case l.Action == reverie.ActionUpdate:
			d.touch(e, i, reverie.ActionUpdate)
			e.step, e.id, e.callerOwned = l, reverie.NewID(), true
		case l.Action == reverie.ActionDelete:
			d.touch(e, i, reverie.ActionDelete)
			e.step, e.deleted = l, true
		}
	}
	return d
}

// says finds what of the facts' kind will say the statement of a hash, nil if nothing
// does.
func (d *planner) says(hash string) *entry {
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
	r := Result{HeldReasons: d.reasons, Dropped: d.dropped, Asked: d.req.Asked, EmbeddingsOff: d.req.EmbeddingsOff}
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
