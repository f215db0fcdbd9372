package reverie

import "time"

// RewindQuery says which work of a group to take back: that of the first run
// which consumed a message sent at Since or later, and of every run after it.
type RewindQuery struct {
	GroupID string
	Job     Job
	Since   time.Time // zero: all runs that consumed anything
	Reason  string    // for the change log
	DryRun  bool      // count only: nothing is written, and no lease is needed
}

// Rewound is what taking runs back came to.
type Rewound struct {
	Runs       int          `json:"runs"`
	Messages   int          `json:"messages"`          // pending again
	Earliest   time.Time    `json:"earliest,omitzero"` // sent_at of the earliest of these
	Restored   int          `json:"restored"`          // memories that say again what they said before
	Deprecated int          `json:"deprecated"`        // memories that the runs had made
	Weakened   int          `json:"weakened"`          // memories whose text stays, and whose strength goes back
	Kept       int          `json:"kept"`              // memories left as a person made them since
	Skipped    []RewindSkip `json:"skipped"`
}

// RewindSkip is a memory that was not brought back to what it was, and why.
type RewindSkip struct {
	MemoryID  string `json:"memory_id"` // the newest version before the rewind
	Statement string `json:"statement"`
	Reason    string `json:"reason"`
}
