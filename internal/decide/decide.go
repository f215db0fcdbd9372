// Package decide is the write path that stores nothing twice: it says of each
// new fact whether the group remembers it already, and turns what a pipeline
// wants to write into the steps of a plan.
//
// A fact goes through five steps: recall finds what it may repeat,
// compare asks a model about it, validate checks the answer, aggregate makes one
// outcome of its verdicts, apply changes the plan. Only compare leaves the
// process; nothing here writes memories.
package decide

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Line is one write that a pipeline wants. Its target, evidence and statement
// have been verified. A create is a fact, to be decided on; the other lines are
// done as they say.
type Line struct {
	Action      reverie.Action     // keep, update, create, delete, archive
	Target      *reverie.HeadState // nil for a create
	Statement   string             // create, update
	Type        reverie.Type       // create, update; "" is a fact, or what the target is
	DueOn       *time.Time         // of a plan
	ContentHash string             // of Statement
	Tags        []string
	Reason      string
	Evidence    []reverie.Evidence
	Quoted      bool   // its evidence was quoted, not only named
	Held        bool   // it waits for a person
	Replaces    string // the lineage whose deletion in the plan a create stands or falls with
}

// Request is what a pipeline wants to write at once, and what it knows.
type Request struct {
	GroupID   string
	RunID     string // "" for a dry run
	Continued bool   // the run was begun before
	ChunkNo   int
	Kind      reverie.Kind         // of the facts; memories of other kinds are other memories
	Language  string               // of the prompts: prompts.English or prompts.Chinese
	Location  *time.Location       // for the dates that a model sees
	Lease     func() reverie.Lease // nil for a dry run
	Heads     []reverie.HeadState  // active, those that lines rewrite or delete among them
	Archived  []reverie.HeadState  // heads that a fact brings back where it says one of them again
	Lines     []Line               // in order; at most one on each memory
	// Exempt are the ids of memories that the model had before it when it wrote the
	// facts: it has compared them itself. Only the exact text counts for those.
	Exempt map[string]bool
	// FactsExempt says the same of the facts among each other, and of what the
	// other lines write.
	FactsExempt   bool
	SessionID     string // of the facts that are created, for kind session
	Untagged      string // memories with this tag are no candidates: summaries
	MaxCreates    int    // facts created, or held for a person, at most; 0: any number
	Asked         int    // questions that the run has asked so far
	EmbeddingsOff bool   // the embedder failed before in this run, and is not waited for again
}

// Result is what came of a request.
type Result struct {
	Steps         []reverie.Step     // in the order of the lines, one on each lineage
	Held          []reverie.Step     // wait for a person
	HeldReasons   []string           // why facts are among them, for that person
	Facts         []Settled          // one for each fact, in order
	Decisions     []reverie.Decision // of a [Comparer], one for each fact, in order
	Dropped       []Dropped          // facts that are not stored
	Asked         int                // questions that the run has asked by now, kept answers included
	EmbeddingsOff bool               // the embedder failed
	Warnings      []string           // for the operator
}

// Plan is what came of a request as the plan of its chunk, without what only its
// pipeline knows.
func (r Result) Plan(req Request) reverie.Plan {
	return reverie.Plan{GroupID: req.GroupID, RunID: req.RunID, ChunkNo: req.ChunkNo, Kind: req.Kind,
		SessionID: req.SessionID,
		Steps:     r.Steps, Held: r.Held, HeldReason: strings.Join(r.HeldReasons, "; "), Decisions: r.Decisions}
}

// Settled is what became of a fact.
type Settled struct {
	Line     int // its index in Request.Lines
	Action   reverie.DecisionAction
	TargetID string // of the memory that it concerns, "" where there is none
	MemoryID string // of the version that says it after the plan, "" where nothing does
}

// Dropped is a fact that is not stored, and why.
type Dropped struct {
	Line   int // its index in Request.Lines
	Rule   string
	Detail string
}

// The rules by which a fact is dropped.
const (
	RuleQuota     = "quota"     // there is no room
	RulePerson    = "by_person" // it would overwrite what a person wrote, and quotes nothing
	RuleUndecided = "undecided" // it could not be compared, and fallback_mode is skip
)

// Decider says what becomes of the lines of a request: [Plain], [Recorded] or a [Comparer].
type Decider interface {
	Decide(ctx context.Context, req Request) (Result, error)
}

// Plain decides by the exact content hash alone: a fact whose hash an active
// memory of the same kind has is that memory, everything else is new.
type Plain struct{}

// Decide decides on the facts of a request. It makes no calls and cannot fail.
func (Plain) Decide(ctx context.Context, req Request) (Result, error) {
	return Recorded{}.Decide(ctx, req)
}

// Recorded decides as a run has decided before: by the verdicts that its decisions keep. A
// fact that they are not about is known only by its exact text.
type Recorded struct{ Decisions []reverie.Decision }

// Decide decides on the facts of a request. It makes no calls and cannot fail.
func (r Recorded) Decide(_ context.Context, req Request) (Result, error) {
	d := newPlanner(req)
	_ = d.settle(func(f *fact) (outcome, error) { return r.outcome(d, f), nil }) // which is no error
	return d.result(), nil
}

