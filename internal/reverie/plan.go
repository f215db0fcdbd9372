package reverie

import (
	"slices"
	"time"
)

// Head names the version that a step rests on. Applying refuses the step when
// the lineage's head has moved.
type Head struct {
	MemoryID string `json:"memory_id"`
	Version  int    `json:"version"`
}

// Step is one write of a checked plan: create, update, delete, or keep with
// evidence (support: strength and last_supported_at of the head, no version).
type Step struct {
	Action          Action     `json:"action"`
	LineageID       string     `json:"lineage_id"`
	MemoryID        string     `json:"memory_id,omitempty"` // the new version (create, update)
	Head            Head       `json:"head,omitzero"`       // the version it rests on (all but create)
	Replaces        string     `json:"replaces,omitempty"`  // the lineage that the plan deletes for it (create)
	OldStatement    string     `json:"old_statement,omitempty"`
	SessionID       string     `json:"session_id,omitempty"` // of a memory of kind session (create)
	Statement       string     `json:"statement,omitempty"`  // create, update
	Tags            []string   `json:"tags,omitempty"`
	Type            Type       `json:"type,omitempty"`    // create, update; "" is the head's, with its date
	DueOn           *time.Time `json:"due_on,omitempty"`  // of a plan
	Returns         bool       `json:"returns,omitempty"` // the head is archived: what is written of it brings it back, or ends it
	Reason          string     `json:"reason,omitempty"`
	Evidence        []Evidence `json:"evidence,omitempty"`
	Sources         []Source   `json:"sources,omitempty"`          // memories that a version rests on (create, update)
	Strength        float64    `json:"strength,omitempty"`         // after the step (not delete)
	LastSupportedAt time.Time  `json:"last_supported_at,omitzero"` // after the step (not delete)
	ContentHash     string     `json:"content_hash,omitempty"`     // of Statement
	Judged          Status     `json:"judged,omitempty"`           // of a head that was to be judged again, and is by this: active or held
	Embedding       []float32  `json:"-"`                          // of Statement; nil when it could not be had
	EmbeddingModel  string     `json:"-"`                          // model@dims, "" without an embedding
}

// Plan is everything that one chunk writes in one transaction: the steps, the
// outcome of each of its messages, and the lines that wait for a person.
type Plan struct {
	GroupID  string             `json:"group_id"`
	RunID    string             `json:"run_id"`
	ChunkNo  int                `json:"chunk_no"`
	Kind     Kind               `json:"kind"`
	Steps    []Step             `json:"steps,omitempty"`
	Outcomes map[string]Outcome `json:"outcomes,omitempty"` // message id -> outcome, each message of the chunk once
	Held     []Step             `json:"held,omitempty"`     // kept in held_plans for runs approve; not applied
	HeldAll  bool               `json:"held_all,omitempty"` // the whole plan is held: Steps is empty
	// Used are the messages of SessionID that an extraction takes, instead of Outcomes.
	SessionID string   `json:"session_id,omitempty"`
	Used      []string `json:"used,omitempty"`
	// Judged are the lineages of active memories that were to be judged again and stay as
	// they are.
	Judged []string `json:"judged,omitempty"`
	// Dream is what a dream takes in, instead of Outcomes.
	Dream *DreamUse `json:"dream,omitempty"`
	// HeldReason says to a person why Held is held.
	HeldReason string     `json:"held_reason,omitempty"`
	Refusals   []Refusal  `json:"refusals,omitempty"`
	Decisions  []Decision `json:"decisions,omitempty"` // on the facts that the chunk would create
	// Impressions says that the messages which were shown wait for the impression
	// job next, unless the group says otherwise for itself.
	Impressions bool  `json:"impressions,omitempty"`
	Stats       Stats `json:"stats"` // the run's so far, this chunk included
	// End is the run as it ends with this chunk, all in one; nil: it goes on, or ends by
	// itself. Applying fills in what it leaves pending.
	End *Run `json:"end,omitempty"`
}

