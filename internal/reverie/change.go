package reverie

import (
	"strings"
	"time"
)

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
	ActionScope    Action = "scope"
	ActionUndo     Action = "undo"
)

// ReasonMerged is the reason of a delete that an update became because its new
// text equals another active memory.
const ReasonMerged = "merged"

// Change is one row of the change log.
type Change struct {
	GroupID      string     `db:"group_id" json:"-"`
	ID           string     `db:"change_id" json:"-"`
	RunID        *string    `db:"run_id" json:"-"`                              // nil for an edit by a person
	UndoneRunID  *string    `db:"undone_run_id" json:"undone_run_id,omitempty"` // of an undo: the run that it takes back
	Action       Action     `db:"action" json:"action"`
	MemoryID     string     `db:"memory_id" json:"memory_id"` // the version that is the head after the change
	OldID        *string    `db:"old_id" json:"old_id"`       // the head before, null if there was none
	OldStatement string     `db:"old_statement" json:"old_statement"`
	NewStatement string     `db:"new_statement" json:"new_statement"`
	Summary      string     `db:"change_summary" json:"change_reason"`
	Version      int        `db:"version" json:"version"` // of MemoryID
	Evidence     []Evidence `db:"evidence" json:"evidence,omitempty"`
	CreatedAt    time.Time  `db:"created_at" json:"timestamp"`
}

// ReplayReason begins the reason for which a replay takes runs back: not because a person found them wrong.
const ReplayReason = "replay from "

// UndoQuery says which run of a group to take back, and how.
type UndoQuery struct {
	GroupID string
	RunID   string
	Reason  string // for the change log; "" names the run
	Force   bool   // what others have changed since is put back, too
	Requeue bool   // what the run has read waits to be read again
	Again   bool   // a run that was taken back before, and of which nothing is left to do, is passed over, not refused
	DryRun  bool   // nothing is written in the end, and no lease is needed
	Before  string // the before_sha256 of a dry run: where something else is active by now it is refused; "" for whatever is
}

// Undone is what taking one run back came to.
type Undone struct {
	RunID    string    `json:"run_id"`
	Job      Job       `json:"job"`
	Began    time.Time `json:"began_at"`
	UndoneAt time.Time `json:"undone_at,omitzero"` // zero of a dry run, and where there was nothing
	Nothing  bool      `json:"nothing"`            // the run has left nothing to take back
	Over     bool      `json:"-"`                  // it was taken back before, and nothing of it was left to do

	Restored   int `json:"restored"`   // memories that say again what they said before
	Deprecated int `json:"deprecated"` // memories that the run had made
	Weakened   int `json:"weakened"`   // memories whose text stays, and whose strength goes back
	Entities   int `json:"entities"`   // people and things that the run had made, or had learnt something of
	Rejected   int `json:"rejected"`   // plans that waited for a person
	Requeued   int `json:"requeued"`   // messages, or memories of a dream, that wait again

	Changes []Change   `json:"changes"` // of memories, in the log
	Left    []UndoLeft `json:"left"`
	Cut     bool       `json:"cut,omitempty"` // an answer has the first of changes and left alone
	Others  int        `json:"others"`        // memories that the run did not touch, and that others have made, changed or ended since it began to write

	Before string `json:"before_sha256"` // [ActiveSHA256] of what was active before it was undone
	After  string `json:"after_sha256"`  // the same, afterwards
	Was    string `json:"was_sha256"`    // the same, before the run began to write
	Exact  bool   `json:"exact"`         // the group remembers again exactly what it did before the run
}

// UndoLeft is a memory, or one of the people and things, that was not brought back to
// what it was, and why.
type UndoLeft struct {
	MemoryID  string `json:"memory_id,omitempty"` // the newest version
	EntityID  string `json:"entity_id,omitempty"`
	Statement string `json:"statement"` // or the entity's name
	Reason    string `json:"reason"`
}

// UndoReply is what taking runs back came to, the newest first. Where one could not be
// taken back, those before it were.
type UndoReply struct {
	Success bool     `json:"success"`
	GroupID string   `json:"group_id"`
	DryRun  bool     `json:"dry_run"`
	Runs    []Undone `json:"runs"`
	Error   string   `json:"error,omitempty"`
}

// What a memory rests on that changed, and what happened to that: the two are why the memory is
// judged again.
const (
	RestsOnMemory   = "a memory that it rests on "
	RestsOnMessages = "a memory that rests on the same messages "

	MessageEdited = "a message that it rests on was edited"

	WasUpdated = "was updated"
	WasDeleted = "was deleted"
	WasUndone  = "was undone"
)

// judgeReasons are the reasons in Chinese.
var judgeReasons = []struct{ english, chinese string }{
	{RestsOnMemory + WasUpdated, "它所依据的一条记忆已更新"},
	{RestsOnMemory + WasDeleted, "它所依据的一条记忆已删除"},
	{RestsOnMemory + WasUndone, "它所依据的一条记忆已撤销"},
	{RestsOnMessages + WasUpdated, "与它依据相同消息的一条记忆已更新"},
	{RestsOnMessages + WasDeleted, "与它依据相同消息的一条记忆已删除"},
	{"evidence erased", "它的依据已被抹除"},
	{MessageEdited, "它所依据的一条消息已被编辑"},
}

// JudgeReasonChinese says in Chinese why a memory is judged again. The words of memories
// in it stay as they are.
func JudgeReasonChinese(reason string) string {
	for _, r := range judgeReasons {
		if rest, ok := strings.CutPrefix(reason, r.english); ok && (rest == "" || strings.HasPrefix(rest, ": ")) {
			return r.chinese + strings.Replace(rest, ": ", "：", 1)
		}
	}
	return reason
}
