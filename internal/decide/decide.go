// Package decide is the write path that stores nothing twice: it says of each
// new fact whether the group remembers it already, and turns what a pipeline
// wants to write into the steps of a plan.
//
// A fact goes through five steps, a file each: recall finds what it may repeat,
// compare asks a model about it, validate checks the answer, aggregate makes one
// outcome of its verdicts, apply changes the plan. Only compare leaves the
// process; nothing here writes memories.
package decide

import (
	"context"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// Line is one write that a pipeline wants. Its target, evidence and statement
// have been verified. A create is a fact, to be decided on; the other lines are
// done as they say.
type Line struct {
	Action      reverie.Action     // keep, update, create, delete
	Target      *reverie.HeadState // nil for a create
	Statement   string             // create, update
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
	GroupID  string
	RunID    string // "" for a dry run
	ChunkNo  int
	Kind     reverie.Kind         // of the facts; memories of other kinds are other memories
	Language string               // of the prompts: prompts.English or prompts.Chinese
	Location *time.Location       // for the dates that a model sees
	Lease    func() reverie.Lease // nil for a dry run
	Heads    []reverie.HeadState  // active, those that lines rewrite or delete among them
	Lines    []Line               // in order; at most one on each memory
	// Exempt are the ids of memories that the model had before it when it wrote the
	// facts: it has compared them itself. Only the exact text counts for those.
	Exempt map[string]bool
	// FactsExempt says the same of the facts among each other, and of what the
	// other lines write.
	FactsExempt bool
	SessionID   string // of the facts that are created, for kind session
	Untagged    string // memories with this tag are no candidates: summaries
	// Full says why no further fact can be created, when so many have been and so
	// many memories made room for them; "" while there is room. nil: there always is.
	Full          func(created, freed int) string
	Asked         int  // questions that the run has asked so far
	EmbeddingsOff bool // the embedder failed before in this run, and is not waited for again
}

// Result is what came of a request.
type Result struct {
	Steps       []reverie.Step // in the order of the lines, one on each lineage
	Held        []reverie.Step // wait for a person
	HeldReasons []string       // why facts are among them, for that person
	// Decisions are one for each fact, in order. Plain makes none.
	Decisions     []reverie.Decision
	Dropped       []Dropped // facts that are not stored
	Asked         int       // questions that the run has asked by now, kept answers included
	EmbeddingsOff bool      // the embedder failed
	Warnings      []string  // for the operator
}

// Plan is what came of a request as the plan of its chunk, without what only its
// pipeline knows.
func (r Result) Plan(req Request) reverie.Plan {
	return reverie.Plan{GroupID: req.GroupID, RunID: req.RunID, ChunkNo: req.ChunkNo, Kind: req.Kind,
		SessionID: req.SessionID,
		Steps:     r.Steps, Held: r.Held, HeldReason: strings.Join(r.HeldReasons, "; "), Decisions: r.Decisions}
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
func (Plain) Decide(_ context.Context, req Request) (Result, error) {
	d := newPlanner(req)
	for i := range d.facts {
		f := &d.facts[i]
		d.enact(f, outcome{action: reverie.DecisionAdd}.or(d.says(f.ContentHash)))
	}
	return d.result(), nil
}
