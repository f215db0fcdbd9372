// Package decide is the write path that stores no statement twice. It finds out whether the group remembers a new fact
// already, and turns the lines of a pipeline into the steps of a plan.
//
// A fact goes through five steps. recall finds similar memories, compare asks a model about them, and validate checks
// the answer. aggregate makes one decision of its verdicts, and apply changes the plan. Only compare leaves the
// process. Nothing here writes memories.
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

// Line is one write that a pipeline wants. Its target, evidence and statement have been verified. A create is a fact
// that is decided on. All other lines are applied as they are.
type Line struct {
	Action      reverie.Action     // keep, update, create, delete, archive
	Target      *reverie.HeadState // nil for a create
	Statement   string             // create, update
	Type        reverie.Type       // create, update; "" is the type of the target, or a fact
	DueOn       *time.Time         // of a plan
	ContentHash string             // of Statement
	Tags        []string
	Reason      string
	Evidence    []reverie.Evidence
	Quoted      bool   // its evidence was quoted, not only cited
	Held        bool   // it is held for review
	Replaces    string // lineage whose deletion in the plan a create depends on
}

// Request is what a pipeline wants to write at once, with the state that it knows.
type Request struct {
	GroupID   string
	RunID     string // "" for a dry run
	Continued bool   // another process, or an earlier wave, began the run
	ChunkNo   int
	Kind      reverie.Kind         // of the facts; memories of other kinds are not compared
	Language  string               // of the prompts: prompts.English or prompts.Chinese
	Location  *time.Location       // time zone of the dates that a model sees
	Lease     func() reverie.Lease // nil for a dry run
	Heads     []reverie.HeadState  // active, with those that lines rewrite or delete
	Archived  []reverie.HeadState  // heads that a fact with the same statement makes active again
	Lines     []Line               // in order; at most one for each memory
	// Exempt are the ids of memories that the model was shown when it wrote the facts. It has compared those itself, so
	// only their exact text is matched.
	Exempt map[string]bool
	// FactsExempt does the same for the facts among each other, and for what the other lines write.
	FactsExempt   bool
	SessionID     string // session of created facts, for kind session
	Untagged      string // memories with this tag are not compared: summaries
	MaxCreates    int    // most facts to create or hold; 0: no limit
	Asked         int    // questions that the run has asked so far
	EmbeddingsOff bool   // the embedder failed before in this run and is not used again
}

// Result is the outcome of a request.
type Result struct {
	Steps         []reverie.Step     // in the order of the lines, one for each lineage
	Held          []reverie.Step     // held for review
	HeldReasons   []string           // why facts are held, for the reviewer
	Facts         []Settled          // one for each fact, in order
	Decisions     []reverie.Decision // of a [Comparer], one for each fact, in order
	Dropped       []Dropped          // facts that are not stored
	Asked         int                // questions that the run has asked by now, including stored answers
	EmbeddingsOff bool               // the embedder failed
	Warnings      []string           // for the operator
}

// Plan makes the plan of a chunk from the result, without the parts that only the pipeline knows.
func (r Result) Plan(req Request) reverie.Plan {
	return reverie.Plan{GroupID: req.GroupID, RunID: req.RunID, ChunkNo: req.ChunkNo, Kind: req.Kind,
		SessionID: req.SessionID,
		Steps:     r.Steps, Held: r.Held, HeldReason: strings.Join(r.HeldReasons, "; "), Decisions: r.Decisions}
}

// Settled is the decision on a fact.
type Settled struct {
	Line     int // its index in Request.Lines
	Action   reverie.DecisionAction
	TargetID string // memory that the decision concerns, "" where there is none
	MemoryID string // version with the fact after the plan, "" where there is none
}

// Dropped is a fact that is not stored, with the reason.
type Dropped struct {
	Line   int // its index in Request.Lines
	Rule   string
	Detail string
}

// The rules by which a fact is dropped.
const (
	RuleQuota     = "quota"     // a limit is reached
	RulePerson    = "by_person" // it would overwrite what a person wrote, and quotes nothing
	RuleUndecided = "undecided" // it could not be compared, and fallback_mode is skip
)

// Decider decides on the lines of a request: [Plain], [Recorded] or a [Comparer].
type Decider interface {
	Decide(ctx context.Context, req Request) (Result, error)
}

// Plain decides by the exact content hash alone. A fact with the hash of an active memory of the same kind is that
// memory. Every other fact is new.
type Plain struct{}

// Decide decides on the facts of a request. It makes no calls and cannot fail.
func (Plain) Decide(ctx context.Context, req Request) (Result, error) {
	return Recorded{}.Decide(ctx, req)
}

// Recorded repeats the decisions of an earlier run, by their verdicts. A fact without a recorded decision is matched by
// its exact text only.
type Recorded struct{ Decisions []reverie.Decision }

// Decide decides on the facts of a request. It makes no calls and cannot fail.
func (r Recorded) Decide(_ context.Context, req Request) (Result, error) {
	d := newPlanner(req)
	_ = d.settle(func(f *fact) (outcome, error) { return r.outcome(d, f), nil }) // the rule returns no error
	return d.result(), nil
}

// outcome makes the decision of the recorded verdicts on a fact. A target that no longer exists counts as none.
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
		if target := d.entryWithHash(text.ContentHash(c.Statement)); target != nil {
			return outcome{action: action, target: target, merged: c.Merged, reason: c.Reason}
		}
	}
	return outcome{action: reverie.DecisionAdd}
}

// NewStep makes the step of a line, with new ids.
func NewStep(l Line) reverie.Step {
	s := reverie.Step{Action: l.Action, Tags: l.Tags, Reason: l.Reason, Evidence: l.Evidence}
	s.Type, s.DueOn = typeOf(l)
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

// typeOf returns the type of a version, and the date of a plan: those of the line, else those of the target, else a
// fact.
func typeOf(l Line) (t reverie.Type, due *time.Time) {
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

// SummaryStep makes a step write a new version of a summary, or its first one. A summary is no fact, so it is not
// decided on. It was supported at the time supported, besides its evidence. The date of its creation does not
// strengthen it.
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

// Strengthen returns the strength and the time of last support of a memory after new evidence. Strength grows with each
// local date that has evidence in the lineage for the first time.
func Strengthen(h reverie.HeadState, evidence []reverie.Evidence) (float64, time.Time) {
	dates, newest := supportedOn(h.SupportDates, h.LastSupportedAt, evidence)
	return reverie.Reinforce(h.Strength, dates), newest
}

// supportedOn counts the local dates of evidence that are not known yet. It also returns the time of the newest
// message, or last if that is later.
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

// union returns all the evidence of two lines on one memory, each message once.
func union(a, b []reverie.Evidence) []reverie.Evidence {
	all := slices.Clip(a)
	for _, e := range b {
		if !slices.ContainsFunc(a, func(have reverie.Evidence) bool { return have.MessageID == e.MessageID }) {
			all = append(all, e)
		}
	}
	return all
}
