package reverie

import (
	"slices"
	"time"
)

// Head is the version that a step expects to be its lineage's head. Applying refuses the step if the head is
// another one.
type Head struct {
	MemoryID string `json:"memory_id"`
	Version  int    `json:"version"`
}

// Step is one write of a checked plan: create, update, delete, or keep with evidence. Such a keep is support: it
// changes strength and last_supported_at of the head and adds no version.
type Step struct {
	Action    Action `json:"action"`
	LineageID string `json:"lineage_id"`
	MemoryID  string `json:"memory_id,omitempty"` // id of the new version (create, update)
	Head      Head   `json:"head,omitzero"`       // the expected head (all but create)
	// The lineage that the plan deletes in favour of this one (create).
	Replaces     string     `json:"replaces,omitempty"`
	OldStatement string     `json:"old_statement,omitempty"`
	SessionID    string     `json:"session_id,omitempty"` // of a memory of kind session (create)
	Statement    string     `json:"statement,omitempty"`  // create, update
	Tags         []string   `json:"tags,omitempty"`
	Type         Type       `json:"type,omitempty"`   // create, update; "" keeps the head's type and date
	DueOn        *time.Time `json:"due_on,omitempty"` // the date of a plan
	// The head is archived: the step makes it active again, or deletes it.
	Returns  bool       `json:"returns,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Memories that the version rests on (create, update).
	Sources         []Source  `json:"sources,omitempty"`
	Strength        float64   `json:"strength,omitempty"`         // after the step (all but delete)
	LastSupportedAt time.Time `json:"last_supported_at,omitzero"` // after the step (all but delete)
	ContentHash     string    `json:"content_hash,omitempty"`     // of Statement
	// The new status of a head that was judged again by this step: active or held.
	Judged         Status    `json:"judged,omitempty"`
	Embedding      []float32 `json:"-"` // of Statement; nil if there is none
	EmbeddingModel string    `json:"-"` // model@dims, "" without an embedding
}

// Plan is everything that one chunk writes in one transaction: the steps, the outcome of each of its messages, and
// the lines held for a person.
type Plan struct {
	GroupID  string             `json:"group_id"`
	RunID    string             `json:"run_id"`
	ChunkNo  int                `json:"chunk_no"`
	Kind     Kind               `json:"kind"`
	Steps    []Step             `json:"steps,omitempty"`
	Outcomes map[string]Outcome `json:"outcomes,omitempty"` // by message id; each message of the chunk has one
	Held     []Step             `json:"held,omitempty"`     // stored in held_plans for runs approve; not applied
	HeldAll  bool               `json:"held_all,omitempty"` // the whole plan is held: Steps is empty
	// Used are the messages of SessionID that an extraction consumes; it has no Outcomes.
	SessionID string   `json:"session_id,omitempty"`
	Used      []string `json:"used,omitempty"`
	// Judged are the lineages of active memories that were judged again and stay unchanged.
	Judged []string `json:"judged,omitempty"`
	// Dream is the material of a dream; it has no Outcomes.
	Dream *DreamUse `json:"dream,omitempty"`
	// HeldReason tells a person why Held is held.
	HeldReason string     `json:"held_reason,omitempty"`
	Refusals   []Refusal  `json:"refusals,omitempty"`
	Decisions  []Decision `json:"decisions,omitempty"` // about the facts that the chunk proposes
	// Impressions makes the shown messages pending for the impression job, unless the group's own setting differs.
	Impressions bool  `json:"impressions,omitempty"`
	Stats       Stats `json:"stats"` // of the run so far, including this chunk
	// End is the finished run, if the run ends with this chunk in the same transaction; nil: it ends separately.
	// Applying fills in the number of messages left pending.
	End *Run `json:"end,omitempty"`
}

// Refusal is a line of an answer that was not accepted, and the violated rule. It never repeats a statement that
// may hold a secret.
type Refusal struct {
	Line   int    `json:"line"` // counts from 1 among the answer's lines
	Action string `json:"action,omitempty"`
	Handle string `json:"handle,omitempty"` // the model's name for the memory: m3
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

// The rules by which a person is not asked again about a memory.
const (
	RuleWaits    = "waits"    // a held plan for it already waits for a person
	RuleRejected = "rejected" // a person has rejected this, and nothing has changed since
)

// HeldPlan is a plan, or some lines of one, held for a person.
type HeldPlan struct {
	GroupID   string `db:"group_id"`
	RunID     string `db:"run_id"`
	ChunkNo   int    `db:"chunk_no"`
	Kind      Kind   // of the memory that it creates, or that a proposal is about
	Whole     bool   // the chunk's whole plan is held; its messages may be made pending again
	Steps     []Step `db:"plan"` // the steps to be applied
	Reason    string // why the plan is held
	Status    HeldStatus
	CreatedAt time.Time `db:"created_at"`
}

// HeldStatus is the state of a held plan.
type HeldStatus string

// The statuses of a held plan.
const (
	HeldWaiting  HeldStatus = "waiting"
	HeldApproved HeldStatus = "approved"
	HeldRejected HeldStatus = "rejected"
)

// PlanState is the state that a plan file is checked against, besides the heads of its group.
type PlanState struct {
	Run      *Run      // the run with the plan's id: the plan was applied
	Messages []Message // the requested messages that still have their text, by sent_at, then by order of arrival
}

// PlannedRun is a run whose chunks are all written at once. Heads are the memories that it expects: all active ones
// of kind group.
type PlannedRun struct {
	Run    Run
	Heads  []string // memory ids
	Chunks []Chunk
	Plans  []Plan // one for each chunk
}

// Changes returns the change log rows that the plan would write, for a dry run. They hold no ids, since nobody
// could look them up. Support is not a change.
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

// Count adds the plan, as one chunk, and its effects on memories to the stats of its run. The heads are those that
// the plan rests on.
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

// Rewrites counts the deletes and updates of versions that other runs wrote; heads are those that the plan rests
// on. A memory that was judged again and is not among heads does not count: the group did not remember it.
func (p Plan) Rewrites(heads []HeadState) int {
	return len(filter(p.Steps, p.Counts(heads, ActionDelete, ActionUpdate)))
}

// Counts returns a filter for steps with one of these actions that count for [Plan.Rewrites].
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
	MaxProposals        = 50 // proposals that wait in one group
	MaxProposalEvidence = 20 // messages cited by one proposal
)

// ProposalState is the state that a proposal is checked against.
type ProposalState struct {
	Group    Group
	Head     *Memory   // the memory to be updated or deleted
	TwinID   string    // the active memory that already says the same
	Messages []Message // the cited messages that the group has
}
