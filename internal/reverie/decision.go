package reverie

import "time"

// Relation says how a remembered statement stands to a new fact.
type Relation string

// The relations, in the order in which they count.
const (
	RelationDuplicate Relation = "duplicate" // it says the same
	RelationUpdate    Relation = "update"    // the same subject, to be put together in one statement
	RelationConflict  Relation = "conflict"  // both cannot hold: the fact takes its place
	RelationUnrelated Relation = "unrelated" // another subject, or another side of it
)

// DecisionAction is what becomes of a new fact.
type DecisionAction string

// The actions of decisions.
const (
	DecisionAdd     DecisionAction = "ADD"        // nothing like it is remembered: it is created
	DecisionUpdate  DecisionAction = "UPDATE"     // the target gets a new version that says both
	DecisionReplace DecisionAction = "DELETE+ADD" // the target ends, and the fact is created
	DecisionNone    DecisionAction = "NONE"       // the target says it already, and is supported
	DecisionSkip    DecisionAction = "SKIP"       // could not be compared, and is not stored
	DecisionHold    DecisionAction = "HOLD"       // waits for a person
)

// Basis says what a decision rests on.
type Basis string

// The bases of decisions.
const (
	BasisHash     Basis = "hash"     // an active memory of the same kind has the same content hash
	BasisNone     Basis = "none"     // no memory came near enough to be compared
	BasisShown    Basis = "shown"    // the model that wrote the fact had the memories before it
	BasisCompared Basis = "compared" // a model compared the fact with its candidates
	BasisFallback Basis = "fallback" // the comparison failed: [decide] fallback_mode
)

// Candidate is a memory that a fact was held against.
type Candidate struct {
	MemoryID  string   `json:"memory_id"` // the version that was compared
	Version   int      `json:"version"`
	Statement string   `json:"statement"`
	Score     float64  `json:"score"`              // calibrated similarity, see Calibration
	Relation  Relation `json:"relation,omitempty"` // "" where no verdict was given
	Reason    string   `json:"reason,omitempty"`   // the model's, for the relation
	Merged    string   `json:"merged,omitempty"`   // what both say together (update)
}

// Decision is one new fact and what became of it, with all that led there: a row
// of decisions.
type Decision struct {
	GroupID       string         `db:"group_id" json:"group_id"`
	RunID         string         `db:"run_id" json:"run_id"`
	ChunkNo       int            `db:"chunk_no" json:"chunk_no"`
	No            int            `db:"decision_no" json:"decision_no"` // counts from 1 within the chunk
	Kind          Kind           `db:"kind" json:"kind"`
	Statement     string         `db:"statement" json:"statement"` // the fact as it was proposed
	ContentHash   string         `db:"content_hash" json:"content_hash"`
	Action        DecisionAction `db:"action" json:"action"`
	Basis         Basis          `db:"basis" json:"basis"`
	TargetID      string         `db:"target_id" json:"target_id,omitempty"` // the version that it acts on, as it was before
	MemoryID      string         `db:"memory_id" json:"memory_id,omitempty"` // the version that says it now; as long as a person is to let it pass, in a plan alone
	Reason        string         `db:"reason" json:"reason"`
	Candidates    []Candidate    `db:"candidates" json:"candidates"` // best first
	Model         string         `db:"model" json:"model,omitempty"`
	PromptVersion string         `db:"prompt_version" json:"prompt_version,omitempty"`
	PromptSHA256  string         `db:"prompt_sha256" json:"prompt_sha256,omitempty"`
	Calls         int            `db:"calls" json:"calls"` // questions asked about it, answers that were stored before included
	CreatedAt     time.Time      `db:"created_at" json:"created_at"`
	UndoneAt      *time.Time     `db:"undone_at" json:"undone_at,omitempty"` // when its run was taken back; told by Why alone
}

// CandidateQuery asks for the active and newest archived memories of one kind that come
// nearest to each of several texts, exactly, within one group.
type CandidateQuery struct {
	GroupID     string
	Kind        Kind
	Probes      []Probe
	Beside      []Probe     // compared with the probes, too, though not stored; none with itself
	Model       string      // model@dims of their vectors; "" = there are none, and words alone count
	Calibration Calibration // of Model; the zero value takes cosines as they are
	MinScore    float64
	Limit       int      // for each probe
	Exclude     []string // memory ids that are not wanted
	Untagged    string   // memories with this tag are not wanted; "" = all are
	Active      bool     // archived ones are not wanted
}

// Probe is a text that others are compared with.
type Probe struct {
	ID     string // of a memory, or like it
	Text   string
	Vector []float32
}

