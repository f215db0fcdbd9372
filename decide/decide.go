// Package decide is the write path that stores nothing twice: it says of each
// new fact whether the group remembers it already.
package decide

import (
	"context"

	"reverie"
)

// Fact is a statement that a pipeline wants to create.
type Fact struct {
	Kind        reverie.Kind
	Statement   string
	ContentHash string
}

// Verdict is what becomes of a fact.
type Verdict string

// The verdicts.
const (
	Add  Verdict = "ADD"  // nothing like it is remembered: create it
	None Verdict = "NONE" // Target says it already: the fact supports Target
)

// Decision is the verdict on one fact.
type Decision struct {
	Verdict Verdict
	Target  reverie.HeadState // the memory that says it already (None)
	Reason  string
}

// Plain decides by the exact content hash alone: a fact whose hash an active
// memory of the same kind has is that memory, everything else is new.
type Plain struct{}

// Decide returns one decision per fact, in order. It makes no calls and cannot
// fail.
func (Plain) Decide(_ context.Context, heads []reverie.HeadState, facts []Fact) ([]Decision, error) {
	byHash := make(map[string]reverie.HeadState, len(heads))
	for _, h := range heads {
		byHash[string(h.Kind)+" "+h.ContentHash] = h
	}
	decisions := make([]Decision, len(facts))
	for i, f := range facts {
		if h, known := byHash[string(f.Kind)+" "+f.ContentHash]; known {
			decisions[i] = Decision{Verdict: None, Target: h, Reason: "same statement"}
			continue
		}
		decisions[i] = Decision{Verdict: Add}
	}
	return decisions, nil
}
