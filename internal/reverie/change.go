package reverie

import "time"

// Action is what a change did to a lineage. Keeps are counted, not logged, save
// that a keep with evidence is a support step of a plan.
type Action string

// The actions of plans and of the change log.
const (
	ActionKeep     Action = "keep" // in a plan: support with evidence; never in the log
	ActionUpdate   Action = "update"
	ActionCreate   Action = "create"
	ActionDelete   Action = "delete"
	ActionRestore  Action = "restore"
	ActionArchive  Action = "archive"
	ActionStrength Action = "strength"
	ActionWeight   Action = "weight"
	ActionUndo     Action = "undo"
)

// ReasonMerged is the reason of a delete that an update became because its new
// text equals another active memory.
const ReasonMerged = "merged"

// Change is one row of the change log.
type Change struct {
	GroupID      string     `json:"-"`
	ID           string     `json:"-"`
	RunID        *string    `json:"-"`                       // nil for an edit by a person
	UndoneRunID  *string    `json:"undone_run_id,omitempty"` // of an undo: the run that it takes back
	Action       Action     `json:"action"`
	MemoryID     string     `json:"memory_id"` // the version that is the head after the change
	OldID        *string    `json:"old_id"`    // the head before, null if there was none
	OldStatement string     `json:"old_statement"`
	NewStatement string     `json:"new_statement"`
	Summary      string     `json:"change_reason"`
	Version      int        `json:"version"` // of MemoryID
	Evidence     []Evidence `json:"evidence,omitempty"`
	CreatedAt    time.Time  `json:"timestamp"`
}