// Near is what comes near a probe.
type Near struct {
	ID    string  `db:"memory_id"`
	Score float64 `db:"score"` // as that of a search
}

// Answer is what a model said in a run, kept under the hash of the question
// before anything is made of it: whoever continues the run does not pay twice.
type Answer struct {
	GroupID     string
	RunID       string
	InputSHA256 string // of model and question
	Purpose     string // compare, observe, ...
	Text        string
}

// Why is what stands behind a memory: each version with the run, the messages
// and the decision that it came from, oldest first.
type Why struct {
	Memory   Memory       `json:"memory"` // the lineage's newest version
	Since    time.Time    `json:"since"`  // when the chat said it first
	Versions []WhyVersion `json:"versions"`
	Resting  []Resting    `json:"resting"` // active memories that were made of it, the oldest first
	Usage    UsageCount   `json:"usage"`   // of all versions: what readers made of it
}

// Resting is an active memory that rests on another one, as on its source.
type Resting struct {
	MemoryID   string `db:"memory_id" json:"memory_id"`
	LineageID  string `db:"lineage_id" json:"lineage_id"`
	Kind       Kind   `db:"kind" json:"kind"`
	Statement  string `db:"statement" json:"statement"`
	JudgeAgain string `db:"judge_again" json:"judge_again,omitempty"` // why the next run judges it again
}

// WhyVersion is one version of a lineage and what stands behind it.
type WhyVersion struct {
	Memory      Memory         `json:"memory"`
	Run         *Run           `json:"run,omitempty"` // nil for an edit by a person, or an undo
	ChunkNo     int            `json:"chunk_no,omitempty"`
	Action      Action         `json:"action"` // that made the version
	Reason      string         `json:"change_reason"`
	UndoneRunID string         `json:"undone_run_id,omitempty"` // of an undo: the run that it takes back
	Approved    bool           `json:"approved,omitempty"`      // it was held, and a person let it pass
	Evidence    []Evidence     `json:"evidence"`                // of the version itself
	Withdrawn   []Evidence     `json:"-"`                       // evidence of a run that was taken back since: it supports nothing
	Sources     []SourceMemory `json:"sources,omitempty"`       // memories that it rests on
	Decisions   []Decision     `json:"decisions"`               // facts that made it, that it already said, or that took its place
	Later       []WhyLater     `json:"later"`                   // support, strength, weight, deletion: what befell the version afterwards
}

// WhyLater is what befell a version after it was written.
type WhyLater struct {
	Action      Action     `json:"action"` // keep (support), delete, archive, strength, weight, undo
	Reason      string     `json:"change_reason,omitempty"`
	RunID       string     `json:"run_id,omitempty"`
	UndoneRunID string     `json:"undone_run_id,omitempty"` // of an undo: the run that it takes back
	Approved    bool       `json:"approved,omitempty"`      // it was held, and a person let it pass
	Evidence    []Evidence `json:"evidence,omitempty"`
	At          time.Time  `json:"at"`
	Ends        bool       `json:"-"` // the version is active no more
}

// Blame says of a memory who wrote it: what stands behind each version, and which
// version brought each of its words.
type Blame struct {
	Memory   Memory         `json:"memory"`   // the version whose words they are: the newest
	Words    []BlameWords   `json:"words"`    // its statement, in pieces
	Versions []BlameVersion `json:"versions"` // oldest first
}

// BlameWords are words that follow one another and came in with one version.
type BlameWords struct {
	Text    string `json:"text"`
	Version int    `json:"version"`
}

// BlameVersion is a version, and who wrote it.
type BlameVersion struct {
	Version     int            `json:"version"`
	MemoryID    string         `json:"memory_id"`
	Status      Status         `json:"status"`
	Statement   string         `json:"statement"`
	At          time.Time      `json:"at"`
	Action      Action         `json:"action"` // that made it
	Reason      string         `json:"change_reason,omitempty"`
	Run         *BlameRun      `json:"run,omitempty"`           // nil for a person, or an undo
	UndoneRunID string         `json:"undone_run_id,omitempty"` // of an undo: the run that it takes back
	Approved    bool           `json:"approved,omitempty"`      // it was held, and a person let it pass
	Evidence    []Evidence     `json:"evidence"`                // messages, also where its run was taken back
	Sources     []SourceMemory `json:"sources,omitempty"`       // memories that it rests on
	Remaining   int            `json:"remaining"`               // characters of the newest version that it brought
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

// BlameReply is a blame as it is answered and printed.
type BlameReply struct {
	Success bool   `json:"success"`
	GroupID string `json:"group_id"`
	Blame
	Cut bool `json:"cut,omitempty"` // there are older versions than an answer holds; the words are of all
}
