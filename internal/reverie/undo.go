package reverie

import "time"

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
