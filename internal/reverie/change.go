package reverie

import (
	"strings"
	"time"
)

// Action is what a change did to a lineage. The change log has no keeps: they are only counted. A keep with
// evidence is a support step of a plan.
type Action string

// The actions of plans and of the change log.
const (
	ActionKeep     Action = "keep" // only in plans: support with evidence
	ActionUpdate   Action = "update"
	ActionCreate   Action = "create"
	ActionDelete   Action = "delete"
	ActionRestore  Action = "restore"
	ActionArchive  Action = "archive"
	ActionStrength Action = "strength"
	ActionWeight   Action = "weight"
	ActionScope    Action = "scope"
	ActionUndo     Action = "undo"
)

// ReasonMerged is the reason of the delete that replaces an update if the new text equals another active memory.
const ReasonMerged = "merged"

// Change is one row of the change log.
type Change struct {
	GroupID      string     `db:"group_id" json:"-"`
	ID           string     `db:"change_id" json:"-"`
	RunID        *string    `db:"run_id" json:"-"`                              // nil: a person edited it
	UndoneRunID  *string    `db:"undone_run_id" json:"undone_run_id,omitempty"` // of an undo: the run that was undone
	Action       Action     `db:"action" json:"action"`
	MemoryID     string     `db:"memory_id" json:"memory_id"` // the head version after the change
	OldID        *string    `db:"old_id" json:"old_id"`       // the head version before, nil if there was none
	OldStatement string     `db:"old_statement" json:"old_statement"`
	NewStatement string     `db:"new_statement" json:"new_statement"`
	Summary      string     `db:"change_summary" json:"change_reason"`
	Version      int        `db:"version" json:"version"` // of MemoryID
	Evidence     []Evidence `db:"evidence" json:"evidence,omitempty"`
	CreatedAt    time.Time  `db:"created_at" json:"timestamp"`
}

// ReplayReason is the start of the reason of an undo that belongs to a replay: no person found the run wrong.
const ReplayReason = "replay from "

// UndoQuery names a run of a group to undo, and how to undo it.
type UndoQuery struct {
	GroupID string
	RunID   string
	Reason  string // for the change log; "": the reason names the run
	Force   bool   // also revert what later changes made of the run's work
	Requeue bool   // make the messages that the run read pending again
	Again   bool   // skip a run that is undone already and left nothing, instead of refusing it
	DryRun  bool   // roll everything back; needs no lease
	Before  string // the before_sha256 of a dry run: refuse if the active memories differ; "" allows any
}

// Undone is the result of undoing one run.
type Undone struct {
	RunID    string    `json:"run_id"`
	Job      Job       `json:"job"`
	Began    time.Time `json:"began_at"`
	UndoneAt time.Time `json:"undone_at,omitzero"` // zero for a dry run, or if there was nothing to undo
	Nothing  bool      `json:"nothing"`            // there was nothing to undo
	Over     bool      `json:"-"`                  // the run was undone before, and nothing was left to undo

	Restored   int `json:"restored"`   // memories whose earlier text is active again
	Deprecated int `json:"deprecated"` // memories that the run had created
	Weakened   int `json:"weakened"`   // memories that keep their text and get their earlier strength
	Entities   int `json:"entities"`   // entities that the run had created or changed
	Rejected   int `json:"rejected"`   // held plans of the run that are rejected now
	Requeued   int `json:"requeued"`   // messages that are pending again, or memories that are new to dreams again

	Changes []Change   `json:"changes"` // of memories, in the log
	Left    []UndoLeft `json:"left"`
	Cut     bool       `json:"cut,omitempty"` // a reply holds only the first entries of Changes and Left
	// Memories that the run did not touch, but others created, changed or ended since it began to write.
	Others int `json:"others"`

	Before string `json:"before_sha256"` // [ActiveSHA256] of the active memories before the undo
	After  string `json:"after_sha256"`  // the same, after the undo
	Was    string `json:"was_sha256"`    // the same, before the run began to write
	Exact  bool   `json:"exact"`         // the active memories are exactly those from before the run
}

// UndoLeft is a memory or entity that an undo could not revert, and why.
type UndoLeft struct {
	MemoryID  string `json:"memory_id,omitempty"` // the newest version
	EntityID  string `json:"entity_id,omitempty"`
	Statement string `json:"statement"` // or the entity's name
	Reason    string `json:"reason"`
}

// UndoReply is the result of undoing runs, newest first. If one cannot be undone, the newer ones stay undone.
type UndoReply struct {
	Success bool     `json:"success"`
	GroupID string   `json:"group_id"`
	DryRun  bool     `json:"dry_run"`
	Runs    []Undone `json:"runs"`
	Error   string   `json:"error,omitempty"`
}

// The parts of the reason why a memory is judged again: which source changed, and how.
const (
	RestsOnMemory   = "a memory that it rests on "
	RestsOnMessages = "a memory that rests on the same messages "

	MessageEdited = "a message that it rests on was edited"

	WasUpdated = "was updated"
	WasDeleted = "was deleted"
	WasUndone  = "was undone"
)

// judgeReasons translates the reasons into Chinese.
var judgeReasons = []struct{ english, chinese string }{
	{RestsOnMemory + WasUpdated, "它所依据的一条记忆已更新"},
	{RestsOnMemory + WasDeleted, "它所依据的一条记忆已删除"},
	{RestsOnMemory + WasUndone, "它所依据的一条记忆已撤销"},
	{RestsOnMessages + WasUpdated, "与它依据相同消息的一条记忆已更新"},
	{RestsOnMessages + WasDeleted, "与它依据相同消息的一条记忆已删除"},
	{"evidence erased", "它的依据已被抹除"},
	{MessageEdited, "它所依据的一条消息已被编辑"},
}

// JudgeReasonChinese translates the reason why a memory is judged again. It leaves quoted memories as they are.
func JudgeReasonChinese(reason string) string {
	for _, r := range judgeReasons {
		if rest, ok := strings.CutPrefix(reason, r.english); ok && (rest == "" || strings.HasPrefix(rest, ": ")) {
			return r.chinese + strings.Replace(rest, ": ", "：", 1)
		}
	}
	return reason
}