// outcome is what the recorded verdicts on a fact come to. A target that is not there any
// more counts as none.
func (r Recorded) outcome(d *planner, f *fact) outcome {
	for _, known := range r.Decisions {
		if known.ChunkNo != d.req.ChunkNo || known.ContentHash != f.ContentHash {
			continue
		}
		action, at := aggregate(known.Candidates)
		if known.Basis == reverie.BasisFallback && action != reverie.DecisionNone {
			return outcome{action: known.Action, reason: known.Reason}
		}
		if at < 0 {
			break
		}
		c := known.Candidates[at]
		if target := d.knows(text.ContentHash(c.Statement)); target != nil {
			return outcome{action: action, target: target, merged: c.Merged, reason: c.Reason}
		}
	}
	return outcome{action: reverie.DecisionAdd}
}

// NewStep is a line as a write, with ids of its own.
func NewStep(l Line) reverie.Step {
	s := reverie.Step{Action: l.Action, Tags: l.Tags, Reason: l.Reason, Evidence: l.Evidence}
	s.Type, s.DueOn = typed(l)
	if l.Target == nil {
		s.LineageID, s.MemoryID = reverie.NewID(), reverie.NewID()
		s.Statement, s.ContentHash, s.Replaces = l.Statement, l.ContentHash, l.Replaces
		dates, newest := supportedOn(nil, time.Time{}, l.Evidence)
		s.Strength, s.LastSupportedAt = reverie.Reinforce(reverie.TentativeStrength, dates-1), newest
		return s
	}
	s.LineageID, s.OldStatement = l.Target.LineageID, l.Target.Statement
	s.Head = reverie.Head{MemoryID: l.Target.ID, Version: l.Target.Version}
	if l.Target.JudgeAgain != "" {
		s.Judged = l.Target.Status
	}
	s.Returns = l.Target.Status == reverie.StatusArchived
	if l.Action == reverie.ActionDelete || l.Action == reverie.ActionArchive {
		s.Tags = nil
		return s
	}
	s.Strength, s.LastSupportedAt = Strengthen(*l.Target, l.Evidence)
	if l.Action == reverie.ActionUpdate {
		s.MemoryID, s.Statement, s.ContentHash = reverie.NewID(), l.Statement, l.ContentHash
		if len(s.Tags) == 0 {
			s.Tags = l.Target.Tags
		}
	}
	return s
}

// typed is what type a version is of, and a plan's date: those of the line, else the
// target's, else a fact.
func typed(l Line) (t reverie.Type, due *time.Time) {
	if l.Action != reverie.ActionCreate && l.Action != reverie.ActionUpdate {
		return "", nil
	}
	t, due = l.Type, l.DueOn
	if l.Target != nil && (t == "" || t == l.Target.Type) {
		if t = l.Target.Type; due == nil {
			due = l.Target.DueOn
		}
	}
	if t != reverie.TypePlan {
		due = nil
	}
	return cmp.Or(t, reverie.TypeFact), due
}

// SummaryStep has a step write a summary anew, in the place of the old one where there is
// one: past the decisions, since a summary is no fact. It was supported at some time
// besides its evidence; the date of its birth strengthens nothing.
func SummaryStep(s reverie.Step, old *reverie.HeadState, supported time.Time) reverie.Step {
	s.Action, s.LineageID, s.MemoryID = reverie.ActionCreate, reverie.NewID(), reverie.NewID()
	head := reverie.HeadState{Memory: reverie.Memory{Strength: reverie.TentativeStrength, LastSupportedAt: supported}}
	if old != nil {
		head = *old
		s.Action, s.LineageID, s.OldStatement = reverie.ActionUpdate, old.LineageID, old.Statement
		s.Head = reverie.Head{MemoryID: old.ID, Version: old.Version}
	} else if len(s.Evidence) > 0 {
		head.SupportDates = []string{s.Evidence[0].LocalDate}
	}
	s.Strength, s.LastSupportedAt = Strengthen(head, s.Evidence)
	return s
}

// Strengthen returns strength and time of last support of a memory after
// evidence. Strength grows with each local date on which the lineage has
// evidence for the first time.
func Strengthen(h reverie.HeadState, evidence []reverie.Evidence) (float64, time.Time) {
	dates, newest := supportedOn(h.SupportDates, h.LastSupportedAt, evidence)
	return reverie.Reinforce(h.Strength, dates), newest
}

// supportedOn counts the local dates of evidence that are not known yet. It also returns
// when the newest message was sent, or last if that is later.
func supportedOn(known []string, last time.Time, evidence []reverie.Evidence) (dates int, newest time.Time) {
	all := slices.Clone(known)
	for _, e := range evidence {
		if !slices.Contains(all, e.LocalDate) {
			all = append(all, e.LocalDate)
		}
		if e.SentAt.After(last) {
			last = e.SentAt
		}
	}
	return len(all) - len(known), last
}

// union is all the evidence of two lines on one memory, each message once.
func union(a, b []reverie.Evidence) []reverie.Evidence {
	all := slices.Clip(a)
	for _, e := range b {
		if !slices.ContainsFunc(a, func(have reverie.Evidence) bool { return have.MessageID == e.MessageID }) {
			all = append(all, e)
		}
	}
	return all
}
