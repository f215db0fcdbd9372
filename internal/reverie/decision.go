package reverie

import "time"

// Relation is how a remembered statement relates to a new fact.
type Relation string

// The relations, strongest first.
const (
	RelationDuplicate Relation = "duplicate" // the memory says the same
	RelationUpdate    Relation = "update"    // same subject: both are merged into one statement
	RelationConflict  Relation = "conflict"  // both cannot be true: the fact replaces the memory
	RelationUnrelated Relation = "unrelated" // another subject, or another aspect of it
)

// DecisionAction is what is done with a new fact.
type DecisionAction string

// The actions of decisions.
const (
	DecisionAdd     DecisionAction = "ADD"        // no similar memory exists: the fact is created
	DecisionUpdate  DecisionAction = "UPDATE"     // the target gets a new version that says both
	DecisionReplace DecisionAction = "DELETE+ADD" // the target is deleted, and the fact is created
	DecisionNone    DecisionAction = "NONE"       // the target says it already, and is supported
	DecisionSkip    DecisionAction = "SKIP"       // the fact could not be compared, and is not stored
	DecisionHold    DecisionAction = "HOLD"       // a person must review it
)

// Basis is the ground of a decision.
type Basis string

// The bases of decisions.
const (
	BasisHash     Basis = "hash"     // an active memory of the same kind has the same content hash
	BasisNone     Basis = "none"     // no memory was similar enough to be compared
	BasisShown    Basis = "shown"    // the model saw the memories when it wrote the fact
	BasisCompared Basis = "compared" // a model compared the fact with its candidates
	BasisFallback Basis = "fallback" // the comparison failed: [decide] fallback_mode
)

// Candidate is a memory that a fact was compared with.
type Candidate struct {
	MemoryID  string   `json:"memory_id"` // the version that was compared
	Version   int      `json:"version"`
	Statement string   `json:"statement"`
	Score     float64  `json:"score"`              // calibrated similarity, see Calibration
	Relation  Relation `json:"relation,omitempty"` // "" if there was no verdict
	Reason    string   `json:"reason,omitempty"`   // the model's reason for the relation
	Merged    string   `json:"merged,omitempty"`   // the merged statement (relation update)
}

// Decision is what was done with one new fact, and why: a row of decisions.
type Decision struct {
	GroupID     string         `db:"group_id" json:"group_id"`
	RunID       string         `db:"run_id" json:"run_id"`
	ChunkNo     int            `db:"chunk_no" json:"chunk_no"`
	No          int            `db:"decision_no" json:"decision_no"` // counts from 1 within the chunk
	Kind        Kind           `db:"kind" json:"kind"`
	Statement   string         `db:"statement" json:"statement"` // the fact as proposed
	ContentHash string         `db:"content_hash" json:"content_hash"`
	Action      DecisionAction `db:"action" json:"action"`
	Basis       Basis          `db:"basis" json:"basis"`
	// The version that it acts on, before the action.
	TargetID string `db:"target_id" json:"target_id,omitempty"`
	// The version that says it now; while held, this version exists only in the plan.
	MemoryID      string      `db:"memory_id" json:"memory_id,omitempty"`
	Reason        string      `db:"reason" json:"reason"`
	Candidates    []Candidate `db:"candidates" json:"candidates"` // best first
	Model         string      `db:"model" json:"model,omitempty"`
	PromptVersion string      `db:"prompt_version" json:"prompt_version,omitempty"`
	PromptSHA256  string      `db:"prompt_sha256" json:"prompt_sha256,omitempty"`
	// Questions asked about it, including those whose answers were stored.
	Calls     int       `db:"calls" json:"calls"`
	CreatedAt time.Time `db:"created_at" json:"created_at"`
	// When its run was undone; only Why sets it.
	UndoneAt *time.Time `db:"undone_at" json:"undone_at,omitempty"`
}

// CandidateQuery asks for the memories of one kind and group that are most similar to each of several texts. It
// searches active memories and the newest archived ones, without an approximate index.
type CandidateQuery struct {
	GroupID     string
	Kind        Kind
	Probes      []Probe
	Beside      []Probe     // also compared with the probes, though not stored; a text is not compared with itself
	Model       string      // model@dims of the vectors; "" = no vectors, only words count
	Calibration Calibration // of Model; the zero value leaves cosines unchanged
	MinScore    float64
	Limit       int      // for each probe
	Exclude     []string // memory ids to leave out
	Untagged    string   // leave out memories with this tag; "" = none
	Active      bool     // leave out archived memories
}

// Probe is a text that memories are compared with.
type Probe struct {
	ID     string // a memory id, or an id of the caller's
	Text   string
	Vector []float32
}

// Near is a memory that is similar to a probe.
type Near struct {
	ID    string  `db:"memory_id"`
	Score float64 `db:"score"` // as in a search
}

