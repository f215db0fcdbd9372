package reverie

import "time"

// Kind says what a memory is about.
type Kind string

// The kinds of memory.
const (
	KindGroup   Kind = "group"
	KindSession Kind = "session"
	KindDream   Kind = "dream"
	KindTeam    Kind = "team"
)

// Status says whether a version is what its lineage says now.
type Status string

// The statuses of a memory version.
const (
	StatusActive     Status = "active"     // the lineage's head, recalled
	StatusDeprecated Status = "deprecated" // superseded by a newer version, or deleted
	StatusArchived   Status = "archived"   // out of recall, restorable
	StatusHeld       Status = "held"       // waits for a person
)

// Limits of a group's memory.
const (
	MaxStatement  = 500 // characters of a statement
	MaxReason     = 300 // characters of a change reason
	MaxTags       = 8   // tags of a memory
	MaxTagLength  = 32  // characters of a tag
	TargetActive  = 30  // active group memories to aim for; the prompt asks to merge beyond
	MaxActive     = 60  // creates beyond this many active memories are refused
	MaxCreates    = 20  // creates of one run
	MaxShown      = 50  // memories shown to the model for one chunk
	DefaultWeight = 1.0
	MaxWeight     = 2.0
	CoreWeight    = 1.5 // from here a memory is core
)

// Memory is one version of one statement. Its JSON is the shape of memory list
// in the API: created_at is the lineage's birth, updated_at this version's.
type Memory struct {
	GroupID         string     `db:"group_id" json:"-"`
	ID              string     `db:"memory_id" json:"memory_id"` // names the version
	LineageID       string     `db:"lineage_id" json:"lineage_id"`
	Kind            Kind       `db:"kind" json:"kind"`
	SessionID       string     `db:"session_id" json:"session_id,omitempty"`
	Statement       string     `db:"statement" json:"statement"`
	Version         int        `db:"version" json:"version"` // counts from 1
	ParentID        *string    `db:"parent_id" json:"parent_id"`
	CreatedAt       time.Time  `db:"created_at" json:"created_at"`
	UpdatedAt       time.Time  `db:"updated_at" json:"updated_at"`
	EndedAt         *time.Time `db:"ended_at" json:"-"` // when the version stopped being active, nil while it is
	LastSupportedAt time.Time  `db:"last_supported_at" json:"last_supported_at"`
	Status          Status     `db:"status" json:"status"`
	Strength        float64    `db:"strength" json:"strength"` // 0..1, see Reinforce
	Weight          float64    `db:"weight" json:"weight"`     // 0..2, starts at 1
	Tags            []string   `db:"-" json:"tags"`
	ContentHash     string     `db:"content_hash" json:"-"`
	EmbeddingModel  string     `db:"embedding_model" json:"-"` // model@dims, "" while not embedded
	ChangeSummary   string     `db:"change_summary" json:"-"`
	RunID           *string    `db:"run_id" json:"-"` // nil for an edit by a person
	// JudgeAgain says why the next run judges it again, "" where none does or nobody asked.
	JudgeAgain string `db:"judge_again" json:"judge_again,omitempty"`
}

// Text is what no two active memories of a group share: the kind, and what is said.
func (m Memory) Text() string { return string(m.Kind) + "\x00" + m.ContentHash }

// Hit is one search result: a memory and its calibrated similarity.
type Hit struct {
	Memory
	Score float64 `db:"score"` // 0..1, see Calibration
}