// Refusal says which line of an answer was not accepted, and by which rule. It
// never repeats a statement that may hold a secret.
type Refusal struct {
	Line   int    `json:"line"` // 1-based, among the answer's lines
	Action string `json:"action,omitempty"`
	Handle string `json:"handle,omitempty"` // as the model named the memory: m3
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

// The rules by which a person is not asked again about a memory.
const (
	RuleWaits    = "waits"    // what is to become of it waits for a person already
	RuleRejected = "rejected" // a person has said no to this, and nothing has changed since
)

// HeldPlan is a plan, or some lines of one, that waits for a person.
type HeldPlan struct {
	GroupID   string `db:"group_id"`
	RunID     string `db:"run_id"`
	ChunkNo   int    `db:"chunk_no"`
	Kind      Kind   // of what it would create; of the memory that a proposal is about
	Whole     bool   // the chunk's whole plan; its messages may be made pending again
	Steps     []Step `db:"plan"` // what would be applied
	Reason    string // why it is held
	Status    HeldStatus
	CreatedAt time.Time `db:"created_at"`
}

// HeldStatus says what became of a held plan.
type HeldStatus string

// The statuses of a held plan.
const (
	HeldWaiting  HeldStatus = "waiting"
	HeldApproved HeldStatus = "approved"
	HeldRejected HeldStatus = "rejected"
)

// PlanState is what a plan file is held against, besides the heads of its group.
type PlanState struct {
	Run      *Run      // that has the plan's id: it was applied
	Messages []Message // those asked for that are there with their text, by sent_at, then by order of arrival
}

// PlannedRun is a run all of whose chunks are written at once, with what they rest on: all
// active memories of kind group.
type PlannedRun struct {
	Run    Run
	Heads  []string // ids
	Chunks []Chunk
	Plans  []Plan // of the chunks
}

// Changes are the change log rows that the plan would write, for a dry run: nothing
// in them has an id that anybody could look up. Support is no change.
func (p Plan) Changes() []Change {
	var changes []Change
	for _, s := range p.Steps {
		if s.Action == ActionKeep {
			continue
		}
		c := Change{GroupID: p.GroupID, Action: s.Action, MemoryID: s.MemoryID, OldStatement: s.OldStatement,
			NewStatement: s.Statement, Summary: s.Reason, Version: s.Head.Version + 1, Evidence: s.Evidence}
		if s.Head.MemoryID != "" {
			old := s.Head.MemoryID
			c.OldID = &old
		}
		if s.Action == ActionDelete || s.Action == ActionArchive {
			c.MemoryID, c.Version = s.Head.MemoryID, s.Head.Version
		}
		changes = append(changes, c)
	}
	return changes
}

// Count adds what the plan does to memories, and that it is a chunk, to the counts of
// its run. The heads are those that it rests on.
func (p Plan) Count(st *Stats, heads []HeadState) {
	for _, step := range p.Steps {
		switch step.Action {
		case ActionCreate:
			st.Created++
		case ActionUpdate:
			st.Updated++
		case ActionDelete:
			st.Deleted++
		case ActionArchive:
			st.Archived++
		}
	}
	for _, step := range p.Held {
		if step.Action != ActionKeep {
			st.Held++
		}
	}
	rewritten := p.Rewrites(heads)
	st.Rewritten += rewritten
	st.Kept -= rewritten + len(filter(p.Steps, p.Counts(heads, ActionArchive)))
	st.Refused += len(p.Refusals)
	st.Chunks++
}

// Rewrites counts the deletes and rewrites of versions that the plan's run did not
// write itself, by the heads that the plan rests on. What was to be judged again and is
// none of these does not count: it was not among what the group remembered.
func (p Plan) Rewrites(heads []HeadState) int {
	return len(filter(p.Steps, p.Counts(heads, ActionDelete, ActionUpdate)))
}

// Counts tells whether a step is one of these actions on a version that the plan's run did
// not write itself: see [Plan.Rewrites].
func (p Plan) Counts(heads []HeadState, actions ...Action) func(Step) bool {
	own := map[string]bool{}
	for _, h := range heads {
		own[h.LineageID] = h.RunID != nil && *h.RunID == p.RunID
	}
	return func(s Step) bool {
		_, known := own[s.LineageID]
		return slices.Contains(actions, s.Action) && !own[s.LineageID] && (known || s.Judged == "" && !s.Returns)
	}
}

func filter(steps []Step, is func(Step) bool) []Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return !is(s) })
}

// Bounds of what agents propose.
const (
	MaxProposals        = 50 // that wait in one group
	MaxProposalEvidence = 20 // messages that one proposal cites
)

// ProposalState is what a proposal is held against.
type ProposalState struct {
	Group    Group
	Head     *Memory   // that is to be updated or deleted
	TwinID   string    // the active memory that says the same already
	Messages []Message // those cited that the group has
}