// Answer is a model's answer in a run, stored under the hash of its question before it is used. A run that resumes
// finds it there, so the question is not paid twice.
type Answer struct {
	GroupID     string
	RunID       string
	InputSHA256 string // of model and question
	Purpose     string // compare, observe, ...
	Text        string
}

// Why is the history of a memory: each version with its run, messages and decision, oldest first.
type Why struct {
	Memory   Memory       `json:"memory"` // the lineage's newest version
	Since    time.Time    `json:"since"`  // when the chat first said it
	Versions []WhyVersion `json:"versions"`
	Resting  []Resting    `json:"resting"` // active memories that have it as a source, oldest first
	Usage    UsageCount   `json:"usage"`   // usage of all versions in contexts
}

// Resting is an active memory that has another one as its source.
type Resting struct {
	MemoryID   string `db:"memory_id" json:"memory_id"`
	LineageID  string `db:"lineage_id" json:"lineage_id"`
	Kind       Kind   `db:"kind" json:"kind"`
	Statement  string `db:"statement" json:"statement"`
	JudgeAgain string `db:"judge_again" json:"judge_again,omitempty"` // why the next run judges it again
}

// WhyVersion is one version of a lineage with its run, evidence and decisions.
type WhyVersion struct {
	Memory      Memory     `json:"memory"`
	Run         *Run       `json:"run,omitempty"` // nil: an edit by a person, or an undo
	ChunkNo     int        `json:"chunk_no,omitempty"`
	Action      Action     `json:"action"` // the action that created the version
	Reason      string     `json:"change_reason"`
	UndoneRunID string     `json:"undone_run_id,omitempty"` // of an undo: the run that was undone
	Approved    bool       `json:"approved,omitempty"`      // it was held, and a person approved it
	Evidence    []Evidence `json:"evidence"`                // of the version itself
	// Evidence of a run that is undone now: it supports nothing.
	Withdrawn []Evidence     `json:"-"`
	Sources   []SourceMemory `json:"sources,omitempty"` // memories that it rests on
	// Facts that created it, that it already said, or that replaced it.
	Decisions []Decision `json:"decisions"`
	// Later changes to the version: support, strength, weight, deletion.
	Later []WhyLater `json:"later"`
}

// WhyLater is a change to a version after it was written.
type WhyLater struct {
	Action      Action     `json:"action"` // keep (support), delete, archive, strength, weight, undo
	Reason      string     `json:"change_reason,omitempty"`
	RunID       string     `json:"run_id,omitempty"`
	UndoneRunID string     `json:"undone_run_id,omitempty"` // of an undo: the run that was undone
	Approved    bool       `json:"approved,omitempty"`      // it was held, and a person approved it
	Evidence    []Evidence `json:"evidence,omitempty"`
	At          time.Time  `json:"at"`
	Ends        bool       `json:"-"` // the change ended the version
}

// Blame says which version of a memory wrote each of its words, and where each version comes from.
type Blame struct {
	Memory   Memory         `json:"memory"`   // the newest version, whose words are attributed
	Words    []BlameWords   `json:"words"`    // its statement, in pieces
	Versions []BlameVersion `json:"versions"` // oldest first
}

// BlameWords are consecutive words from the same version.
type BlameWords struct {
	Text    string `json:"text"`
	Version int    `json:"version"`
}

// BlameVersion is a version and its writer.
type BlameVersion struct {
	Version     int            `json:"version"`
	MemoryID    string         `json:"memory_id"`
	Status      Status         `json:"status"`
	Statement   string         `json:"statement"`
	At          time.Time      `json:"at"`
	Action      Action         `json:"action"` // the action that created it
	Reason      string         `json:"change_reason,omitempty"`
	Run         *BlameRun      `json:"run,omitempty"`           // nil: a person, or an undo
	UndoneRunID string         `json:"undone_run_id,omitempty"` // of an undo: the run that was undone
	Approved    bool           `json:"approved,omitempty"`      // it was held, and a person approved it
	Evidence    []Evidence     `json:"evidence"`                // messages, also those of an undone run
	Sources     []SourceMemory `json:"sources,omitempty"`       // memories that it rests on
	Remaining   int            `json:"remaining"`               // characters of the newest version that come from it
}

// BlameRun is the run that wrote a version.
type BlameRun struct {
	RunID         string     `json:"run_id"`
	Job           Job        `json:"job"`
	ChunkNo       int        `json:"chunk_no,omitempty"`
	Model         string     `json:"model"`
	PromptVersion string     `json:"prompt_version"`
	PromptSHA256  string     `json:"prompt_sha256"`
	UndoneAt      *time.Time `json:"undone_at,omitempty"`
}

// BlameReply is a blame as the API answers and the command prints it.
type BlameReply struct {
	Success bool   `json:"success"`
	GroupID string `json:"group_id"`
	Blame
	Cut bool `json:"cut,omitempty"` // older versions were left out; the words cover all versions
}
