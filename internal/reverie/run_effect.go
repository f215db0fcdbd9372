package reverie

import "time"

// RunEffect is what a run did to a lineage, or would have done if a person let it: a change,
// or support, which is no change.
type RunEffect struct {
	ChunkNo      int
	Action       Action // create, update, delete; keep is support
	LineageID    string
	MemoryID     string // the version after it; of what ended or was supported, the one that was
	OldStatement string
	NewStatement string // "" of what ended
	Held         bool   // it waits for a person, or waited
	At           time.Time
}
