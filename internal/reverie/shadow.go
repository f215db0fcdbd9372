package reverie

import "time"

// PastNight is one run of evolve as the ledger has it: what it was asked and answered, what
// it changed, and what it cost.
type PastNight struct {
	Run    Run
	Chunks []PastChunk
	Spend  Spend // of all its calls
	// Gone are how many of the messages that it took have no text any more; of one that was
	// shown earlier messages, those of its days, too.
	Gone int
}

// PastChunk is a chunk, and what it changed when it was applied: not what a person
// approved of it later.
type PastChunk struct {
	Chunk
	Changes []Change
}

// Carried says what became of the changes that others made to a group, in the shadow of
// it.
type Carried struct {
	Changes int         // that were made in the shadow, too
	Left    []CarryLeft // that were not, oldest first: each lineage once for each action
}

// CarryLeft is a change that the shadow could not take over.
type CarryLeft struct {
	LineageID string    `json:"lineage_id"`
	Statement string    `json:"statement"` // after the change; of what ended, before it
	Action    Action    `json:"action"`
	At        time.Time `json:"at"`
	Reason    string    `json:"reason"`
}
